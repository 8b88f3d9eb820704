//! GroupedAccess groups: loads and stores whose addresses belong together, and how these lie from lane to lane.
//!
//! An address is taken apart into a base pointer, terms (a value times a constant) and a constant: `a[2 * i + 1]` is
//! `a + 8 * i + 4`. Accesses with the same base and the same terms are a group; only the constants differ. From lane to
//! lane all of a group go the same *stride*, the sum of those of the terms:
//!
//! ```text
//!     stride 0     uniform        stride -4   reversed             (of four-byte accesses)
//!     stride 4     contiguous     stride 8    strided; interleaved if several share the eight bytes without overlap
//! ```
//!
//! Where the shape of a term does not say how its lanes lie, a [`Condition`] on a uniform value may: `lane % u` is `lane`
//! if `u` is at least the number of lanes; `sext(u + lane)` does not wrap around if `u` is not too close to the end. So
//! may one on lane 0's number of a value that steps: nothing wraps around if that is far enough from the end, and
//! `min(max(x, 0), u)`, as a clamped coordinate is, is `x` if lane 0 is not below 0 and the last lane not above `u`.
//! Code that tests the conditions at run time may take the group for what it then is.
//!
//! What is claimed: whenever lanes execute an access of a group together and its conditions hold of what these values
//! then are, the address in lane `j` is that in lane `i` plus `(j - i)` strides, modulo 2^64; and in one lane accesses of
//! the group that are executed in the same round of the loops around them differ by their constants. Only active lanes
//! count.
//!
//! Lanes are counted through all dimensions of the brush. What does not grow by one step from each to the next, as if they
//! were a row, is in no group.

use std::fmt;

use heddle_ir::types::MAX_LANES;
use heddle_ir::words::Flag;
use heddle_ir::{Block, Constant, Function, Inst, Op, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::control_tables::ControlTables;
use crate::cycles::Cycle;
use crate::divergence::Divergence;
use crate::shape::{Geometry, Shape};

/// How many parts of an address are looked at, how deeply, and how many conditions a group may have.
const MOST_PARTS: usize = 32;
const MOST_DEPTH: usize = 3;
const MOST_CONDITIONS: usize = 3;
/// Addresses have so many bits.
const ADDRESS: u32 = 64;

/// A uniform value that all lanes are to be on one side of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Bound {
    /// The value.
    pub value: Value,
    /// Whether it is the greatest that lanes may have, not the least.
    pub is_greatest: bool,
    /// How far the lane that comes closest is from lane 0.
    pub reach: i64,
}

/// A value is within bounds, in the execution of the access: in lane 0, or as it would be there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Condition {
    /// The value.
    pub value: Value,
    /// Its step from a lane to the next, modulo its width; 0 if it is uniform.
    pub stride: i64,
    /// How many of its bits are looked at, from the lowest on.
    pub width: u32,
    /// Whether it has more.
    pub is_part: bool,
    /// Whether they are read as a signed number.
    pub is_signed: bool,
    /// The least that it may be.
    pub least: i128,
    /// The greatest.
    pub greatest: i128,
    /// What else it is compared with. The sum of it and the reach does not wrap around where the conditions of an access that
    /// has this one hold.
    pub bound: Option<Bound>,
}

impl Condition {
    /// Whether it holds where a lane has these bits, and its bound those.
    pub fn holds(&self, bits: u128, lane: usize, of_bound: Option<u128>) -> bool {
        let first = (bits as i128).wrapping_sub(i128::from(self.stride) * lane as i128);
        let number = interpret(first, self.width, self.is_signed);
        let is_within = match (self.bound, of_bound) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(bound), Some(bits)) => {
                let limit = interpret(bits as i128, self.width, self.is_signed);
                let closest = number + i128::from(bound.reach);
                if bound.is_greatest { closest <= limit } else { closest >= limit }
            }
        };
        is_within && (self.least..=self.greatest).contains(&number)
    }

    /// Whether there are numbers below those that it allows.
    pub fn has_least(&self) -> bool {
        self.least > range_of(self.width, self.is_signed).0
    }

    /// Whether there are numbers above those that it allows.
    pub fn has_greatest(&self) -> bool {
        self.greatest < range_of(self.width, self.is_signed).1
    }
}

