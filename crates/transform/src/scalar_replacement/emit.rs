//! Emits available values: φs at joins, and insertions in predecessors that lack the value.

use heddle_analysis::{AddressSum, Extension};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::function::OriginData;
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::ops::Op;
use heddle_ir::words::Flags;
use heddle_ir::{Block, Function, Inst, Scalar, Type, Value};
use rustc_hash::FxHashMap;

use super::query::{LookupResult, QueryPropagation, QueryState, QuerySubject, ValueQuery};
use crate::edges::{prepend_phi, set_incoming};

/// Value that replaces an instruction, and the code it takes.
#[derive(Debug)]
pub(super) struct ReplacementValue {
    /// Value at the instruction.
    pub(super) value: Value,
    /// Inserted instructions, each at the end of its block.
    pub(super) inserted: Vec<(Block, Inst)>,
    /// Existing instructions that are reused.
    pub(super) sources: Vec<Inst>,
    /// New φs.
    pub(super) phis: Vec<Inst>,
}

/// Emits the subject's computation at the end of a block.
pub(super) fn compute(
    func: &mut Function,
    subject: &QuerySubject,
    query: &ValueQuery,
    block: Block,
) -> Option<Inst> {
    let before = func.terminator(block)?;
    let loc = func.loc(subject.inst);
    // Promises about the value hold at the subject only.
    let origin = func.make_origin(OriginData { loc, ..OriginData::default() });
    let data = match query {
        ValueQuery::Load(address) => {
            let pointer = write_address(func, address, before);
            InstData::new(Op::Load, [pointer], Detail::Access(Access::aligned(subject.align)))
        }
        ValueQuery::Operation(args) => {
            InstData::new(subject.op, args.iter().copied(), subject.detail.clone())
        }
    };
    let flags = subject.flags.intersection(Flags::FAST.without(Flags::POISON));
    let data = InstData { flags, origin, ..data };
    let inst = func.make_inst(data, &[subject.ty]);
    func.layout.insert_inst_before(inst, before);
    Some(inst)
}

/// Emits the value of an answered query.
pub(super) fn emit(
    func: &mut Function,
    subject: &QuerySubject,
    propagation: &QueryPropagation,
) -> Option<ReplacementValue> {
    let mut made = ReplacementValue {
        value: func.result(subject.inst)?,
        inserted: Vec::new(),
        sources: Vec::new(),
        phis: Vec::new(),
    };
    let states = &propagation.states;
    let needed = needed(states);
    let mut value_of: SecondaryMap<StateNumber, Option<Value>> = SecondaryMap::with_len(states.len());
    let number = |state: u32| StateNumber::from_u32(state);
    for &state in &needed {
        let QueryState { block, found, preds, .. } = &states[state as usize];
        match found {
            LookupResult::Value(value, inst) => {
                value_of[number(state)] = Some(*value);
                made.sources.push(*inst);
            }
            _ if preds.len() > 1 => {
                let phi = prepend_phi(func, *block, InstData::phi([], None), subject.ty);
                made.phis.extend(func.def_inst(phi));
                value_of[number(state)] = Some(phi);
            }
            _ => {}
        }
    }
    let resolve = |mut state: u32| {
        // States with one predecessor have its value. Each cycle contains a join, which has its own.
        while value_of[number(state)].is_none() {
            state = states[state as usize].preds[0];
        }
        value_of[number(state)]
    };
    let mut inserted: FxHashMap<u32, Value> = FxHashMap::default();
    let joins = needed.iter().filter(|&&state| states[state as usize].found == LookupResult::Predecessors);
    for &state in joins.filter(|&&state| states[state as usize].preds.len() > 1) {
        let mut incoming = Vec::with_capacity(states[state as usize].preds.len());
        for &pred in &states[state as usize].preds {
            let QueryState { block, query, is_available, .. } = &states[pred as usize];
            let value = match (is_available, inserted.get(&pred)) {
                (true, _) => resolve(pred)?,
                (false, Some(&value)) => value,
                (false, None) => {
                    let inst = compute(func, subject, query, *block)?;
                    made.inserted.push((*block, inst));
                    let value = func.result(inst)?;
                    inserted.insert(pred, value);
                    value
                }
            };
            incoming.push((*block, value));
        }
        let phi = func.def_inst(value_of[number(state)]?)?;
        set_incoming(func, phi, incoming);
    }
    made.value = resolve(0)?;
    Some(made)
}

heddle_ir::entity! {
    /// State of a query.
    StateNumber, "state"
}

/// Returns the states that the first one depends on, in breadth-first order.
fn needed(states: &[QueryState]) -> Vec<u32> {
    let mut is_needed = vec![false; states.len()];
    is_needed[0] = true;
    let mut needed = vec![0u32];
    let mut next = 0;
    while let Some(&state) = needed.get(next) {
        next += 1;
        let state = &states[state as usize];
        if state.found != LookupResult::Predecessors {
            continue;
        }
        for &pred in &state.preds {
            if states[pred as usize].is_available && !std::mem::replace(&mut is_needed[pred as usize], true) {
                needed.push(pred);
            }
        }
    }
    needed
}

/// Emits the computation of an address before an instruction.
pub(crate) fn write_address(func: &mut Function, address: &AddressSum, before: Inst) -> Value {
    let mut builder = Builder::new(func, InsertPoint::Before(before));
    let wide = Type::I64;
    let mut sum: Option<Value> = None;
    for &(term, factor) in &address.terms {
        let mut value = term.value;
        if builder.func.value_type(value) != wide {
            let op = if term.extension == Extension::Signed { Op::Sext } else { Op::Zext };
            value = builder.op_to(op, wide, &[value]);
        }
        if factor != 1 {
            // Front ends write shifts, so common subexpressions match.
            let (op, by) = match factor {
                _ if factor > 0 && factor.count_ones() == 1 => (Op::Shl, i64::from(factor.trailing_zeros())),
                _ => (Op::Mul, factor),
            };
            let by = builder.int(Scalar::I64, by.into());
            value = builder.op(op, &[value, by]);
        }
        sum = Some(sum.map_or(value, |sum| builder.op(Op::Add, &[sum, value])));
    }
    let mut pointer = address.root;
    if let Some(sum) = sum {
        pointer = builder.op(Op::PtrAdd, &[pointer, sum]);
    }
    if address.offset != 0 {
        let offset = builder.int(Scalar::I64, address.offset.into());
        pointer = builder.op(Op::PtrAdd, &[pointer, offset]);
    }
    pointer
}
