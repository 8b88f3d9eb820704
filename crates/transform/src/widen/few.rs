//! Accesses to one of few elements of an interleaved object: all of them as whole vectors, and each lane chooses.
//!
//! ```text
//!     m[best][k], best in 0..4      row 0: a0 b0 c0 d0     one load for each row, as wide as there are lanes,
//!                                   row 1: a1 b1 c1 d1     and a select by which row a lane wants
//!                                   …
//! ```
//!
//! A lane's index times the bytes of a row leaves few places within the object. A store is loads, selects and stores of all of
//! them. What remains are accesses at constant places, so that LLVM keeps small objects in registers.

use super::kinds::Kind;
use super::writer::Writer;
use super::{ChosenForm, Remark, access_form, place_of};
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::words::{Flag, IntPredicate};
use heddle_ir::{Constant, Function, Inst, Op, Scalar, Type, Value};

/// The most elements that are tried.
const MOST_ELEMENTS: usize = 8;
/// Operations that an address is followed through.
const MOST_STEPS: usize = 16;
/// What a comparison and a select cost, for each register.
const CHOICE: u32 = 20;

/// The elements that lanes choose from.
pub(super) struct Few {
    /// The address of the object.
    object: Value,
    /// The number that tells lanes apart.
    chosen: Value,
    /// Of each element that number, and its first byte in a lane's object.
    elements: Vec<(i64, u64)>,
}

/// An address as an object, a constant, and a number of a lane that is a multiple of something.
struct Place {
    object: Value,
    constant: i64,
    chosen: Value,
    factor: i64,
}

impl Writer<'_> {
    /// The elements that a scattered access chooses from, if it pays to take all of them.
    pub(super) fn one_of_few(&mut self, inst: Inst, address: Value, ty: Type) -> Option<Few> {
        if !self.objects.is_interleaved(address) {
            return None;
        }
        let place = place_in_object(self.old, address)?;
        let alloca = self.old.def_inst(place.object)?;
        let Detail::Alloca { bytes, .. } = self.old.inst(alloca).detail else { return None };
        let size = u64::from(ty.bytes());
        let is_known = self.objects.stride(alloca) == size && self.kinds.of(place.chosen) == Kind::Lanes;
        let last = i64::try_from(bytes.checked_sub(size)?).ok().filter(|_| is_known)?;
        let first = place.constant.rem_euclid(place.factor);
        let step = usize::try_from(place.factor).ok()?;
        let places = (first..=last).step_by(step).take(MOST_ELEMENTS + 1);
        let elements: Vec<(i64, u64)> = places.map(|at| (at - place.constant, at as u64)).collect();
        let is_whole = elements.iter().all(|&(_, at)| at % size == 0);
        if elements.is_empty() || elements.len() > MOST_ELEMENTS || !is_whole {
            return None;
        }
        let count = elements.len() as u32;
        self.does_pay(inst, address, ty, count).then_some(Few {
            object: place.object,
            chosen: place.chosen,
            elements,
        })
    }

    /// Whether so many vectors cost less than a gather or scatter, with the figures in a remark.
    fn does_pay(&mut self, inst: Inst, address: Value, ty: Type, count: u32) -> bool {
        let (target, lanes) = (self.options.target, u32::from(self.lanes));
        let bits = lanes * ty.bytes() * 8;
        let choice = CHOICE * target.registers_of(bits);
        let whole = target.cost(target.load.whole, lanes, bits) + choice;
        let is_store = self.old.inst(inst).op == Op::Store;
        let (one, scattered) = match is_store {
            true => (whole + target.cost(target.store.whole, lanes, bits), target.store.scattered),
            false => (whole, target.load.scattered),
        };
        let (together, alone) = (count * one, target.cost(scattered, lanes, bits));
        let pays = together < alone;
        let (is_not, than) = if pays { ("", "instead of") } else { ("not ", "which is no less than") };
        let text = format!(
            "a {} {}: {is_not}all {count} elements that lanes choose from: cost {together} {than} {alone} on {}",
            if is_store { "store" } else { "load" },
            place_of(self.old, address),
            target.name
        );
        let form = if pays { ChosenForm::Lines } else { ChosenForm::Alone };
        self.remarks.push(Remark { form, accesses: 1, told: access_form(self.old, inst, text) });
        pays
    }

    /// What each lane loads of the elements.
    pub(super) fn load_one_of(&mut self, inst: Inst, few: &Few, ty: Type) -> Value {
        let mut loaded = None;
        for &(chosen, at) in &few.elements {
            let element = self.load_element(inst, few, at, ty);
            loaded = Some(match loaded {
                None => element,
                Some(others) => {
                    let is_it = self.chooses(few, chosen);
                    self.emit(InstData::plain(Op::Select, [is_it, element, others]), None)
                }
            });
        }
        loaded.expect("there are elements to choose from")
    }

    /// Stores of each lane the element that it chooses.
    pub(super) fn store_one_of(&mut self, inst: Inst, few: &Few, stored: Value) {
        let ty = self.old.value_type(stored);
        let value = self.vector(stored);
        let mask = self.mask(inst);
        for &(chosen, at) in &few.elements {
            let mut is_it = self.chooses(few, chosen);
            if let Some(mask) = mask {
                let none = self.new.make_const(Constant::splat(self.new.value_type(mask), 0));
                is_it = self.emit(InstData::plain(Op::Select, [mask, is_it, none]), None);
            }
            let old = self.load_element(inst, few, at, ty);
            let new = self.emit(InstData::plain(Op::Select, [is_it, value, old]), None);
            let mut data = self.access_of_element(inst, ty);
            (data.op, data.args) = (Op::Store, [new, self.element(few, at)].into_iter().collect());
            self.insert(data, None);
        }
    }

    /// Which lanes choose the element of this number.
    fn chooses(&mut self, few: &Few, number: i64) -> Value {
        let numbers = self.vector(few.chosen);
        let ty = self.new.value_type(numbers);
        let number = self.new.make_const(Constant::splat(ty, u128::from(number as u64)));
        self.compare(IntPredicate::Eq, numbers, number)
    }

    /// The address of all lanes' elements.
    fn element(&mut self, few: &Few, at: u64) -> Value {
        let object = self.scalar(few.object);
        let far = self.new.make_int(Scalar::I64, i128::from(at) * i128::from(self.lanes));
        self.emit(InstData::plain(Op::PtrAdd, [object, far]), None)
    }

    fn load_element(&mut self, inst: Inst, few: &Few, at: u64, ty: Type) -> Value {
        let mut data = self.access_of_element(inst, ty);
        (data.op, data.args) = (Op::Load, [self.element(few, at)].into_iter().collect());
        let wide = self.wide(ty);
        self.emit(data, Some(wide))
    }

    /// An access like this one, to all lanes' elements.
    fn access_of_element(&mut self, inst: Inst, ty: Type) -> InstData {
        let mut data = self.old.inst(inst).clone();
        let access = data.access().copied().unwrap_or(Access::aligned(1));
        data.detail = Detail::Access(self.hinted(access, access.align.min(ty.bytes())));
        data
    }
}

