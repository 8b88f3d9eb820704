//! The operations under test, with the oracle's meaning.

use heddle_analysis::shape::{DetachedInst, Domain};
use heddle_interp::scalar::{Trap, bitwise, compare, convert, integer, shift};
use heddle_ir::words::{Flag, Flags, IntPredicate};
use heddle_ir::{Detail, Op};

/// An operation at these widths.
#[derive(Clone, Debug)]
pub struct Case {
    pub op: Op,
    pub flags: Flags,
    pub detail: Detail,
    pub from: Vec<u32>,
    pub to: u32,
}

/// Result of one lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Number(u128),
    Poison,
    /// The program is undefined: nothing is claimed.
    Undefined,
}

impl Case {
    pub fn new(op: Op, flags: &[Flag], from: &[u32], to: u32) -> Case {
        Case { op, flags: Flags::of(flags), detail: Detail::None, from: from.to_vec(), to }
    }

    pub fn name(&self) -> String {
        let mut name = self.op.name().to_string();
        if let Detail::IntCompare(predicate) = self.detail {
            name += &format!(" {predicate}");
        }
        for flag in self.flags.iter() {
            name += &format!(" {}", flag.name());
        }
        if self.from.iter().any(|&from| from != self.to) && self.op != Op::Icmp && self.op != Op::Select {
            let from: Vec<String> = self.from.iter().map(|from| format!("i{from}")).collect();
            name += &format!(" {} to i{}", from.join(" "), self.to);
        }
        name
    }

    pub fn operation(&self) -> DetachedInst<'_> {
        DetachedInst {
            op: self.op,
            detail: &self.detail,
            flags: self.flags,
            operands: self.from.iter().map(|&width| Domain::Number(width)).collect(),
            results: [Domain::Number(self.to)].into_iter().collect(),
            reads_vector: false,
        }
    }

    pub fn evaluate(&self, a: &[u128]) -> Outcome {
        let bits = self.from[0];
        let has = |flag| self.flags.has(flag);
        let (nuw, nsw, exact) = (has(Flag::Nuw), has(Flag::Nsw), has(Flag::Exact));
        let [x, y, z] = [0, 1, 2].map(|index| a.get(index).copied().unwrap_or(0));
        let trapping = |result: Result<Option<u128>, Trap>| result;
        let result = match self.op {
            Op::Add => Ok(integer::add(bits, x, y, nuw, nsw)),
            Op::Sub => Ok(integer::sub(bits, x, y, nuw, nsw)),
            Op::Mul => Ok(integer::mul(bits, x, y, nuw, nsw)),
            Op::Udiv => trapping(integer::udiv(bits, x, y, exact)),
            Op::Sdiv => trapping(integer::sdiv(bits, x, y, exact)),
            Op::Urem => trapping(integer::urem(bits, x, y).map(Some)),
            Op::Srem => trapping(integer::srem(bits, x, y).map(Some)),
            Op::Shl => Ok(shift::shl(bits, x, y, nuw, nsw)),
            Op::Lshr => Ok(shift::lshr(bits, x, y, exact)),
            Op::Ashr => Ok(shift::ashr(bits, x, y, exact)),
            Op::And => Ok(Some(bitwise::and(bits, x, y))),
            Op::Or => Ok(bitwise::or(bits, x, y, has(Flag::Disjoint))),
            Op::Xor => Ok(Some(bitwise::xor(bits, x, y))),
            Op::Umin => Ok(Some(integer::umin(bits, x, y))),
            Op::Umax => Ok(Some(integer::umax(bits, x, y))),
            Op::Smin => Ok(Some(integer::smin(bits, x, y))),
            Op::Smax => Ok(Some(integer::smax(bits, x, y))),
            Op::Abs => Ok(integer::abs(bits, x, has(Flag::Strict))),
            Op::UaddSat => Ok(Some(integer::uadd_sat(bits, x, y))),
            Op::SaddSat => Ok(Some(integer::sadd_sat(bits, x, y))),
            Op::UsubSat => Ok(Some(integer::usub_sat(bits, x, y))),
            Op::SsubSat => Ok(Some(integer::ssub_sat(bits, x, y))),
            Op::Ctpop => Ok(Some(bitwise::ctpop(bits, x))),
            Op::Ctlz => Ok(bitwise::ctlz(bits, x, has(Flag::Strict))),
            Op::Cttz => Ok(bitwise::cttz(bits, x, has(Flag::Strict))),
            Op::Bswap => Ok(Some(bitwise::bswap(bits, x))),
            Op::Bitreverse => Ok(Some(bitwise::bitreverse(bits, x))),
            Op::Fshl => Ok(Some(shift::fshl(bits, x, y, z))),
            Op::Fshr => Ok(Some(shift::fshr(bits, x, y, z))),
            Op::Icmp => match self.detail {
                Detail::IntCompare(predicate) => Ok(Some(compare::icmp(predicate, bits, x, y).into())),
                _ => unreachable!("a comparison has a predicate"),
            },
            Op::Trunc => Ok(convert::trunc(bits, self.to, x, nuw, nsw)),
            Op::Zext => Ok(convert::zext(bits, self.to, x, has(Flag::Nneg))),
            Op::Sext => Ok(Some(convert::sext(bits, self.to, x))),
            Op::Ptrtoint | Op::Inttoptr => Ok(Some(integer::unsigned(self.to, x))),
            Op::Bitcast | Op::SpaceCast => Ok(Some(x)),
            Op::PtrAdd => {
                let sum = integer::signed(bits, x) + integer::signed(self.from[1], y);
                let breaks = nuw && (integer::signed(self.from[1], y) < 0 || x + y > integer::all_ones(bits));
                Ok((!breaks).then(|| integer::pattern(bits, sum)))
            }
            Op::Select => Ok(Some(if x == 1 { y } else { z })),
            op => unreachable!("{op} is no operation on single lanes"),
        };
        match result {
            Ok(Some(number)) => Outcome::Number(number),
            Ok(None) => Outcome::Poison,
            Err(_) => Outcome::Undefined,
        }
    }
}

