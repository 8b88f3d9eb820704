//! Iterations of a loop over the grid that may run as work-items of their own.
//!
//! ```text
//!     for (i = global_id; i < n; i += global_size) out[i % w * h + i / w] = in[i];
//! ```
//!
//! A work-item runs its iterations in their order. Without that order they do the same if they share no values and no memory that one of them
//! writes: each array that is stored to is accessed at one sum of the indices, each times positive factors ([`IterationCells`]), and lies in
//! another object than all other arrays. Extents, factors and objects are known at the launch.
//!
//! Requires: Stage::Source.  Ensures: where [`IndependentIterations::hold`], a launch with a work-item for each iteration does the same.

use super::index_extents::{IndexExtent, extent, is_index, queried};
use super::index_guard::bound;
use super::insts_of;
use crate::simplify::dead::has_effects;
use heddle_analysis::Cfg;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::ops::Effect;
use heddle_ir::{Block, Function, Op, Scalar, Space, Value};
use rustc_hash::FxHashSet;
use std::ops::Range;

/// Maximum number of instructions outside of a loop, which each work-item runs.
const MOST_SHARED: usize = 48;

/// Maximum depth of an expression of indices, and number of its terms.
const MOST_OPERATIONS: u32 = 32;
const MOST_TERMS: usize = 16;

/// Distance in bytes: a constant, and indices and numbers of the launch, each times a positive factor.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct LinearDistance {
    constant: i64,
    /// Dimensions of indices, none for 1, with their factors, in order.
    terms: Vec<(Option<u8>, IndexExtent)>,
}

impl LinearDistance {
    fn constant(constant: i64) -> LinearDistance {
        LinearDistance { constant, terms: Vec::new() }
    }

    fn plus(mut self, other: LinearDistance) -> Option<LinearDistance> {
        self.constant = self.constant.checked_add(other.constant)?;
        self.terms.extend(other.terms);
        (self.terms.len() <= MOST_TERMS).then_some(self)
    }

    fn times(self, factor: &IndexExtent) -> Option<LinearDistance> {
        let mut terms = Vec::new();
        for (dimension, by) in self.terms {
            terms.push((dimension, by.times(factor)?));
        }
        let constant = match (self.constant, factor.as_constant()) {
            (0, _) => 0,
            (number, Some(factor)) => number.checked_mul(i64::try_from(factor).ok()?)?,
            (number, None) => {
                terms.push((None, IndexExtent::constant(u64::try_from(number).ok()?).times(factor)?));
                0
            }
        };
        Some(LinearDistance { constant, terms })
    }

    /// The sum that an expression is, if its value is below 2³¹, as its terms are.
    fn of(func: &Function, value: Value, depth: u32) -> Option<LinearDistance> {
        if !is_index(func.value_type(value)) || depth == MOST_OPERATIONS {
            return None;
        }
        if let Some(constant) = func.signed_constant(value) {
            return Some(LinearDistance::constant(constant.try_into().ok()?));
        }
        if let Some(number) = extent(func, value) {
            return Some(LinearDistance { constant: 0, terms: vec![(None, number)] });
        }
        let data = func.inst(func.def_inst(value)?);
        let part = |value: Value| LinearDistance::of(func, value, depth + 1);
        match (data.op, &data.args[..]) {
            (Op::GlobalId, _) => {
                let Detail::Dimension(Some(dimension)) = data.detail else { return None };
                Some(LinearDistance { constant: 0, terms: vec![(Some(dimension), IndexExtent::constant(1))] })
            }
            (Op::Trunc | Op::Sext | Op::Freeze, &[number]) => part(number),
            // A negative number is a large one.
            (Op::Zext, &[number]) => part(number).filter(|it| it.constant >= 0),
            (Op::Add, &[one, other]) => part(one)?.plus(part(other)?),
            (Op::Mul, &[one, other]) => match extent(func, other) {
                Some(factor) => part(one)?.times(&factor),
                None => part(other)?.times(&extent(func, one)?),
            },
            (Op::Shl, &[number, bits]) => {
                let bits = func.unsigned_constant(bits).filter(|&it| it < 31)?;
                part(number)?.times(&IndexExtent::constant(1 << bits))
            }
            _ => None,
        }
    }

