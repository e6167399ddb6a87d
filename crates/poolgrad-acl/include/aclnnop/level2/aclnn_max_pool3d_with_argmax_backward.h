/* The header of aclnnMaxPool3dWithArgmaxBackward, where older programs look for it. */
#include "../aclnn_max_pool3d_with_argmax_backward.h"
