//! Accesses of a loop, and which of them may move to the ends of a strip.
//!
//! Let `a` be a row access and `b` another access of the loop, one of which writes. A strip executes `a` of all its iterations
//! before, or after, `b` of all its iterations. That is as before unless some `a` and some `b` that change order meet.
//!
//! ```text
//!     objects or spaces differ                   never
//!     equal sums but for `d` bytes               for iterations j apart if [d, d + b) and [j·s, j·s + a) overlap
//!     both grow by constants                     unless the bytes that the whole loop accesses overlap: tested at run time
//!     anything else                              perhaps
//! ```

use super::{RowLoop, StripOptions};
use crate::races::RaceSemantics;
use crate::scalar_replacement::memory::MemoryTable;
use heddle_analysis::{AddressSum, ControlTables, Extension};
use heddle_ir::inst::InstData;
use heddle_ir::words::Flag;
use heddle_ir::{Block, Function, Inst, Op, Scalar, Space, Value};

/// Plain access of a loop.
#[derive(Clone, Debug)]
pub(super) struct LoopAccess {
    pub(super) inst: Inst,
    pub(super) block: Block,
    /// Position in the block.
    order: usize,
    pub(super) is_store: bool,
    pub(super) address: AddressSum,
    pub(super) bytes: u32,
    /// Bytes by which the address grows in an iteration, if they are constant.
    pub(super) step: Option<i64>,
    /// True if it is one that a strip may hold: it executes in each iteration, and its address grows or shrinks by its size.
    may_be_row: bool,
}

impl LoopAccess {
    pub(super) fn is_row(&self) -> bool {
        self.may_be_row
    }
}

/// Pair of accesses whose bytes are compared before the loop.
#[derive(Clone, Debug)]
pub(super) struct OverlapCheck {
    pub(super) accesses: [LoopAccess; 2],
    /// True if equal addresses are as good as separate ones: a load, then a store of the same element.
    pub(super) may_be_equal: bool,
}

/// Relation of a row access to another one.
enum Relation {
    Apart,
    Checked(OverlapCheck),
    Meets,
}

/// True if an access is neither volatile nor atomic.
pub(super) fn is_plain(data: &InstData) -> bool {
    !data.flags.has(Flag::Volatile) && data.access().is_some_and(|access| access.atomic.is_none())
}

/// Finds the plain accesses of a loop, in layout order.
pub(super) fn find_accesses(func: &Function, control: &ControlTables, row_loop: &RowLoop) -> Vec<LoopAccess> {
    let mut found = Vec::new();
    for &block in &row_loop.blocks {
        let is_in_each = control.dominators.dominates(block, row_loop.latch)
            && control.cycles.innermost(block) == control.cycles.headed_by(row_loop.header);
        for (order, inst) in func.block_insts(block).enumerate() {
            let data = func.inst(inst);
            let accessed = match data.op {
                Op::Load => func.result(inst),
                Op::Store => Some(data.args[0]),
                _ => None,
            };
            let (Some(accessed), Some(pointer)) = (accessed, data.address()) else { continue };
            let ty = func.value_type(accessed);
            let address = AddressSum::of(func, pointer);
            let bytes = ty.bytes();
            let step = step_of(func, row_loop, &address);
            let is_element = !ty.is_vector() && ty.scalar() != Scalar::I1 && matches!(bytes, 1 | 2 | 4 | 8);
            let is_shared = func.value_type(pointer).scalar() != Scalar::Ptr(Space::Private)
                && func.value_type(address.root).scalar() != Scalar::Ptr(Space::Private);
            found.push(LoopAccess {
                inst,
                block,
                order,
                is_store: data.op == Op::Store,
                address,
                bytes,
                step,
                may_be_row: is_in_each && is_element && is_shared && step.map(i64::abs) == Some(bytes.into()),
            });
        }
    }
    found
}

