//! SSA rule: definitions dominate uses.

use super::structure::{DefSite, LayoutIndex, PlacedInst, used};
use super::violation::{ViolationKind, ViolationSink};
use crate::inst::Detail;
use crate::ops::Op;

pub(super) fn check(body: &LayoutIndex<'_>, site: &PlacedInst<'_>, report: &mut ViolationSink) {
    let PlacedInst { number, data, location, .. } = *site;
    let joined = match &data.detail {
        Detail::Phi(incoming) => incoming.len(),
        _ => 0,
    };
    for (from, value) in data.incoming() {
        let Some(pred) = body.number(from).filter(|&pred| body.dominators.is_reachable(pred)) else {
            continue;
        };
        if let DefSite::At(defined_in, _) = body.definition(value)
            && !dominates(body, defined_in, pred)
        {
            let defined_in = body.block(defined_in);
            report.at(location, ViolationKind::IncomingNotDominated { value, from, defined_in });
        }
    }
    if !body.dominators.is_reachable(number) {
        return;
    }
    // The remaining operand of a φ is its shadow, read at the start of the block by lanes that do not enter.
    let position = if data.op == Op::Phi { 0 } else { body.position(site.inst) };
    for value in used(data).skip(joined) {
        let DefSite::At(defined_in, defined_at) = body.definition(value) else { continue };
        let holds = match defined_in == number {
            true => defined_at < position,
            false => dominates(body, defined_in, number),
        };
        if !holds {
            let defined_in = (defined_in != number).then(|| body.block(defined_in));
            report.at(location, ViolationKind::NotDominated { value, defined_in });
        }
    }
}

/// True if a block dominates a reachable block; unreachable blocks dominate none.
pub(super) fn dominates(body: &LayoutIndex<'_>, above: u32, below: u32) -> bool {
    body.dominators.is_reachable(above) && body.dominators.dominates(above, below)
}
