/* The header of aclnnAdaptiveMaxPool2dBackward, where older programs look for it. */
#include "../aclnn_adaptive_max_pool2d_backward.h"
