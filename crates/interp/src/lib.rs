//! The oracle: executes the lock-step IR by its definition, `W` lanes at a time.
#![forbid(unsafe_code)]

pub mod scalar;
