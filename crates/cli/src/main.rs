//! The `heddle` command.
#![forbid(unsafe_code)]

fn main() {}
