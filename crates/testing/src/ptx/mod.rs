//! Generated PTX programs: every form of every supported instruction, in kernels with branches, loops, calls, memory of
//! all spaces and barriers.
//!
//! Vector code, and PTX emitted and parsed again, must give the interpreter's results.

mod program;
mod generate;
mod sensible;
mod determined;
mod cross_lane;
mod check;
mod drive;
mod modes;
mod assembler;
mod table_line;
mod lane_cases;
pub(crate) mod probe;

pub use assembler::{assembler, refused_by};
pub(crate) use check::launch as launch_of;
pub use check::{PtxCounts, check, check_with, shrunk};
pub use drive::{PtxReport, drive};
pub(crate) use generate::generate_products;
pub use generate::{generate, generate_for_gpu, is_cross_lane};
pub use lane_cases::{
    LANE_KERNEL, LANE_MEMBERS, LaneCase, LaneExpectation, LaneValues, lane_cases, lane_kernel, lane_values,
};
pub use modes::run_in_all_modes;
pub use program::PtxProgram;
pub use table_line::{TableLine, bits_of, is_nan, mask, tables, type_of, words_of};
