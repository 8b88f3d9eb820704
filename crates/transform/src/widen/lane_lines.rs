//! Lines of memory on which the lanes of an access lie, where lanes of several rows share one.
//!
//! ```text
//!     y / 2 * pitch + x / 2 * 4 + y % 2 * 2 + x % 2      tiles of 2 x 2 elements, which are contiguous
//!
//!     y = 2 * q + 1 + row      rows 0, 1, 2, … are on the lines of q, q + 1, q + 1, …
//! ```
//!
//! An address is a polynomial for each lane: an index of which enough low bits are known is a common part and a number for each lane, and so are its
//! quotients and low bits. Lanes whose polynomials differ by a constant are on one line. Common parts of `x - 1`, `x` and `x + 1` are the
//! same, so lines are those of all loads of a stencil.
//!
//! After: S. Moll, *The Region Vectorizer*, 11.7. Differs in: the program computes the places of elements, so buffers have no declared layout.

use super::access_plan::AccessPlanner;
use super::address_polynomial::{AddressPolynomial, Monomial};
use heddle_analysis::lane_parts::MAX_ADDRESS_SHIFT;
use heddle_analysis::shape::{Congruence, Geometry};
use heddle_analysis::{LaneParts, Shape};
use heddle_ir::entity::Entity;
use heddle_ir::{Op, Value};
use smallvec::SmallVec;

/// Maximum number of operations between an index and a quotient of it.
const MAX_OPERATIONS: usize = 6;
/// Width of the indices that are divided. The constants of narrower ones may wrap around.
const INDEX_BITS: u32 = 64;

/// Operation on an index, with its constant operand.
type IndexOperation = (Op, i128);

/// Part of an index that lanes have in common: the index without its known low bits, after these operations.
#[derive(Clone, PartialEq, Eq, Debug)]
struct CommonPart {
    index: AddressPolynomial,
    bits: u32,
    operations: SmallVec<[IndexOperation; 2]>,
}

/// Term of a polynomial in each lane: a common part, as a value, and numbers.
struct LaneTerm {
    common: Option<u32>,
    parts: Vec<i128>,
    is_divided: bool,
}

/// Factor of a term.
enum LaneFactor {
    /// One scalar for all lanes.
    Scalar,
    /// Lanes that differ by constants.
    Lanes(LaneTerm),
}

/// Common parts of the indices of a function. Each is a value of its own in polynomials.
#[derive(Debug, Default)]
pub(super) struct CommonParts {
    parts: Vec<CommonPart>,
}

impl CommonParts {
    /// Returns the polynomial of the address of each lane; none if no index is divided.
    pub(super) fn lane_addresses(
        &mut self,
        planner: &AccessPlanner<'_>,
        address: &AddressPolynomial,
    ) -> Option<Vec<AddressPolynomial>> {
        let mut lanes = vec![AddressPolynomial::default(); planner.lanes() as usize];
        let mut is_divided = false;
        for (values, factor) in address.terms() {
            let mut rest = Monomial::new();
            let mut term: Option<LaneTerm> = None;
            for value in values {
                match self.lane_factor(planner, value)? {
                    LaneFactor::Scalar => rest.push(value.index() as u32),
                    LaneFactor::Lanes(found) if term.is_none() => term = Some(found),
                    LaneFactor::Lanes(_) => return None,
                }
            }
            let Some(LaneTerm { common, parts, is_divided: divides }) = term else {
                lanes.iter_mut().for_each(|lane| lane.add(rest.clone(), factor));
                continue;
            };
            is_divided |= divides;
            for (lane, part) in lanes.iter_mut().zip(parts) {
                // Modulo 2^64, as addresses are.
                lane.add(rest.clone(), factor.wrapping_mul(part as u64));
                if let Some(common) = common {
                    let mut product = rest.clone();
                    product.push(common);
                    product.sort_unstable();
                    lane.add(product, factor);
                }
            }
        }
        is_divided.then_some(lanes)
    }

    /// Returns the lanes of a factor; none if they do not differ by constants.
    fn lane_factor(&mut self, planner: &AccessPlanner<'_>, value: Value) -> Option<LaneFactor> {
        if let Some(term) = self.divided_index(planner, value) {
            return Some(LaneFactor::Lanes(term));
        }
        if planner.reps.is_uniform(value) || planner.facts.shape(value).is_uniform() {
            return Some(LaneFactor::Scalar);
        }
        let geometry = Geometry::brush(&planner.brush);
        let found = LaneParts::of(planner.func, planner.facts, &geometry, value, None, true)?;
        let common = (!found.is_known()).then_some(value.index() as u32);
        Some(LaneFactor::Lanes(LaneTerm { common, parts: found.parts().to_vec(), is_divided: false }))
    }

