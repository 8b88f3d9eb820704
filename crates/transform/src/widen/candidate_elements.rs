//! Scattered accesses to one of a few elements of an interleaved object: access all candidates, select per lane.
//!
//! ```text
//!     m[best][k], best in 0..4      row 0: a0 b0 c0 d0     one vector load per row,
//!                                   row 1: a1 b1 c1 d1     and a select by the row that a lane needs
//!                                   …
//! ```
//!
//! A lane's index is a multiple of a row's size, so only a few offsets are within the object. A store becomes a load, a
//! select and a store of each candidate. All offsets are then constant, and LLVM promotes small objects to registers.

use super::access_plan::{AccessPlanner, LaneAccess};
use super::value_reps::ValueRep;
use super::widener::Widener;
use super::{Remark, RemarkKind};
use crate::target::{AccessDirection, AccessLanes};
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::words::{Flag, IntPredicate};
use heddle_ir::{Constant, Function, Inst, Op, Scalar, Type, Value};

/// Maximum number of candidates.
const MAX_ELEMENTS: usize = 16;
/// Maximum number of instructions to look through in an address.
const MAX_STEPS: usize = 16;
/// Cost of a comparison or a select, per register.
const SELECT_COST: u32 = 10;

/// Elements that lanes select from.
#[derive(Clone, Debug)]
pub(super) struct CandidateElements {
    /// Address of the object.
    object: Value,
    /// Index by which the lanes differ.
    index: Value,
    /// For each element, its index value and its offset within a lane's object.
    elements: Vec<(i64, u64)>,
    /// Distance of the index values of neighbouring elements.
    factor: i64,
}

/// Address as object + constant + index.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexedAddress {
    pub(super) object: Value,
    pub(super) constant: i64,
    pub(super) index: Value,
}

impl AccessPlanner<'_> {
    /// Candidates of a scattered access, if accessing all of them pays.
    pub(super) fn candidate_elements(
        &self,
        access: &LaneAccess,
        remarks: &mut Vec<Remark>,
    ) -> Option<CandidateElements> {
        if !self.objects.is_interleaved(access.address) {
            return None;
        }
        let indexed = indexed_address(self.func, access.address)?;
        let alloca = self.func.def_inst(indexed.object)?;
        let Detail::Alloca { bytes, .. } = self.func.inst(alloca).detail else { return None };
        let size = u64::from(access.scalar.bytes());
        let is_known = self.objects.stride(alloca) == size && self.reps.of(indexed.index) == ValueRep::Vector;
        let last = i64::try_from(bytes.checked_sub(size)?).ok().filter(|_| is_known)?;
        let factor = match size {
            1 => Some(1).filter(|_| self.func.value_type(indexed.index) == Scalar::I64.into())?,
            _ => factor_of(self.func, indexed.index)?,
        };
        let first = indexed.constant.rem_euclid(factor);
        let step = usize::try_from(factor).ok()?;
        let offsets = (first..=last).step_by(step).take(MAX_ELEMENTS + 1);
        let elements: Vec<(i64, u64)> = offsets.map(|at| (at - indexed.constant, at as u64)).collect();
        let is_whole = elements.iter().all(|&(_, at)| at % size == 0);
        if elements.is_empty() || elements.len() > MAX_ELEMENTS || !is_whole {
            return None;
        }
        let (text, costs) = (
            format!("selected from {} elements", elements.len()),
            self.candidate_costs(access, elements.len()),
        );
        self.pays(access, RemarkKind::Interleaved, text, costs, remarks).then_some(CandidateElements {
            object: indexed.object,
            index: indexed.index,
            elements,
            factor,
        })
    }

    /// Costs of accessing all candidates, and of a gather or scatter.
    fn candidate_costs(&self, access: &LaneAccess, count: usize) -> [u32; 2] {
        let (target, lanes, count) = (&self.options.target, self.lanes(), count as u32);
        let whole =
            |direction| target.contiguous_cost(direction, AccessLanes::All, lanes, access.element_bits());
        let choice = SELECT_COST * target.registers_of(lanes * access.element_bits());
        let load = whole(AccessDirection::Load);
        let together = match access.direction {
            AccessDirection::Store => count * (load + 2 * choice + whole(AccessDirection::Store)),
            // A tree of selects: one comparison for each of its levels.
            AccessDirection::Load => {
                let levels = count.next_power_of_two().trailing_zeros();
                count * load + (count - 1 + levels) * choice
            }
        };
        [together, self.scattered_cost(access, AccessLanes::All)]
    }
}

