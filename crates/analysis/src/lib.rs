//! Analyses: from `&Function` to a table of facts.
//!
//! Control-flow analyses only need a [`Cfg`]. All are iterative, near-linear in input plus output, and deterministic.
//!
//! ```
//! use heddle_analysis::{BlockIndex, Cfg, CycleForest, DominatorTree};
//! use heddle_ir::Block;
//!
//! // block0 enters a loop of block1 and block3; block2 is its exit.
//! let edges = [(0, 1), (1, 2), (1, 3), (3, 1)];
//! let block = Block::from_u32;
//! let cfg = Cfg::from_edges(4, block(0), edges.map(|(from, to)| (block(from), block(to))));
//!
//! let dominators = DominatorTree::new(&cfg);
//! assert_eq!(dominators.idom(block(2)), Some(block(1)));
//!
//! let cycles = CycleForest::new(&cfg);
//! let the_loop = cycles.innermost(block(3)).expect("block3 is in a loop");
//! assert_eq!(cycles.header(the_loop), block(1));
//! assert_eq!(cycles.exits(&cfg, the_loop), [block(2)]);
//!
//! let index = BlockIndex::new(&cfg, &dominators, &cycles);
//! assert_eq!(index.order(), [0, 1, 3, 2].map(block));
//! ```
#![forbid(unsafe_code)]

pub mod cfg;
pub mod order;

pub mod dominators;
pub mod frontier;

pub mod block_index;
pub mod cycles;

pub mod liveness;
pub mod range;
pub mod exact;
pub mod shape;

pub mod control_tables;
pub mod sync_dependence;

pub mod access_groups;
pub mod address;
pub mod alloca_ssa;
pub mod points_to;

pub mod divergence;
pub mod lane_parts;
pub mod nondivergence;
pub mod uniform_operations;
pub mod explain;

pub mod baselines;

mod lists;
mod tree;
mod uses;

pub use access_groups::{
    AccessGroup, AccessGroups, GroupedAccess, StrideCondition, StridePattern, UniformBound,
};
pub use address::{AddressSum, AddressTerm, Extension, object_and_offset, underlying_object};
pub use block_index::BlockIndex;
pub use cfg::{Cfg, Edge};
pub use control_tables::ControlTables;
pub use cycles::{Cycle, CycleForest};
pub use divergence::{Agreement, Divergence, InitialShapes, ResultSummaries, SlotFact, divergence};
pub use dominators::{DominatorTree, PostDominatorTree};
pub use explain::{CauseChain, DivergenceExplanations};
pub use frontier::{ControlDependence, DominanceFrontier};
pub use lane_parts::LaneParts;
pub use liveness::{LiveRange, LiveSets, Liveness};
pub use nondivergence::region_of_nondivergence;
pub use order::DepthFirstOrder;
pub use range::{IntegerRange, operation_range, result_range};
pub use shape::{Activation, Fact, Shape, UniformityLevel};
pub use sync_dependence::{ControlDivergence, InfluenceRegion, Join, SyncDependence};
pub use uniform_operations::UniformOperations;
