//! The lock-step IR.
#![forbid(unsafe_code)]

pub mod entity;

entity! {
    /// A basic block.
    Block, "block"
}
