//! Access groups: loads and stores with related addresses, and the access pattern across lanes.
//!
//! An address consists of a base pointer, terms (a value times a constant) and a constant: `a[2 * i + 1]` is
//! `a + 8 * i + 4`. Accesses with one base and the same terms form a group; their constants differ. All accesses of a
//! group have one *stride* between consecutive lanes, the sum of the strides of the terms:
//!
//! ```text
//!     stride 0     uniform        stride -4   reversed             (of four-byte accesses)
//!     stride 4     contiguous     stride 8    strided; interleaved if several share the eight bytes without overlap
//! ```
//!
//! If the shape of a term has no stride, a [`StrideCondition`] on a uniform value may give one: `lane % u` is `lane` if `u`
//! is at least the number of lanes; `sext(u + lane)` does not wrap if `u` is far enough from the end of its range. A
//! condition on lane 0's number of a strided value serves likewise. A clamped coordinate `min(max(x, 0), u)` is `x` if
//! lane 0 is at least 0 and the last lane at most `u`. Code that checks the conditions at run time may use the pattern.
//!
//! The guarantee: whenever lanes execute an access of a group together and its conditions hold, the address of lane `j` is
//! that of lane `i` plus `(j - i)` strides, modulo 2^64. In one lane and one iteration of the enclosing loops, the accesses
//! of a group differ by their constants. Both are about active lanes only.
//!
//! Lanes are numbered through all dimensions of the brush. A value without one stride over that row of lanes is in no
//! group.

use std::fmt;

use heddle_ir::{Function, Inst, Op, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::address::{AddressSum, AddressTerm};
use crate::control_tables::ControlTables;
use crate::cycles::Cycle;
use crate::divergence::Divergence;
use crate::shape::Geometry;

mod condition;
mod conditional_stride;

pub use condition::{StrideCondition, UniformBound};

/// Pattern of a group's addresses across lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StridePattern {
    /// One address for all lanes.
    Uniform,
    /// Consecutive addresses in lane order.
    Contiguous,
    /// Consecutive addresses in reverse lane order.
    Reversed,
    /// Any other stride.
    Strided,
    /// Any other stride, shared by accesses next to each other.
    Interleaved,
}

impl StridePattern {
    /// Returns the name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            StridePattern::Uniform => "uniform",
            StridePattern::Contiguous => "contiguous",
            StridePattern::Reversed => "reversed",
            StridePattern::Strided => "strided",
            StridePattern::Interleaved => "interleaved",
        }
    }
}

/// Load or store of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupedAccess {
    /// Instruction of the access.
    pub inst: Inst,
    /// Constant of its address.
    pub offset: i64,
    /// Number of bytes accessed.
    pub bytes: u32,
    /// True for a store.
    pub writes: bool,
}

/// Accesses whose addresses differ by constants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessGroup {
    /// Base pointer of the addresses.
    pub base: Value,
    /// Pattern across lanes.
    pub kind: StridePattern,
    /// Byte distance between consecutive lanes.
    pub stride: i64,
    /// Conditions for the stride; empty if it always holds.
    pub conditions: Vec<StrideCondition>,
    /// Accesses in block-index order.
    pub accesses: Vec<GroupedAccess>,
}

/// Access groups of a function.
#[derive(Clone, Debug, Default)]
pub struct AccessGroups {
    groups: Vec<AccessGroup>,
    of: FxHashMap<Inst, (u32, u32)>,
}

impl AccessGroups {
    /// Finds all loads and stores with a stride, unconditional or conditional.
    pub fn new(
        func: &Function,
        control: &ControlTables,
        divergence: &Divergence,
        geometry: &Geometry,
    ) -> AccessGroups {
        let finder = AccessGroupFinder { func, control, divergence, geometry };
        let mut all = AccessGroups::default();
        let mut known: FxHashMap<AccessGroupKey, Option<usize>> = FxHashMap::default();
        for &block in control.index.order() {
            for inst in func.block_insts(block) {
                let Some((pointer, bytes, writes)) = access_of(func, inst) else { continue };
                let (address, multiples) =
                    AddressSum::with_multiples(func, pointer, |a, b| finder.are_disjoint(a, b));
                let AddressSum { root, terms, offset } = address;
                let access = GroupedAccess { inst, offset, bytes, writes };
                let enclosing = control.cycles.innermost(block);
                let key = AccessGroupKey { root, terms, multiples, enclosing };
                let number = *known.entry(key).or_insert_with_key(|key| {
                    // A stride of the whole address needs no conditions on its terms.
                    let known = finder.lane_stride(pointer, block).map(|stride| (stride, Vec::new()));
                    let (stride, conditions) = known.or_else(|| finder.group_stride(key, block))?;
                    let kind = StridePattern::Uniform;
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
        all.groups.iter_mut().for_each(|group| group.kind = pattern_of(group));
        all
    }

    /// Returns all groups, in the order of their first accesses.
    pub fn groups(&self) -> &[AccessGroup] {
        &self.groups
    }

    /// Mutable groups: tests expect to notice wrong ones.
    #[doc(hidden)]
    pub fn groups_mut(&mut self) -> &mut [AccessGroup] {
        &mut self.groups
    }

    /// Returns the group of a load or store, if it has a stride.
    pub fn of(&self, inst: Inst) -> Option<&AccessGroup> {
        self.of.get(&inst).map(|&(number, _)| &self.groups[number as usize])
    }

    /// Returns the group index of a load or store, and its entry in the group.
    pub fn position(&self, inst: Inst) -> Option<(usize, GroupedAccess)> {
        let &(number, index) = self.of.get(&inst)?;
        Some((number as usize, self.groups[number as usize].accesses[index as usize]))
    }
}

impl AccessGroup {
    /// Displays the group for reports.
    pub fn display<'a>(&'a self, func: &'a Function) -> impl fmt::Display + 'a {
        AccessGroupDisplay { group: self, func }
    }
}

struct AccessGroupDisplay<'a> {
    group: &'a AccessGroup,
    func: &'a Function,
}

impl fmt::Display for AccessGroupDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = self.group;
        write!(f, "{} from {}", group.kind.name(), self.func.describe(group.base))?;
        if matches!(group.kind, StridePattern::Strided | StridePattern::Interleaved) {
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
            write!(f, "{} {}", if number == 0 { "; if" } else { " and" }, condition.describe(self.func))?;
        }
        Ok(())
    }
}

fn pattern_of(group: &AccessGroup) -> StridePattern {
    let bytes = group.accesses.iter().map(|access| i64::from(access.bytes)).max().unwrap_or(0);
    let are_alike = group.accesses.iter().all(|access| i64::from(access.bytes) == bytes);
    match group.stride {
        0 => return StridePattern::Uniform,
        stride if stride == bytes && are_alike => return StridePattern::Contiguous,
        stride if stride == -bytes && are_alike => return StridePattern::Reversed,
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
    if spans.len() > 1 && are_apart && fit { StridePattern::Interleaved } else { StridePattern::Strided }
}

/// Returns the pointer of a scalar load or store, its size in bytes, and true for a store.
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

/// Common part of the addresses of a group.
#[derive(PartialEq, Eq, Hash)]
struct AccessGroupKey {
    root: Value,
    terms: SmallVec<[(AddressTerm, i64); 2]>,
    /// Terms that stay within half of their range: a multiple of them does not wrap.
    multiples: SmallVec<[AddressTerm; 2]>,
    enclosing: Option<Cycle>,
}

struct AccessGroupFinder<'a> {
    func: &'a Function,
    control: &'a ControlTables,
    divergence: &'a Divergence,
    geometry: &'a Geometry,
}
