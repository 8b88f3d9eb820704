//! Analyses: `&Function` in, a table of facts out.
#![forbid(unsafe_code)]