impl Condition {
    /// As a comparison, in the words of the source.
    pub fn in_words(&self, func: &Function) -> String {
        let (first, last) = range_of(self.width, self.is_signed);
        let value = func.describe(self.value);
        let value = if self.is_part { format!("{value} mod 2^{}", self.width) } else { value };
        let range = match (self.least, self.greatest) {
            (least, greatest) if least == greatest => format!("{value} == {least}"),
            (least, greatest) if greatest == last => format!("{value} >= {least}"),
            (least, greatest) if least == first => format!("{value} <= {greatest}"),
            (least, greatest) => format!("{least} <= {value} <= {greatest}"),
        };
        let lane = if self.stride != 0 { " in lane 0" } else { "" };
        let sign = if self.is_signed { " (signed)" } else { "" };
        let Some(bound) = self.bound else { return format!("{range}{lane}{sign}") };
        let of_bound = func.describe(bound.value);
        let closest = match bound.reach {
            0 => value.clone(),
            reach @ 1.. => format!("{value} + {reach}"),
            reach => format!("{value} - {}", reach.unsigned_abs()),
        };
        let bounds = format!("{closest} {} {of_bound}", if bound.is_greatest { "<=" } else { ">=" });
        match self.has_least() || self.has_greatest() {
            true => format!("{range} and {bounds}{lane}{sign}"),
            false => format!("{bounds}{lane}{sign}"),
        }
    }
}

/// How the addresses of a group lie from lane to lane.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccessKind {
    /// All lanes use one address.
    Uniform,
    /// Each lane's follows the last one's.
    Contiguous,
    /// Each lane's precedes the last one's.
    Reversed,
    /// There are steps of some other size.
    Strided,
    /// So there are, and accesses side by side share them.
    Interleaved,
}

impl AccessKind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            AccessKind::Uniform => "uniform",
            AccessKind::Contiguous => "contiguous",
            AccessKind::Reversed => "reversed",
            AccessKind::Strided => "strided",
            AccessKind::Interleaved => "interleaved",
        }
    }
}

/// A load or a store of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupedAccess {
    /// The instruction.
    pub inst: Inst,
    /// The constant of its address.
    pub offset: i64,
    /// How many bytes it loads or stores.
    pub bytes: u32,
    /// Whether it stores.
    pub writes: bool,
}

/// Accesses whose addresses differ by constants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessGroup {
    /// The pointer that their addresses start from.
    pub base: Value,
    /// How the addresses lie.
    pub kind: AccessKind,
    /// From a lane to the next.
    pub stride: i64,
    /// What must hold for that; nothing if it always does.
    pub conditions: Vec<Condition>,
    /// In the order of the block index.
    pub accesses: Vec<GroupedAccess>,
}

/// The access groups of a function.
#[derive(Clone, Debug, Default)]
pub struct AccessGroups {
    groups: Vec<AccessGroup>,
    of: FxHashMap<Inst, (u32, u32)>,
}

impl AccessGroups {
    /// Finds all loads and stores whose lanes lie regularly, perhaps under conditions.
    pub fn new(
        func: &Function,
        control: &ControlTables,
        divergence: &Divergence,
        geometry: &Geometry,
    ) -> AccessGroups {
        let finder = Finder { func, control, divergence, geometry };
        let mut all = AccessGroups::default();
        let mut known: FxHashMap<Key, Option<usize>> = FxHashMap::default();
        for &block in control.index.order() {
            for inst in func.block_insts(block) {
                let Some((pointer, bytes, writes)) = access_of(func, inst) else { continue };
                let Some(address) = finder.address(pointer) else { continue };
                let Address { root, terms, offset } = address;
                let access = GroupedAccess { inst, offset, bytes, writes };
                let key = Key { root, terms, around: control.cycles.innermost(block) };
                let number = *known.entry(key).or_insert_with_key(|key| {
                    // What is known of the address itself needs no conditions on its parts.
                    let known = finder.strides(pointer, block).map(|stride| (stride, Vec::new()));
                    let (stride, conditions) = known.or_else(|| finder.stride(key, block))?;
                    let kind = AccessKind::Uniform;
                    all.groups.push(AccessGroup {
                        base: root,
                        kind,
                        stride,
                        conditions,
                        accesses: Vec::new(),
                    });
                    Some(all.groups.len() - 1)
                });
                if let Some(number) = number {
                    let accesses = &mut all.groups[number].accesses;
                    all.of.insert(inst, (number as u32, accesses.len() as u32));
                    accesses.push(access);
                }
            }
        }
        all.groups.iter_mut().for_each(|group| group.kind = kind_of(group));
        all
    }

    /// All groups, in the order of their first accesses.
    pub fn groups(&self) -> &[AccessGroup] {
        &self.groups
    }

    /// The groups, to be made wrong: tests see whether that is noticed.
    #[doc(hidden)]
    pub fn groups_mut(&mut self) -> &mut [AccessGroup] {
        &mut self.groups
    }

    /// The group of a load or a store, if its lanes lie regularly.
    pub fn of(&self, inst: Inst) -> Option<&AccessGroup> {
        self.of.get(&inst).map(|&(number, _)| &self.groups[number as usize])
    }

    /// The number of a load's or a store's group, and its place in it.
    pub fn place(&self, inst: Inst) -> Option<(usize, GroupedAccess)> {
        let &(number, index) = self.of.get(&inst)?;
        Some((number as usize, self.groups[number as usize].accesses[index as usize]))
    }
}

