/* Transfer of training data, which this library does not do: here so that programs that include it compile. */
#ifndef POOLGRAD_ACL_TDT_H
#define POOLGRAD_ACL_TDT_H

#include "acl_base.h"

#endif
