//! Blocks, terminators, φs and names: whether the function hangs together at all.

use super::graph::{Dominators, Graph, Loops, NONE};
use super::violation::{Report, ViolationKind, ViolationLocation};
use crate::entity::Entity as _;
use crate::function::Origin;
use crate::inst::{Access, Detail, InstData};
use crate::ops::Op;
use crate::{Block, Function, Inst, Value, ValueDef};

/// A function as it stands: blocks and instructions by their place, and the graph of what is placed.
pub(super) struct Body<'f> {
    pub(super) func: &'f Function,
    /// The placed blocks, in layout order; their numbers index this.
    blocks: Vec<Block>,
    numbers: Vec<u32>,
    /// The placed instructions that are names of the function, block by block.
    insts: Vec<Inst>,
    starts: Vec<u32>,
    /// By instruction: the number of its block and its position in `insts`, both `NONE` if it is not placed.
    homes: Vec<(u32, u32)>,
    pub(super) graph: Graph,
    pub(super) dominators: Dominators,
    pub(super) loops: Loops,
}

/// A placed instruction.
#[derive(Clone, Copy)]
pub(super) struct Site<'f> {
    /// The number of its block.
    pub(super) number: u32,
    pub(super) inst: Inst,
    pub(super) data: &'f InstData,
    pub(super) place: ViolationLocation,
}

/// Where a value is defined.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Definition {
    /// Nowhere.
    Nowhere,
    /// Before everything: a parameter or a constant.
    Outside,
    /// By the instruction at this position of the block of this number.
    At(u32, u32),
}