    /// The parameter that an address points to, and its distance.
    fn of_address(func: &Function, mut address: Value) -> Option<(u32, LinearDistance)> {
        let mut distance = LinearDistance::default();
        loop {
            let Some(inst) = func.def_inst(address) else {
                let parameter = func.params().iter().position(|&it| it == address)?;
                distance.terms.sort();
                return Some((parameter as u32, distance));
            };
            let data = func.inst(inst);
            address = match (data.op, &data.args[..]) {
                (Op::PtrAdd, &[base, offset]) => {
                    distance = distance.plus(LinearDistance::of(func, offset, 0)?)?;
                    base
                }
                (Op::SpaceCast | Op::Inttoptr, &[base]) => base,
                _ => return None,
            };
        }
    }
}

/// The parameter that an address points to, at any distance.
fn array(func: &Function, mut address: Value) -> Option<u32> {
    while let Some(inst) = func.def_inst(address) {
        let data = func.inst(inst);
        address = match data.op {
            Op::PtrAdd | Op::SpaceCast | Op::Inttoptr => data.args[0],
            _ => return None,
        };
    }
    Some(func.params().iter().position(|&it| it == address)? as u32)
}

/// Cells of an array that iterations store to: a range of bytes at a distance for each iteration.
#[derive(Clone, PartialEq, Eq, Debug)]
struct IterationCells {
    parameter: u32,
    terms: Vec<(Option<u8>, IndexExtent)>,
    bytes: Range<i64>,
}

impl IterationCells {
    /// True if no two iterations of a launch of these extents have a cell in common.
    fn are_distinct(&self, extents: &[u64], parameter: &dyn Fn(u32) -> Option<u64>) -> Option<bool> {
        let mut factors = vec![0u64; extents.len()];
        let mut reach = self.bytes.end.abs_diff(self.bytes.start);
        let mut last = self.bytes.end.unsigned_abs();
        for (dimension, by) in &self.terms {
            let by = by.value(parameter)?;
            match dimension {
                Some(dimension) => {
                    let factor = factors.get_mut(usize::from(*dimension))?;
                    *factor = factor.checked_add(by)?;
                }
                None => last = last.checked_add(by)?,
            }
        }
        let mut steps: Vec<(u64, u64)> = factors.into_iter().zip(extents.iter().copied()).collect();
        steps.retain(|&(_, extent)| extent > 1);
        steps.sort_unstable();
        for (factor, extent) in steps {
            if factor < reach {
                return Some(false);
            }
            let more = factor.checked_mul(extent - 1)?;
            (reach, last) = (reach.checked_add(more)?, last.checked_add(more)?);
        }
        // Indices of 32 bits are those of 64.
        Some(last < 1 << 31)
    }
}

/// Memory of the iterations of a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndependentIterations {
    /// Arrays that are stored to.
    stored: Vec<IterationCells>,
    /// Parameters of arrays that are only loaded from.
    loaded: Vec<u32>,
}

impl IndependentIterations {
    /// Returns the arrays of a kernel that runs an iteration; none if it may access other memory, or if the cells depend on more than the
    /// indices.
    pub(super) fn of(func: &Function) -> Option<IndependentIterations> {
        let mut stored: Vec<IterationCells> = Vec::new();
        let mut loads = Vec::new();
        for inst in insts_of(func) {
            let data = func.inst(inst);
            match data.op.info().effect {
                Effect::Pure | Effect::Traps | Effect::Joins | Effect::Terminator | Effect::Assumes => {}
                Effect::Callee if is_pure_call(func, data) => {}
                Effect::Reads if data.op == Op::Load && !data.is_ordered() => {
                    loads.push((data.args[0], func.value_type(func.result(inst)?)));
                }
                Effect::Writes if data.op == Op::Store && !data.is_ordered() => {
                    let bytes = func.value_type(data.args[0]).bytes();
                    let (parameter, distance) = LinearDistance::of_address(func, data.args[1])?;
                    let LinearDistance { constant, terms } = distance;
                    let bytes = constant..constant.checked_add(bytes.into())?;
                    add_cells(&mut stored, IterationCells { parameter, terms, bytes })?;
                }
                _ => return None,
            }
        }
        let mut loaded = Vec::new();
        for (address, ty) in loads {
            let Some(parameter) = array(func, address) else {
                if func.value_type(address).scalar() == Scalar::Ptr(Space::Constant) {
                    continue;
                }
                return None;
            };
            if stored.iter().any(|cells| cells.parameter == parameter) {
                let (_, LinearDistance { constant, terms }) = LinearDistance::of_address(func, address)?;
                let bytes = constant..constant.checked_add(ty.bytes().into())?;
                add_cells(&mut stored, IterationCells { parameter, terms, bytes })?;
            } else if !loaded.contains(&parameter) {
                loaded.push(parameter);
            }
        }
        Some(IndependentIterations { stored, loaded })
    }

