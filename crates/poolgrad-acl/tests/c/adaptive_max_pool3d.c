/* aclnnAdaptiveMaxPool3d, in C: one volume without a batch, 2x2x3 to 1x1x2, indices in the volume. */
#include "aclnnop/aclnn_adaptive_max_pool3d.h"
#include "operand.h"

int main(void) {
    const int64_t whole[] = {1, 2, 2, 3};
    const int64_t pooled[] = {1, 1, 1, 2};
    const int64_t output_size[] = {1, 1, 2};
    const float values[] = {1, 2, 3, 4, 5, 6, 7, 20, 9, 10, 11, 12};
    float output[2];
    int32_t places[2];

    aclrtStream stream = set_up();
    Operand self = operand_as(ACL_FORMAT_NCDHW, whole, 4, ACL_FLOAT, values);
    Operand outputOut = operand_as(ACL_FORMAT_NCDHW, pooled, 4, ACL_FLOAT, NULL);
    Operand indicesOut = operand_as(ACL_FORMAT_NCDHW, pooled, 4, ACL_INT32, NULL);
    aclIntArray *outputSize = aclCreateIntArray(output_size, 3);

    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = NULL;
    MUST(aclnnAdaptiveMaxPool3dGetWorkspaceSize(self.tensor, outputSize, outputOut.tensor, indicesOut.tensor,
                                                &workspaceSize, &executor));
    MUST(launch(aclnnAdaptiveMaxPool3d, workspaceSize, executor, stream));
    read_back(&outputOut, output);
    read_back(&indicesOut, places);
    /* Both windows along W hold the middle column, where the 20 lies: d*6 + h*3 + w = 7. */
    CHECK(output[0] == 20 && output[1] == 20);
    CHECK(places[0] == 7 && places[1] == 7);

    CHECK_CODE(0, aclDestroyIntArray(outputSize));
    release(&self);
    release(&outputOut);
    release(&indicesOut);
    take_down(stream);
    return finish();
}