/// The operations on one operand, from `width` bits.
pub fn unary(width: u32) -> Vec<Case> {
    let wide = width + 2;
    let narrow = width - 2;
    let case = |op, flags: &[Flag], to| Case::new(op, flags, &[width], to);
    vec![
        case(Op::Abs, &[], width),
        case(Op::Abs, &[Flag::Strict], width),
        case(Op::Ctpop, &[], width),
        case(Op::Ctlz, &[], width),
        case(Op::Ctlz, &[Flag::Strict], width),
        case(Op::Cttz, &[], width),
        case(Op::Cttz, &[Flag::Strict], width),
        case(Op::Bitreverse, &[], width),
        case(Op::Trunc, &[], narrow),
        case(Op::Trunc, &[Flag::Nuw], narrow),
        case(Op::Trunc, &[Flag::Nsw], narrow),
        case(Op::Trunc, &[Flag::Nuw, Flag::Nsw], narrow),
        case(Op::Zext, &[], wide),
        case(Op::Zext, &[Flag::Nneg], wide),
        case(Op::Sext, &[], wide),
        case(Op::Ptrtoint, &[], narrow),
        case(Op::Ptrtoint, &[], wide),
        case(Op::Inttoptr, &[], wide),
        case(Op::Inttoptr, &[], narrow),
        case(Op::SpaceCast, &[], width),
        case(Op::Bitcast, &[], width),
    ]
}

/// The operations on two operands of `width` bits.
pub fn binary(width: u32) -> Vec<Case> {
    use Flag::{Disjoint, Exact, Nsw, Nuw};
    let mut cases = Vec::new();
    let mut add = |op, flags: &[&[Flag]]| {
        for flags in flags {
            cases.push(Case::new(op, flags, &[width; 2], width));
        }
    };
    let wrapping: &[&[Flag]] = &[&[], &[Nuw], &[Nsw], &[Nuw, Nsw]];
    add(Op::Add, wrapping);
    add(Op::Sub, wrapping);
    add(Op::Mul, wrapping);
    add(Op::Shl, wrapping);
    for op in [Op::Udiv, Op::Sdiv, Op::Lshr, Op::Ashr] {
        add(op, &[&[], &[Exact]]);
    }
    add(Op::Or, &[&[], &[Disjoint]]);
    for op in [Op::Urem, Op::Srem, Op::And, Op::Xor, Op::Umin, Op::Umax, Op::Smin, Op::Smax] {
        add(op, &[&[]]);
    }
    for op in [Op::UaddSat, Op::SaddSat, Op::UsubSat, Op::SsubSat] {
        add(op, &[&[]]);
    }
    for &predicate in IntPredicate::ALL {
        let detail = Detail::IntCompare(predicate);
        cases.push(Case { detail, ..Case::new(Op::Icmp, &[], &[width; 2], 1) });
    }
    for offset in [width - 1, width, width + 1] {
        cases.push(Case::new(Op::PtrAdd, &[], &[width, offset], width));
        cases.push(Case::new(Op::PtrAdd, &[Nuw], &[width, offset], width));
    }
    cases
}

/// The operations on three operands: shifts of two numbers side by side, and choices.
pub fn ternary(width: u32) -> Vec<Case> {
    vec![
        Case::new(Op::Fshl, &[], &[width; 3], width),
        Case::new(Op::Fshr, &[], &[width; 3], width),
        Case::new(Op::Select, &[], &[1, width, width], width),
    ]
}
