//! Sparse fixed-point iteration over the instructions of a function.
//!
//! Each instruction is visited once in the order of the block index, and again when an operand has changed since. A
//! loop converges before the code after it is visited, so a join with many edges is not visited for each of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use heddle_analysis::ControlTables;
use heddle_ir::entity::Entity;
use heddle_ir::{Block, Function, Inst, Value};

/// Instructions in visiting order, with the readers of each value.
#[derive(Debug)]
pub(super) struct InstWorklist {
    order: Vec<(Block, Inst)>,
    /// The readers of a value are `readers[starts[value]..starts[value + 1]]`, as positions in the order.
    starts: Vec<u32>,
    readers: Vec<u32>,
}

impl InstWorklist {
    pub(super) fn new(func: &Function, control: &ControlTables) -> InstWorklist {
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

    /// Instructions that read a value.
    pub(super) fn readers(&self, value: Value) -> impl Iterator<Item = Inst> {
        self.readers_of(value).iter().map(|&position| self.order[position as usize].1)
    }

    /// Visits instructions until nothing changes; `visit` returns true if a result of the instruction has changed.
    pub(super) fn solve(&self, func: &Function, mut visit: impl FnMut(Block, Inst) -> bool) {
        let mut next = 0;
        // Visited instructions with a changed operand.
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
