//! Kernels for some launches of another one, which do the same with less.
//!
//! Loops over the grid run once ([`single_iteration`]), guards and clamps of the indices are left to the launch ([`remove_guards`],
//! [`remove_clamps`]), and an index that is taken apart becomes several dimensions ([`divide`]). The launch tells whether that is so: the
//! form names what it has to be.
//!
//! Requires: Stage::Source.  Ensures: the same work-items do the same, in another order, which is not defined. The kernel observes nothing
//! of the launch but its indices.

use super::clamped_indices::remove_clamps;
use super::divided_index::{bounded, divide};
use super::independent_iterations::IndependentIterations;
use super::index_extents::IndexExtent;
use super::index_guard::{IndexBounds, remove_guards};
use super::insts_of;
use super::single_iteration::{SingleIteration, single_iteration};
use crate::remove_dead;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::ops::Observed;
use heddle_ir::{Function, Op};

/// Kernel for some launches of another one.
#[derive(Clone, Debug)]
pub struct LaunchForm {
    /// The kernel.
    pub kernel: Function,
    /// If it divides the index, the kernel with a last parameter: the number of work-items, in 64 bits. Those beyond it do nothing.
    pub bounded: Option<Function>,
    /// If it divides the index, the extents of its launches from dimension 0 on. The last dimension has what is left.
    pub extents: Vec<IndexExtent>,
    /// Minimum of work-items of launches, which are fewer than [`MOST_ITERATIONS`] if there is one: loops over the grid run once in them.
    ///
    /// [`MOST_ITERATIONS`]: super::MOST_ITERATIONS
    pub limits: Vec<IndexExtent>,
    /// Iterations of a loop over the grid, if launches of fewer work-items may have one for each iteration.
    pub iterations: Option<IndependentIterations>,
    /// Numbers by dimension from which on work-items of the other kernel do nothing, or what the last one does. Those of this one do not ask.
    pub bounds: IndexBounds,
}

/// True if an instruction observes the launch, or the place of its work-item in it.
pub fn observes_launch(data: &InstData) -> bool {
    let observed = [Observed::Group, Observed::Launch, Observed::Position, Observed::Lanes];
    observed.iter().any(|&it| data.observes(it))
}

/// Makes a form of a kernel, called `kernel.divided` if it divides the index, `kernel.spread` if launches may have a work-item for each
/// iteration, and `kernel.cut` if they are cut at bounds. None if it would be no better, or if the kernel observes more than its indices.
/// `is_observer` tells functions that observe the launch.
pub fn launch_form(func: &Function, is_observer: impl Fn(&str) -> bool) -> Option<LaunchForm> {
    let (mut kernel, limits, is_all) = match single_iteration(func) {
        Some(SingleIteration { kernel, limits, is_all }) => (kernel, limits, is_all),
        None => (func.clone(), Vec::new(), false),
    };
    let mut bounds = remove_guards(&mut kernel);
    while remove_dead(&mut kernel) {}
    // Iterations of a work-item may clamp their indices to one cell and add to it.
    if !is_all {
        remove_clamps(&mut kernel, &mut bounds);
        while remove_dead(&mut kernel) {}
    }
    let mut dimensions = 1;
    for inst in insts_of(&kernel) {
        let data = kernel.inst(inst);
        match (data.op, &data.detail) {
            (Op::GlobalId, &Detail::Dimension(Some(dimension))) => dimensions = dimensions.max(dimension + 1),
            _ if observes_launch(data) => return None,
            _ if kernel.callee_of(data).is_some_and(|callee| is_observer(&callee.name)) => return None,
            _ => {}
        }
    }
    let bound = bounds[0].as_ref().and_then(IndexExtent::as_constant);
    let extents = if dimensions == 1 { divide(&mut kernel, bound) } else { Vec::new() };
    while remove_dead(&mut kernel) {}
    let iterations = if is_all { IndependentIterations::of(&kernel) } else { None };
    let what = match (&extents[..], &bounds, &iterations) {
        ([_, ..], ..) => "divided",
        (_, [None, None, None], None) => return None,
        (_, _, None) => "cut",
        (_, _, Some(_)) => "spread",
    };
    kernel.name = format!("{}.{what}", func.name);
    let bounded = if extents.is_empty() { None } else { Some(bounded(&kernel, &extents)?) };
    Some(LaunchForm { kernel, bounded, extents, limits, iterations, bounds })
}
