/* Dumping of tensors, which this library does not do: here so that programs that include it compile. */
#ifndef POOLGRAD_ACL_DUMP_H
#define POOLGRAD_ACL_DUMP_H

#include "acl_base.h"

#endif
