// Configuration files of aclInit. The first argument is a folder to write them to.
#include <fstream>
#include <string>
#include <thread>

#include "check.h"

namespace {

std::string Write(const std::string &folder, const char *text) {
    const std::string path = folder + "/acl.json";
    std::ofstream(path) << text;
    return path;
}

}  // namespace

int main(int argc, char **argv) {
    const std::string folder = argc > 1 ? argv[1] : ".";
    CHECK_CODE(100003, aclInit((folder + "/none.json").c_str()));
    CHECK_CODE(100003, aclInit(folder.c_str()));
    CHECK_CODE(100000, aclInit(Write(folder, "{\"err_msg_mode\": \"2\"}").c_str()));
    CHECK(aclInit(Write(folder, "{\"err_msg_mode\": ").c_str()) != 0);
    CHECK(aclInit(Write(folder, std::string(100000, '[').c_str()).c_str()) != 0);
    const std::string good = Write(folder, "{\"dump\": {\"dump_list\": []}, \"err_msg_mode\": \"1\", \"other\": 3.5e2}");
    CHECK_CODE(0, aclInit(good.c_str()));
    CHECK_CODE(100002, aclInit(good.c_str()));
    // With mode 1 messages belong to the process.
    std::thread([] { CHECK_CODE(100000, aclrtFree(nullptr)); }).join();
    CHECK(message_has("aclrtFree"));
    CHECK_CODE(0, aclFinalize());
    // A second configuration in one process has to be the first.
    CHECK_CODE(100000, aclInit(Write(folder, "{}").c_str()));
    return finish();
}
