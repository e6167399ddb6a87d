/* Single operators by name: their types, for programs that mention them. Operators are called through aclnnop. */
#ifndef POOLGRAD_ACL_OP_H
#define POOLGRAD_ACL_OP_H

#include "acl_base.h"
#include "acl_rt.h"

typedef struct aclopHandle aclopHandle;
typedef struct aclopAttr aclopAttr;
typedef struct aclopKernelDesc aclopKernelDesc;

#endif