    /// Lanes of a value that is computed from an index by shifts and operations on its known low bits.
    fn divided_index(&mut self, planner: &AccessPlanner<'_>, value: Value) -> Option<LaneTerm> {
        let (index, operations) = strided_source(planner, value)?;
        let Shape::Strided { base, strides } = planner.facts.shape(index) else { return None };
        let (polynomial, constant) = AddressPolynomial::new(planner.func, index).without_constant();
        let (residue, constant) = (i128::from(base.residue()), i128::from(constant));
        // The part of all indices with this polynomial: a multiple of 2^bits.
        let of_polynomial = i128::from(Congruence::new(residue - constant, base.bits()).residue());
        let first = of_polynomial + constant;
        let mut parts = planner.reps.offsets(strides.all());
        parts.iter_mut().for_each(|part| *part += first);
        let mut bits = base.bits();
        // An index that loses bits by so few places is farther away than an object is large.
        let is_shift = |op: Op| matches!(op, Op::Lshr | Op::Ashr | Op::Shl);
        let shifts = operations.iter().filter(|(op, _)| is_shift(*op));
        let all_places = shifts.fold(0i128, |sum, &(_, number)| sum.saturating_add(number.max(0)));
        if all_places > MAX_ADDRESS_SHIFT.into() {
            return None;
        }
        for &(op, number) in operations.iter().rev() {
            let amount = u32::try_from(number).ok();
            let is_low = (0..1 << bits.min(100)).contains(&number);
            match op {
                Op::Lshr | Op::Ashr => {
                    let amount = amount.filter(|&amount| amount <= bits)?;
                    bits -= amount;
                    parts.iter_mut().for_each(|part| *part >>= amount);
                }
                Op::Shl => {
                    let amount = amount?;
                    bits += amount;
                    parts.iter_mut().for_each(|part| *part <<= amount);
                }
                // Bits of the common part stay.
                Op::And if number < 0 && number.trailing_zeros() <= bits => {
                    parts.iter_mut().for_each(|part| *part &= number);
                }
                Op::Or if is_low => parts.iter_mut().for_each(|part| *part |= number),
                Op::Xor if is_low => parts.iter_mut().for_each(|part| *part ^= number),
                Op::Add => parts.iter_mut().for_each(|part| *part += number),
                _ => return None,
            }
        }
        let part = CommonPart { index: polynomial, bits: base.bits(), operations };
        let known = self.parts.iter().position(|it| *it == part);
        let number = known.unwrap_or_else(|| {
            self.parts.push(part);
            self.parts.len() - 1
        });
        let common = u32::try_from(planner.func.value_count() + number).ok()?;
        Some(LaneTerm { common: Some(common), parts, is_divided: true })
    }
}

/// Index with constant steps that a value is computed from, and the operations from the last to the first.
fn strided_source(
    planner: &AccessPlanner<'_>,
    mut value: Value,
) -> Option<(Value, SmallVec<[IndexOperation; 2]>)> {
    let func = planner.func;
    let mut operations = SmallVec::new();
    let mut found = None;
    while func.value_type(value).scalar().bits() == INDEX_BITS && operations.len() < MAX_OPERATIONS {
        let shape = planner.facts.shape(value);
        let is_index = matches!(shape, Shape::Strided { strides, .. } if !strides.is_zero());
        if is_index && !operations.is_empty() {
            found = Some((value, operations.clone()));
        }
        let Some(data) = func.def_inst(value).map(|inst| func.inst(inst)) else { break };
        let is_followed = match data.op {
            // Quotients by which rows step are those of an index, too.
            Op::Lshr | Op::Ashr | Op::And => true,
            Op::Shl | Op::Or | Op::Xor | Op::Add => !is_index,
            _ => false,
        };
        let [source, operand] = data.args[..] else { break };
        let Some(number) = func.signed_constant(operand).filter(|_| is_followed) else { break };
        let number = if data.op == Op::And { with_upper_bits(number) } else { number };
        operations.push((data.op, number));
        value = source;
    }
    found
}

/// Mask of low bits alone, where a mask also clears upper bits that indices do not have.
fn with_upper_bits(mask: i128) -> i128 {
    let cleared = (mask as u64).leading_zeros();
    match (1..=MAX_ADDRESS_SHIFT).contains(&cleared) {
        true => i128::from((mask as u64 | !(u64::MAX >> cleared)) as i64),
        false => mask,
    }
}
