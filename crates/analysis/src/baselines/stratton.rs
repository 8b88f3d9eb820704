//! Variance analysis: what depends on the lane's index by data, varies.
//!
//! After: Stratton et al., *Efficient compilation of fine-grained SPMD-threaded programs for multicore CPUs*, CGO 2010, as
//! Coutinho et al., PACT 2011, sections I and III, and Moll, thesis, section 6.7, describe it: a slice forward from the
//! index and from atomics that does not look at branches. The original keeps one bit for each dimension of the
//! group; here one says whether lanes of a brush differ.
//!
//! Where it is wrong: wherever control decides. A φ where lanes meet that have parted is uniform to it if what it
//! chooses from is, and so is what lanes bring from different rounds of a loop.

use heddle_ir::Function;

use super::{BaselineResult, propagate};
use crate::control_tables::ControlTables;
use crate::divergence::InitialShapes;

/// What varies by data dependence alone.
pub fn stratton(func: &Function, control: &ControlTables, initial: &InitialShapes) -> BaselineResult {
    propagate(func, control, initial, |_, _| ())
}
