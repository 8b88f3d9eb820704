//! Asks instructions something that depends on the answers of others, until nothing changes.
//!
//! Each is asked once in the order of the block index, where all but back edges lead on, and again when something that
//! it reads has changed since. A loop settles before what is behind it is asked, so a join of many edges is not asked
//! for each of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use heddle_analysis::ControlTables;
use heddle_ir::entity::Entity;
use heddle_ir::{Block, Function, Inst, Value};

/// The instructions of a function in order, and which of them read which results.
#[derive(Debug)]
pub(super) struct InstWorklist {
    order: Vec<(Block, Inst)>,
    /// The readers of each value are `readers[starts[value]..starts[value + 1]]`, as positions in the order.
    starts: Vec<u32>,
    readers: Vec<u32>,
}

impl InstWorklist {
    pub(super) fn new(func: &Function) -> InstWorklist {
        let control = ControlTables::new(func);
        let unreachable = func.blocks().filter(|&block| control.index.number(block).is_none());
        let order: Vec<(Block, Inst)> = control
            .index
            .order()
            .iter()
            .copied()
            .chain(unreachable)
            .flat_map(|block| func.block_insts(block).map(move |inst| (block, inst)))
            .collect();
        let reads = |inst: Inst| {
            let args = func.inst(inst).args.iter();
            args.filter(|&&arg| func.def_inst(arg).is_some()).map(|arg| arg.index())
        };
        let mut starts = vec![0u32; func.value_count() + 1];
        order.iter().flat_map(|&(_, inst)| reads(inst)).for_each(|value| starts[value + 1] += 1);
        for value in 1..starts.len() {
            starts[value] += starts[value - 1];
        }
        let mut next = starts.clone();
        let mut readers = vec![0; starts[starts.len() - 1] as usize];
        for (position, &(_, inst)) in order.iter().enumerate() {
            for value in reads(inst) {
                readers[next[value] as usize] = position as u32;
                next[value] += 1;
            }
        }
        InstWorklist { order, starts, readers }
    }

    /// The instructions that read a value.
    pub(super) fn readers(&self, value: Value) -> impl Iterator<Item = Inst> {
        self.readers_of(value).iter().map(|&position| self.order[position as usize].1)
    }

    /// Asks until nothing changes; `ask` tells whether something has changed about one of the instruction's results.
    pub(super) fn solve(&self, func: &Function, mut visit: impl FnMut(Block, Inst) -> bool) {
        let mut next = 0;
        // Those asked already that are to be asked again.
        let mut again: BinaryHeap<Reverse<u32>> = BinaryHeap::new();
        let mut is_waiting = vec![false; self.order.len()];
        loop {
            let at = match again.pop() {
                Some(Reverse(at)) => at as usize,
                None if next < self.order.len() => {
                    next += 1;
                    next - 1
                }
                None => return,
            };
            is_waiting[at] = false;
            let (block, inst) = self.order[at];
            if !visit(block, inst) {
                continue;
            }
            for reader in func.results(inst).iter().flat_map(|&result| self.readers_of(result)) {
                let position = *reader as usize;
                if position < next && !std::mem::replace(&mut is_waiting[position], true) {
                    again.push(Reverse(*reader));
                }
            }
        }
    }

    fn readers_of(&self, value: Value) -> &[u32] {
        let [start, end] = [0, 1].map(|at| self.starts[value.index() + at] as usize);
        &self.readers[start..end]
    }
}
