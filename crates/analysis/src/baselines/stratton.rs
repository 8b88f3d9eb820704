//! Variance analysis: everything data-dependent on the lane index varies.
//!
//! After: Stratton et al., *Efficient compilation of fine-grained SPMD-threaded programs for multicore CPUs*, CGO 2010, as
//! described by Coutinho et al., PACT 2011, sections I and III, and Moll, thesis, section 6.7: a forward slice from the
//! index and from atomics that ignores branches. The original keeps one bit per dimension of the group; this one keeps one
//! bit for the lanes of a brush.
//!
//! Unsound under divergent control flow: a φ in an influence region is uniform if its operands are, and so is a value from
//! different iterations of a loop.

use heddle_ir::Function;

use super::{BaselineResult, propagate};
use crate::control_tables::ControlTables;
use crate::divergence::InitialShapes;

/// Computes data dependence alone.
pub fn stratton(func: &Function, control: &ControlTables, initial: &InitialShapes) -> BaselineResult {
    propagate(func, control, initial, |_, _| ())
}
