//! Generated PTX programs: every form of every supported instruction, in kernels with branches, loops, calls, memory of
//! all spaces and barriers.
//!
//! Vector code, and PTX emitted and parsed again, must give the interpreter's results.

mod program;
mod generate;
mod sensible;
mod cross_lane;
mod check;
mod drive;
mod modes;
mod assembler;

pub use assembler::{assembler, refused_by};
pub use check::{PtxCounts, check, check_with, shrunk};
pub use drive::{PtxReport, drive};
pub use generate::generate;
pub use modes::run_in_all_modes;
pub use program::PtxProgram;
