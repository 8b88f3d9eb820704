//! Addresses and indices as polynomials of values: equal polynomials are equal addresses.
//!
//! `a + 8 * ((y + 1) * n + x)` is `a + 8·y·n + 8·n + 8·x`, however it is computed. Sums and products are modulo 2^64, of which the lower bits
//! are those of narrower numbers.

use heddle_ir::entity::Entity;
use heddle_ir::words::Flag;
use heddle_ir::{Constant, Function, Op, Value};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;

/// Bounds of a polynomial: terms, factors of a term, and operations to look into.
const MAX_TERMS: usize = 12;
const MAX_FACTORS: usize = 4;
const MAX_OPERATIONS: usize = 64;

/// Product of values, in order of their numbers; empty for a number.
pub(super) type Monomial = SmallVec<[u32; 2]>;

/// Sum of products of values with numbers.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct AddressPolynomial {
    terms: BTreeMap<Monomial, u64>,
}

impl AddressPolynomial {
    /// Returns the polynomial of an address or a number. What has too many terms is a value of its own, and so is a number of another width.
    pub(crate) fn new(func: &Function, value: Value) -> AddressPolynomial {
        let scalar = func.value_type(value).scalar();
        let bits = if scalar.is_ptr() { 64 } else { scalar.bits() };
        AddressPolynomial::of(func, value, bits, &mut 0)
    }

    fn of(func: &Function, value: Value, bits: u32, operations: &mut usize) -> AddressPolynomial {
        if let Some(Constant::Scalar(_, number)) = func.constant(value) {
            return AddressPolynomial::term(Monomial::new(), *number as u64);
        }
        AddressPolynomial::of_operation(func, value, bits, operations)
            .unwrap_or_else(|| AddressPolynomial::term(smallvec![value.index() as u32], 1))
    }

    fn of_operation(
        func: &Function,
        value: Value,
        bits: u32,
        operations: &mut usize,
    ) -> Option<AddressPolynomial> {
        let scalar = func.value_type(value).scalar();
        *operations += 1;
        if *operations > MAX_OPERATIONS || !(scalar.is_ptr() || scalar.bits() == bits) {
            return None;
        }
        let data = func.inst(func.def_inst(value)?);
        let mut of = |at: usize| AddressPolynomial::of(func, data.args[at], bits, operations);
        match data.op {
            Op::Add => of(0).plus(&of(1), 1),
            Op::Or if data.flags.has(Flag::Disjoint) => of(0).plus(&of(1), 1),
            Op::PtrAdd if func.value_type(data.args[1]).scalar().bits() == 64 => of(0).plus(&of(1), 1),
            Op::Sub => of(0).plus(&of(1), u64::MAX),
            Op::Mul => of(0).times(&of(1)),
            Op::Shl => match func.constant(data.args[1]) {
                Some(&Constant::Scalar(_, amount @ 0..64)) => {
                    of(0).times(&AddressPolynomial::term(Monomial::new(), 1 << amount))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Products with their factors. The constant term has no values.
    pub(crate) fn terms(&self) -> impl Iterator<Item = (SmallVec<[Value; 2]>, u64)> {
        self.terms.iter().map(|(monomial, &factor)| {
            (monomial.iter().map(|&value| Value::from_u32(value)).collect(), factor)
        })
    }

    /// Takes a value out of the sum.
    pub(crate) fn remove(&mut self, value: Value) {
        self.terms.remove(&Monomial::from_iter([value.index() as u32]));
    }

    /// Splits off the constant term.
    pub(crate) fn without_constant(mut self) -> (AddressPolynomial, i64) {
        let constant = self.terms.remove(&Monomial::new()).unwrap_or(0);
        (self, constant as i64)
    }

    fn term(monomial: Monomial, factor: u64) -> AddressPolynomial {
        let terms = if factor == 0 { BTreeMap::new() } else { BTreeMap::from([(monomial, factor)]) };
        AddressPolynomial { terms }
    }

    /// Difference to another polynomial.
    pub(super) fn minus(self, other: &AddressPolynomial) -> Option<AddressPolynomial> {
        self.plus(other, u64::MAX)
    }

    /// Adds a product of values, in order of their numbers.
    pub(super) fn add(&mut self, monomial: Monomial, factor: u64) {
        let sum = self.terms.get(&monomial).copied().unwrap_or(0).wrapping_add(factor);
        match sum {
            0 => self.terms.remove(&monomial),
            _ => self.terms.insert(monomial, sum),
        };
    }

    /// This plus another one times a number.
    fn plus(mut self, other: &AddressPolynomial, factor: u64) -> Option<AddressPolynomial> {
        for (monomial, own) in &other.terms {
            self.add(monomial.clone(), own.wrapping_mul(factor));
        }
        (self.terms.len() <= MAX_TERMS).then_some(self)
    }

    fn times(&self, other: &AddressPolynomial) -> Option<AddressPolynomial> {
        let mut product = AddressPolynomial { terms: BTreeMap::new() };
        for (one, factor) in &self.terms {
            for (two, by) in &other.terms {
                let mut both: Monomial = one.iter().chain(two).copied().collect();
                both.sort_unstable();
                if both.len() > MAX_FACTORS {
                    return None;
                }
                product.add(both, factor.wrapping_mul(*by));
            }
        }
        (product.terms.len() <= MAX_TERMS).then_some(product)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_ir::text::parse_module;

    fn polynomials(text: &str, names: &[&str]) -> Vec<AddressPolynomial> {
        let module = parse_module(text).expect("it is well-formed");
        let func = &module.functions[0];
        let value_of = |name: &&str| {
            let at = name[1..].parse().expect("a number");
            AddressPolynomial::new(func, Value::new(at))
        };
        names.iter().map(value_of).collect()
    }

    #[test]
    fn equal_addresses_have_equal_polynomials() {
        let text = "func @f(v0: ptr, v1: i64, v2: i64) {\nblock0:\n  v3 = sub v1, 1\n  v4 = add v3, 1\n  v5 = mul v4, v2\n  \
                    v6 = shl v5, 3\n  v7 = ptradd v0, v6\n  v8 = mul v2, v1\n  v9 = mul v8, 8\n  v10 = ptradd v0, v9\n  \
                    v11 = mul v3, v2\n  v12 = shl v11, 3\n  v13 = ptradd v0, v12\n  ret\n}\n";
        let [one, other, above] = polynomials(text, &["v7", "v10", "v13"]).try_into().expect("three");
        assert_eq!(one, other);
        assert_ne!(one, above);
    }
}
