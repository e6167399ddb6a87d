// One operator of the table on inputs from files: OPERATOR TYPE FOLDER. The inputs are FOLDER/0, FOLDER/1 ... in the
// order of the signature, contiguous; the outputs are written beside them in the same way.
#include <fstream>
#include <iterator>

#include "operators.hpp"

int main(int argc, char **argv) {
    if (argc != 4) {
        return 2;
    }
    const aclDataType type = static_cast<aclDataType>(std::atoi(argv[2]));
    aclrtStream stream = set_up();
    for (const Operator &op : Operators()) {
        if (std::string(op.name) != argv[1]) {
            continue;
        }
        std::vector<Operand> operands;
        std::vector<aclTensor *> tensors;
        for (size_t i = 0; i < op.parts.size(); i++) {
            const Shape &shape = op.ShapeOf(i);
            std::ifstream file(std::string(argv[3]) + "/" + std::to_string(i), std::ios::binary);
            const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
            const size_t wanted = count_of(shape.data(), shape.size()) * aclDataTypeSize(op.TypeOf(i, type));
            CHECK(IsOutput(op.parts[i]) || bytes.size() == wanted);
            operands.push_back(operand_as(FormatOf(op), shape.data(), shape.size(), op.TypeOf(i, type),
                                          IsOutput(op.parts[i]) ? nullptr : bytes.data()));
            tensors.push_back(operands.back().tensor);
        }
        uint64_t workspaceSize = 0;
        aclOpExecutor *executor = nullptr;
        MUST(op.plan(tensors.data(), &workspaceSize, &executor));
        MUST(launch(op.run, workspaceSize, executor, stream));
        for (size_t i = 0; i < op.parts.size(); i++) {
            if (IsOutput(op.parts[i])) {
                std::vector<char> bytes(operands[i].bytes);
                read_back(&operands[i], bytes.data());
                std::ofstream file(std::string(argv[3]) + "/" + std::to_string(i), std::ios::binary);
                file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
                CHECK(file.good());
            }
            release(&operands[i]);
        }
    }
    take_down(stream);
    return finish();
}
