/* Codes of the graph engine, which programs compare with; nothing here returns them. */
#ifndef POOLGRAD_ACL_GE_ERROR_CODES_H
#define POOLGRAD_ACL_GE_ERROR_CODES_H

#include <stdint.h>

static const uint32_t ACL_ERROR_GE_PARAM_INVALID = 145000;
static const uint32_t ACL_ERROR_GE_FORMAT_INVALID = 145020;
static const uint32_t ACL_ERROR_GE_SHAPE_INVALID = 145021;
static const uint32_t ACL_ERROR_GE_DATATYPE_INVALID = 145022;
static const uint32_t ACL_ERROR_GE_MEMORY_ALLOCATION = 245000;
static const uint32_t ACL_ERROR_GE_INTERNAL_ERROR = 545000;

#endif