    /// True if the iterations of a launch of these extents share no memory that one of them writes. Tells the values of parameters, and in which
    /// object a parameter points.
    pub fn hold(
        &self,
        extents: &[u64],
        parameter: impl Fn(u32) -> Option<u64>,
        object: impl Fn(u32) -> Option<Range<u64>>,
    ) -> bool {
        let distinct = |cells: &IterationCells| cells.are_distinct(extents, &parameter) == Some(true);
        let stored = self.stored.iter().map(|cells| cells.parameter);
        let objects: Option<Vec<Range<u64>>> =
            stored.chain(self.loaded.iter().copied()).map(object).collect();
        let Some(objects) = objects else { return false };
        let is_apart = |(number, one): (usize, &Range<u64>)| {
            let others = objects.iter().enumerate().filter(|&(other, _)| other != number);
            others.map(|(_, other)| other).all(|other| one.end <= other.start || other.end <= one.start)
        };
        self.stored.iter().all(distinct) && objects.iter().enumerate().take(self.stored.len()).all(is_apart)
    }
}

/// True for a call that neither reads nor writes memory.
fn is_pure_call(func: &Function, data: &InstData) -> bool {
    !has_effects(func, data) && func.callee_of(data).is_some_and(|callee| !callee.signature.effects.reads)
}

/// Adds cells of an array to those that are known. None if they lie at another distance.
fn add_cells(stored: &mut Vec<IterationCells>, cells: IterationCells) -> Option<()> {
    let Some(known) = stored.iter_mut().find(|it| it.parameter == cells.parameter) else {
        stored.push(cells);
        return Some(());
    };
    let IterationCells { terms, bytes, .. } = cells;
    known.bytes = known.bytes.start.min(bytes.start)..known.bytes.end.max(bytes.end);
    (known.terms == terms).then_some(())
}

/// True if iterations of the loop over the grid from a header to a latch share no values, and are all that a kernel does: work-items with an
/// index below the limit begin with it, and nothing else asks for the index.
pub(super) fn is_all(func: &Function, header: Block, latch: Block, limit: &IndexExtent) -> bool {
    let graph = Cfg::new(func);
    let mut body = FxHashSet::from_iter([header, latch]);
    let mut open = if latch == header { vec![] } else { vec![latch] };
    while let Some(block) = open.pop() {
        open.extend(graph.preds(block).iter().copied().filter(|&it| body.insert(it)));
    }
    let leaves = |block: Block| {
        let next = graph.succs(block).iter();
        block != latch && next.into_iter().any(|next| !body.contains(next))
    };
    if body.iter().any(|&block| leaves(block)) {
        return false;
    }
    let mut counters = func.phis(header);
    let (Some(counter), None) = (counters.next(), counters.next()) else { return false };
    let mut shared = 0;
    for block in graph.blocks().filter(|&block| graph.is_reachable(block)) {
        let is_shared = !body.contains(&block);
        for inst in func.block_insts(block) {
            let data = func.inst(inst);
            let is_number = func.result(inst).is_some_and(|it| queried(func, it, Op::GlobalId) == Some(0));
            let uses_index = data.args.iter().any(|&arg| queried(func, arg, Op::GlobalId) == Some(0));
            let is_guard = || {
                let result = func.result(inst)?;
                let bounds = [true, false].map(|holds| bound(func, result, holds));
                bounds.into_iter().flatten().find(|it| *it == (0, limit.clone()))
            };
            if uses_index && !is_number && inst != counter && !(is_shared && is_guard().is_some()) {
                return false;
            }
            // No loops, no calls.
            let is_short = matches!(
                data.op.info().effect,
                Effect::Pure | Effect::Traps | Effect::Assumes | Effect::Terminator
            );
            if is_shared && !is_short {
                return false;
            }
            shared += usize::from(is_shared);
        }
    }
    shared <= MOST_SHARED
}
