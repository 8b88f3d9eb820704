//! Benchmarks: each checks results, prints its tables, and ends with one line per aim.
//!
//! `./x bench` lists them, `./x bench NAME` runs one. Times are compared within one run only: measurements are
//! interleaved, and figures are medians, minima, ratios, or growth exponents.

pub mod kit;

mod analysis;
mod brushes;
mod compile;
mod in_process;
mod cost;
mod cuda_openmp;
pub(crate) mod divergence;
mod form_template;
mod images;
mod interp;
mod ir;
mod kernels;
mod loops;
mod math;
mod native;
mod opencl;
mod opencl_choice;
mod opencl_first;
mod opencl_forms;
mod programs;
pub(crate) mod ptx;
mod tensor;
mod transform;

use kit::BenchReport;

/// A benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark {
    /// The name on the command line.
    pub name: &'static str,
    /// One-line description of the benchmark.
    pub about: &'static str,
    /// Measures it.
    pub run: fn(&mut BenchReport),
}

/// All benchmarks.
pub const BENCHES: &[Benchmark] = &[
    Benchmark {
        name: "ir",
        about: "text, verifier, analyses and passes, and how they grow with the program; speed of the interpreter",
        run: ir::run,
    },
    Benchmark {
        name: "interp",
        about: "the last part of `ir` by itself: speed of the interpreter",
        run: interp::run,
    },
    Benchmark {
        name: "analysis",
        about: "divergence: growth, speed and memory; what it and the published analyses prove, and where those are wrong",
        run: analysis::run,
    },
    Benchmark {
        name: "transform",
        about: "passes up to stage Linear: growth and speed; control flow kept next to other ways to fold",
        run: transform::run,
    },
    Benchmark {
        name: "native",
        about: "C functions as native vector code, next to scalar code and the loops that clang vectorizes",
        run: native::run,
    },
    Benchmark {
        name: "loops",
        about: "marked loops by the plugin, next to clang's scalar code and the vectorizers of clang and gcc",
        run: loops::run,
    },
    Benchmark {
        name: "tensor",
        about: "marked nests of loops by the plugin, next to clang and gcc, with and without marks",
        run: tensor::run,
    },
    Benchmark {
        name: "opencl",
        about: "the OpenCL driver next to PoCL and Intel's runtime, kernel by kernel",
        run: opencl::run,
    },
    Benchmark {
        name: "images",
        about: "filters on images by the OpenCL driver, PoCL and Intel's runtime, and on buffers",
        run: images::run,
    },
    Benchmark {
        name: "first",
        about: "building and the first 1 to 1,000 launches, on an empty cache and in a second process, next to PoCL and Intel's runtime",
        run: opencl_first::run,
    },
    Benchmark {
        name: "unseen",
        about: "building and the first launches of 72 kernels that nobody tuned for, as applications write them",
        run: opencl_first::run_unseen,
    },
    Benchmark {
        name: "forms",
        about: "computations in each form that a kernel can have, next to the best form, PoCL and Intel's runtime; --quick: few launches",
        run: opencl_forms::run,
    },
    Benchmark {
        name: "choice",
        about: "the first code of each kernel, chosen by estimates, next to all codes that it was chosen from",
        run: opencl_choice::run,
    },
    Benchmark {
        name: "cuda-openmp",
        about: "21 CUDA programs on our driver, next to C with OpenMP that computes the same (`./x bench cuda openmp`)",
        run: cuda_openmp::run,
    },
    Benchmark {
        name: "opencl-own",
        about: "the OpenCL driver next to itself: scalar code, one mechanism more or less, kernel by kernel",
        run: opencl::run_own,
    },
    Benchmark {
        name: "opencl-start",
        about: "building and the first launch by the OpenCL driver, PoCL and Intel's runtime, kernel by kernel",
        run: opencl::run_start,
    },
    Benchmark {
        name: "brushes",
        about: "loops that wait for themselves, as vector code of one brush and of several; masks in the machine's form",
        run: brushes::run,
    },
    Benchmark {
        name: "compile",
        about: "C functions made vector code: the time of our passes next to that of clang -O3's on the same modules",
        run: compile::run,
    },
    Benchmark {
        name: "ptx",
        about: "CUDA kernels in PTX: instructions, transactions and cycles of warps before and after passes; speed of the parser",
        run: ptx::run,
    },
    Benchmark {
        name: "divergence",
        about: "nests flattened, in instructions and cycles of 32 lanes; branches that the analysis calls divergent in vain",
        run: divergence::run,
    },
    Benchmark {
        name: "cost",
        about: "operations on vectors: what they cost on this machine, next to what passes choose by",
        run: cost::run,
    },
    Benchmark {
        name: "math",
        about: "mathematical functions on vectors, next to SLEEF, libmvec and the C library's scalar ones",
        run: math::run,
    },
];
