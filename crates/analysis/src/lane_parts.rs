//! Numbers whose lanes differ by constants, but not by constant steps.
//!
//! ```text
//!     x            B + 0 1 2 3 4 5 …     B is a multiple of a power of two
//!     x >> 1       B / 2 + 0 0 1 1 2 2 …
//!     x & 1        0 1 0 1 0 1 …
//! ```
//!
//! Shapes have one step per dimension, which quotients and masks of a contiguous index are not; if enough low bits of the base
//! are known, their lanes are known up to a common multiple of a power of two. Addresses of a picture at half the resolution are
//! such numbers.

use crate::divergence::Divergence;
use crate::exact::{ExactResult, evaluate_integer};
use crate::shape::{AffineLanes, Congruence, Fact, Geometry, NoWrap, Shape, signed, unsigned};
use heddle_ir::inst::InstData;
use heddle_ir::words::Flag;
use heddle_ir::{Constant, Function, Op, Value};
use smallvec::SmallVec;

/// Maximum depth of operations to look into.
const MAX_DEPTH: u32 = 8;
/// Maximum shift by which quotients of wrapped indices are farther away than an object is large.
pub const MAX_ADDRESS_SHIFT: u32 = 8;
/// Maximum magnitude of a part, which keeps sums and products free of overflow.
const MAX_PART: i128 = 1 << 80;

/// Assumption on a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AssumedResidue {
    /// Value whose lanes have constant steps.
    pub value: Value,
    /// Low bits in its first lane.
    pub residue: Congruence,
    /// True if no lane is negative, and none wraps around.
    pub is_small: bool,
}

/// Lanes of a number: `B + part`, with one `B` for all, modulo 2^width.
///
/// `B` is a multiple of 2^bits. Where a number does not wrap, the sum in ℤ is the number, for a multiple `B` in ℤ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneParts {
    width: u32,
    bits: u32,
    parts: Vec<i128>,
    no_wrap: NoWrap,
}

impl LaneParts {
    /// Returns the parts of a value in the lanes of `geometry`; none if its lanes do not differ by constants. They hold where the
    /// value's facts do: in active lanes.
    ///
    /// With `is_address` the value is a term of addresses that all lanes access: a lane whose index of 64 bits wraps around would
    /// access memory that is farther away than an object is large.
    pub fn of(
        func: &Function,
        facts: &Divergence,
        geometry: &Geometry,
        value: Value,
        assumed: Option<AssumedResidue>,
        is_address: bool,
    ) -> Option<LaneParts> {
        let lanes = geometry.width()? as usize;
        PartsQuery { func, facts, geometry, assumed, is_address, lanes }.of(value, MAX_DEPTH)
    }

    /// True if all bits of all lanes are known: [`LaneParts::parts`] are the numbers.
    pub fn is_known(&self) -> bool {
        self.bits >= self.width
    }

    /// Returns the part of each lane.
    pub fn parts(&self) -> &[i128] {
        &self.parts
    }

    /// Numbers that are known in every lane.
    fn known(width: u32, numbers: impl Iterator<Item = i128>) -> LaneParts {
        let parts: Vec<i128> = numbers.map(|number| signed(width, number)).collect();
        let have_one_sign = parts.iter().all(|&part| part >= 0) || parts.iter().all(|&part| part < 0);
        LaneParts { width, bits: width, parts, no_wrap: NoWrap { unsigned: have_one_sign, signed: true } }
    }

    /// Parts of a number of this width; none if one is too large.
    fn new(width: u32, bits: u32, parts: Vec<i128>, no_wrap: NoWrap) -> Option<LaneParts> {
        if bits >= width {
            return Some(LaneParts::known(width, parts.into_iter()));
        }
        let fits = parts.iter().all(|&part| part.abs() <= MAX_PART);
        fits.then_some(LaneParts { width, bits, parts, no_wrap })
    }

    /// True if all lanes have the bits of `B` from bit `bits` on.
    fn share_upper_bits(&self) -> bool {
        let block = 1 << self.bits.min(100);
        self.parts.iter().all(|part| (0..block).contains(part))
    }

    fn map(self, bits: u32, no_wrap: NoWrap, part: impl Fn(i128) -> i128) -> Option<LaneParts> {
        let parts = self.parts.into_iter().map(part).collect();
        LaneParts::new(self.width, bits, parts, no_wrap)
    }