impl AccessGroup {
    /// The group in words.
    pub fn in_words<'a>(&'a self, func: &'a Function) -> impl fmt::Display + 'a {
        Words { group: self, func }
    }
}

struct Words<'a> {
    group: &'a AccessGroup,
    func: &'a Function,
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = self.group;
        write!(f, "{} from {}", group.kind.name(), self.func.describe(group.base))?;
        if matches!(group.kind, AccessKind::Strided | AccessKind::Interleaved) {
            write!(f, " by {}", group.stride)?;
        }
        for (number, access) in group.accesses.iter().enumerate() {
            f.write_str(if number == 0 { ": " } else { ", " })?;
            match self.func.result(access.inst) {
                Some(result) => write!(f, "load {result}")?,
                None => f.write_str("store")?,
            }
            write!(f, " at {:+}", access.offset)?;
        }
        for (number, condition) in group.conditions.iter().enumerate() {
            write!(f, "{} {}", if number == 0 { "; if" } else { " and" }, condition.in_words(self.func))?;
        }
        Ok(())
    }
}

fn kind_of(group: &AccessGroup) -> AccessKind {
    let bytes = group.accesses.iter().map(|access| i64::from(access.bytes)).max().unwrap_or(0);
    let are_alike = group.accesses.iter().all(|access| i64::from(access.bytes) == bytes);
    match group.stride {
        0 => return AccessKind::Uniform,
        stride if stride == bytes && are_alike => return AccessKind::Contiguous,
        stride if stride == -bytes && are_alike => return AccessKind::Reversed,
        _ => {}
    }
    let mut spans: SmallVec<[(i64, i64); 8]> = group
        .accesses
        .iter()
        .map(|access| (access.offset, access.offset.saturating_add(access.bytes.into())))
        .collect();
    spans.sort_unstable();
    spans.dedup();
    let are_apart = spans.windows(2).all(|pair| pair[0].1 <= pair[1].0);
    let fit = match (spans.first(), spans.last()) {
        (Some(first), Some(last)) => last.1.abs_diff(first.0) <= group.stride.unsigned_abs(),
        _ => false,
    };
    if spans.len() > 1 && are_apart && fit { AccessKind::Interleaved } else { AccessKind::Strided }
}

/// The pointer of a load or store of a scalar, how many bytes it is, whether it stores.
fn access_of(func: &Function, inst: Inst) -> Option<(Value, u32, bool)> {
    let data = func.inst(inst);
    let (pointer, accessed) = match data.op {
        Op::Load => (data.args[0], func.result(inst)?),
        Op::Store => (data.args[1], data.args[0]),
        _ => return None,
    };
    let is_scalar = !func.value_type(accessed).is_vector() && !func.value_type(pointer).is_vector();
    is_scalar.then(|| (pointer, func.value_type(accessed).bytes(), data.op == Op::Store))
}

/// How a number is made as wide as an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Extension {
    Signed,
    Unsigned,
}

/// A value, made as wide as an address, times a constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Term {
    value: Value,
    extension: Extension,
    /// Whether a promise keeps the value to half of its range: a multiple of it does not wrap around.
    is_half: bool,
    factor: i64,
}

/// A part of an address that is to be looked at.
#[derive(Clone, Copy)]
struct Part {
    value: Value,
    extension: Extension,
    is_half: bool,
    factor: i64,
}

struct Address {
    root: Value,
    terms: SmallVec<[Term; 4]>,
    offset: i64,
}

/// What the addresses of a group have in common.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    root: Value,
    terms: SmallVec<[Term; 4]>,
    around: Option<Cycle>,
}

/// How the lanes of a number lie, read as signed or unsigned: on a line without wrapping around.
struct Line {
    stride: i128,
    /// The least and the greatest number in any lane of the brush, if known.
    range: Option<(i128, i128)>,
    conditions: SmallVec<[Condition; MOST_CONDITIONS]>,
}

struct Finder<'a> {
    func: &'a Function,
    control: &'a ControlTables,
    divergence: &'a Divergence,
    geometry: &'a Geometry,
}

