//! Predicates of blocks: thesis Definition 11.1.

use super::ssa::dominates;
use super::structure::{Body, Definition, Site};
use super::violation::{Report, ViolationKind, ViolationLocation};
use crate::ops::Op;
use crate::types::Type;

pub(super) fn check(body: &Body<'_>, number: u32, report: &mut Report) {
    let block = body.block(number);
    let Some(value) = body.func.predicate(block) else { return };
    let place = ViolationLocation::Block(block);
    let definition = body.definition(value);
    if definition == Definition::Nowhere {
        report.at(place, ViolationKind::Undefined(value));
        return;
    }
    let found = body.func.value_type(value);
    if found != Type::I1 {
        report.at(place, ViolationKind::PredicateType { value, found });
    }
    match definition {
        Definition::At(defined_in, position) if defined_in == number => {
            check_own(body, number, value, position, report);
        }
        Definition::At(defined_in, _)
            if body.dominators.is_reachable(number) && !dominates(body, defined_in, number) =>
        {
            let defined_in = body.block(defined_in);
            report.at(place, ViolationKind::PredicateNotDominated { value, defined_in });
        }
        _ => {}
    }
}

/// The block computes its predicate itself: until that is done, no lane may be passive by it. φs are evaluated under
/// the control mask alone.
fn check_own(body: &Body<'_>, number: u32, predicate: crate::Value, position: u32, report: &mut Report) {
    for Site { inst, data, place, .. } in body.sites(number) {
        let here = body.position(inst);
        if here > position {
            break;
        }
        if data.op != Op::Phi && !data.is_total() {
            let fault =
                ViolationKind::PredicateBehindPassive { op: data.op, predicate, defines: here == position };
            report.at(place, fault);
        }
    }
}