/// Where in an object an address is, if lanes differ by multiples of a number.
fn place_in_object(func: &Function, address: Value) -> Option<Place> {
    let (mut at, mut constant, mut chosen) = (address, 0i64, None);
    for _ in 0..MOST_STEPS {
        let data = func.inst(func.def_inst(at)?);
        match data.op {
            Op::Alloca => {
                let chosen = chosen?;
                return Some(Place { object: at, constant, chosen, factor: factor_of(func, chosen)? });
            }
            Op::SpaceCast => at = data.args[0],
            Op::PtrAdd => {
                let mut far = data.args[1];
                while let Some((rest, more)) = without_constant(func, far) {
                    constant = constant.checked_add(more)?;
                    far = rest;
                }
                match number(func, far) {
                    Some(more) => constant = constant.checked_add(more)?,
                    None if chosen.is_none() => chosen = Some(far),
                    None => return None,
                }
                at = data.args[0];
            }
            _ => return None,
        }
    }
    None
}

/// A constant of 64 bits or less, with its sign.
fn number(func: &Function, value: Value) -> Option<i64> {
    let Some(&Constant::Scalar(scalar, bits)) = func.constant(value) else { return None };
    let unused = 128u32.checked_sub(scalar.bits())?;
    i64::try_from((bits as i128) << unused >> unused).ok()
}

/// A sum with a constant, taken apart. Addresses wrap around as sums of 64 bits do.
fn without_constant(func: &Function, value: Value) -> Option<(Value, i64)> {
    let data = func.inst(func.def_inst(value)?);
    let is_sum = data.op == Op::Add && func.value_type(value) == Scalar::I64.into();
    let &[a, b] = &data.args[..] else { return None };
    match (number(func, a), number(func, b)) {
        _ if !is_sum => None,
        (None, Some(more)) => Some((a, more)),
        (Some(more), None) => Some((b, more)),
        _ => None,
    }
}

/// What a number of 64 bits is a multiple of, without wrapping around; more than 1.
fn factor_of(func: &Function, value: Value) -> Option<i64> {
    let data = func.inst(func.def_inst(value)?);
    let &[what, by] = &data.args[..] else { return None };
    let by = number(func, by)?;
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
