//! Predicate rules: thesis Definition 11.1.

use super::ssa::dominates;
use super::structure::{DefSite, LayoutIndex, PlacedInst};
use super::violation::{ViolationKind, ViolationLocation, ViolationSink};
use crate::ops::Op;
use crate::types::Type;

pub(super) fn check(body: &LayoutIndex<'_>, number: u32, report: &mut ViolationSink) {
    let block = body.block(number);
    let Some(value) = body.func.predicate(block) else { return };
    let location = ViolationLocation::Block(block);
    let definition = body.definition(value);
    if definition == DefSite::Nowhere {
        report.at(location, ViolationKind::Undefined(value));
        return;
    }
    let found = body.func.value_type(value);
    if found != Type::I1 {
        report.at(location, ViolationKind::PredicateType { value, found });
    }
    match definition {
        DefSite::At(defined_in, position) if defined_in == number => {
            check_own(body, number, value, position, report);
        }
        DefSite::At(defined_in, _)
            if body.dominators.is_reachable(number) && !dominates(body, defined_in, number) =>
        {
            let defined_in = body.block(defined_in);
            report.at(location, ViolationKind::PredicateNotDominated { value, defined_in });
        }
        _ => {}
    }
}

/// Checks a block that computes its own predicate: up to the definition, everything is total. φs are exempt, since
/// they are evaluated under the control mask alone.
fn check_own(
    body: &LayoutIndex<'_>,
    number: u32,
    predicate: crate::Value,
    position: u32,
    report: &mut ViolationSink,
) {
    for PlacedInst { inst, data, location, .. } in body.sites(number) {
        let here = body.position(inst);
        if here > position {
            break;
        }
        if data.op != Op::Phi && !data.is_total() {
            let fault =
                ViolationKind::PredicateBehindPassive { op: data.op, predicate, defines: here == position };
            report.at(location, fault);
        }
    }
}
