/* Checks that count themselves: a program ends with `return finish();` and says how many it made. C and C++. */
#ifndef POOLGRAD_TESTS_CHECK_H
#define POOLGRAD_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"

static int g_checks;
static int g_failed;

/* Counts a check; says where and what when it fails. */
static inline int check_that(int holds, const char *file, int line, const char *what) {
    __atomic_add_fetch(&g_checks, 1, __ATOMIC_RELAXED);
    if (!holds) {
        __atomic_add_fetch(&g_failed, 1, __ATOMIC_RELAXED);
        fprintf(stderr, "%s:%d: check failed: %s\n", file, line, what);
    }
    return holds;
}

static inline int check_code(long want, long got, const char *file, int line, const char *what) {
    char text[400];
    snprintf(text, sizeof text, "%s: wanted %ld, got %ld", what, want, got);
    return check_that(want == got, file, line, text);
}

/* Takes the newest message away; true if it has `part` in it. */
static inline int message_has(const char *part) {
    const char *message = aclGetRecentErrMsg();
    if (message != NULL && strstr(message, part) != NULL) {
        return 1;
    }
    fprintf(stderr, "no \"%s\" in the message: %s\n", part, message == NULL ? "(none)" : message);
    return 0;
}

/* The condition holds. */
#define CHECK(condition) check_that((condition) ? 1 : 0, __FILE__, __LINE__, #condition)

/* The call returns this code. */
#define CHECK_CODE(want, call) check_code((long)(want), (long)(call), __FILE__, __LINE__, #call)

/* The call returns 0; nothing after it makes sense otherwise. */
#define MUST(call)                                            \
    do {                                                      \
        if (!CHECK_CODE(0, call)) {                           \
            exit(finish());                                   \
        }                                                     \
    } while (0)

/* The call fails with this code and leaves a message that names `part`. */
#define CHECK_REFUSED(want, part, call)                       \
    do {                                                      \
        (void)aclGetRecentErrMsg();                           \
        CHECK_CODE(want, call);                               \
        CHECK(message_has(part));                             \
    } while (0)

/* Prints the counts and gives the exit status of the program. */
static inline int finish(void) {
    printf("%d checks, %d failed\n", g_checks, g_failed);
    return g_failed == 0 && g_checks > 0 ? 0 : 1;
}

#endif