    /// Quotient by 2^shift, rounded down.
    fn shifted(self, shift: u32, is_signed: bool) -> Option<LaneParts> {
        let is_straight = if is_signed { self.no_wrap.signed } else { self.no_wrap.unsigned };
        if shift > self.bits || shift >= self.width || !is_straight {
            return None;
        }
        // A logical quotient has a zero sign bit.
        let no_wrap = match is_signed {
            true => NoWrap { unsigned: self.no_wrap.unsigned && shift == 0, signed: true },
            false => NoWrap { unsigned: true, signed: shift > 0 || self.no_wrap.signed },
        };
        let bits = self.bits - shift;
        self.map(bits, no_wrap, |part| part >> shift)
    }

    /// Bits of a mask of consecutive bits.
    fn masked(self, mask: i128) -> Option<LaneParts> {
        let (low, width) = (mask.trailing_zeros(), self.width);
        let ones = (mask >> low.min(127)).trailing_ones();
        if mask == 0 || low + ones > width || mask >> low != (1 << ones) - 1 {
            return None;
        }
        let kept = if low + ones < width { self.cut(low + ones)? } else { self };
        let (bits, no_wrap) = (kept.bits, kept.no_wrap);
        (low <= bits).then(|| kept.map(bits, no_wrap, |part| part >> low << low)).flatten()
    }

    /// Lowest bits of the number, fewer than it has.
    fn cut(self, count: u32) -> Option<LaneParts> {
        if count <= self.bits {
            let numbers = self.parts.iter().map(|part| part & ((1 << count) - 1));
            return Some(LaneParts::known(self.width, numbers));
        }
        // The mask clears bits of `B` only.
        self.share_upper_bits().then_some(LaneParts { no_wrap: NoWrap::BOTH, ..self })
    }

    /// Bits set or flipped within those that are known of `B`.
    fn with_low_bits(self, bits: i128, change: fn(i128, i128) -> i128) -> Option<LaneParts> {
        let is_low = (0..1 << self.bits.min(100)).contains(&bits);
        let (known, no_wrap) = (self.bits, self.no_wrap);
        is_low.then(|| self.map(known, no_wrap, |part| change(part, bits))).flatten()
    }

    /// Sum, with `other` times a factor of 1 or -1.
    fn plus(self, other: &LaneParts, factor: i128, keeps: NoWrap) -> Option<LaneParts> {
        let no_wrap = self.no_wrap.and(other.no_wrap).and(keeps);
        let sums = self.parts.iter().zip(&other.parts).map(|(one, two)| one + factor * two).collect();
        LaneParts::new(self.width, self.bits.min(other.bits), sums, no_wrap)
    }

    fn times(self, factor: i128, keeps: NoWrap) -> Option<LaneParts> {
        if factor == 0 || factor.abs() > 1 << 40 {
            return None;
        }
        let keeps = NoWrap { unsigned: keeps.unsigned && factor > 0, ..keeps };
        let (bits, no_wrap) = (self.bits + factor.trailing_zeros(), self.no_wrap.and(keeps));
        self.map(bits, no_wrap, |part| part * factor)
    }

    /// Same numbers in a wider type.
    fn extended(self, width: u32, is_signed: bool) -> Option<LaneParts> {
        if self.is_known() {
            let from = self.width;
            let number = |part: i128| if is_signed { part } else { unsigned(from, part) };
            return Some(LaneParts::known(width, self.parts.into_iter().map(number)));
        }
        let NoWrap { unsigned, signed } = self.no_wrap;
        let no_wrap = if is_signed { NoWrap { unsigned: false, signed } } else { NoWrap::BOTH };
        let is_straight = if is_signed { signed } else { unsigned };
        is_straight.then_some(LaneParts { width, no_wrap, ..self })
    }

    fn truncated(self, width: u32, keeps: NoWrap) -> Option<LaneParts> {
        LaneParts::new(width, self.bits.min(width), self.parts, self.no_wrap.and(keeps))
    }
}

/// True for operations whose parts may follow from those of their operands.
fn follows(op: Op) -> bool {
    matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Shl | Op::Lshr | Op::Ashr | Op::And | Op::Or | Op::Xor)
        || matches!(op, Op::Udiv | Op::Urem | Op::Sdiv | Op::Srem | Op::Umin | Op::Umax | Op::Smin | Op::Smax)
        || matches!(op, Op::Zext | Op::Sext | Op::Trunc | Op::Icmp | Op::Select)
}

struct PartsQuery<'a> {
    func: &'a Function,
    facts: &'a Divergence,
    geometry: &'a Geometry,
    assumed: Option<AssumedResidue>,
    is_address: bool,
    lanes: usize,
}

