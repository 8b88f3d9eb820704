//! Passes: `&mut Function` in, the next stage out.
#![forbid(unsafe_code)]

pub mod canonicalize;

mod edges;
mod ssa_repair;

pub use canonicalize::{canonicalize, split_critical_edges};
