//! Generated programs of PTX: every form of every instruction that is taken, in kernels with branches, loops, calls, memory of
//! all spaces and barriers.
//!
//! Checked is: what the oracle gives is what vector code gives, and what comes back of PTX that went out.

mod program;
mod generate;
mod sensible;
mod together;
mod check;
mod drive;
mod ways;
mod assembler;

pub use assembler::{assembler, refused_by};
pub use check::{PtxCounts, check, check_with, shrunk};
pub use drive::{PtxReport, drive};
pub use generate::generate;
pub use program::PtxProgram;
pub use ways::in_all_ways;