impl PartsQuery<'_> {
    fn of(&self, value: Value, depth: u32) -> Option<LaneParts> {
        let ty = self.func.value_type(value);
        let width = ty.scalar().bits();
        if ty.is_vector() || ty.scalar().is_float() || !(1..=64).contains(&width) {
            return None;
        }
        if let Some(constant) = self.func.constant(value) {
            let &Constant::Scalar(_, bits) = constant else { return None };
            return Some(LaneParts::known(width, std::iter::repeat_n(bits as i128, self.lanes)));
        }
        let fact = self.fact(value);
        if let Some(line) = AffineLanes::of(fact, width, self.geometry) {
            let mut parts = line.known_parts(self.geometry)?;
            if parts.len() == 1 {
                parts = vec![parts[0]; self.lanes];
            }
            return LaneParts::new(width, line.base.bits(), parts, line.no_wrap);
        }
        let data = self.func.inst(self.func.def_inst(value)?);
        if !follows(data.op) {
            return None;
        }
        let depth = depth.checked_sub(1)?;
        let operands: SmallVec<[Option<LaneParts>; 3]> =
            data.args.iter().map(|&arg| self.of(arg, depth)).collect();
        if let Some(known) = self.known_result(data, width, &operands) {
            return Some(known);
        }
        let arg = |at: usize| operands.get(at)?.clone();
        let number = |at: usize| Some(self.func.unsigned_constant(data.args[at])? as i128);
        let keeps = NoWrap { unsigned: data.flags.has(Flag::Nuw), signed: data.flags.has(Flag::Nsw) };
        match data.op {
            Op::Lshr | Op::Ashr => {
                let (shift, is_signed) = (u32::try_from(number(1)?).ok()?, data.op == Op::Ashr);
                let mut dividend = arg(0)?;
                if self.is_address && width == 64 && shift <= MAX_ADDRESS_SHIFT {
                    dividend.no_wrap = NoWrap::BOTH;
                }
                dividend.shifted(shift, is_signed)
            }
            // Of numbers that are not negative, the quotient is rounded down.
            Op::Sdiv | Op::Srem if self.is_small(data.args[0]) => {
                let divisor = number(1).filter(|divisor| divisor.count_ones() == 1 && *divisor < 1 << 30)?;
                match data.op {
                    Op::Sdiv => arg(0)?.shifted(divisor.trailing_zeros(), true),
                    _ => arg(0)?.masked(divisor - 1),
                }
            }
            Op::And => arg(0)?.masked(number(1)?),
            Op::Or if data.flags.has(Flag::Disjoint) => arg(0)?.plus(&arg(1)?, 1, NoWrap::BOTH),
            Op::Or => arg(0)?.with_low_bits(number(1)?, |part, bits| part | bits),
            Op::Xor => arg(0)?.with_low_bits(number(1)?, |part, bits| part ^ bits),
            Op::Add => arg(0)?.plus(&arg(1)?, 1, keeps),
            Op::Sub => arg(0)?.plus(&arg(1)?, -1, NoWrap { unsigned: false, ..keeps }),
            Op::Mul => match (number(0), number(1)) {
                (_, Some(factor)) => arg(0)?.times(signed(width, factor), keeps),
                (Some(factor), _) => arg(1)?.times(signed(width, factor), keeps),
                _ => None,
            },
            Op::Shl => {
                let amount = u32::try_from(number(1)?).ok().filter(|&amount| amount < width.min(40))?;
                arg(0)?.times(1 << amount, keeps)
            }
            Op::Zext => arg(0)?.extended(width, false),
            Op::Sext => arg(0)?.extended(width, true),
            Op::Trunc => arg(0)?.truncated(width, keeps),
            _ => None,
        }
    }

    /// Fact of a value, with what is assumed of it.
    fn fact(&self, value: Value) -> Fact {
        let fact = self.facts.fact(value);
        match (fact.shape, self.assumed) {
            (Shape::Strided { strides, base }, Some(assumed))
                if assumed.value == value && base.bits() <= assumed.residue.bits() =>
            {
                let no_wrap = if assumed.is_small { NoWrap::BOTH } else { fact.no_wrap };
                Fact { shape: Shape::Strided { strides, base: assumed.residue }, no_wrap, ..fact }
            }
            _ => fact,
        }
    }

    /// True if a value is assumed not to be negative.
    fn is_small(&self, value: Value) -> bool {
        self.assumed.is_some_and(|assumed| assumed.is_small && assumed.value == value)
    }

    /// Result of an operation whose operands are known in every lane.
    fn known_result(&self, data: &InstData, width: u32, operands: &[Option<LaneParts>]) -> Option<LaneParts> {
        let known: SmallVec<[&LaneParts; 3]> =
            operands.iter().map(|it| it.as_ref().filter(|it| it.is_known())).collect::<Option<_>>()?;
        let from = known.first()?.width;
        let evaluate = |lane: usize| {
            if let (Op::Select, [condition, one, other]) = (data.op, &known[..]) {
                return Some(if condition.parts[lane] == 0 { other } else { one }.parts[lane]);
            }
            let numbers: SmallVec<[u128; 3]> =
                known.iter().map(|operand| unsigned(from, operand.parts[lane]) as u128).collect();
            match evaluate_integer(data.op, data.flags, &data.detail, from, width, &numbers)? {
                ExactResult::Bits(bits) => Some(bits as i128),
                ExactResult::Poison | ExactResult::Undefined => None,
            }
        };
        let numbers: Vec<i128> = (0..self.lanes).map(evaluate).collect::<Option<_>>()?;
        Some(LaneParts::known(width, numbers.into_iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ControlTables, InitialShapes, divergence};
    use heddle_ir::text::parse_module;
    use rustc_hash::FxHashMap;

    const LANES: u32 = 4;
    const FLAGGED: [&str; 3] = ["add", "sub", "mul"];

    /// Numbers of a sequence that is the same in each run.
    struct Sequence(u64);

    impl Sequence {
        fn below(&mut self, bound: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % bound
        }

        fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
            all[self.below(all.len())]
        }
    }

    /// A function of a lane number and a parameter with known low bits; values 1, 5 and later are of 8 bits, at last one of 16.
    fn program(sequence: &mut Sequence) -> String {
        let (shift, low) = (sequence.below(4), sequence.below(8));
        let mut text = format!(
            "func @f(v0: i8 uniform) {{\nblock0:\n  v1 = lane i8, 0\n  v2 = shl v0, i8 {shift}\n  v3 = or v2, i8 {}\n  \
             v4 = mul v1, i8 {}\n  v5 = {} v3, v4\n",
            low & ((1 << shift) - 1),
            1 + sequence.below(3),
            sequence.one_of(&["add", "add nuw", "add nsw", "sub"]),
        );
        let count = 6 + sequence.below(5);
        for at in 6..count {
            let from = 4 + sequence.below(at - 4);
            let other = 4 + sequence.below(at - 4);
            let line = match sequence.below(9) {
                0 => format!("lshr v{from}, i8 {}", sequence.below(4)),
                1 => format!("ashr v{from}, i8 {}", sequence.below(4)),
                2 => format!("and v{from}, i8 {}", [1, 3, 7, 15, -2, -4, 5, 14][sequence.below(8)]),
                3 => format!(
                    "{} v{from}, i8 {}",
                    sequence.one_of(&["xor", "or", "or disjoint"]),
                    sequence.below(8)
                ),
                4 => {
                    format!("shl {} v{from}, i8 {}", sequence.one_of(&["", "nuw", "nsw"]), sequence.below(3))
                }
                5 => format!("umin v{from}, i8 {}", sequence.below(8)),
                6 => format!("{} v5, i8 {}", sequence.one_of(&["sdiv", "srem"]), 1 << sequence.below(3)),
                _ => {
                    let (op, flag) =
                        (sequence.one_of(&FLAGGED), sequence.one_of(&["", "nuw", "nsw", "nuw nsw"]));
                    let second = if op == "mul" {
                        format!("i8 {}", 1 + sequence.below(3))
                    } else {
                        format!("v{other}")
                    };
                    format!("{op} {flag} v{from}, {second}")
                }
            };
            text += &format!("  v{at} = {line}\n");
        }
        let ext = sequence.one_of(&["zext", "sext"]);
        text + &format!("  v{count} = {ext} i16, v{}\n  ret\n}}\n", count - 1)
    }

    /// Bits of all values in a lane, up to the first that is poison.
    fn run(func: &Function, param: u128, lane: u128) -> FxHashMap<Value, u128> {
        let mut values = FxHashMap::from_iter([(func.params()[0], param)]);
        for inst in func.blocks().flat_map(|block| func.block_insts(block)) {
            let (data, Some(result)) = (func.inst(inst), func.result(inst)) else { break };
            let bits_of = |&arg: &Value| match func.constant(arg) {
                Some(&Constant::Scalar(_, bits)) => bits,
                _ => values[&arg],
            };
            let args: Vec<u128> = data.args.iter().map(bits_of).collect();
            let to = func.value_type(result).scalar().bits();
            let found = match data.op {
                Op::Lane => ExactResult::Bits(lane),
                op => evaluate_integer(op, data.flags, &data.detail, 8, to, &args)
                    .expect("an integer operation"),
            };
            let ExactResult::Bits(bits) = found else { break };
            values.insert(result, bits);
        }
        values
    }

    /// Checks the parts of one value against its numbers in all lanes.
    fn check(found: &LaneParts, numbers: &[u128], text: &str) {
        let width = found.width;
        let bases = |read: &dyn Fn(i128) -> i128| -> Vec<i128> {
            numbers.iter().zip(found.parts()).map(|(&bits, part)| read(bits as i128) - part).collect()
        };
        let modular = bases(&|bits| bits);
        let first = modular[0];
        let is_multiple = |base: &i128| base.rem_euclid(1 << found.bits) == 0;
        let is_equal = |base: &i128| (base - first).rem_euclid(1 << width) == 0;
        assert!(
            modular.iter().all(|base| is_multiple(base) && is_equal(base)),
            "{found:?} {numbers:?}\n{text}"
        );
        for (is_straight, bases) in
            [(found.no_wrap.unsigned, modular), (found.no_wrap.signed, bases(&|bits| signed(width, bits)))]
        {
            let are_equal = bases.iter().all(|base| *base == bases[0]);
            assert!(!is_straight || are_equal, "wraps: {found:?} {numbers:?}\n{text}");
        }
    }

    #[test]
    fn parts_are_those_of_all_numbers() {
        let mut sequence = Sequence(1);
        let mut irregular = [0; 2];
        for _ in 0..1_000 {
            let text = program(&mut sequence);
            let module = parse_module(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
            let func = &module.functions[0];
            let (control, geometry) = (ControlTables::new(func), Geometry::lanes(LANES));
            let facts = divergence(func, &control, &InitialShapes::declared(func, geometry.clone()));
            let runs: Vec<Vec<FxHashMap<Value, u128>>> = (0..256)
                .map(|param| (0..LANES.into()).map(|lane| run(func, param, lane)).collect())
                .collect();
            let index = func.block_insts(func.entry()).nth(4).and_then(|inst| func.result(inst));
            let index = index.expect("the program begins with five values");
            let step = facts.shape(index).strides().map_or(0, |strides| strides.along(0));
            let assumed = |residue| AssumedResidue {
                value: index,
                residue: Congruence::new(residue, 2),
                is_small: residue % 2 == 0,
            };
            let assumptions = (0..4).filter(|_| step != 0).map(|residue| Some(assumed(residue)));
            for assumed in assumptions.chain([None]) {
                let runs: Vec<_> = runs.iter().filter(|lanes| holds(assumed, lanes, step)).collect();
                for inst in func.blocks().flat_map(|block| func.block_insts(block)) {
                    let Some(value) = func.result(inst) else { continue };
                    let Some(found) = LaneParts::of(func, &facts, &geometry, value, assumed, false) else {
                        continue;
                    };
                    irregular[usize::from(assumed.is_some())] += usize::from(facts.shape(value).is_varying());
                    for lanes in &runs {
                        // A poison lane makes its users undefined.
                        let numbers: Option<Vec<u128>> =
                            lanes.iter().map(|values| values.get(&value).copied()).collect();
                        if let Some(numbers) = numbers {
                            check(&found, &numbers, &text);
                        }
                    }
                }
            }
        }
        assert!(
            irregular.iter().all(|&count| count > 100),
            "{irregular:?} values without a shape have parts"
        );
    }

    /// True if an assumption holds in a run.
    fn holds(assumed: Option<AssumedResidue>, lanes: &[FxHashMap<Value, u128>], step: i64) -> bool {
        let Some(AssumedResidue { value, residue, is_small }) = assumed else { return true };
        let numbers: Option<Vec<i128>> =
            lanes.iter().map(|values| values.get(&value).map(|&bits| signed(8, bits as i128))).collect();
        let Some(numbers) = numbers else { return false };
        let is_line =
            numbers.iter().zip(0..).all(|(number, lane)| number - numbers[0] == i128::from(step) * lane);
        let has_residue = Congruence::new(numbers[0], residue.bits()) == residue;
        has_residue && (!is_small || is_line && numbers.iter().all(|&number| number >= 0))
    }
}
