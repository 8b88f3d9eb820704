//! Heddle as a library: the pipeline, its options and its diagnostics.
#![forbid(unsafe_code)]
