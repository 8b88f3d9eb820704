//! Definitions dominate uses.

use super::structure::{Body, Definition, Site, used};
use super::violation::{Report, ViolationKind};
use crate::inst::Detail;
use crate::ops::Op;

pub(super) fn check(body: &Body<'_>, site: &Site<'_>, report: &mut Report) {
    let Site { number, data, place, .. } = *site;
    let joined = match &data.detail {
        Detail::Phi(incoming) => incoming.len(),
        _ => 0,
    };
    for (from, value) in data.incoming() {
        let Some(pred) = body.number(from).filter(|&pred| body.dominators.is_reachable(pred)) else {
            continue;
        };
        if let Definition::At(defined_in, _) = body.definition(value)
            && !dominates(body, defined_in, pred)
        {
            let defined_in = body.block(defined_in);
            report.at(place, ViolationKind::IncomingNotDominated { value, from, defined_in });
        }
    }
    if !body.dominators.is_reachable(number) {
        return;
    }
    // What is left of a φ is its shadow: a lane that does not enter here reads it at the start of the block.
    let position = if data.op == Op::Phi { 0 } else { body.position(site.inst) };
    for value in used(data).skip(joined) {
        let Definition::At(defined_in, defined_at) = body.definition(value) else { continue };
        let holds = match defined_in == number {
            true => defined_at < position,
            false => dominates(body, defined_in, number),
        };
        if !holds {
            let defined_in = (defined_in != number).then(|| body.block(defined_in));
            report.at(place, ViolationKind::NotDominated { value, defined_in });
        }
    }
}

/// Whether a reachable block is dominated by another; what is not reachable dominates none.
pub(super) fn dominates(body: &Body<'_>, above: u32, below: u32) -> bool {
    body.dominators.is_reachable(above) && body.dominators.dominates(above, below)
}
