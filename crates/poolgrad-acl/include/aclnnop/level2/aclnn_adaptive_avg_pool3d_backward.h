/* The header of aclnnAdaptiveAvgPool3dBackward, where older programs look for it. */
#include "../aclnn_adaptive_avg_pool3d_backward.h"
