//! Refuses live-outs of divergent loops that change in lanes that have left: results of `total` instructions, masks, and
//! φs with shadows. No tracker can keep the value with which such a lane left.

use heddle_analysis::{Cfg, CycleForest};
use heddle_ir::diagnostic::{Code, Diagnostic, DiagnosticLocation};
use heddle_ir::{Block, Function, Inst, Op, Value};

use super::{LoopFacts, number};

/// Returns the diagnostic for a live-out that passive lanes change.
fn passive_live_out(func: &Function, value: Value, def: Inst, header: Block) -> Diagnostic {
    let text = format!(
        "{} is read after the loop at {}, but changes in lanes that have left it: it is `total`, a mask, or has a shadow",
        func.describe(value),
        func.describe_block(header)
    );
    let diagnostic = Diagnostic::error(Code::PassiveLiveOut, text).at(DiagnosticLocation::line_of(func, def));
    diagnostic.help("read a `freeze` of it, inside of the loop")
}

/// Refuses a function with such a live-out. In LCSSA form, φs after the loop are its only outside users.
pub(super) fn refuse(
    func: &Function,
    cfg: &Cfg,
    forest: &CycleForest,
    facts: &LoopFacts,
) -> Result<(), Diagnostic> {
    // A divergent inner loop may make its outer loop divergent.
    let mut may_diverge: Vec<bool> =
        forest.cycles().map(|cycle| facts.divergent_loops.contains(forest.header(cycle))).collect();
    for cycle in forest.cycles().rev().filter_map(|cycle| Some((cycle, forest.parent(cycle)?))) {
        may_diverge[number(cycle.1)] |= may_diverge[number(cycle.0)];
    }
    let is_passive = |inst: Inst| {
        let data = func.inst(inst);
        data.is_total() || data.shadow().is_some() || data.op == Op::Mask
    };
    for block in cfg.blocks() {
        let reads = func.block_insts(block).flat_map(|inst| func.inst(inst).args.iter().copied());
        for value in reads {
            let Some(def) = func.def_inst(value).filter(|&def| is_passive(def)) else { continue };
            let mut cycle = func.layout.block_of(def).and_then(|block_of_def| forest.innermost(block_of_def));
            while let Some(left) = cycle.filter(|&cycle| !forest.contains(cycle, block)) {
                if may_diverge[number(left)] {
                    return Err(passive_live_out(func, value, def, forest.header(left)));
                }
                cycle = forest.parent(left);
            }
        }
    }
    Ok(())
}
