//! Structural rules: blocks, terminators, φs and definedness.

use super::graph::{BlockGraph, NONE, NaturalLoops, VerifierDominators};
use super::violation::{ViolationKind, ViolationLocation, ViolationSink};
use crate::entity::Entity as _;
use crate::function::Origin;
use crate::inst::{Detail, InstData};
use crate::ops::Op;
use crate::{Block, Function, Inst, Value, ValueDef};

/// Index of a function's layout: blocks and instructions by position, with control-flow graph, dominators and loops.
pub(super) struct LayoutIndex<'f> {
    pub(super) func: &'f Function,
    /// The blocks in layout order, by number.
    blocks: Vec<Block>,
    numbers: Vec<u32>,
    /// The valid instructions in the layout, block by block.
    insts: Vec<Inst>,
    starts: Vec<u32>,
    /// For each instruction, its block's number and its position in `insts`; both `NONE` if it is not in the layout.
    positions: Vec<(u32, u32)>,
    pub(super) graph: BlockGraph,
    pub(super) dominators: VerifierDominators,
    pub(super) loops: NaturalLoops,
}

/// An instruction in the layout.
#[derive(Clone, Copy)]
pub(super) struct PlacedInst<'f> {
    /// The number of its block.
    pub(super) number: u32,
    pub(super) inst: Inst,
    pub(super) data: &'f InstData,
    pub(super) location: ViolationLocation,
}

/// Definition site of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DefSite {
    /// Undefined.
    Nowhere,
    /// A parameter or a constant, available everywhere.
    Outside,
    /// An instruction: the number of its block and its position.
    At(u32, u32),
}

impl<'f> LayoutIndex<'f> {
    pub(super) fn new(func: &'f Function, report: &mut ViolationSink) -> LayoutIndex<'f> {
        let blocks: Vec<Block> = func.layout.blocks().collect();
        let name_count = blocks.iter().map(|block| block.index() + 1).max().unwrap_or(0);
        let mut numbers = vec![NONE; name_count];
        let (mut insts, mut starts) = (Vec::new(), vec![0]);
        let mut positions = vec![(NONE, NONE); func.inst_count()];
        for (number, &block) in blocks.iter().enumerate() {
            if block.index() >= func.block_count() {
                report.at(ViolationLocation::Block(block), ViolationKind::UnknownBlock(block));
            }
            numbers[block.index()] = number as u32;
            for inst in func.layout.insts(block) {
                match positions.get_mut(inst.index()) {
                    Some(position) => {
                        *position = (number as u32, insts.len() as u32);
                        insts.push(inst);
                    }
                    None => report.at(ViolationLocation::Block(block), ViolationKind::UnknownInst(inst)),
                }
            }
            starts.push(insts.len() as u32);
        }
        let graph = BlockGraph::new(blocks.len() as u32, |number, found| {
            let (start, end) = (starts[number as usize], starts[number as usize + 1]);
            if let Some(&last) = insts[start as usize..end as usize].last() {
                let targets = targets(func.inst(last)).iter();
                found.extend(targets.filter_map(|target| lookup(&numbers, *target)));
            }
        });
        let dominators = VerifierDominators::new(&graph);
        let loops = NaturalLoops::new(&graph, &dominators);
        LayoutIndex { func, blocks, numbers, insts, starts, positions, graph, dominators, loops }
    }

    pub(super) fn count(&self) -> u32 {
        self.blocks.len() as u32
    }

    pub(super) fn block(&self, number: u32) -> Block {
        self.blocks[number as usize]
    }

    /// Returns the number of a block, if it is in the layout.
    pub(super) fn number(&self, block: Block) -> Option<u32> {
        lookup(&self.numbers, block)
    }

    /// The instructions of the block of this number, in order.
    pub(super) fn insts(&self, number: u32) -> &[Inst] {
        &self.insts[self.starts[number as usize] as usize..self.starts[number as usize + 1] as usize]
    }

    /// The instructions of the block of this number, with their data.
    pub(super) fn sites(&self, number: u32) -> impl Iterator<Item = PlacedInst<'f>> + '_ {
        let block = self.block(number);
        self.insts(number).iter().map(move |&inst| PlacedInst {
            number,
            inst,
            data: self.func.inst(inst),
            location: ViolationLocation::Inst(block, inst),
        })
    }

    pub(super) fn position(&self, inst: Inst) -> u32 {
        self.positions.get(inst.index()).map_or(NONE, |&(_, position)| position)
    }

    pub(super) fn definition(&self, value: Value) -> DefSite {
        match self.func.value_def(value) {
            ValueDef::Param(_) | ValueDef::Const => DefSite::Outside,
            ValueDef::None => DefSite::Nowhere,
            ValueDef::Result(inst, _) => match self.positions.get(inst.index()) {
                None | Some((NONE, _)) => DefSite::Nowhere,
                Some(&(number, position)) => DefSite::At(number, position),
            },
        }
    }

    pub(super) fn knows_origin(&self, origin: Origin) -> bool {
        origin.index() < self.func.origin_count()
    }

    /// Sort key of a location: the head first, then layout order.
    pub(super) fn order(&self, location: ViolationLocation) -> (u32, u32) {
        let number = |block| self.number(block).unwrap_or(NONE);
        match location {
            ViolationLocation::Module | ViolationLocation::Function => (0, 0),
            ViolationLocation::Block(block) => (number(block).saturating_add(1), 0),
            ViolationLocation::Inst(block, inst) => {
                (number(block).saturating_add(1), self.position(inst).saturating_add(1))
            }
        }
    }
}

fn lookup(numbers: &[u32], block: Block) -> Option<u32> {
    numbers.get(block.index()).copied().filter(|&number| number != NONE)
}

/// The targets of a terminator; none for other instructions.
fn targets(data: &InstData) -> &[Block] {
    if data.op.is_terminator() { data.targets() } else { &[] }
}

/// The values that an instruction uses: operands and bases of accesses.
pub(super) fn used(data: &InstData) -> impl Iterator<Item = Value> {
    data.args.iter().copied().chain(data.accesses().filter_map(|access| access.base))
}

/// Checks that there is an entry without predecessors.
pub(super) fn check_entry(body: &LayoutIndex<'_>, report: &mut ViolationSink) {
    if body.count() == 0 {
        report.at(ViolationLocation::Function, ViolationKind::NoEntry);
        return;
    }
    if let Some(&from) = body.graph.preds(0).first() {
        report.at(
            ViolationLocation::Block(body.block(0)),
            ViolationKind::EntryPredecessor { from: body.block(from) },
        );
    }
}

/// Structural checks of each block, in layout order.
pub(super) struct StructureRules<'b> {
    body: &'b LayoutIndex<'b>,
    behind_phis: bool,
    /// For each block, the latest visited block that it precedes.
    precedes_block: Vec<u32>,
    /// For each block, the position of the latest φ with a value for it.
    named_by_phi: Vec<u32>,
}