impl Finder<'_> {
    fn width(&self, value: Value) -> u32 {
        self.func.value_type(value).scalar().bits()
    }

    fn constant(&self, value: Value, extension: Extension) -> Option<i128> {
        match self.func.constant(value) {
            Some(Constant::Scalar(_, bits)) => {
                Some(interpret(*bits as i128, self.width(value), extension == Extension::Signed))
            }
            _ => None,
        }
    }

    /// An address as base, terms and constant, all modulo 2^64.
    fn address(&self, pointer: Value) -> Option<Address> {
        let mut root = pointer;
        let mut parts: Vec<Part> = Vec::new();
        while let Some(inst) = self.func.def_inst(root).filter(|&inst| self.func.inst(inst).op == Op::PtrAdd)
        {
            let data = self.func.inst(inst);
            if parts.len() == MOST_PARTS || self.width(data.args[1]) > ADDRESS {
                break;
            }
            let offset =
                Part { value: data.args[1], extension: Extension::Signed, is_half: false, factor: 1 };
            parts.push(offset);
            root = data.args[0];
        }
        if self.width(root) != ADDRESS {
            return None;
        }
        let mut terms: SmallVec<[Term; 4]> = SmallVec::new();
        let mut offset = 0i64;
        let mut seen = 0;
        while let Some(part) = parts.pop() {
            seen += 1;
            let Part { value, extension, is_half, factor } = part;
            if let Some(constant) = self.constant(value, extension) {
                offset = offset.wrapping_add(factor.wrapping_mul(constant as i64));
            } else if seen > MOST_PARTS || !self.split(part, &mut parts) {
                // At this width both are the same.
                let extension = if self.width(value) == ADDRESS { Extension::Signed } else { extension };
                terms.push(Term { value, extension, is_half, factor });
            }
        }
        terms.sort_unstable();
        let mut merged: SmallVec<[Term; 4]> = SmallVec::new();
        for term in terms {
            match merged.last_mut() {
                Some(last) if (last.value, last.extension) == (term.value, term.extension) => {
                    last.factor = last.factor.wrapping_add(term.factor);
                    last.is_half |= term.is_half;
                }
                _ => merged.push(term),
            }
        }
        merged.retain(|term| term.factor != 0);
        Some(Address { root, terms: merged, offset })
    }

    /// Adds the parts of a sum or a multiple; whether it is one, modulo 2^64.
    fn split(&self, part: Part, parts: &mut Vec<Part>) -> bool {
        let Part { value, extension, factor, .. } = part;
        let Some(inst) = self.func.def_inst(value) else { return false };
        let data = self.func.inst(inst);
        // A promise that is broken makes an address of which nothing need be known.
        let keeps = self.width(value) == ADDRESS
            || match extension {
                Extension::Signed => data.flags.has(Flag::Nsw),
                Extension::Unsigned => data.flags.has(Flag::Nuw),
            };
        let mut push_half = |value: Value, factor: i64, is_half: bool| {
            parts.push(Part { value, extension, is_half, factor });
        };
        let mut push = |value: Value, factor: i64| push_half(value, factor, false);
        match data.op {
            Op::Add if keeps => {
                push(data.args[0], factor);
                push(data.args[1], factor);
            }
            Op::Or if data.flags.has(Flag::Disjoint) || self.is_free(data.args[0], data.args[1]) => {
                push(data.args[0], factor);
                push(data.args[1], factor);
            }
            Op::Sub if keeps => {
                push(data.args[0], factor);
                push(data.args[1], factor.wrapping_neg());
            }
            Op::Mul if keeps => {
                let [Some(left), None] = [1, 0].map(|arg| self.constant(data.args[arg], extension)) else {
                    return false;
                };
                push_half(data.args[0], factor.wrapping_mul(left as i64), left.unsigned_abs() > 1);
            }
            Op::Shl if keeps => match self.constant(data.args[1], Extension::Unsigned) {
                Some(amount @ 0..63) => {
                    push_half(data.args[0], factor.wrapping_shl(amount as u32), amount > 0);
                }
                _ => return false,
            },
            Op::Sext if extension == Extension::Signed || self.width(value) == ADDRESS => {
                parts.push(Part {
                    value: data.args[0],
                    extension: Extension::Signed,
                    is_half: false,
                    factor,
                });
            }
            Op::Zext => {
                parts.push(Part {
                    value: data.args[0],
                    extension: Extension::Unsigned,
                    is_half: false,
                    factor,
                });
            }
            _ => return false,
        }
        true
    }

    /// Whether one value surely has zeros where the other, a constant, has ones.
    fn is_free(&self, value: Value, constant: Value) -> bool {
        let Some(constant) = self.constant(constant, Extension::Unsigned) else { return false };
        let zeros = self.divergence.shape(value).each().zeros();
        constant < 1 << zeros.min(ADDRESS)
    }

    /// The stride of all addresses of a kind in a block, and what must hold.
    fn stride(&self, key: &Key, block: Block) -> Option<(i64, Vec<Condition>)> {
        let mut stride = self.strides(key.root, block)?;
        let mut conditions: Vec<Condition> = Vec::new();
        for term in &key.terms {
            let fact = self.divergence.fact_at(self.func, self.control, term.value, block);
            let is_straight = self.width(term.value) == ADDRESS
                || match term.extension {
                    Extension::Signed => fact.straight.signed,
                    Extension::Unsigned => fact.straight.unsigned,
                }
                || term.is_half && self.spans_less_than_half(term.value, block);
            let own = match self.strides(term.value, block).filter(|_| is_straight) {
                Some(own) => own,
                None => {
                    let line = self.line(term.value, term.extension, block, 0)?;
                    conditions.extend(line.conditions);
                    line.stride as i64
                }
            };
            stride = stride.wrapping_add(own.wrapping_mul(term.factor));
        }
        conditions.sort_unstable();
        conditions.dedup();
        (conditions.len() <= MOST_CONDITIONS).then_some((stride, conditions))
    }

    /// Whether the lanes of a value that keeps to half of its range must lie on a line: the difference of two of them is
    /// less than half of all numbers, as what the step says of it is, so both are the same.
    fn spans_less_than_half(&self, value: Value, block: Block) -> bool {
        let lanes = self.geometry.width().unwrap_or(MAX_LANES);
        let reach = |stride: i64| i128::from(stride).unsigned_abs() * u128::from(lanes.saturating_sub(1));
        let Some(half) = self.width(value).checked_sub(1) else { return false };
        self.strides(value, block).is_some_and(|stride| reach(stride) < 1 << half)
    }

    /// The step of a value from lane to lane, modulo 2^width.
    fn strides(&self, value: Value, block: Block) -> Option<i64> {
        let shape = self.divergence.fact_at(self.func, self.control, value, block).shape;
        let steps = shape.strides()?.all();
        // Rows and planes of lanes must go on where the last one ended.
        let goes_on = |step: i64, dimension: usize| {
            let before =
                (0..dimension).map(|at| self.geometry.extent(at).map(i64::from)).product::<Option<i64>>();
            self.geometry.extent(dimension) == Some(1)
                || before.is_some_and(|before| step == steps[0].wrapping_mul(before))
        };
        let is_line = || (1..steps.len()).all(|dimension| goes_on(steps[dimension], dimension));
        (shape.is_uniform() || is_line()).then_some(steps[0])
    }

    fn is_uniform(&self, value: Value, block: Block) -> bool {
        self.divergence.fact_at(self.func, self.control, value, block).is_uniform()
    }

    /// Whether what a value was computed from still is what it was, in all lanes: they have left no loop in different
    /// rounds since.
    fn is_fresh(&self, inst: Inst, block: Block) -> bool {
        let cycles = &self.control.cycles;
        let mut around = self.func.layout.block_of(inst).and_then(|at| cycles.innermost(at));
        while let Some(cycle) = around.filter(|&cycle| !cycles.contains(cycle, block)) {
            if self.divergence.is_divergent_loop(cycle) {
                return false;
            }
            around = cycles.parent(cycle);
        }
        true
    }

    /// The line of a value whose base is known, from lane to lane.
    fn known_line(&self, value: Value, extension: Extension, block: Block) -> Option<Line> {
        let lanes = i128::from(self.geometry.width()?);
        if self.geometry.extent(0) != self.geometry.width() {
            return None;
        }
        let fact = self.divergence.fact_at(self.func, self.control, value, block);
        let Shape::Strided { strides, base } = fact.shape else { return None };
        let width = self.width(value);
        let first = interpret(base.constant(width)?.into(), width, extension == Extension::Signed);
        let stride = i128::from(strides.along(0));
        let last = first + stride * (lanes - 1);
        let range = (first.min(last), first.max(last));
        let (least, greatest) = range_of(width, extension == Extension::Signed);
        let fits = least <= range.0 && range.1 <= greatest;
        fits.then(|| Line { stride, range: Some(range), conditions: SmallVec::new() })
    }

    /// How the lanes of a value lie, if that takes conditions.
    fn line(&self, value: Value, extension: Extension, block: Block, depth: usize) -> Option<Line> {
        if depth > MOST_DEPTH || self.width(value) > ADDRESS {
            return None;
        }
        if let Some(line) = self.known_line(value, extension, block) {
            return Some(line);
        }
        if let Some(inst) = self.func.def_inst(value).filter(|&inst| self.is_fresh(inst, block)) {
            let data = self.func.inst(inst);
            match (data.op, extension) {
                (Op::Zext, _) => return self.line(data.args[0], Extension::Unsigned, block, depth + 1),
                (Op::Sext, Extension::Signed) => {
                    return self.line(data.args[0], Extension::Signed, block, depth + 1);
                }
                // The lowest bits, as if they had been cut off and extended.
                (Op::And, _) => {
                    let mask = self.constant(data.args[1], Extension::Unsigned).filter(|&mask| mask > 0);
                    let width = mask.filter(|mask| mask & (mask + 1) == 0).map(|mask| mask.count_ones());
                    if let Some(width) = width.filter(|&width| width < self.width(value)) {
                        return self.stepping_line(data.args[0], width, Extension::Unsigned, block);
                    }
                }
                _ => {}
            }
        }
        self.sum(value, extension, block, depth)
            .or_else(|| self.stepping_line(value, self.width(value), extension, block))
            .or_else(|| self.clamped_line(value, extension, block))
    }

    /// The line of the lowest bits of a value that steps: no lane wraps around if lane 0 is far enough from the end.
    fn stepping_line(&self, value: Value, width: u32, extension: Extension, block: Block) -> Option<Line> {
        let stride = self.strides(value, block).filter(|&stride| stride != 0)?;
        let is_signed = extension == Extension::Signed;
        let reach = i128::from(stride) * (i128::from(self.geometry.width()?) - 1);
        let (least, greatest) = range_of(width, is_signed);
        let (least, greatest) = (least - reach.min(0), greatest - reach.max(0));
        let is_part = width < self.width(value);
        let condition = Condition { value, stride, width, is_part, is_signed, least, greatest, bound: None };
        let conditions = SmallVec::from_iter([condition]);
        (least <= greatest).then(|| Line { stride: stride.into(), range: None, conditions })
    }

    /// The line of a value that steps and is kept within bounds, which are uniform: all lanes are within them.
    fn clamped_line(&self, value: Value, extension: Extension, block: Block) -> Option<Line> {
        let op = |inst: Inst| self.func.inst(inst).op;
        let width = self.width(value);
        let is_signed = match op(self.func.def_inst(value)?) {
            Op::Smin | Op::Smax => true,
            Op::Umin | Op::Umax => false,
            _ => return None,
        };
        let own = if is_signed { Extension::Signed } else { Extension::Unsigned };
        // What it is read as has to be the same number.
        let (asked_low, asked_high) = range_of(width, extension == Extension::Signed);
        let (low, high) = range_of(width, is_signed);
        let (mut low, mut high) = (low.max(asked_low), high.min(asked_high));
        let mut bounds: SmallVec<[(Value, bool); MOST_CONDITIONS]> = SmallVec::new();
        let mut inner = value;
        for _ in 0..MOST_PARTS {
            let Some(inst) = self.func.def_inst(inner).filter(|&inst| self.is_fresh(inst, block)) else {
                break;
            };
            let is_greatest = match (op(inst), is_signed) {
                (Op::Smin, true) | (Op::Umin, false) => true,
                (Op::Smax, true) | (Op::Umax, false) => false,
                _ => break,
            };
            let [mut of, mut by] = [0, 1].map(|arg| self.func.inst(inst).args[arg]);
            if self.is_uniform(of, block) {
                std::mem::swap(&mut of, &mut by);
            }
            match self.constant(by, own) {
                Some(constant) if is_greatest => high = high.min(constant),
                Some(constant) => low = low.max(constant),
                None if !self.is_uniform(by, block) || bounds.len() == MOST_CONDITIONS => return None,
                None => bounds.push((by, is_greatest)),
            }
            inner = of;
        }
        let stride = self.strides(inner, block).filter(|&stride| stride != 0)?;
        let reach = stride.checked_mul(i64::from(self.geometry.width()?) - 1)?;
        let (least, greatest) = (low - i128::from(reach.min(0)), high - i128::from(reach.max(0)));
        // Of lanes that are known, lane 0 may be out of bounds in any case.
        let known = self.known_line(inner, own, block).and_then(|line| line.range);
        let is_out = |(first, last): (i128, i128)| first < low || last > high;
        if least > greatest || known.is_some_and(is_out) {
            return None;
        }
        let within = |(least, greatest), bound| Condition {
            value: inner,
            stride,
            width,
            is_part: false,
            is_signed,
            least,
            greatest,
            bound,
        };
        let bound = |(value, is_greatest)| {
            let reach = if is_greatest { reach.max(0) } else { reach.min(0) };
            Some(Bound { value, is_greatest, reach })
        };
        // One of them says that no lane wraps around.
        let mut bounds = bounds.into_iter().map(bound);
        let mut conditions = SmallVec::from_iter([within((least, greatest), bounds.next().flatten())]);
        conditions.extend(bounds.map(|bound| within(range_of(width, is_signed), bound)));
        Some(Line { stride: stride.into(), range: None, conditions })
    }

    /// The line of a sum of a multiple of one uniform value and of numbers that are known from lane to lane, if no lane
    /// of it wraps around.
    fn sum(&self, value: Value, extension: Extension, block: Block, depth: usize) -> Option<Line> {
        let width = self.width(value);
        let (least, greatest) = range_of(width, extension == Extension::Signed);
        // The sum, modulo 2^width: `factor` times `uniform`, and what lies within `range`.
        let mut uniform: Option<(Value, i128)> = None;
        let mut sum = Line { stride: 0, range: Some((0, 0)), conditions: SmallVec::new() };
        let mut parts: SmallVec<[(Value, i128); 8]> = SmallVec::from_iter([(value, 1)]);
        let mut seen = 0;
        while let Some((part, factor)) = parts.pop() {
            seen += 1;
            if seen > MOST_PARTS || factor.unsigned_abs() > 1 << 40 {
                return None;
            }
            let (low, high) = sum.range?;
            if let Some(constant) = self.constant(part, extension) {
                sum.range = Some((low + factor * constant, high + factor * constant));
                continue;
            }
            if self.is_uniform(part, block) {
                let (known, old) = uniform.unwrap_or((part, 0));
                if known != part {
                    return None;
                }
                uniform = Some((part, old + factor));
                continue;
            }
            if self.split_modulo(part, factor, block, &mut parts) {
                continue;
            }
            let line = match self.known_line(part, extension, block) {
                Some(line) => line,
                None => self.special(part, extension, block, depth)?,
            };
            let (first, last) = line.range?;
            let (first, last) = (factor * first, factor * last);
            sum.range = Some((low + first.min(last), high + first.max(last)));
            sum.stride += factor * line.stride;
            sum.conditions.extend(line.conditions);
        }
        let (low, high) = sum.range?;
        match uniform.filter(|&(_, factor)| factor != 0) {
            None => (least <= low && high <= greatest).then_some(sum),
            Some((value, factor)) => {
                // least <= factor * u + low, factor * u + high <= greatest
                let (from, to) = (least - low, greatest - high);
                let (from, to) = match factor {
                    1.. => (ceiling(from, factor), to.div_euclid(factor)),
                    _ => (ceiling(-to, -factor), (-from).div_euclid(-factor)),
                };
                let (from, to) = (from.max(least), to.min(greatest));
                if from > to || sum.conditions.len() == MOST_CONDITIONS {
                    return None;
                }
                let is_signed = extension == Extension::Signed;
                sum.conditions.push(Condition {
                    value,
                    stride: 0,
                    width,
                    is_part: false,
                    is_signed,
                    least: from,
                    greatest: to,
                    bound: None,
                });
                sum.range = None;
                Some(sum)
            }
        }
    }

    /// Adds the parts of a sum or a multiple, modulo 2^width; whether it is one.
    fn split_modulo(
        &self,
        value: Value,
        factor: i128,
        block: Block,
        parts: &mut SmallVec<[(Value, i128); 8]>,
    ) -> bool {
        let Some(inst) = self.func.def_inst(value).filter(|&inst| self.is_fresh(inst, block)) else {
            return false;
        };
        let data = self.func.inst(inst);
        match data.op {
            Op::Add => parts.extend([(data.args[0], factor), (data.args[1], factor)]),
            Op::Or if data.flags.has(Flag::Disjoint) => {
                parts.extend([(data.args[0], factor), (data.args[1], factor)]);
            }
            Op::Sub => parts.extend([(data.args[0], factor), (data.args[1], -factor)]),
            Op::Mul => match self.constant(data.args[1], Extension::Signed) {
                Some(constant) if constant.unsigned_abs() < 1 << 40 => {
                    parts.push((data.args[0], factor * constant));
                }
                _ => return false,
            },
            Op::Shl => match self.constant(data.args[1], Extension::Unsigned) {
                Some(amount) if (0..i128::from(self.width(value).min(40))).contains(&amount) => {
                    parts.push((data.args[0], factor << amount));
                }
                _ => return false,
            },
            _ => return false,
        }
        true
    }

    /// An operation that leaves a line as it is if its other operand, which is uniform, is large enough, or one.
    fn special(&self, value: Value, extension: Extension, block: Block, depth: usize) -> Option<Line> {
        let inst = self.func.def_inst(value).filter(|&inst| self.is_fresh(inst, block))?;
        let data = self.func.inst(inst);
        let is_signed = match data.op {
            Op::Urem | Op::Udiv | Op::Umin => false,
            Op::Srem | Op::Sdiv | Op::Smin => true,
            Op::Mul | Op::Shl => extension == Extension::Signed,
            _ => return None,
        };
        let [mut of, mut by] = [data.args[0], data.args[1]];
        let commutes = matches!(data.op, Op::Umin | Op::Smin | Op::Mul);
        if commutes && self.is_uniform(of, block) {
            std::mem::swap(&mut of, &mut by);
        }
        if !self.is_uniform(by, block) || self.func.constant(by).is_some() {
            return None;
        }
        let width = self.width(value);
        let inner = if is_signed { Extension::Signed } else { Extension::Unsigned };
        let mut line = self.line(of, inner, block, depth + 1)?;
        let (low, high) = line.range?;
        let greatest = range_of(width, is_signed).1;
        let (least, greatest) = match data.op {
            Op::Mul => (1, 1),
            Op::Shl => (0, 0),
            Op::Umin | Op::Smin => (high, greatest),
            // Of negative numbers remainders and quotients go the other way.
            _ if low < 0 || high == greatest => return None,
            _ => (high + 1, greatest),
        };
        // The result must read the same in the way that is asked for.
        if range_of(width, extension == Extension::Signed).1 < high
            || range_of(width, extension == Extension::Signed).0 > low
        {
            return None;
        }
        if matches!(data.op, Op::Udiv | Op::Sdiv) {
            (line.stride, line.range) = (0, Some((0, 0)));
        }
        if line.conditions.len() == MOST_CONDITIONS {
            return None;
        }
        line.conditions.push(Condition {
            value: by,
            stride: 0,
            width,
            is_part: false,
            is_signed,
            least,
            greatest,
            bound: None,
        });
        Some(line)
    }
}

