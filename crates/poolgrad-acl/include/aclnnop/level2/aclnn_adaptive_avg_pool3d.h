/* The header of aclnnAdaptiveAvgPool3d, where older programs look for it. */
#include "../aclnn_adaptive_avg_pool3d.h"
