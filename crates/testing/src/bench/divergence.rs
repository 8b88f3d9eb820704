//! Divergence: passes that make lanes wait less for each other, in instructions and cycles of 32 lanes as a GPU runs them, and
//! as vector code of 16 lanes on this machine; how well their models foretell that; and how often the divergence analysis calls
//! branches divergent that stay together.

mod corpus;
mod kernels;
mod measure;
mod native;
mod shapes;
mod sweep;
pub(crate) mod papers;

use super::kit::BenchReport;
use crate::launches::trips_of;
use heddle_compiler::profile::BranchCounts;
use heddle_ir::{Block, Function};
use heddle_transform::flatten::TripCounts;
use measure::RunMeasurement;
use std::collections::BTreeMap;

const LANES: u32 = 32;

/// Profiles a run: two-way branches by block, loops by header.
fn profile_of(
    func: &Function,
    measured: &RunMeasurement,
) -> (Vec<(Block, BranchCounts)>, BTreeMap<Block, TripCounts>) {
    let (mut branches, mut loops) = (Vec::new(), BTreeMap::new());
    for block in func.blocks() {
        let branch = &measured.profile.branches[block];
        if let (&[left, right], &[a, b], &[x, y]) =
            (func.successors(block), &branch.lanes[..], &branch.taken[..])
        {
            let (executed, diverged) = (branch.executed, branch.diverged);
            let went =
                BranchCounts { executed, diverged, targets: [left, right], lanes: [a, b], taken: [x, y] };
            branches.push((block, went));
        }
        loops.extend(trips_of(&measured.profile, block).map(|trips| (block, trips)));
    }
    (branches, loops)
}

/// Measures one family.
type FamilyBench = fn(&mut BenchReport) -> Result<(), String>;

pub(super) fn run(report: &mut BenchReport) {
    for (family, measured) in [
        ("flatten", sweep::counted as FamilyBench),
        ("native", native::run),
        ("analysis", corpus::false_positives),
        ("scalars", shapes::scalars),
        ("fusion", shapes::fusion),
        ("growth", shapes::growth),
    ] {
        if report.is_on(family)
            && let Err(reason) = measured(report)
        {
            report.check(false, || format!("{family}: {reason}"));
        }
    }
}
