//! Analyses: `&Function` in, a table of facts out.
//!
//! Everything about the control-flow graph alone stands on [`Cfg`]. All of it is iterative, near-linear in
//! its input plus its output, and deterministic: the same graph gives the same tables, always.
#![forbid(unsafe_code)]

pub mod cfg;
pub mod order;

pub mod dominators;
pub mod frontier;

pub mod block_index;
pub mod cycles;

mod lists;
mod tree;

pub use block_index::BlockIndex;
pub use cfg::{Cfg, Edge};
pub use cycles::{Cycle, CycleForest};
pub use dominators::{Dominators, PostDominators};
pub use frontier::{ControlDependence, DominanceFrontier};
pub use order::DepthFirstOrder;
