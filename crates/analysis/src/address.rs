//! Addresses as linear sums: a pointer, integers times constants, and a number of bytes.
//!
//! Two addresses with equal sums are equal wherever both are defined. All arithmetic is modulo 2^64, as for pointers. Narrower
//! operations are decomposed only if their flags (`nsw`, `nuw`, `disjoint`) exclude wrapping; an address computed with a violated
//! flag is poison, and an access to it is undefined.

use heddle_ir::inst::InstData;
use heddle_ir::types::{Scalar, Type};
use heddle_ir::words::Flag;
use heddle_ir::{Function, Op, Value};
use smallvec::SmallVec;

/// Maximum number of definitions to follow (`MAX_STEPS`), and of terms in a sum (`MAX_TERMS`).
const MAX_STEPS: usize = 48;
const MAX_TERMS: usize = 6;
/// Maximum number of instructions between an address and its object.
const MAX_OBJECT_STEPS: usize = 64;

/// Returns the pointer that an address, or a vector of addresses, is computed from by additions and casts.
pub fn underlying_object(func: &Function, address: Value) -> Value {
    object_and_offset(func, address).0
}

/// Returns the underlying object of an address, and the offset from it in bytes if that is constant.
pub fn object_and_offset(func: &Function, mut address: Value) -> (Value, Option<i64>) {
    let mut offset = Some(0i64);
    for _ in 0..MAX_OBJECT_STEPS {
        let Some(inst) = func.def_inst(address) else { break };
        let data = func.inst(inst);
        match data.op {
            Op::PtrAdd => {
                let step = func.i64_constant(data.args[1]);
                offset = offset.zip(step).map(|(offset, step)| offset.wrapping_add(step));
            }
            Op::SpaceCast | Op::Splat => {}
            _ => break,
        }
        address = data.args[0];
    }
    (address, offset)
}

/// Extension of an integer of fewer than 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Extension {
    /// Sign extension; also used for 64 bits.
    Signed,
    /// Zero extension.
    Unsigned,
}

/// Integer in a sum.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AddressTerm {
    /// The integer.
    pub value: Value,
    /// Extension to 64 bits.
    pub extension: Extension,
}

/// Address as a sum of a pointer, scaled integers and an offset.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AddressSum {
    /// Base pointer, which is not decomposed further.
    pub root: Value,
    /// Terms with their nonzero factors, sorted and distinct.
    pub terms: SmallVec<[(AddressTerm, i64); 2]>,
    /// Offset in bytes.
    pub offset: i64,
}

impl AddressSum {
    /// Decomposes a pointer.
    pub fn of(func: &Function, pointer: Value) -> AddressSum {
        AddressSum::with_multiples(func, pointer, |_, _| false).0
    }

    /// Decomposes a pointer; `are_disjoint` tells pairs of operands without common bits. Also returns the narrow terms of which a
    /// no-wrap flag keeps a multiple in range: they stay within half of their own range.
    pub fn with_multiples(
        func: &Function,
        pointer: Value,
        are_disjoint: impl Fn(Value, Value) -> bool,
    ) -> (AddressSum, SmallVec<[AddressTerm; 2]>) {
        let mut sum = AddressSumBuilder::new(func, &are_disjoint);
        let opaque = || AddressSum { root: pointer, terms: SmallVec::new(), offset: 0 };
        match sum.add_pointer(pointer, true) {
            Some(address) => (address, sum.multiples),
            None => (opaque(), SmallVec::new()),
        }
    }

    /// Iterates over the values of the sum.
    pub fn values(&self) -> impl Iterator<Item = Value> + '_ {
        std::iter::once(self.root).chain(self.terms.iter().map(|(term, _)| term.value))
    }

    /// Substitutes values; none if the sum gets too long.
    pub fn replaced(&self, func: &Function, map: impl Fn(Value) -> Value) -> Option<AddressSum> {
        if self.values().all(|value| map(value) == value) {
            return Some(self.clone());
        }
        let mut sum = AddressSumBuilder::new(func, &|_, _| false);
        sum.offset = self.offset;
        for &(term, factor) in &self.terms {
            sum.add(map(term.value), term.extension, factor)?;
        }
        sum.add_pointer(map(self.root), map(self.root) != self.root)
    }

    /// Substitutes values that are not decomposed further.
    pub fn renamed(&self, map: impl Fn(Value) -> Value) -> AddressSum {
        let renamed =
            |&(term, factor): &(AddressTerm, i64)| (AddressTerm { value: map(term.value), ..term }, factor);
        let terms = self.terms.iter().map(renamed).collect();
        AddressSum { root: map(self.root), terms, offset: self.offset }
    }

    /// Returns the maximum power of two that divides the difference of the terms of two addresses; none if they have equal terms.
    pub fn term_stride(&self, other: &AddressSum) -> Option<i64> {
        let mut bits = 0i64;
        let mut count = |term: &AddressTerm, factor: i64, others: &AddressSum| {
            let there = others.terms.iter().find(|(other, _)| other == term).map_or(0, |&(_, factor)| factor);
            bits |= factor.wrapping_sub(there);
        };
        self.terms.iter().for_each(|(term, factor)| count(term, *factor, other));
        other.terms.iter().for_each(|(term, factor)| count(term, *factor, self));
        (bits != 0).then(|| bits & bits.wrapping_neg())
    }
}

/// Part of a sum: an integer times a factor.
#[derive(Clone, Copy)]
struct AddressPart {
    term: AddressTerm,
    factor: i64,
    /// True for the operand of a multiplication that does not wrap.
    is_multiplied: bool,
}

