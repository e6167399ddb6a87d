/* Models, which a library of operators does not load: here so that programs that include it compile. */
#ifndef POOLGRAD_ACL_MDL_H
#define POOLGRAD_ACL_MDL_H

#include "acl_base.h"

#endif
