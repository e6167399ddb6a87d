/* The header of aclnnAdaptiveMaxPool3d, where older programs look for it. */
#include "../aclnn_adaptive_max_pool3d.h"
