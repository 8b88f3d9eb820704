//! Runs of programs as tests and the command line write them: in words, on the oracle or natively, with their traces.
#![forbid(unsafe_code)]

pub mod spec;
pub mod line;
pub mod wide_call;
pub mod native;
pub mod side_by_side;
pub mod trace_table;
