//! What notices most faults within seconds, and is asked about each mutant (`./x mutants`).
#![forbid(unsafe_code)]

mod baselines;
mod common;
mod divergence;
mod files;
mod folding;
mod linearize_graphs;
mod lock_step;
mod programs;
mod random;
