//! Canonicalize and simplify, pass by pass: the form that they promise, and the meaning that they keep.

mod common;
mod folding;
mod linearize_graphs;
mod lock_step;
mod random;