impl<'b> StructureRules<'b> {
    pub(super) fn new(body: &'b LayoutIndex<'b>) -> StructureRules<'b> {
        let none = || vec![NONE; body.blocks.len()];
        StructureRules { body, behind_phis: false, precedes_block: none(), named_by_phi: none() }
    }

    /// Checks a block as a whole, before its instructions.
    pub(super) fn check_block(&mut self, number: u32, report: &mut ViolationSink) {
        let body = self.body;
        self.behind_phis = false;
        for &pred in body.graph.preds(number) {
            self.precedes_block[pred as usize] = number;
        }
        if !body.insts(number).last().is_some_and(|&inst| body.func.inst(inst).op.is_terminator()) {
            report.at(ViolationLocation::Block(body.block(number)), ViolationKind::NoTerminator);
        }
    }

    pub(super) fn check(&mut self, site: &PlacedInst<'_>, report: &mut ViolationSink) {
        self.check_order(site, report);
        check_names(self.body, site, report);
        check_targets(self.body, site, report);
        if let Detail::Phi(incoming) = &site.data.detail {
            self.check_incoming(site, incoming, report);
        }
    }

    fn check_order(&mut self, site: &PlacedInst<'_>, report: &mut ViolationSink) {
        let op = site.data.op;
        match op {
            Op::Phi if site.number == 0 => report.at(site.location, ViolationKind::EntryPhi),
            Op::Phi if self.behind_phis => report.at(site.location, ViolationKind::PhiNotAtStart),
            Op::Phi => {}
            _ => self.behind_phis = true,
        }
        if op.is_terminator() && self.body.insts(site.number).last() != Some(&site.inst) {
            report.at(site.location, ViolationKind::TerminatorInside(op));
        }
    }

    /// Checks that a φ has one value for each predecessor.
    fn check_incoming(&mut self, site: &PlacedInst<'_>, incoming: &[Block], report: &mut ViolationSink) {
        let (body, position) = (self.body, self.body.position(site.inst));
        let mut named = 0;
        for &from in incoming {
            let precedes = |&pred: &u32| self.precedes_block[pred as usize] == site.number;
            let Some(pred) = body.number(from).filter(precedes) else {
                report.at(site.location, ViolationKind::PhiStranger(from));
                continue;
            };
            if std::mem::replace(&mut self.named_by_phi[pred as usize], position) == position {
                report.at(site.location, ViolationKind::PhiTwice(from));
            } else {
                named += 1;
            }
        }
        // The search stops at the first miss, so its cost is bounded by the number of incoming values.
        let preds = body.graph.preds(site.number);
        let missing = preds.iter().find(|&&pred| self.named_by_phi[pred as usize] != position);
        if let Some(&first) = missing {
            let others = preds.len() - named - 1;
            report.at(site.location, ViolationKind::PhiMissing { first: body.block(first), others });
        }
    }
}

/// Checks that used values are defined and the origin exists.
fn check_names(body: &LayoutIndex<'_>, site: &PlacedInst<'_>, report: &mut ViolationSink) {
    for value in used(site.data) {
        if body.definition(value) == DefSite::Nowhere {
            report.at(site.location, ViolationKind::Undefined(value));
        }
    }
    if !body.knows_origin(site.data.origin) {
        report.at(site.location, ViolationKind::UnknownOrigin(site.data.origin));
    }
}

/// Checks that targets are in the layout and switch cases differ.
fn check_targets(body: &LayoutIndex<'_>, site: &PlacedInst<'_>, report: &mut ViolationSink) {
    for &target in targets(site.data) {
        if body.number(target).is_none() {
            report.at(site.location, ViolationKind::UnplacedTarget(target));
        }
    }
    if let Detail::Switch(switch) = &site.data.detail {
        let mut cases = switch.cases.clone();
        cases.sort_unstable();
        let mut reported = None;
        for pair in cases.windows(2) {
            if pair[0] == pair[1] && reported != Some(pair[0]) {
                report.at(site.location, ViolationKind::SwitchTwice(pair[0]));
                reported = Some(pair[0]);
            }
        }
    }
}
