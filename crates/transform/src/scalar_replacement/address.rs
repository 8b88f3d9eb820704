//! Addresses as linear sums: a pointer, integers times constants, and a number of bytes.
//!
//! Two addresses with equal sums are equal wherever both are defined. All arithmetic is modulo 2^64, as for pointers. Narrower
//! operations are decomposed only if their flags (`nsw`, `nuw`, `disjoint`) exclude wrapping; an address computed with a violated
//! flag is poison, and an access to it is undefined.

use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::inst::InstData;
use heddle_ir::types::{Scalar, Type};
use heddle_ir::words::Flag;
use heddle_ir::{Constant, Function, Inst, Op, Value};
use smallvec::SmallVec;

/// Maximum number of definitions to follow (`MAX_STEPS`), and of terms in a sum (`MAX_TERMS`).
const MAX_STEPS: usize = 48;
const MAX_TERMS: usize = 6;

/// Extension of an integer of fewer than 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum ExtensionKind {
    /// Sign extension; also used for 64 bits.
    Sign,
    /// Zero extension.
    Zero,
}

/// Integer in a sum.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct AddressTerm {
    pub(crate) value: Value,
    pub(crate) extended: ExtensionKind,
}

/// Address as a sum of a pointer, scaled integers and an offset.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct AddressSum {
    /// Base pointer, which is not decomposed further.
    pub(crate) root: Value,
    /// Terms with their nonzero factors, sorted and distinct.
    pub(crate) terms: SmallVec<[(AddressTerm, i64); 2]>,
    /// Offset in bytes.
    pub(crate) offset: i64,
}

impl AddressSum {
    /// Decomposes a pointer.
    pub(crate) fn of(func: &Function, pointer: Value) -> AddressSum {
        let mut sum = AddressSumBuilder::default();
        sum.add_pointer(func, pointer, true).unwrap_or_else(|| AddressSum::opaque(pointer))
    }

    fn opaque(root: Value) -> AddressSum {
        AddressSum { root, terms: SmallVec::new(), offset: 0 }
    }

    /// Iterates over the values of the sum.
    pub(crate) fn values(&self) -> impl Iterator<Item = Value> + '_ {
        std::iter::once(self.root).chain(self.terms.iter().map(|(term, _)| term.value))
    }

    /// Substitutes values; none if the sum gets too long.
    pub(crate) fn replaced(&self, func: &Function, map: impl Fn(Value) -> Value) -> Option<AddressSum> {
        if self.values().all(|value| map(value) == value) {
            return Some(self.clone());
        }
        let mut sum = AddressSumBuilder { terms: SmallVec::new(), offset: self.offset, steps: 0 };
        for &(term, factor) in &self.terms {
            sum.add(func, map(term.value), term.extended, factor)?;
        }
        sum.add_pointer(func, map(self.root), map(self.root) != self.root)
    }

    /// Substitutes values that are not decomposed further.
    pub(crate) fn renamed(&self, map: impl Fn(Value) -> Value) -> AddressSum {
        let renamed =
            |&(term, factor): &(AddressTerm, i64)| (AddressTerm { value: map(term.value), ..term }, factor);
        let terms = self.terms.iter().map(renamed).collect();
        AddressSum { root: map(self.root), terms, offset: self.offset }
    }

    /// Returns the maximum power of two that divides the difference of the terms of two addresses; none if they have equal terms.
    pub(crate) fn term_stride(&self, other: &AddressSum) -> Option<i64> {
        let mut bits = 0i64;
        let mut count = |term: &AddressTerm, factor: i64, others: &AddressSum| {
            let there = others.terms.iter().find(|(other, _)| other == term).map_or(0, |&(_, factor)| factor);
            bits |= factor.wrapping_sub(there);
        };
        self.terms.iter().for_each(|(term, factor)| count(term, *factor, other));
        other.terms.iter().for_each(|(term, factor)| count(term, *factor, self));
        (bits != 0).then(|| bits & bits.wrapping_neg())
    }

    /// Emits the computation of the address before an instruction.
    pub(crate) fn write(&self, func: &mut Function, before: Inst) -> Value {
        let mut builder = Builder::new(func, InsertPoint::Before(before));
        let wide = Type::I64;
        let mut sum: Option<Value> = None;
        for &(term, factor) in &self.terms {
            let mut value = term.value;
            if builder.func.value_type(value) != wide {
                let op = if term.extended == ExtensionKind::Sign { Op::Sext } else { Op::Zext };
                value = builder.op_to(op, wide, &[value]);
            }
            if factor != 1 {
                // Front ends write shifts, so common subexpressions match.
                let (op, by) = match factor {
                    _ if factor > 0 && factor.count_ones() == 1 => {
                        (Op::Shl, i64::from(factor.trailing_zeros()))
                    }
                    _ => (Op::Mul, factor),
                };
                let by = builder.int(Scalar::I64, by.into());
                value = builder.op(op, &[value, by]);
            }
            sum = Some(sum.map_or(value, |sum| builder.op(Op::Add, &[sum, value])));
        }
        let mut pointer = self.root;
        if let Some(sum) = sum {
            pointer = builder.op(Op::PtrAdd, &[pointer, sum]);
        }
        if self.offset != 0 {
            let offset = builder.int(Scalar::I64, self.offset.into());
            pointer = builder.op(Op::PtrAdd, &[pointer, offset]);
        }
        pointer
    }
}

