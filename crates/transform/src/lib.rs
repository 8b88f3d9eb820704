//! Passes: `&mut Function` in, the next stage out.
#![forbid(unsafe_code)]
