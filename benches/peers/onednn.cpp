// Times oneDNN's pooling gradients: a program beside the script, because oneDNN has no Python binding.
//
// Arguments: max or avg, f32 or bf16 or f16, seconds to measure, and then N C D H W, the window, the strides and the
// padding of each axis, and the output's D H W. Prints one line for each layout: its name, and the median time in
// milliseconds. What oneDNN cannot do in a layout is left out. OMP_NUM_THREADS says how many threads it uses.
//
// oneDNN's max gradient reads a workspace of its own, made by its forward operator, instead of indices. Making it is
// not timed.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

using dnnl::memory;

namespace {

struct Problem {
    dnnl::algorithm algorithm;
    memory::data_type dtype;
    double seconds;
    memory::dims input, window, strides, padding, padding_behind, output;
};

Problem parse(char **argv) {
    Problem problem;
    problem.algorithm = std::string(argv[1]) == "max" ? dnnl::algorithm::pooling_max
                                                      : dnnl::algorithm::pooling_avg_exclude_padding;
    const std::string dtype = argv[2];
    problem.dtype = dtype == "bf16"  ? memory::data_type::bf16
                    : dtype == "f16" ? memory::data_type::f16
                                     : memory::data_type::f32;
    problem.seconds = std::atof(argv[3]);
    char **next = argv + 4;
    auto take = [&next](int n) {
        memory::dims values;
        for (int i = 0; i < n; i++) values.push_back(std::atoll(*next++));
        return values;
    };
    problem.input = take(5);
    problem.window = take(3);
    problem.strides = take(3);
    problem.padding = take(3);
    problem.output = {problem.input[0], problem.input[1]};
    for (auto size : take(3)) problem.output.push_back(size);
    for (int i = 0; i < 3; i++) {
        const auto reach = (problem.output[i + 2] - 1) * problem.strides[i] + problem.window[i];
        problem.padding_behind.push_back(reach - problem.input[i + 2] - problem.padding[i]);
    }
    return problem;
}

// Random values between 0.5 and 1.5, in whatever order the layout has them.
void fill(memory &tensor, memory::data_type dtype) {
    const size_t size = tensor.get_desc().get_size();
    void *data = tensor.get_data_handle();
    std::mt19937 random(1);
    std::uniform_real_distribution<float> values(0.5f, 1.5f);
    if (dtype == memory::data_type::f32) {
        for (size_t i = 0; i < size / 4; i++) static_cast<float *>(data)[i] = values(random);
    } else {
        // The bit patterns of bf16 from 0.5 to 1.5, of f16 from 0.125 to 1.5: ordinary numbers in both.
        for (size_t i = 0; i < size / 2; i++)
            static_cast<uint16_t *>(data)[i] = (dtype == memory::data_type::bf16 ? 0x3f00 : 0x3000) + random() % 0xc0;
    }
}

double median_milliseconds(const Problem &problem, memory::format_tag layout, const dnnl::engine &engine) {
    dnnl::stream stream(engine);
    const memory::desc input(problem.input, problem.dtype, layout), output(problem.output, problem.dtype, layout);
    const dnnl::pooling_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, problem.algorithm, input, output, problem.strides, problem.window,
         problem.padding, problem.padding_behind},
        engine);
    const dnnl::pooling_backward::primitive_desc backward(
        {problem.algorithm, input, output, problem.strides, problem.window, problem.padding,
         problem.padding_behind},
        engine, forward);
    memory source(input, engine), grad_input(input, engine), result(output, engine), grad_output(output, engine);
    memory workspace(forward.workspace_desc(), engine);
    fill(source, problem.dtype);
    fill(grad_output, problem.dtype);
    dnnl::pooling_forward(forward).execute(
        stream, {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, result}, {DNNL_ARG_WORKSPACE, workspace}});
    const dnnl::pooling_backward gradient(backward);
    std::vector<double> times;
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    // The first call touches the memory and does not count.
    for (int run = 0; run < 10 || std::chrono::duration<double>(Clock::now() - begin).count() < problem.seconds; run++) {
        const auto start = Clock::now();
        gradient.execute(stream, {{DNNL_ARG_DIFF_DST, grad_output},
                                  {DNNL_ARG_DIFF_SRC, grad_input},
                                  {DNNL_ARG_WORKSPACE, workspace}});
        stream.wait();
        if (run > 0) times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4 + 5 + 3 * 4) {
        std::fprintf(stderr, "error: 20 arguments are wanted, got %d; peers.py gives them\n", argc - 1);
        return 2;
    }
    const Problem problem = parse(argv);
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    const std::pair<const char *, memory::format_tag> layouts[] = {
        {"ncdhw", memory::format_tag::ncdhw},
        {"ndhwc", memory::format_tag::ndhwc},
        {"nCdhw16c", memory::format_tag::nCdhw16c},
    };
    for (const auto &[name, layout] : layouts) {
        try {
            std::printf("%s %.6f\n", name, median_milliseconds(problem, layout, engine));
        } catch (const dnnl::error &) {
            // Not implemented for this type on this machine.
        }
    }
}
