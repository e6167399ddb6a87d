/* A program that links nothing and opens the libraries by name, as frameworks do: every operator has both phases in
 * every operator library, and all names are one library with one memory. The arguments are the operators. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int g_checks;
static int g_failed;

static void check(int holds, const char *what, const char *name) {
    g_checks++;
    if (!holds) {
        g_failed++;
        fprintf(stderr, "%s: %s\n", what, name);
    }
}

int main(int argc, char **argv) {
    static const char *const kOperatorLibraries[] = {"libopapi.so", "libopapi_nn.so"};
    static const char *const kLibraries[] = {"libascendcl.so",  "libacl_rt.so",    "libnnopbase.so",
                                             "libopapi.so",     "libopapi_nn.so",  "libopapi_math.so",
                                             "libacl_op_compiler.so"};
    char name[200];
    void *first = NULL;
    for (size_t i = 0; i < sizeof kLibraries / sizeof *kLibraries; i++) {
        void *library = dlopen(kLibraries[i], RTLD_NOW | RTLD_LOCAL);
        check(library != NULL, "does not open", kLibraries[i]);
        if (library == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            continue;
        }
        void *function = dlsym(library, "aclInit");
        first = first == NULL ? function : first;
        check(function != NULL && function == first, "is another library", kLibraries[i]);
    }
    for (size_t i = 0; i < sizeof kOperatorLibraries / sizeof *kOperatorLibraries; i++) {
        void *library = dlopen(kOperatorLibraries[i], RTLD_LAZY);
        for (int argument = 1; library != NULL && argument < argc; argument++) {
            check(dlsym(library, argv[argument]) != NULL, "no phase 2 of", argv[argument]);
            snprintf(name, sizeof name, "%sGetWorkspaceSize", argv[argument]);
            check(dlsym(library, name) != NULL, "no phase 1 of", argv[argument]);
        }
    }
    printf("%d checks, %d failed\n", g_checks, g_failed);
    return g_failed == 0 && argc > 1 ? 0 : 1;
}