impl<'f> Body<'f> {
    pub(super) fn new(func: &'f Function, report: &mut Report) -> Body<'f> {
        let blocks: Vec<Block> = func.layout.blocks().collect();
        let name_count = blocks.iter().map(|block| block.index() + 1).max().unwrap_or(0);
        let mut numbers = vec![NONE; name_count];
        let (mut insts, mut starts) = (Vec::new(), vec![0]);
        let mut homes = vec![(NONE, NONE); func.inst_count()];
        for (number, &block) in blocks.iter().enumerate() {
            if block.index() >= func.block_count() {
                report.at(ViolationLocation::Block(block), ViolationKind::UnknownBlock(block));
            }
            numbers[block.index()] = number as u32;
            for inst in func.layout.insts(block) {
                match homes.get_mut(inst.index()) {
                    Some(home) => {
                        *home = (number as u32, insts.len() as u32);
                        insts.push(inst);
                    }
                    None => report.at(ViolationLocation::Block(block), ViolationKind::UnknownInst(inst)),
                }
            }
            starts.push(insts.len() as u32);
        }
        let graph = Graph::new(blocks.len() as u32, |number, found| {
            let (start, end) = (starts[number as usize], starts[number as usize + 1]);
            if let Some(&last) = insts[start as usize..end as usize].last() {
                let targets = targets(func.inst(last)).iter();
                found.extend(targets.filter_map(|target| lookup(&numbers, *target)));
            }
        });
        let dominators = Dominators::new(&graph);
        let loops = Loops::new(&graph, &dominators);
        Body { func, blocks, numbers, insts, starts, homes, graph, dominators, loops }
    }

    pub(super) fn count(&self) -> u32 {
        self.blocks.len() as u32
    }

    pub(super) fn block(&self, number: u32) -> Block {
        self.blocks[number as usize]
    }

    /// The number of a block that stands in the function.
    pub(super) fn number(&self, block: Block) -> Option<u32> {
        lookup(&self.numbers, block)
    }

    /// The instructions of the block of this number, in order.
    pub(super) fn insts(&self, number: u32) -> &[Inst] {
        &self.insts[self.starts[number as usize] as usize..self.starts[number as usize + 1] as usize]
    }

    /// The same, with what they are.
    pub(super) fn sites(&self, number: u32) -> impl Iterator<Item = Site<'f>> + '_ {
        let block = self.block(number);
        self.insts(number).iter().map(move |&inst| Site {
            number,
            inst,
            data: self.func.inst(inst),
            place: ViolationLocation::Inst(block, inst),
        })
    }

    pub(super) fn position(&self, inst: Inst) -> u32 {
        self.homes.get(inst.index()).map_or(NONE, |&(_, position)| position)
    }

    pub(super) fn definition(&self, value: Value) -> Definition {
        match self.func.value_def(value) {
            ValueDef::Param(_) | ValueDef::Const => Definition::Outside,
            ValueDef::None => Definition::Nowhere,
            ValueDef::Result(inst, _) => match self.homes.get(inst.index()) {
                None | Some((NONE, _)) => Definition::Nowhere,
                Some(&(number, position)) => Definition::At(number, position),
            },
        }
    }

    pub(super) fn knows_origin(&self, origin: Origin) -> bool {
        origin.index() < self.func.origin_count()
    }

    /// Orders places as they stand: the head, then block by block.
    pub(super) fn order(&self, place: ViolationLocation) -> (u32, u32) {
        let number = |block| self.number(block).unwrap_or(NONE);
        match place {
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

/// The blocks that a terminator goes to.
fn targets(data: &InstData) -> &[Block] {
    if data.op.is_terminator() { data.targets() } else { &[] }
}

/// What an instruction says of the memory that it touches; of a copy what it writes, then what it reads.
pub(super) fn accesses(data: &InstData) -> impl Iterator<Item = &Access> {
    let read = match &data.detail {
        Detail::Transfer(both) => Some(&both.1),
        _ => None,
    };
    data.access().into_iter().chain(read)
}

/// The values that an instruction uses: its operands, and what its accesses name as their bases.
pub(super) fn used(data: &InstData) -> impl Iterator<Item = Value> {
    data.args.iter().copied().chain(accesses(data).filter_map(|access| access.base))
}

/// The function has an entry, and that is no target.
pub(super) fn check_entry(body: &Body<'_>, report: &mut Report) {
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

/// Goes through blocks in order: φs first, the terminator last, everything named there.
pub(super) struct Structure<'b> {
    body: &'b Body<'b>,
    behind_phis: bool,
    /// By block: the one that it precedes, of those that have been entered.
    leads_to: Vec<u32>,
    /// By block: the φ that has a value for it, by its position.
    named_by: Vec<u32>,
}

impl<'b> Structure<'b> {
    pub(super) fn new(body: &'b Body<'b>) -> Structure<'b> {
        let none = || vec![NONE; body.blocks.len()];
        Structure { body, behind_phis: false, leads_to: none(), named_by: none() }
    }

    /// The block as a whole, before its instructions.
    pub(super) fn check_block(&mut self, number: u32, report: &mut Report) {
        let body = self.body;
        self.behind_phis = false;
        for &pred in body.graph.preds(number) {
            self.leads_to[pred as usize] = number;
        }
        if !body.insts(number).last().is_some_and(|&inst| body.func.inst(inst).op.is_terminator()) {
            report.at(ViolationLocation::Block(body.block(number)), ViolationKind::NoTerminator);
        }
    }

    pub(super) fn check(&mut self, site: &Site<'_>, report: &mut Report) {
        self.check_order(site, report);
        check_names(self.body, site, report);
        check_targets(self.body, site, report);
        if let Detail::Phi(incoming) = &site.data.detail {
            self.check_incoming(site, incoming, report);
        }
    }

    fn check_order(&mut self, site: &Site<'_>, report: &mut Report) {
        let op = site.data.op;
        match op {
            Op::Phi if site.number == 0 => report.at(site.place, ViolationKind::EntryPhi),
            Op::Phi if self.behind_phis => report.at(site.place, ViolationKind::PhiNotAtStart),
            Op::Phi => {}
            _ => self.behind_phis = true,
        }
        if op.is_terminator() && self.body.insts(site.number).last() != Some(&site.inst) {
            report.at(site.place, ViolationKind::TerminatorInside(op));
        }
    }

    /// One value for each predecessor.
    fn check_incoming(&mut self, site: &Site<'_>, incoming: &[Block], report: &mut Report) {
        let (body, position) = (self.body, self.body.position(site.inst));
        let mut named = 0;
        for &from in incoming {
            let precedes = |&pred: &u32| self.leads_to[pred as usize] == site.number;
            let Some(pred) = body.number(from).filter(precedes) else {
                report.at(site.place, ViolationKind::PhiStranger(from));
                continue;
            };
            if std::mem::replace(&mut self.named_by[pred as usize], position) == position {
                report.at(site.place, ViolationKind::PhiTwice(from));
            } else {
                named += 1;
            }
        }
        // Stops at the first, so it looks at no more predecessors than the φ names, and one.
        let preds = body.graph.preds(site.number);
        let missing = preds.iter().find(|&&pred| self.named_by[pred as usize] != position);
        if let Some(&first) = missing {
            let others = preds.len() - named - 1;
            report.at(site.place, ViolationKind::PhiMissing { first: body.block(first), others });
        }
    }
}

/// Every value that is used is defined, every origin is in the table.
fn check_names(body: &Body<'_>, site: &Site<'_>, report: &mut Report) {
    for value in used(site.data) {
        if body.definition(value) == Definition::Nowhere {
            report.at(site.place, ViolationKind::Undefined(value));
        }
    }
    if !body.knows_origin(site.data.origin) {
        report.at(site.place, ViolationKind::UnknownOrigin(site.data.origin));
    }
}

/// Targets are placed, cases differ.
fn check_targets(body: &Body<'_>, site: &Site<'_>, report: &mut Report) {
    for &target in targets(site.data) {
        if body.number(target).is_none() {
            report.at(site.place, ViolationKind::UnplacedTarget(target));
        }
    }
    if let Detail::Switch(switch) = &site.data.detail {
        let mut cases = switch.cases.clone();
        cases.sort_unstable();
        let mut reported = None;
        for pair in cases.windows(2) {
            if pair[0] == pair[1] && reported != Some(pair[0]) {
                report.at(site.place, ViolationKind::SwitchTwice(pair[0]));
                reported = Some(pair[0]);
            }
        }
    }
}
