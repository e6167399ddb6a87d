/* The header that programs include: the runtime and everything that comes with it. */
#ifndef POOLGRAD_ACL_ACL_H
#define POOLGRAD_ACL_ACL_H

#include "acl_rt.h"
#include "acl_op.h"
#include "acl_mdl.h"

#endif
