//! Prints the support of SPIR-V for kernels; fails if something is missing.
#![forbid(unsafe_code)]

use heddle_testing::spirv_coverage::SpirvCoverage;
use std::process::ExitCode;

fn main() -> ExitCode {
    let coverage = SpirvCoverage::new();
    print!("{coverage}");
    if coverage.missing().next().is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
