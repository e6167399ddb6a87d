/* A program that opens the library, leaves a stream and a tensor in it, and closes it again. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

typedef int (*TakesPointer)(void *);
typedef int (*TakesInt)(int32_t);

int main(void) {
    int failed = 0;
    for (int round = 0; round < 3; round++) {
        void *library = dlopen("libascendcl.so", RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        void *stream = NULL;
        TakesPointer init = (TakesPointer)dlsym(library, "aclInit");
        TakesInt set_device = (TakesInt)dlsym(library, "aclrtSetDevice");
        TakesPointer create = (TakesPointer)dlsym(library, "aclrtCreateStream");
        TakesPointer synchronize = (TakesPointer)dlsym(library, "aclrtSynchronizeStream");
        const int status = init(NULL);
        failed += status != 0 && status != 100002;
        failed += set_device(0) != 0;
        failed += create(&stream) != 0;
        failed += synchronize(stream) != 0;
        failed += dlclose(library) != 0;
        /* Threads of the library that were asleep are awake by now, if they are to be. */
        usleep(20000);
    }
    printf("12 checks, %d failed\n", failed);
    return failed == 0 ? 0 : 1;
}