/// Sum under construction.
#[derive(Default)]
struct AddressSumBuilder {
    terms: SmallVec<[(AddressTerm, i64); 2]>,
    offset: i64,
    steps: usize,
}

impl AddressSumBuilder {
    /// Adds a pointer and completes the sum. With `follows` unset the pointer becomes the root undecomposed.
    fn add_pointer(&mut self, func: &Function, mut pointer: Value, follows: bool) -> Option<AddressSum> {
        while let Some(inst) = func.def_inst(pointer).filter(|_| follows) {
            let data = func.inst(inst);
            self.steps += 1;
            if self.steps > MAX_STEPS || func.value_type(pointer).is_vector() {
                break;
            }
            if let Some(copied) = copied(data) {
                pointer = copied;
                continue;
            }
            if data.op != Op::PtrAdd {
                break;
            }
            self.add(func, data.args[1], ExtensionKind::Sign, 1)?;
            pointer = data.args[0];
        }
        let mut terms = std::mem::take(&mut self.terms);
        terms.retain(|&mut (_, factor)| factor != 0);
        terms.sort_unstable();
        (terms.len() <= MAX_TERMS).then_some(AddressSum { root: pointer, terms, offset: self.offset })
    }

    /// Adds a decomposed integer times a factor; none if the sum gets too long.
    fn add(&mut self, func: &Function, value: Value, extended: ExtensionKind, factor: i64) -> Option<()> {
        let mut work: SmallVec<[(Value, ExtensionKind, i64); 8]> = SmallVec::new();
        work.push((value, extended, factor));
        while let Some((value, extended, factor)) = work.pop() {
            let Type::Scalar(scalar) = func.value_type(value) else { return None };
            if !scalar.is_int() || scalar.bits() > 64 {
                return None;
            }
            self.steps += 1;
            if let Some(number) = number(func, value, extended) {
                self.offset = self.offset.wrapping_add(number.wrapping_mul(factor));
                continue;
            }
            if self.steps <= MAX_STEPS && take_apart(func, value, scalar, extended, factor, &mut work) {
                continue;
            }
            let extended = if scalar == Scalar::I64 { ExtensionKind::Sign } else { extended };
            let term = AddressTerm { value, extended };
            if let Some((_, known)) = self.terms.iter_mut().find(|(known, _)| *known == term) {
                *known = known.wrapping_add(factor);
            } else if self.terms.len() <= 2 * MAX_TERMS {
                self.terms.push((term, factor));
            } else {
                return None;
            }
        }
        Some(())
    }
}

/// Pushes the summands of a value's definition; returns false if it is no sum.
fn take_apart(
    func: &Function,
    value: Value,
    scalar: Scalar,
    extended: ExtensionKind,
    factor: i64,
    work: &mut SmallVec<[(Value, ExtensionKind, i64); 8]>,
) -> bool {
    let Some(inst) = func.def_inst(value) else { return false };
    let data = func.inst(inst);
    let promised = match extended {
        ExtensionKind::Sign => Flag::Nsw,
        ExtensionKind::Zero => Flag::Nuw,
    };
    let is_exact = scalar == Scalar::I64 || data.flags.has(promised);
    match data.op {
        Op::Add if is_exact => {
            work.extend([(data.args[1], extended, factor), (data.args[0], extended, factor)])
        }
        Op::Or if data.flags.has(Flag::Disjoint) => {
            work.extend([(data.args[1], extended, factor), (data.args[0], extended, factor)]);
        }
        Op::Sub if is_exact => {
            work.extend([(data.args[1], extended, factor.wrapping_neg()), (data.args[0], extended, factor)]);
        }
        Op::Mul if is_exact => match [0, 1].map(|index| number(func, data.args[index], extended)) {
            [_, Some(by)] => work.push((data.args[0], extended, factor.wrapping_mul(by))),
            [Some(by), _] => work.push((data.args[1], extended, factor.wrapping_mul(by))),
            _ => return false,
        },
        Op::Shl if is_exact => match number(func, data.args[1], ExtensionKind::Zero) {
            Some(by) if (0..i64::from(scalar.bits())).contains(&by) => {
                work.push((data.args[0], extended, factor.wrapping_shl(by as u32)));
            }
            _ => return false,
        },
        Op::Sext if scalar == Scalar::I64 || extended == ExtensionKind::Sign => {
            work.push((data.args[0], ExtensionKind::Sign, factor));
        }
        // Zero and sign extension of a nonnegative value agree.
        Op::Zext if data.flags.has(Flag::Nneg) => work.push((data.args[0], ExtensionKind::Sign, factor)),
        Op::Zext => work.push((data.args[0], ExtensionKind::Zero, factor)),
        Op::Phi => match copied(data) {
            Some(copied) => work.push((copied, extended, factor)),
            None => return false,
        },
        _ => return false,
    }
    true
}

/// Returns the operand of a φ with a single operand, such as an LCSSA φ.
fn copied(data: &InstData) -> Option<Value> {
    (data.op == Op::Phi && data.args.len() == 1).then(|| data.args[0])
}

/// Returns the value of a constant.
fn number(func: &Function, value: Value, extended: ExtensionKind) -> Option<i64> {
    let Constant::Scalar(scalar, bits) = func.constant(value)? else { return None };
    if !scalar.is_int() || scalar.bits() > 64 {
        return None;
    }
    let unused = 64 - scalar.bits();
    Some(match extended {
        ExtensionKind::Sign => ((*bits as u64) << unused) as i64 >> unused,
        ExtensionKind::Zero => *bits as u64 as i64,
    })
}
