/* Initialisation of the operator library, which needs none. */
#ifndef POOLGRAD_ACLNN_BASE_H
#define POOLGRAD_ACLNN_BASE_H

#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Optional, and harmless to repeat; `configPath` may be NULL. */
ACLNN_API aclnnStatus aclnnInit(const char *configPath);
ACLNN_API aclnnStatus aclnnFinalize(void);

#ifdef __cplusplus
}
#endif

#endif
