/* Types, codes and helpers that every other header needs. */
#ifndef POOLGRAD_ACL_BASE_H
#define POOLGRAD_ACL_BASE_H

#include "acl_base_rt.h"
#include "acl_base_mdl.h"
#include "error_codes/rt_error_codes.h"
#include "error_codes/ge_error_codes.h"

#endif
