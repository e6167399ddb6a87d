/* Compilation of operators, of which a library for the CPU has none: here so that programs that include it compile. */
#ifndef POOLGRAD_ACL_OP_COMPILER_H
#define POOLGRAD_ACL_OP_COMPILER_H

#include "acl_op.h"

#endif
