/* Profiling; POOLGRAD_LOG=info gives the time of each launch: here so that programs that include it compile. */
#ifndef POOLGRAD_ACL_PROF_H
#define POOLGRAD_ACL_PROF_H

#include "acl_base.h"

#endif
