/* The header of aclnnAdaptiveMaxPool3dBackward, where older programs look for it. */
#include "../aclnn_adaptive_max_pool3d_backward.h"
