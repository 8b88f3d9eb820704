//! What a stage promises beyond what always holds.

use super::Stage;
use super::graph::NONE;
use super::structure::{Body, Definition};
use super::violation::{Fault, PerLane, Place, Report};
use crate::inst::{Detail, InstData};
use crate::module::Kind;
use crate::ops::Op;
use crate::types::Type;
use crate::{Inst, ValueDef};

pub(super) fn check(body: &Body<'_>, stage: Stage, report: &mut Report) {
    let launches = body.each_inst().any(|(_, _, data)| data.op == Op::Launch);
    let is_wide = stage == Stage::Wide;
    if is_wide || launches {
        check_one_thread(body, report);
    } else {
        check_no_vectors(body, stage, report);
    }
    if launches {
        check_launches(body, stage, report);
    }
    match stage {
        Stage::Source | Stage::Wide => {}
        Stage::Canonical | Stage::Uniform => {
            check_no_predicates(body, stage, report);
            check_flow(body, stage, report);
            check_loops(body, report);
            if stage == Stage::Canonical {
                check_closed(body, report);
            }
        }
        Stage::Linear => check_flow(body, stage, report),
    }
}

fn check_no_vectors(body: &Body<'_>, stage: Stage, report: &mut Report) {
    let signature = &body.func.signature;
    let params = signature.params.iter().map(|param| param.ty);
    for ty in params.chain(signature.results.iter().map(|result| result.ty)).filter(|ty| ty.is_vector()) {
        report.at(Place::Function, Fault::EarlyVector { ty, stage });
    }
    for (number, inst, data) in body.each_inst() {
        if let Some(ty) = types_of(body, inst, data).find(|ty| ty.is_vector()) {
            report.at(body.place(number, inst), Fault::EarlyVector { ty, stage });
        }
    }
}

/// The types of results and of known operands.
fn types_of<'a>(body: &'a Body<'_>, inst: Inst, data: &'a InstData) -> impl Iterator<Item = Type> + 'a {
    let known = data.args.iter().filter(|&&arg| body.func.value_def(arg) != ValueDef::None);
    body.func.results(inst).iter().chain(known).map(|&value| body.func.value_type(value))
}

fn check_one_thread(body: &Body<'_>, report: &mut Report) {
    for &block in &body.blocks {
        if body.func.predicate(block).is_some() {
            report.at(Place::Block(block), Fault::OneThread(PerLane::Predicate));
        }
    }
    for (number, inst, data) in body.each_inst() {
        let place = body.place(number, inst);
        if data.is_total() {
            report.at(place, Fault::OneThread(PerLane::Total));
        }
        if data.shadow().is_some() {
            report.at(place, Fault::OneThread(PerLane::Shadow));
        }
        let asks_for_lanes = match data.op {
            Op::Lane | Op::Width | Op::Mask | Op::Broadcast | Op::First => true,
            Op::Any | Op::All | Op::Ballot | Op::Popcount | Op::Shuffle | Op::Reduce | Op::Scan => {
                let operand = data.args.first().filter(|&&arg| body.func.value_def(arg) != ValueDef::None);
                operand.is_some_and(|&arg| !body.func.value_type(arg).is_vector())
            }
            _ => false,
        };
        if asks_for_lanes {
            report.at(place, Fault::OneThread(PerLane::Op(data.op)));
        }
    }
}

fn check_launches(body: &Body<'_>, stage: Stage, report: &mut Report) {
    for (number, inst, data) in body.each_inst() {
        if data.op != Op::Launch {
            continue;
        }
        let place = body.place(number, inst);
        if stage == Stage::Wide {
            report.at(place, Fault::LateLaunch);
        }
        if matches!(body.func.kind, Kind::Kernel(_)) {
            report.at(place, Fault::LaunchInKernel);
        }
    }
}

fn check_no_predicates(body: &Body<'_>, stage: Stage, report: &mut Report) {
    for &block in &body.blocks {
        if body.func.predicate(block).is_some() {
            report.at(Place::Block(block), Fault::EarlyPredicate(stage));
        }
    }
}

