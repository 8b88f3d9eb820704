//! The papers' kernels and inputs, for a comparison with hardware.

use super::LANES;
use super::kernels::{FUSION, KernelTemplate, SCALARS, text_of};

pub(crate) use super::shapes::numbers;
pub(crate) use super::sweep::{input as sweep_input, kernel as sweep_kernel};

/// All kernels.
pub(crate) const PAPER_KERNELS: [&[KernelTemplate]; 2] = [SCALARS, FUSION];

/// Returns a kernel's text for a warp.
pub(crate) fn paper_kernel(text: &str) -> String {
    text_of(text, LANES)
}
