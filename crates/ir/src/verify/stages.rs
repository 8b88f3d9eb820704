//! Stage rules: what a stage requires beyond the general rules.

use super::Stage;
use super::graph::NONE;
use super::structure::{DefSite, LayoutIndex, PlacedInst};
use super::violation::{LaneConstruct, ViolationKind, ViolationLocation, ViolationSink};
use crate::inst::Detail;
use crate::module::FunctionKind;
use crate::ops::Op;
use crate::types::Type;
use crate::{Block, Function, ValueDef};

/// Rules of a stage, with the state of the pass over the function.
pub(super) struct StageRules<'b> {
    body: &'b LayoutIndex<'b>,
    stage: Stage,
    launches: bool,
    first_return: Option<Block>,
}

impl<'b> StageRules<'b> {
    pub(super) fn new(body: &'b LayoutIndex<'b>, stage: Stage) -> StageRules<'b> {
        // A function that launches has a declaration of the launched one.
        let launches = !body.func.callees.is_empty()
            && (0..body.count()).any(|number| body.sites(number).any(|site| site.data.op == Op::Launch));
        StageRules { body, stage, launches, first_return: None }
    }

    /// True if one thread executes the code, not a brush of lanes.
    fn is_one_thread(&self) -> bool {
        self.stage == Stage::Wide || self.launches
    }

    fn is_canonical(&self) -> bool {
        matches!(self.stage, Stage::Canonical | Stage::Uniform)
    }

    /// Checks the function as a whole.
    pub(super) fn check_function(&self, report: &mut ViolationSink) {
        if !self.is_one_thread() {
            let signature = &self.body.func.signature;
            let params = signature.params.iter().map(|param| param.ty);
            let types = params.chain(signature.results.iter().map(|result| result.ty));
            for ty in types.filter(|ty| ty.is_vector()) {
                report.at(ViolationLocation::Function, ViolationKind::EarlyVector { ty, stage: self.stage });
            }
        }
        if self.is_canonical() {
            check_loops(self.body, report);
        }
    }

    /// Checks a block, apart from its instructions: reachability and predicate.
    pub(super) fn check_block(&self, number: u32, report: &mut ViolationSink) {
        let block = self.body.block(number);
        if self.body.func.predicate(block).is_some() {
            if self.is_one_thread() {
                report
                    .at(ViolationLocation::Block(block), ViolationKind::OneThread(LaneConstruct::Predicate));
            }
            if self.is_canonical() {
                report.at(ViolationLocation::Block(block), ViolationKind::EarlyPredicate(self.stage));
            }
        }
        if !matches!(self.stage, Stage::Source | Stage::Wide) && !self.body.dominators.is_reachable(number) {
            report.at(ViolationLocation::Block(block), ViolationKind::Unreachable);
        }
    }

    pub(super) fn check(&mut self, site: &PlacedInst<'_>, report: &mut ViolationSink) {
        if self.is_one_thread() {
            check_one_thread(self.body.func, site, report);
        } else if let Some(ty) = types_of(self.body.func, site).find(|ty| ty.is_vector()) {
            report.at(site.location, ViolationKind::EarlyVector { ty, stage: self.stage });
        }
        if site.data.op == Op::Launch {
            self.check_launch(site, report);
        }
        if !matches!(self.stage, Stage::Source | Stage::Wide)
            && self.body.insts(site.number).last() == Some(&site.inst)
        {
            self.check_flow(site, report);
        }
        if self.stage == Stage::Canonical {
            check_closed(self.body, site, report);
        }
    }

    fn check_launch(&self, site: &PlacedInst<'_>, report: &mut ViolationSink) {
        if self.stage == Stage::Wide {
            report.at(site.location, ViolationKind::LateLaunch);
        }
        if matches!(self.body.func.kind, FunctionKind::Kernel(_)) {
            report.at(site.location, ViolationKind::LaunchInKernel);
        }
    }

    /// Checks the end of a block: reducible, one `ret`, no `switch`.
    fn check_flow(&mut self, site: &PlacedInst<'_>, report: &mut ViolationSink) {
        let (body, from) = (self.body, self.body.block(site.number));
        if body.dominators.is_reachable(site.number) {
            for &to in body.graph.succs(site.number) {
                if body.dominators.is_retreating(site.number, to)
                    && !body.dominators.dominates(to, site.number)
                {
                    report.at(site.location, ViolationKind::Irreducible { from, to: body.block(to) });
                }
            }
        }
        match (site.data.op, self.first_return) {
            (Op::Ret, None) => self.first_return = Some(from),
            (Op::Ret, Some(first)) => report.at(site.location, ViolationKind::SecondReturn { first }),
            (Op::Switch, _) => report.at(site.location, ViolationKind::SwitchLeft(self.stage)),
            _ => {}
        }
    }
}

