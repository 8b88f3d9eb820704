//! Blocks, terminators, φs and names: whether the function hangs together at all.

use super::graph::{Dominators, Graph, Loops, NONE};
use super::violation::{Fault, Place, Report};
use crate::constant::Constant;
use crate::entity::Entity as _;
use crate::function::Origin;
use crate::inst::{Access, Detail, InstData};
use crate::ops::Op;
use crate::{Block, Function, Inst, Value, ValueDef};

/// A function as it stands: blocks and instructions by their place, and the graph of what is placed.
pub(super) struct Body<'f> {
    pub(super) func: &'f Function,
    /// The placed blocks, in layout order; their numbers index this.
    pub(super) blocks: Vec<Block>,
    numbers: Vec<u32>,
    /// The placed instructions that are names of the function, block by block.
    insts: Vec<Inst>,
    starts: Vec<u32>,
    positions: Vec<u32>,
    pub(super) graph: Graph,
    pub(super) dominators: Dominators,
    pub(super) loops: Loops,
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
        let mut positions = vec![NONE; func.inst_count()];
        for (number, &block) in blocks.iter().enumerate() {
            if block.index() >= func.block_count() {
                report.at(Place::Block(block), Fault::UnknownBlock(block));
            }
            numbers[block.index()] = number as u32;
            for inst in func.layout.insts(block) {
                match positions.get_mut(inst.index()) {
                    Some(position) => {
                        *position = insts.len() as u32;
                        insts.push(inst);
                    }
                    None => report.at(Place::Block(block), Fault::UnknownInst(inst)),
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
        Body { func, blocks, numbers, insts, starts, positions, graph, dominators, loops }
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

    /// Blocks by number, with their instructions.
    pub(super) fn each_inst(&self) -> impl Iterator<Item = (u32, Inst, &'f InstData)> + '_ {
        (0..self.count()).flat_map(move |number| {
            self.insts(number).iter().map(move |&inst| (number, inst, self.func.inst(inst)))
        })
    }

    pub(super) fn position(&self, inst: Inst) -> u32 {
        self.positions[inst.index()]
    }

    pub(super) fn place(&self, number: u32, inst: Inst) -> Place {
        Place::Inst(self.block(number), inst)
    }

    pub(super) fn definition(&self, value: Value) -> Definition {
        match self.func.value_def(value) {
            ValueDef::Param(_) | ValueDef::Const => Definition::Outside,
            ValueDef::None => Definition::Nowhere,
            ValueDef::Result(inst, _) => {
                let block = self.func.layout.block_of(inst).and_then(|block| self.number(block));
                block.map_or(Definition::Nowhere, |number| Definition::At(number, self.position(inst)))
            }
        }
    }

    pub(super) fn knows_origin(&self, origin: Origin) -> bool {
        origin.index() < self.func.origin_count()
    }

    /// The constant that a value is.
    pub(super) fn constant(&self, value: Value) -> Option<&'f Constant> {
        self.func.constant(value)
    }

    /// Orders places as they stand: the head, then block by block.
    pub(super) fn order(&self, place: Place) -> (u32, u32) {
        let number = |block| self.number(block).unwrap_or(NONE);
        match place {
            Place::Module | Place::Function => (0, 0),
            Place::Block(block) => (number(block).saturating_add(1), 0),
            Place::Inst(block, inst) => {
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

pub(super) fn check(body: &Body<'_>, report: &mut Report) {
    if body.count() == 0 {
        report.at(Place::Function, Fault::NoEntry);
        return;
    }
    if let Some(&from) = body.graph.preds(0).first() {
        report.at(Place::Block(body.block(0)), Fault::EntryPredecessor { from: body.block(from) });
    }
    for number in 0..body.count() {
        check_order(body, number, report);
    }
    for (number, inst, data) in body.each_inst() {
        let place = body.place(number, inst);
        check_names(body, data, place, report);
        for &target in targets(data) {
            if body.number(target).is_none() {
                report.at(place, Fault::UnplacedTarget(target));
            }
        }
        if let Detail::Switch(switch) = &data.detail {
            let mut cases = switch.cases.clone();
            cases.sort_unstable();
            let mut reported = None;
            for pair in cases.windows(2) {
                if pair[0] == pair[1] && reported != Some(pair[0]) {
                    report.at(place, Fault::SwitchTwice(pair[0]));
                    reported = Some(pair[0]);
                }
            }
        }
    }
    check_phis(body, report);
}

/// φs first, the terminator last.
fn check_order(body: &Body<'_>, number: u32, report: &mut Report) {
    let insts = body.insts(number);
    let mut behind_phis = false;
    for (index, &inst) in insts.iter().enumerate() {
        let op = body.func.inst(inst).op;
        let place = body.place(number, inst);
        match op {
            Op::Phi if number == 0 => report.at(place, Fault::EntryPhi),
            Op::Phi if behind_phis => report.at(place, Fault::PhiNotAtStart),
            Op::Phi => {}
            _ => behind_phis = true,
        }
        if op.is_terminator() && index + 1 != insts.len() {
            report.at(place, Fault::TerminatorInside(op));
        }
    }
    if !insts.last().is_some_and(|&inst| body.func.inst(inst).op.is_terminator()) {
        report.at(Place::Block(body.block(number)), Fault::NoTerminator);
    }
}

/// Every value that is used is defined, every origin is in the table.
fn check_names(body: &Body<'_>, data: &InstData, place: Place, report: &mut Report) {
    for value in data.args.iter().copied().chain(accesses(data).filter_map(|access| access.base)) {
        if body.definition(value) == Definition::Nowhere {
            report.at(place, Fault::Undefined(value));
        }
    }
    if !body.knows_origin(data.origin) {
        report.at(place, Fault::UnknownOrigin(data.origin));
    }
}

fn check_phis(body: &Body<'_>, report: &mut Report) {
    // By block: the block that it precedes, and the φ that has a value for it.
    let mut leads_to = vec![NONE; body.blocks.len()];
    let mut named_by = vec![NONE; body.blocks.len()];
    for number in 0..body.count() {
        let preds = body.graph.preds(number);
        for &pred in preds {
            leads_to[pred as usize] = number;
        }
        for &inst in body.insts(number) {
            let Detail::Phi(incoming) = &body.func.inst(inst).detail else { continue };
            let place = body.place(number, inst);
            let position = body.position(inst);
            let mut named = 0;
            for &from in incoming {
                let Some(pred) = body.number(from).filter(|&pred| leads_to[pred as usize] == number) else {
                    report.at(place, Fault::PhiStranger(from));
                    continue;
                };
                if std::mem::replace(&mut named_by[pred as usize], position) == position {
                    report.at(place, Fault::PhiTwice(from));
                } else {
                    named += 1;
                }
            }
            // Stops at the first, so it looks at no more predecessors than the φ names, and one.
            let missing = preds.iter().find(|&&pred| named_by[pred as usize] != position);
            if let Some(&first) = missing {
                let others = preds.len() - named - 1;
                report.at(place, Fault::PhiMissing { first: body.block(first), others });
            }
        }
    }
}
