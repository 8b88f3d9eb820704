//! Rewrites the control flow of a nest and the φs at its new join points.

use heddle_analysis::{ControlTables, Cycle};
use heddle_ir::entity::EntitySet;
use heddle_ir::words::IntPredicate;
use heddle_ir::{Block, Detail, Function, Inst, InstData, Op, Scalar, Type, Value};

use crate::edges::{append_jump, phis, retarget, set_incoming};

/// Inner loop of a nest.
#[derive(Clone, Copy, Debug)]
pub(super) struct InnerLoop {
    pub(super) header: Block,
    preheader: Block,
    latch: Block,
}

/// Outer loop and the inner loops that become states of the flattened loop.
#[derive(Clone, Debug)]
pub(super) struct LoopNest {
    pub(super) preheader: Block,
    header: Block,
    latch: Block,
    /// Inner loops; the state of the first one is 1.
    pub(super) inner: Vec<InnerLoop>,
    /// Exit edges of the nest.
    exits: Vec<(Block, Block)>,
    /// Blocks of the nest.
    pub(super) blocks: Vec<Block>,
    /// True if an iteration of the outer loop may bypass all inner loops.
    passes_by: bool,
}

/// Next state of a lane at L.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NextState {
    /// Next iteration, in this state; 0 is the payload of the outer loop.
    Iterate(usize),
    /// Exit, by the index of its target.
    Exit(usize),
}

/// Edge to L, through a block of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlattenEdge {
    pub(super) source: Block,
    pub(super) block: Block,
    pub(super) next: NextState,
}

/// New blocks of a flattened nest.
#[derive(Clone, Debug)]
pub(super) struct FlattenedNest {
    pub(super) header: Block,
    pub(super) latch: Block,
    pub(super) edges: Vec<FlattenEdge>,
}

impl LoopNest {
    pub(super) fn new(control: &ControlTables, outer: Cycle, inner: &[Cycle]) -> LoopNest {
        let ControlTables { cfg, cycles: forest, .. } = control;
        let parts = |cycle: Cycle| {
            let preheader = forest.preheader(cfg, cycle);
            let latch = forest.unique_latch(cfg, cycle);
            let form = "a loop at stage Canonical has one preheader and one latch";
            InnerLoop {
                header: forest.header(cycle),
                preheader: preheader.expect(form),
                latch: latch.expect(form),
            }
        };
        let InnerLoop { header, preheader, latch } = parts(outer);
        let inner: Vec<InnerLoop> = inner.iter().map(|&cycle| parts(cycle)).collect();
        let mut exits: Vec<(Block, Block)> =
            forest.exiting_edges(cfg, outer).map(|edge| (edge.from, edge.to)).collect();
        exits.dedup();
        let is_inner: EntitySet<Block> = inner.iter().map(|inner| inner.header).collect();
        let mut seen: EntitySet<Block> = [header].into_iter().collect();
        let mut work = vec![header];
        while let Some(block) = work.pop() {
            let next = cfg.succs(block).iter().copied();
            work.extend(next.filter(|&to| {
                forest.contains(outer, to) && to != header && !is_inner.contains(to) && seen.insert(to)
            }));
        }
        let passes_by = seen.contains(latch);
        LoopNest { preheader, header, latch, inner, exits, blocks: forest.blocks(outer).to_vec(), passes_by }
    }

    /// Returns the distinct exit targets of the nest.
    fn targets(&self) -> Vec<Block> {
        let mut targets = Vec::new();
        for &(_, to) in &self.exits {
            if !targets.contains(&to) {
                targets.push(to);
            }
        }
        targets
    }
}

