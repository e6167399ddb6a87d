//! The programs that check themselves, each run plainly, under AddressSanitizer and under valgrind.

use crate::support::{Mode, run};

/// Stamps three tests for each program of `tests/c`.
macro_rules! programs {
    ($($name:ident: $source:literal $arguments:expr, $patient:expr;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn plain() {
                passes($source, Mode::Plain, &$arguments);
            }

            #[test]
            fn address_sanitizer() {
                passes($source, Mode::AddressSanitizer, &$arguments);
            }

            #[test]
            fn valgrind() {
                passes($source, Mode::Valgrind, &$patient);
            }
        }
    )*};
}

fn passes(source: &str, mode: Mode, arguments: &[&str]) {
    if let Some(ended) = run(source, mode, arguments, &[]) {
        ended.assert_passed();
    }
}

// Oracle: numbers worked out by hand in the programs, and the codes that CANN documents.
// The arguments stand first as they are, then as they are for valgrind, which is some fifty times slower.
programs! {
    adaptive_avg_pool3d: "adaptive_avg_pool3d.c" [], [];
    adaptive_avg_pool3d_backward: "adaptive_avg_pool3d_backward.c" [], [];
    adaptive_max_pool2d: "adaptive_max_pool2d.cpp" [], [];
    adaptive_max_pool2d_backward: "adaptive_max_pool2d_backward.c" [], [];
    adaptive_max_pool3d: "adaptive_max_pool3d.c" [], [];
    adaptive_max_pool3d_backward: "adaptive_max_pool3d_backward.cpp" [], [];
    max_pool3d_with_argmax: "max_pool3d_with_argmax.cpp" [], [];
    bench_tiny: "bench_tiny.cpp" ["2000"], ["200"];
    errors_adaptive_max_backward: "errors_adaptive_max_backward.cpp" [], [];
    errors_average: "errors_average.cpp" [], [];
    errors_max_forward: "errors_max_forward.cpp" [], [];
    errors_max_pool3d_backward: "errors_max_pool3d_backward.cpp" [], [];
    executors: "executors.cpp" [], [];
    half_types: "half_types.cpp" [], [];
    max_pool3d_with_argmax_backward: "max_pool3d_with_argmax_backward.cpp" [], [];
    memory: "memory.c" [], [];
    misuse_handles: "misuse_handles.c" [], [];
    misuse_pending: "misuse_pending.cpp" [], [];
    misuse_process: "misuse_process.c" [], [];
    objects: "objects.cpp" [], [];
    placement: "placement.cpp" [], [];
    program_end_abandoned: "program_end.cpp" ["abandoned"], ["abandoned"];
    program_end_globals: "program_end.cpp" ["globals"], ["globals"];
    program_end_threads: "program_end.cpp" ["threads"], ["threads"];
    rarely_called: "rarely_called.cpp" [], [];
    shared_streams: "shared_streams.cpp" [], [];
    stream_failures: "stream_failures.cpp" [], [];
    streams: "streams.cpp" [], [];
    strided: "strided.cpp" [], [];
    threads: "threads.cpp" ["1000"], ["20"];
    timeouts: "timeouts.cpp" [], [];
}
