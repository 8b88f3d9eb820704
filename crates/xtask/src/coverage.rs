//! Lists of what front ends take: `./x coverage`.

use crate::builds::tool;
use crate::run::{XtaskResult, pass};
use clap::ValueEnum;

/// Interfaces whose entries are listed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CoveredInterface {
    /// Instructions and intrinsics of LLVM
    Llvm,
    /// Builtin functions of OpenCL C
    Opencl,
    /// Entries of the OpenCL interface
    OpenclApi,
    /// Entries of CUDA's driver interface
    Cuda,
    /// Entries of cuBLAS
    Cublas,
    /// Entries of cuFFT
    Cufft,
    /// Entries of cuSOLVER
    Cusolver,
    /// Entries of cuSPARSE
    Cusparse,
    /// Forms of all instructions of PTX
    Ptx,
    /// SPIR-V for kernels: instructions, OpenCL.std, capabilities, decorations, execution modes and builtin variables
    Spirv,
}

impl CoveredInterface {
    /// Returns the program that prints the list.
    fn program(self) -> &'static str {
        match self {
            CoveredInterface::Llvm => "coverage",
            CoveredInterface::Opencl => "opencl-coverage",
            CoveredInterface::OpenclApi => "opencl-api",
            CoveredInterface::Cuda => "cuda-api",
            CoveredInterface::Cublas => "cublas-api",
            CoveredInterface::Cufft => "cufft-api",
            CoveredInterface::Cusolver => "cusolver-api",
            CoveredInterface::Cusparse => "cusparse-api",
            CoveredInterface::Ptx => "ptx-coverage",
            CoveredInterface::Spirv => "spirv-coverage",
        }
    }
}

/// `./x coverage`
pub(crate) fn coverage(interface: CoveredInterface) -> XtaskResult {
    pass(&mut tool(interface.program())?)
}