/// Redirects control flow through N and L and sets the operands of φs. Definitions in the nest may not dominate their uses
/// afterwards.
pub(super) fn rewrite(func: &mut Function, nest: &LoopNest) -> FlattenedNest {
    let header = func.insert_block_after(nest.preheader);
    // Test for inner loops first, since lanes are in them most of the time.
    let mut tests = vec![header];
    for _ in 1..nest.inner.len() {
        let last = tests[tests.len() - 1];
        tests.push(func.insert_block_after(last));
    }
    let targets = nest.targets();
    let mut sources: Vec<(Block, Block, NextState)> = Vec::new();
    for (state, inner) in (1..).zip(&nest.inner) {
        sources.push((inner.preheader, inner.header, NextState::Iterate(state)));
        sources.push((inner.latch, inner.header, NextState::Iterate(state)));
    }
    if nest.passes_by {
        sources.push((nest.latch, nest.header, NextState::Iterate(0)));
    }
    for &(from, to) in &nest.exits {
        let number = targets.iter().position(|&target| target == to).unwrap_or(0);
        sources.push((from, to, NextState::Exit(number)));
    }
    let last = nest.latch;
    let latch = func.insert_block_after(last);
    let mut edges = Vec::with_capacity(sources.len());
    for (source, to, next) in sources {
        let edge = func.insert_block_after(source);
        retarget(func, source, to, edge);
        append_jump(func, edge, latch);
        edges.push(FlattenEdge { source, block: edge, next });
    }
    retarget(func, nest.preheader, nest.header, header);
    let seams = MergePoints { nest, header, latch, edges: &edges };

    let count = nest.inner.len();
    let zero = if count == 1 { func.make_bool(false) } else { func.make_int(Scalar::I32, 0) };
    let ty = func.value_type(zero);
    let next = |func: &mut Function, edge: &FlattenEdge| match edge.next {
        NextState::Iterate(state) if count == 1 => Some(func.make_bool(state == 1)),
        NextState::Iterate(state) => Some(func.make_int(Scalar::I32, state as i128)),
        NextState::Exit(_) => None,
    };
    let state = seams.carried(func, ty, zero, next);
    let last_test = tests[count - 1];

    for (index, inner) in nest.inner.iter().enumerate() {
        for phi in phis(func, inner.header) {
            let ty = func.value_type(func.results(phi)[0]);
            let none = func.make_poison(ty);
            let next = |func: &mut Function, edge: &FlattenEdge| match edge.next {
                NextState::Iterate(number) if number == index + 1 => {
                    func.inst(phi).incoming_from(edge.source)
                }
                _ => None,
            };
            let carried = seams.carried(func, ty, none, next);
            set_incoming(func, phi, [(tests[index], carried)]);
        }
    }
    for phi in phis(func, nest.header) {
        let ends = [nest.preheader, nest.latch].map(|block| func.inst(phi).incoming_from(block));
        let [Some(initial), Some(update)] = ends else { continue };
        if nest.passes_by {
            let ty = func.value_type(initial);
            let next =
                |_: &mut Function, edge: &FlattenEdge| (edge.next == NextState::Iterate(0)).then_some(update);
            let carried = seams.carried(func, ty, initial, next);
            set_incoming(func, phi, [(last_test, carried)]);
        } else {
            set_incoming(func, phi, [(last_test, initial), (nest.latch, update)]);
        }
    }
    // Comparisons follow the φs of N.
    for (index, &test) in tests.iter().enumerate() {
        let is_this = if count == 1 { state } else { equals(func, test, state, index as i128 + 1) };
        let otherwise = tests.get(index + 1).copied().unwrap_or(nest.header);
        append_branch(func, test, is_this, [nest.inner[index].header, otherwise]);
    }
    seams.leave(func, &targets);
    FlattenedNest { header, latch, edges }
}

/// Builder of φs at N and L.
struct MergePoints<'a> {
    nest: &'a LoopNest,
    header: Block,
    latch: Block,
    edges: &'a [FlattenEdge],
}

