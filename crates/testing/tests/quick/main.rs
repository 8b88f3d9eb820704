//! Fast tests that notice most faults within seconds; the first to run on each mutant (`./x mutants`).
#![forbid(unsafe_code)]

mod baselines;
mod common;
mod divergence;
mod folding;
mod linearize_graphs;
mod lock_step;
mod programs;
mod random;
