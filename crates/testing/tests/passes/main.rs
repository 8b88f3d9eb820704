//! Passes and analyses by themselves: what they promise, and that they keep the meaning.

mod brushes;
mod callee_forms;
mod flatten_options;
mod linearized;
mod refill;
mod retained;
mod roots;
mod stream;
mod thread;
mod uniformity;