fn ceiling(number: i128, by: i128) -> i128 {
    -(-number).div_euclid(by)
}

/// The numbers of a width.
fn range_of(width: u32, is_signed: bool) -> (i128, i128) {
    let bits = width.clamp(1, 100);
    match is_signed {
        true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    }
}

/// The number that the low bits stand for.
fn interpret(bits: i128, width: u32, is_signed: bool) -> i128 {
    let shift = 128 - width.clamp(1, 128);
    match is_signed {
        true => bits << shift >> shift,
        false => ((bits as u128) << shift >> shift) as i128,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_read_as_numbers_of_their_width() {
        assert_eq!(interpret(0xff, 8, true), -1);
        assert_eq!(interpret(0xff, 8, false), 255);
        assert_eq!(interpret(0x17f, 8, true), 127);
        assert_eq!(interpret(-1, 64, false), (1 << 64) - 1);
        assert_eq!(interpret(1 << 63, 64, true), -(1 << 63));
        assert_eq!((range_of(8, true), range_of(8, false)), ((-128, 127), (0, 255)));
        assert_eq!((range_of(1, true), range_of(1, false)), ((-1, 0), (0, 1)));
        assert_eq!([-7, -6, 0, 6, 7].map(|number| ceiling(number, 3)), [-2, -2, 0, 2, 3]);
    }

    /// A value that goes up by two from lane to lane, in eight bits of more, from -3 up to 100 in lane 0.
    #[test]
    fn conditions_are_about_lane_0() {
        let module = heddle_ir::parse_bytes(b"func @f() {\nblock0:\n  v4 = lane i32\n  ret\n}\n")
            .expect("it is well-formed");
        let (func, value) = (&module.functions[0], Value::from_u32(4));
        let signed = Condition {
            value,
            stride: 2,
            width: 8,
            is_part: true,
            is_signed: true,
            least: -3,
            greatest: 100,
            bound: None,
        };
        let holds = |bits, lane| signed.holds(bits, lane, None);
        assert!(holds(100, 0) && holds(0x1fd, 0) && holds(106, 3) && holds(3, 3));
        assert!(!holds(101, 0) && !holds(0xfc, 0) && !holds(107, 3) && !holds(2, 3));
        assert!(signed.has_least() && signed.has_greatest());
        assert_eq!(signed.in_words(func), "-3 <= v4 mod 2^8 <= 100 in lane 0 (signed)");
        let all = Condition { stride: 0, is_part: false, least: -128, greatest: 127, ..signed };
        assert!(!all.has_least() && !all.has_greatest());
        let below = Condition { is_signed: false, least: 0, greatest: 7, ..all };
        assert_eq!(below.in_words(func), "v4 <= 7");
        assert_eq!(Condition { least: 7, ..below }.in_words(func), "v4 == 7");
        assert_eq!(Condition { least: 7, greatest: 255, ..below }.in_words(func), "v4 >= 7");
        // Six more in the last lane, which is not to be above another value; then six less, and not below it.
        let bound = Bound { value, is_greatest: true, reach: 6 };
        let kept = Condition { bound: Some(bound), ..signed };
        assert!(kept.holds(10, 0, Some(16)) && kept.holds(16, 3, Some(16)) && !kept.holds(11, 0, Some(16)));
        assert!(!kept.holds(10, 0, None) && !kept.holds(101, 0, Some(127)) && !kept.holds(10, 0, Some(0xf0)));
        let words = "-3 <= v4 mod 2^8 <= 100 and v4 mod 2^8 + 6 <= v4 in lane 0 (signed)";
        assert_eq!(kept.in_words(func), words);
        let above = Bound { value, is_greatest: false, reach: -6 };
        let kept = Condition { bound: Some(above), stride: -2, ..signed };
        assert!(kept.holds(10, 0, Some(4)) && kept.holds(4, 3, Some(4)) && !kept.holds(9, 0, Some(4)));
        assert_eq!(Condition { bound: Some(above), ..all }.in_words(func), "v4 - 6 >= v4 (signed)");
    }
}