/// Sum under construction.
struct AddressSumBuilder<'a> {
    func: &'a Function,
    are_disjoint: &'a dyn Fn(Value, Value) -> bool,
    terms: SmallVec<[(AddressTerm, i64); 2]>,
    multiples: SmallVec<[AddressTerm; 2]>,
    offset: i64,
    steps: usize,
}

impl<'a> AddressSumBuilder<'a> {
    fn new(func: &'a Function, are_disjoint: &'a dyn Fn(Value, Value) -> bool) -> AddressSumBuilder<'a> {
        let (terms, multiples) = Default::default();
        AddressSumBuilder { func, are_disjoint, terms, multiples, offset: 0, steps: 0 }
    }

    /// Adds a pointer and completes the sum. With `follows` unset the pointer becomes the root undecomposed.
    fn add_pointer(&mut self, mut pointer: Value, follows: bool) -> Option<AddressSum> {
        while let Some(inst) = self.func.def_inst(pointer).filter(|_| follows) {
            let data = self.func.inst(inst);
            self.steps += 1;
            if self.steps > MAX_STEPS || self.func.value_type(pointer).is_vector() {
                break;
            }
            if let Some(copied) = copied(data) {
                pointer = copied;
                continue;
            }
            if data.op != Op::PtrAdd {
                break;
            }
            self.add(data.args[1], Extension::Signed, 1)?;
            pointer = data.args[0];
        }
        let mut terms = std::mem::take(&mut self.terms);
        terms.retain(|&mut (_, factor)| factor != 0);
        terms.sort_unstable();
        self.multiples.sort_unstable();
        self.multiples.dedup();
        (terms.len() <= MAX_TERMS).then_some(AddressSum { root: pointer, terms, offset: self.offset })
    }

    /// Adds a decomposed integer times a factor; none if the sum gets too long.
    fn add(&mut self, value: Value, extension: Extension, factor: i64) -> Option<()> {
        let mut work: SmallVec<[AddressPart; 8]> = SmallVec::new();
        work.push(AddressPart { term: AddressTerm { value, extension }, factor, is_multiplied: false });
        while let Some(part) = work.pop() {
            let AddressPart { mut term, factor, is_multiplied } = part;
            let Type::Scalar(scalar) = self.func.value_type(term.value) else { return None };
            if !scalar.is_int() || scalar.bits() > 64 {
                return None;
            }
            self.steps += 1;
            if let Some(number) = term.constant(self.func) {
                self.offset = self.offset.wrapping_add(number.wrapping_mul(factor));
                continue;
            }
            if self.steps <= MAX_STEPS && self.take_apart(part, scalar, &mut work).is_some() {
                continue;
            }
            if scalar == Scalar::I64 {
                term.extension = Extension::Signed;
            } else if is_multiplied {
                self.multiples.push(term);
            }
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

    /// Pushes the summands of a value's definition; none if it is no sum.
    fn take_apart(
        &self,
        part: AddressPart,
        scalar: Scalar,
        work: &mut SmallVec<[AddressPart; 8]>,
    ) -> Option<()> {
        let AddressPart { term: AddressTerm { value, extension }, factor, .. } = part;
        let data = self.func.inst(self.func.def_inst(value)?);
        let promised = match extension {
            Extension::Signed => Flag::Nsw,
            Extension::Unsigned => Flag::Nuw,
        };
        let is_exact = scalar == Scalar::I64 || data.flags.has(promised);
        let read = |at: usize, extension| AddressTerm { value: data.args[at], extension };
        let number = |at: usize| read(at, extension).constant(self.func);
        let scaled =
            |at: usize, factor| AddressPart { term: read(at, extension), factor, is_multiplied: false };
        let converted = |extension| AddressPart { term: read(0, extension), factor, is_multiplied: false };
        let multiple = |at: usize, by: i64| AddressPart {
            is_multiplied: by.unsigned_abs() > 1,
            ..scaled(at, factor.wrapping_mul(by))
        };
        match data.op {
            Op::Add if is_exact => work.extend([scaled(1, factor), scaled(0, factor)]),
            Op::Or if data.flags.has(Flag::Disjoint) || (self.are_disjoint)(data.args[0], data.args[1]) => {
                work.extend([scaled(1, factor), scaled(0, factor)]);
            }
            Op::Sub if is_exact => work.extend([scaled(1, factor.wrapping_neg()), scaled(0, factor)]),
            Op::Mul if is_exact => match [number(0), number(1)] {
                [_, Some(by)] => work.push(multiple(0, by)),
                [Some(by), _] => work.push(multiple(1, by)),
                _ => return None,
            },
            Op::Shl if is_exact => {
                let by = read(1, Extension::Unsigned).constant(self.func)?;
                let by = u32::try_from(by).ok().filter(|&by| by < scalar.bits())?;
                work.push(multiple(0, 1i64.wrapping_shl(by)));
            }
            Op::Sext if scalar == Scalar::I64 || extension == Extension::Signed => {
                work.push(converted(Extension::Signed));
            }
            // Zero and sign extension of a nonnegative value agree.
            Op::Zext if data.flags.has(Flag::Nneg) => work.push(converted(Extension::Signed)),
            Op::Zext => work.push(converted(Extension::Unsigned)),
            Op::Phi => {
                copied(data)?;
                work.push(converted(extension));
            }
            _ => return None,
        }
        Some(())
    }
}

impl AddressTerm {
    /// Returns the number of a constant.
    fn constant(self, func: &Function) -> Option<i64> {
        match self.extension {
            Extension::Signed => func.i64_constant(self.value),
            Extension::Unsigned => Some(func.unsigned_constant(self.value)? as i64),
        }
    }
}

/// Returns the operand of a φ with a single operand, such as an LCSSA φ.
fn copied(data: &InstData) -> Option<Value> {
    (data.op == Op::Phi && data.args.len() == 1).then(|| data.args[0])
}
