//! Liveness of values at block boundaries.
//!
//! A value is live at a point if a path leads from there to a read without passing its definition. A φ reads its incoming
//! values at the ends of the predecessors and defines its result at the start of its block, where it is not live-in. A
//! shadow is read at the start of the φ's block, and so is a block's predicate. Base hints of memory operations read
//! nothing. Constants are never live. Parameters are defined before the entry, so they may be live at its start.
//!
//! In SSA form each value is handled separately: a walk goes backwards from its reads to its definition (Boissinot et al.,
//! "Computing liveness sets for SSA-form programs", by use). It visits each block where the value is live once. All sets
//! together cost time linear in their size, and a single query needs no set.

use heddle_ir::entity::{Entity, SecondaryMap};
use heddle_ir::{Block, Detail, Function, Op, Value, ValueDef};

use crate::cfg::Cfg;
use crate::lists::Lists;

/// Position of a read in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueRead {
    /// Inside the block: the value is live-in unless the block defines it.
    Within(Block),
    /// At the end of the block, by a φ of a successor.
    AtEnd(Block),
}

/// Liveness queries, one value at a time.
#[derive(Clone, Debug)]
pub struct Liveness<'a> {
    cfg: &'a Cfg,
    reads: Lists<ValueRead>,
    /// Defining block; none for parameters, which are live from before the entry.
    definition: SecondaryMap<Value, Option<Block>>,
    num_values: usize,
}

/// Blocks in which one value is live.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveRange {
    /// Blocks with the value live at the start, in order.
    pub live_in: Vec<Block>,
    /// Blocks with the value live at the end, in order.
    pub live_out: Vec<Block>,
}

/// Values that are live at the boundaries of every block.
#[derive(Clone, Debug)]
pub struct LiveSets {
    live_in: Lists<Value>,
    live_out: Lists<Value>,
}

impl<'a> Liveness<'a> {
    /// Collects all reads. The graph must be the function's.
    pub fn new(func: &Function, cfg: &'a Cfg) -> Self {
        let mut definition = SecondaryMap::with_len(func.value_count());
        let mut reads = Vec::new();
        let mut read = |value: Value, read: ValueRead| {
            if func.value_def(value) != ValueDef::Const {
                reads.push((value.index(), read));
            }
        };
        for block in func.blocks().filter(|&block| cfg.is_reachable(block)) {
            if let Some(predicate) = func.predicate(block) {
                read(predicate, ValueRead::Within(block));
            }
            for inst in func.block_insts(block) {
                for &result in func.results(inst) {
                    definition[result] = Some(block);
                }
                let data = func.inst(inst);
                match &data.detail {
                    Detail::Phi(_) if data.op == Op::Phi => {
                        for (pred, value) in data.incoming() {
                            if cfg.is_reachable(pred) {
                                read(value, ValueRead::AtEnd(pred));
                            }
                        }
                        if let Some(shadow) = data.shadow() {
                            read(shadow, ValueRead::Within(block));
                        }
                    }
                    _ => data.args.iter().for_each(|&arg| read(arg, ValueRead::Within(block))),
                }
            }
        }
        let num_values = func.value_count();
        let reads = Lists::new(num_values, reads.iter().copied());
        Self { cfg, reads, definition, num_values }
    }

    /// True if the value is live at the start of the block.
    pub fn is_live_in(&self, value: Value, block: Block) -> bool {
        let mut found = false;
        self.walk(value, &mut VisitedBoundaries::default(), |at, is_out| {
            found |= !is_out && at == block;
            found
        });
        found
    }

    /// True if the value is live at the end of the block.
    pub fn is_live_out(&self, value: Value, block: Block) -> bool {
        let mut found = false;
        self.walk(value, &mut VisitedBoundaries::default(), |at, is_out| {
            found |= is_out && at == block;
            found
        });
        found
    }

    /// Returns the blocks in which the value is live.
    pub fn range(&self, value: Value) -> LiveRange {
        let mut range = LiveRange::default();
        self.walk(value, &mut VisitedBoundaries::default(), |block, is_out| {
            if is_out {
                range.live_out.push(block)
            } else {
                range.live_in.push(block)
            }
            false
        });
        range.live_in.sort_unstable();
        range.live_out.sort_unstable();
        range
    }

    /// Computes the live sets of all blocks. Their size may be blocks times values.
    pub fn sets(&self) -> LiveSets {
        let mut live_in = Vec::new();
        let mut live_out = Vec::new();
        let mut seen = VisitedBoundaries::default();
        for value in (0..self.num_values).map(Value::new) {
            self.walk(value, &mut seen, |block, is_out| {
                let list = if is_out { &mut live_out } else { &mut live_in };
                list.push((block.index(), value));
                false
            });
        }
        let lists = |pairs: Vec<(usize, Value)>| Lists::new(self.cfg.num_blocks(), pairs.iter().copied());
        LiveSets { live_in: lists(live_in), live_out: lists(live_out) }
    }

    /// Visits each block once where the value is live-in, and once where it is live-out (`true`), until `visit` returns true.
    fn walk(&self, value: Value, seen: &mut VisitedBoundaries, mut visit: impl FnMut(Block, bool) -> bool) {
        let is_definition = |block: Block| self.definition[value] == Some(block);
        seen.start(value);
        let mut worklist = Vec::new();
        for &read in self.reads.get(value.index()) {
            match read {
                ValueRead::Within(block) if !is_definition(block) => worklist.push((block, false)),
                ValueRead::Within(_) => {}
                ValueRead::AtEnd(block) => worklist.push((block, true)),
            }
            while let Some((block, is_out)) = worklist.pop() {
                if !seen.insert(block, is_out) {
                    continue;
                }
                if visit(block, is_out) {
                    return;
                }
                match is_out {
                    true if !is_definition(block) => worklist.push((block, false)),
                    true => {}
                    false => worklist.extend(self.cfg.preds(block).iter().map(|&pred| (pred, true))),
                }
            }
        }
    }
}

impl LiveSets {
    /// Returns the values that are live at the start of the block, in order.
    pub fn live_in(&self, block: Block) -> &[Value] {
        self.live_in.get(block.index())
    }

    /// Returns the values that are live at the end of the block, in order.
    pub fn live_out(&self, block: Block) -> &[Value] {
        self.live_out.get(block.index())
    }
}

/// Block boundaries visited by the walk of one value; resetting for the next value takes constant time.
#[derive(Default)]
struct VisitedBoundaries {
    value: Option<Value>,
    last: [SecondaryMap<Block, Option<Value>>; 2],
}

impl VisitedBoundaries {
    fn start(&mut self, value: Value) {
        self.value = Some(value);
    }

    fn insert(&mut self, block: Block, is_out: bool) -> bool {
        let last = &mut self.last[usize::from(is_out)][block];
        let is_new = *last != self.value;
        *last = self.value;
        is_new
    }
}
