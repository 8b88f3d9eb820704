//! Passes: `&mut Function` in, the next stage out.
#![forbid(unsafe_code)]

pub mod boscc;
pub mod canonicalize;
pub mod linearize;
pub mod divergent_loops;
pub mod simplify;
pub mod tidy;

mod edges;
mod ssa_repair;

pub use boscc::guard_regions;
pub use canonicalize::{canonicalize, split_critical_edges};
pub use divergent_loops::{LoopFacts, make_loops_uniform};
pub use linearize::{Refusal, linearize};
pub use simplify::simplify;
pub use tidy::tidy;
