//! The harness itself: its generators, its tools, and the session that it runs.
#![forbid(unsafe_code)]

mod bad_input;
mod crate_graph;
mod cut_off;
mod documents;
mod generated;
mod mutants;
mod naming;
mod op_coverage;
mod replay;
mod session;
