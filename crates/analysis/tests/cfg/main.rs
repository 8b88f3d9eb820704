//! Each control-flow analysis against a slow, obvious reference, on all small graphs and many random ones.

mod block_index;
mod cycles;
mod dominators;
mod frontier;
mod graphs;
mod growth;
mod liveness;
mod order;
mod sync_dependence;