/// Types of the results and of the defined operands.
fn types_of<'a>(func: &'a Function, site: &PlacedInst<'a>) -> impl Iterator<Item = Type> + 'a {
    let known = site.data.args.iter().filter(|&&arg| func.value_def(arg) != ValueDef::None);
    func.results(site.inst).iter().chain(known).map(|&value| func.value_type(value))
}

fn check_one_thread(func: &Function, site: &PlacedInst<'_>, report: &mut ViolationSink) {
    let data = site.data;
    if data.is_total() {
        report.at(site.location, ViolationKind::OneThread(LaneConstruct::Total));
    }
    if data.shadow().is_some() {
        report.at(site.location, ViolationKind::OneThread(LaneConstruct::Shadow));
    }
    let queries_lanes = match data.op {
        Op::Lane | Op::Width | Op::Mask | Op::Broadcast | Op::First => true,
        Op::Any | Op::All | Op::Ballot | Op::Popcount | Op::Shuffle | Op::Reduce | Op::Scan => {
            let operand = data.args.first().filter(|&&arg| func.value_def(arg) != ValueDef::None);
            operand.is_some_and(|&arg| !func.value_type(arg).is_vector())
        }
        _ => false,
    };
    if queries_lanes {
        report.at(site.location, ViolationKind::OneThread(LaneConstruct::Op(data.op)));
    }
}

/// Checks preheaders, latches and exits, among reachable blocks.
fn check_loops(body: &LayoutIndex<'_>, report: &mut ViolationSink) {
    let reachable_preds = |block: u32| {
        body.graph.preds(block).iter().copied().filter(|&pred| body.dominators.is_reachable(pred))
    };
    for (this, &header) in (0..).zip(body.loops.headers()) {
        let location = ViolationLocation::Block(body.block(header));
        let is_inside = |pred: &u32| body.loops.contains(this, *pred);
        let mut entering = reachable_preds(header).filter(|pred| !is_inside(pred));
        let mut latches = reachable_preds(header).filter(is_inside);
        if let Some(preheader) = entering.next() {
            for second in entering {
                let (first, second) = (body.block(preheader), body.block(second));
                report.at(location, ViolationKind::Preheaders { first, second });
            }
            if let Some(&other) = body.graph.succs(preheader).iter().find(|&&succ| succ != header) {
                let (preheader, other) = (body.block(preheader), body.block(other));
                report.at(location, ViolationKind::PreheaderBranches { preheader, other });
            }
        }
        if let Some(first) = latches.next() {
            for second in latches {
                let (first, second) = (body.block(first), body.block(second));
                report.at(location, ViolationKind::Latches { first, second });
            }
        }
    }
    for block in (0..body.count()).filter(|&block| body.dominators.is_reachable(block)) {
        // All predecessors of a dedicated exit are inside the loop, but not in deeper loops, whose exits must be dedicated
        // too: so they share their innermost loop.
        let leaves = |pred: &u32| {
            let inner = body.loops.innermost(*pred);
            inner != NONE && !body.loops.contains(inner, block)
        };
        let Some(exiting) = reachable_preds(block).find(leaves) else { continue };
        let inner = body.loops.innermost(exiting);
        if let Some(from) = reachable_preds(block).find(|&pred| body.loops.innermost(pred) != inner) {
            // One of the two loops has an exit here and a predecessor outside.
            let outer = body.loops.innermost(from);
            let (left, from) =
                if body.loops.contains(inner, from) { (outer, exiting) } else { (inner, from) };
            let header = body.block(body.loops.headers()[left as usize]);
            report.at(
                ViolationLocation::Block(body.block(block)),
                ViolationKind::SharedExit { header, from: body.block(from) },
            );
        }
    }
}

/// Checks loop-closed SSA. Bases of accesses are exempt: they are hints, no uses that lanes could observe.
fn check_closed(body: &LayoutIndex<'_>, site: &PlacedInst<'_>, report: &mut ViolationSink) {
    let data = site.data;
    let joined = match &data.detail {
        Detail::Phi(incoming) => incoming.len(),
        _ => 0,
    };
    let joining = data.incoming().map(|(from, value)| (body.number(from), value));
    let others = data.args.iter().skip(joined).map(|&value| (Some(site.number), value));
    for (used_in, value) in joining.chain(others) {
        let Some(used_in) = used_in.filter(|&block| body.dominators.is_reachable(block)) else {
            continue;
        };
        let DefSite::At(defined_in, _) = body.definition(value) else { continue };
        let inner = body.loops.innermost(defined_in);
        if !body.loops.contains(inner, used_in) {
            let header = body.block(body.loops.headers()[inner as usize]);
            report.at(site.location, ViolationKind::NotClosed { value, header });
        }
    }
}
