/* The header of aclnnAdaptiveMaxPool2d, where older programs look for it. */
#include "../aclnn_adaptive_max_pool2d.h"
