//! Passes and analyses by themselves: what they promise, and that they keep the meaning.
#![deny(unsafe_code)]

mod brushes;
mod callee_forms;
mod flatten_options;
mod linearized;
mod nests;
mod refill;
mod retained;
#[allow(unsafe_code, reason = "it calls machine code")]
mod roots;
mod stream;
mod thread;
mod uniformity;
