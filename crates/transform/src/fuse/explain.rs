//! Text of fusion remarks, with the profitability matrix.

use heddle_ir::{Block, Function};
use std::fmt::Write as _;

use super::FuseOptions;
use super::align::AlignmentStep;
use super::plan::FusionPlan;
use super::sides::{FusionRefusal, SideElement, UnifiableBranch};

/// Maximum sequence length for which the matrix is printed.
const MAX_SHOWN: usize = 24;

pub(super) fn refused(func: &Function, block: Block, reason: FusionRefusal) -> String {
    format!("branch at {} not fused: {reason}", func.describe_block(block))
}

/// Describes a plan: merged elements, gain, and on request the matrix.
pub(super) fn planned(
    func: &Function,
    branch: &UnifiableBranch,
    plan: &FusionPlan,
    divergence_rate: Option<f64>,
    options: &FuseOptions,
) -> String {
    let (insts, blocks) = plan.merged();
    let is_pair = |step: &AlignmentStep| matches!(step, AlignmentStep::Both(..));
    let gaps = plan.steps.chunk_by(|a, b| is_pair(a) == is_pair(b)).filter(|gap| !is_pair(&gap[0])).count();
    let verb = if plan.is_profitable() { "gains" } else { "would gain" };
    let mut text = format!(
        "branch at {}: merging {insts} instructions and {blocks} blocks of its {} and {} elements, with {gaps} gaps, {verb} {} tenths of an operation",
        func.describe_block(branch.block),
        branch.left.elements.len(),
        branch.right.elements.len(),
        plan.profit
    );
    if plan.profit > 0 && !plan.is_profitable() {
        text += ", less than the error of the cost model";
    }
    if let Some(share) = divergence_rate {
        let _ = write!(text, "; lanes diverged in {:.1} % of the visits", 100.0 * share);
    }
    if options.explain {
        text.push('\n');
        text += &matrix(func, branch, plan);
    }
    text
}

fn name(func: &Function, side: &super::sides::BranchSide, element: SideElement) -> String {
    match element {
        SideElement::Inst(inst) => {
            let result = func.results(inst).first().map_or(String::new(), |value| format!("{value} = "));
            format!("{result}{}", func.inst(inst).op)
        }
        SideElement::NestedRegion(number) => {
            let region = &side.regions[number];
            format!("{} blocks to {}", region.blocks.len(), region.exit)
        }
    }
}

/// Prints the matrix, a row for each element of the left side and a column for each of the right one, with the chosen path
/// marked, and the alignment below it.
fn matrix(func: &Function, branch: &UnifiableBranch, plan: &FusionPlan) -> String {
    let (left, right) = (&branch.left, &branch.right);
    let mut text = String::new();
    if left.elements.len().max(right.elements.len()) <= MAX_SHOWN {
        let mut way = vec![(0, 0)];
        for step in &plan.steps {
            let &(i, j) = way.last().unwrap_or(&(0, 0));
            way.push(match step {
                AlignmentStep::Both(..) => (i + 1, j + 1),
                AlignmentStep::Left(_) => (i + 1, j),
                AlignmentStep::Right(_) => (i, j + 1),
            });
        }
        for i in 0..=left.elements.len() {
            for j in 0..=right.elements.len() {
                let mark = if way.contains(&(i, j)) { '*' } else { ' ' };
                let _ = write!(text, "{:>7}{mark}", plan.matrix.best(i, j));
            }
            let element = i.checked_sub(1).map(|i| name(func, left, left.elements[i]));
            text += &format!("  {}", element.unwrap_or_default());
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
    }
    for step in &plan.steps {
        let (a, b) = match *step {
            AlignmentStep::Both(i, j) => {
                (name(func, left, left.elements[i]), name(func, right, right.elements[j]))
            }
            AlignmentStep::Left(i) => (name(func, left, left.elements[i]), String::new()),
            AlignmentStep::Right(j) => (String::new(), name(func, right, right.elements[j])),
        };
        let line = format!("    {a:<24} | {b}");
        text += line.trim_end();
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}
