/* The header that operators share, where older programs look for it. */
#include "../aclnn_util.h"
