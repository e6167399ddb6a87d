/* The header of aclnnMaxPool3dWithArgmax, where older programs look for it. */
#include "../aclnn_max_pool3d_with_argmax.h"
