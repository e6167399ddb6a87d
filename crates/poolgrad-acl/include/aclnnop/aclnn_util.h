/* What the headers of operators share. */
#ifndef POOLGRAD_ACLNNOP_UTIL_H
#define POOLGRAD_ACLNNOP_UTIL_H

#include "aclnn/aclnn_base.h"

#ifndef ACLNN_API
#define ACLNN_API __attribute__((visibility("default")))
#endif

#endif