/// Number of bytes by which an address grows in an iteration; none if they are not constant.
fn step_of(func: &Function, row_loop: &RowLoop, address: &AddressSum) -> Option<i64> {
    let is_invariant = |value| row_loop.is_invariant(func, value);
    let induction = |value: Value| row_loop.inductions.iter().find(|it| it.value == value);
    let mut all = match is_invariant(address.root) {
        true => 0,
        false => func.i64_constant(induction(address.root).filter(|it| it.is_pointer)?.step)?,
    };
    for &(term, factor) in &address.terms {
        if is_invariant(term.value) {
            continue;
        }
        let induction = induction(term.value)?;
        let flags = func.inst(func.def_inst(induction.next)?).flags;
        // A counter that wraps is poison, and so is the address of an access that executes.
        let promised = match term.extension {
            Extension::Signed => Flag::Nsw,
            Extension::Unsigned => Flag::Nuw,
        };
        if func.value_type(term.value).scalar().bits() < 64 && !flags.has(promised) {
            return None;
        }
        all = all.checked_add(factor.checked_mul(func.i64_constant(induction.step)?)?)?;
    }
    Some(all)
}

/// Removes candidates that must not move. Returns the rows, and the comparisons that let them move.
pub(super) fn find_rows(
    func: &Function,
    control: &ControlTables,
    accesses: &[LoopAccess],
    mut candidates: Vec<usize>,
    length: u32,
    options: &StripOptions,
) -> (Vec<usize>, Vec<OverlapCheck>) {
    let memory = MemoryTable::new(func, control);
    loop {
        let mut checks: Vec<OverlapCheck> = Vec::new();
        let mut moved: Option<usize> = None;
        'rows: for (number, &row) in candidates.iter().enumerate() {
            for (at, other) in accesses.iter().enumerate() {
                // Pairs of rows are compared once.
                let is_pair = at != row && (accesses[row].is_store || other.is_store);
                if !is_pair || candidates[..number].contains(&at) {
                    continue;
                }
                match relation(func, control, &memory, [&accesses[row], other], length, options) {
                    Relation::Apart => {}
                    Relation::Checked(check) => checks.push(check),
                    Relation::Meets => {
                        moved = Some(number);
                        break 'rows;
                    }
                }
            }
        }
        match moved {
            Some(number) => _ = candidates.remove(number),
            None => return (candidates, checks),
        }
    }
}

/// Relation of a row access to another access of the loop.
fn relation(
    func: &Function,
    control: &ControlTables,
    memory: &MemoryTable,
    [row, other]: [&LoopAccess; 2],
    length: u32,
    options: &StripOptions,
) -> Relation {
    let is_ordered = options.races == RaceSemantics::Ordered;
    if memory.are_apart(func, &row.address, &other.address, is_ordered) {
        return Relation::Apart;
    }
    let (Some(step), Some(other_step), false) = (row.step, other.step, is_ordered) else {
        return Relation::Meets;
    };
    let comes_first = |a: &LoopAccess, b: &LoopAccess| match a.block == b.block {
        true => a.order < b.order,
        false => control.dominators.strictly_dominates(a.block, b.block),
    };
    let is_load_before_store =
        |a: &LoopAccess, b: &LoopAccess| !a.is_store && b.is_store && comes_first(a, b);
    let keeps_pair = is_load_before_store(row, other) || is_load_before_store(other, row);
    let is_same_sum = row.address.root == other.address.root && row.address.terms == other.address.terms;
    if is_same_sum && step == other_step {
        let distance = i128::from(other.address.offset) - i128::from(row.address.offset);
        let (size, other_size) = (i128::from(row.bytes), i128::from(other.bytes));
        // Bytes of the row's element, j iterations later, against those of the other access.
        let meets = |j: i128| {
            let from = j * i128::from(step);
            from < distance + other_size && distance < from + size
        };
        // A load that is executed later than the store of its element must stay so; a load before the store stays before it.
        let is_later = |j: i128| match (row.is_store, other.is_store) {
            (false, true) => j > 0 || j == 0 && !keeps_pair,
            (true, false) => j < 0 || j == 0 && !keeps_pair,
            _ => true,
        };
        let reach = i128::from(length) - 1;
        let is_bad = (-reach..=reach).any(|j| meets(j) && is_later(j));
        return if is_bad { Relation::Meets } else { Relation::Apart };
    }
    Relation::Checked(OverlapCheck {
        accesses: [row.clone(), other.clone()],
        may_be_equal: keeps_pair && step == other_step && row.bytes == other.bytes,
    })
}
