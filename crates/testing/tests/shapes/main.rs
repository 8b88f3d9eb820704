//! Shapes against the oracle: every transfer function, over all shapes and all values at small widths.
//!
//! Sound: whatever values the operands' shapes allow, the result's shape allows what comes out. Best: no smaller shape
//! does. The concrete operations are the oracle's (`heddle_interp::scalar`); what a shape allows is written down once
//! more here, as plainly as it can be, in [`vectors`].
#![allow(missing_docs, unreachable_pub)]

mod vectors;
mod operations;
mod checker;
mod elementwise;
mod horizontals;
mod queries;
mod faults;