impl Widener<'_> {
    /// Loads all candidates and selects each lane's, by the bits of its element number where that has any.
    pub(super) fn load_candidates(&mut self, inst: Inst, candidates: &CandidateElements) -> Value {
        let ty = self.old.value_type(self.old.result(inst).expect("a load gives a value"));
        let mut level: Vec<Value> =
            candidates.elements.iter().map(|&(_, at)| self.load_element(inst, candidates, at, ty)).collect();
        if !u64::try_from(candidates.factor).is_ok_and(u64::is_power_of_two) {
            let mut chosen = level[0];
            for (&(index, _), &element) in candidates.elements.iter().zip(&level).skip(1) {
                let is_it = self.selects(candidates, index);
                chosen = self.emit(InstData::plain(Op::Select, [is_it, element, chosen]), None);
            }
            return chosen;
        }
        let mut from_first = self.vector(candidates.index);
        let index_ty = self.new.value_type(from_first);
        let first = candidates.elements[0].0;
        if first != 0 {
            let first = self.new.make_const(Constant::splat(index_ty, u128::from(first as u64)));
            from_first = self.emit(InstData::plain(Op::Sub, [from_first, first]), None);
        }
        let mut bit = candidates.factor as u64;
        while level.len() > 1 {
            let mask = self.new.make_const(Constant::splat(index_ty, bit.into()));
            let masked = self.emit(InstData::plain(Op::And, [from_first, mask]), None);
            let zero = self.new.make_const(Constant::splat(index_ty, 0));
            let is_odd = self.compare(IntPredicate::Ne, masked, zero);
            level = level
                .chunks(2)
                .map(|pair| match *pair {
                    [even, odd] => self.emit(InstData::plain(Op::Select, [is_odd, odd, even]), None),
                    _ => pair[0],
                })
                .collect();
            bit <<= 1;
        }
        level[0]
    }

    /// Stores each lane's value to the candidate that it selects.
    pub(super) fn store_candidates(&mut self, inst: Inst, candidates: &CandidateElements) {
        let stored = self.old.inst(inst).args[0];
        let ty = self.old.value_type(stored);
        let value = self.vector(stored);
        let mask = self.mask(inst);
        for &(index, at) in &candidates.elements {
            let mut is_it = self.selects(candidates, index);
            if let Some(mask) = mask {
                let none = self.new.make_const(Constant::splat(self.new.value_type(mask), 0));
                is_it = self.emit(InstData::plain(Op::Select, [mask, is_it, none]), None);
            }
            let old = self.load_element(inst, candidates, at, ty);
            let new = self.emit(InstData::plain(Op::Select, [is_it, value, old]), None);
            let mut data = self.element_access(inst, ty);
            (data.op, data.args) =
                (Op::Store, [new, self.element_address(candidates, at)].into_iter().collect());
            self.insert(data, None);
        }
    }

    /// Mask of the lanes that select this element.
    fn selects(&mut self, candidates: &CandidateElements, number: i64) -> Value {
        let numbers = self.vector(candidates.index);
        let ty = self.new.value_type(numbers);
        let number = self.new.make_const(Constant::splat(ty, u128::from(number as u64)));
        self.compare(IntPredicate::Eq, numbers, number)
    }

    /// Address of an element for all lanes.
    fn element_address(&mut self, candidates: &CandidateElements, at: u64) -> Value {
        let object = self.scalar(candidates.object);
        let far = self.new.make_int(Scalar::I64, i128::from(at) * i128::from(self.lanes));
        self.emit(InstData::plain(Op::PtrAdd, [object, far]), None)
    }

    fn load_element(&mut self, inst: Inst, candidates: &CandidateElements, at: u64, ty: Type) -> Value {
        let mut data = self.element_access(inst, ty);
        (data.op, data.args) = (Op::Load, [self.element_address(candidates, at)].into_iter().collect());
        let wide = self.wide_type(ty);
        self.emit(data, Some(wide))
    }

    /// Access details for an element of all lanes.
    fn element_access(&mut self, inst: Inst, ty: Type) -> InstData {
        let mut data = self.old.inst(inst).clone();
        let access = data.access().copied().unwrap_or(Access::aligned(1));
        data.detail = Detail::Access(self.wide_access(access, access.align.min(ty.bytes())));
        data
    }
}

/// Decomposes an address into object, constant and index.
pub(super) fn indexed_address(func: &Function, address: Value) -> Option<IndexedAddress> {
    let (mut at, mut constant, mut index) = (address, 0i64, None);
    for _ in 0..MAX_STEPS {
        let data = func.inst(func.def_inst(at)?);
        match data.op {
            Op::Alloca => {
                return Some(IndexedAddress { object: at, constant, index: index? });
            }
            Op::SpaceCast => at = data.args[0],
            Op::PtrAdd => {
                let mut far = data.args[1];
                while let Some((rest, more)) = without_constant(func, far) {
                    constant = constant.checked_add(more)?;
                    far = rest;
                }
                match func.i64_constant(far) {
                    Some(more) => constant = constant.checked_add(more)?,
                    None if index.is_none() => index = Some(far),
                    None => return None,
                }
                at = data.args[0];
            }
            _ => return None,
        }
    }
    None
}

/// Splits a constant off a 64-bit sum; both address and sum wrap at 64 bits.
fn without_constant(func: &Function, value: Value) -> Option<(Value, i64)> {
    let data = func.inst(func.def_inst(value)?);
    let is_sum = data.op == Op::Add && func.value_type(value) == Scalar::I64.into();
    let &[a, b] = &data.args[..] else { return None };
    match (func.i64_constant(a), func.i64_constant(b)) {
        _ if !is_sum => None,
        (None, Some(more)) => Some((a, more)),
        (Some(more), None) => Some((b, more)),
        _ => None,
    }
}

/// Factor greater than 1 that a 64-bit value is a multiple of without wrapping.
fn factor_of(func: &Function, value: Value) -> Option<i64> {
    let data = func.inst(func.def_inst(value)?);
    let &[what, by] = &data.args[..] else { return None };
    let by = func.i64_constant(by)?;
    let factor = match data.op {
        Op::Mul => by,
        Op::Shl => 1i64.checked_shl(u32::try_from(by).ok()?).filter(|_| by < 31)?,
        _ => return None,
    };
    let is_extended = func.def_inst(what).map(|inst| func.inst(inst)).is_some_and(|data| {
        matches!(data.op, Op::Sext | Op::Zext) && func.value_type(data.args[0]).scalar().bits() <= 32
    });
    let stays = data.flags.has(Flag::Nsw) || is_extended;
    (stays && (2..1 << 31).contains(&factor) && func.value_type(value) == Scalar::I64.into())
        .then_some(factor)
}