/// Reachable, reducible, one `ret`, no `switch`.
fn check_flow(body: &Body<'_>, stage: Stage, report: &mut Report) {
    let mut first_return = None;
    for number in 0..body.count() {
        let block = body.block(number);
        if !body.dominators.is_reachable(number) {
            report.at(Place::Block(block), Fault::Unreachable);
        }
        let Some(&last) = body.insts(number).last() else { continue };
        let place = body.place(number, last);
        if body.dominators.is_reachable(number) {
            for &to in body.graph.succs(number) {
                if body.dominators.is_retreating(number, to) && !body.dominators.dominates(to, number) {
                    report.at(place, Fault::Irreducible { from: block, to: body.block(to) });
                }
            }
        }
        match (body.func.inst(last).op, first_return) {
            (Op::Ret, None) => first_return = Some(block),
            (Op::Ret, Some(first)) => report.at(place, Fault::SecondReturn { first }),
            (Op::Switch, _) => report.at(place, Fault::SwitchLeft(stage)),
            _ => {}
        }
    }
}

/// Preheaders, latches, exits. Unreachable blocks are no part of this.
fn check_loops(body: &Body<'_>, report: &mut Report) {
    let reachable_preds = |block: u32| {
        body.graph.preds(block).iter().copied().filter(|&pred| body.dominators.is_reachable(pred))
    };
    for (this, &header) in (0..).zip(body.loops.headers()) {
        let place = Place::Block(body.block(header));
        let is_inside = |pred: &u32| body.loops.contains(this, *pred);
        let mut entering = reachable_preds(header).filter(|pred| !is_inside(pred));
        let mut latches = reachable_preds(header).filter(is_inside);
        if let Some(preheader) = entering.next() {
            for second in entering {
                let (first, second) = (body.block(preheader), body.block(second));
                report.at(place, Fault::Preheaders { first, second });
            }
            if let Some(&other) = body.graph.succs(preheader).iter().find(|&&succ| succ != header) {
                let (preheader, other) = (body.block(preheader), body.block(other));
                report.at(place, Fault::PreheaderBranches { preheader, other });
            }
        }
        if let Some(first) = latches.next() {
            for second in latches {
                let (first, second) = (body.block(first), body.block(second));
                report.at(place, Fault::Latches { first, second });
            }
        }
    }
    for block in (0..body.count()).filter(|&block| body.dominators.is_reachable(block)) {
        // A block that one loop leaves to has all its predecessors inside that loop, innermost loops included:
        // so they all share their innermost loop.
        let leaves = |pred: &u32| {
            let inner = body.loops.innermost(*pred);
            inner != NONE && !body.loops.contains(inner, block)
        };
        let Some(exiting) = reachable_preds(block).find(leaves) else { continue };
        let inner = body.loops.innermost(exiting);
        if let Some(from) = reachable_preds(block).find(|&pred| body.loops.innermost(pred) != inner) {
            // One of the two loops is left from inside and reached from outside.
            let outer = body.loops.innermost(from);
            let (left, from) =
                if body.loops.contains(inner, from) { (outer, exiting) } else { (inner, from) };
            let header = body.block(body.loops.headers()[left as usize]);
            report.at(Place::Block(body.block(block)), Fault::SharedExit { header, from: body.block(from) });
        }
    }
}

/// Loop-closed SSA. What an access says of its base is a hint, no use that lanes could see differently.
fn check_closed(body: &Body<'_>, report: &mut Report) {
    for (number, inst, data) in body.each_inst() {
        let joined = match &data.detail {
            Detail::Phi(incoming) => incoming.len(),
            _ => 0,
        };
        let joining = data.incoming().map(|(from, value)| (body.number(from), value));
        let others = data.args.iter().skip(joined).map(|&value| (Some(number), value));
        for (used_in, value) in joining.chain(others) {
            let Some(used_in) = used_in.filter(|&block| body.dominators.is_reachable(block)) else {
                continue;
            };
            let Definition::At(defined_in, _) = body.definition(value) else { continue };
            let inner = body.loops.innermost(defined_in);
            if !body.loops.contains(inner, used_in) {
                let header = body.block(body.loops.headers()[inner as usize]);
                report.at(body.place(number, inst), Fault::NotClosed { value, header });
            }
        }
    }
}