impl MergePoints<'_> {
    /// Returns a φ at L with a value per edge, or poison where there is none. A common constant needs no φ.
    fn joined(
        &self,
        func: &mut Function,
        ty: Type,
        mut value: impl FnMut(&mut Function, &FlattenEdge) -> Option<Value>,
    ) -> Value {
        let none = func.make_poison(ty);
        let incoming: Vec<(Block, Value)> =
            self.edges.iter().map(|edge| (edge.block, value(func, edge).unwrap_or(none))).collect();
        let mut stated = incoming.iter().map(|&(_, value)| value).filter(|&value| value != none);
        if let Some(first) = stated.next()
            && func.constant(first).is_some()
            && stated.all(|value| value == first)
        {
            return first;
        }
        append_phi(func, self.latch, ty, &incoming)
    }

    /// Returns a φ at N with an initial value and the joined value of L.
    fn carried(
        &self,
        func: &mut Function,
        ty: Type,
        initial: Value,
        value: impl FnMut(&mut Function, &FlattenEdge) -> Option<Value>,
    ) -> Value {
        let update = self.joined(func, ty, value);
        append_phi(func, self.header, ty, &[(self.nest.preheader, initial), (self.latch, update)])
    }

    /// Ends L and dispatches leaving lanes to their exits.
    fn leave(&self, func: &mut Function, targets: &[Block]) {
        let [no, yes] = [false, true].map(|value| func.make_bool(value));
        let is_done: Vec<(Block, Value)> = (self.edges.iter())
            .map(|edge| (edge.block, if matches!(edge.next, NextState::Exit(_)) { yes } else { no }))
            .collect();
        let done = append_phi(func, self.latch, Type::I1, &is_done);
        let mut live_outs: Vec<(usize, Inst, Value)> = Vec::new();
        for (number, &target) in targets.iter().enumerate() {
            for phi in phis(func, target) {
                let ty = func.value_type(func.results(phi)[0]);
                let value = self.joined(func, ty, |func, edge| match edge.next {
                    NextState::Exit(exit) if exit == number => func.inst(phi).incoming_from(edge.source),
                    _ => None,
                });
                live_outs.push((number, phi, value));
            }
        }
        let mut from = self.latch;
        let mut dispatch = vec![self.latch; targets.len()];
        if targets.len() > 1 {
            let taken = self.joined(func, Type::Scalar(Scalar::I32), |func, edge| match edge.next {
                NextState::Exit(number) => Some(func.make_int(Scalar::I32, number as i128)),
                NextState::Iterate(_) => None,
            });
            let blocks: Vec<Block> = (1..targets.len())
                .map(|_| {
                    from = func.insert_block_after(from);
                    from
                })
                .collect();
            append_branch(func, self.latch, done, [blocks[0], self.header]);
            for (index, &block) in blocks.iter().enumerate() {
                let is_this = equals(func, block, taken, index as i128);
                let otherwise = blocks.get(index + 1).copied().unwrap_or(targets[index + 1]);
                append_branch(func, block, is_this, [targets[index], otherwise]);
                dispatch[index] = block;
                dispatch[index + 1] = block;
            }
        } else {
            append_branch(func, self.latch, done, [targets[0], self.header]);
        }
        for (number, phi, value) in live_outs {
            set_incoming(func, phi, [(dispatch[number], value)]);
        }
    }
}

fn append(func: &mut Function, block: Block, data: InstData, ty: Type) -> Value {
    let inst = func.make_inst(data, &[ty]);
    func.layout.append_inst(inst, block);
    func.results(inst)[0]
}

fn append_phi(func: &mut Function, block: Block, ty: Type, incoming: &[(Block, Value)]) -> Value {
    append(func, block, InstData::phi(incoming.iter().copied(), None), ty)
}

fn equals(func: &mut Function, block: Block, value: Value, number: i128) -> Value {
    let number = func.make_int(Scalar::I32, number);
    let equal = Detail::IntCompare(IntPredicate::Eq);
    append(func, block, InstData::new(Op::Icmp, [value, number], equal), Type::I1)
}

fn append_branch(func: &mut Function, block: Block, condition: Value, [then, otherwise]: [Block; 2]) {
    let branch = func.make_inst(InstData::branch(condition, then, otherwise), &[]);
    func.layout.append_inst(branch, block);
}
