//! Access groups: loads and stores whose addresses belong together, and how these lie from lane to lane.
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
//! Where the shape of a term does not say how its lanes lie, a [`StrideCondition`] on a uniform value may: `lane % u` is `lane`
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

use heddle_ir::{Function, Inst, Op, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::control_tables::ControlTables;
use crate::divergence::Divergence;
use crate::shape::Geometry;

mod addresses;
mod condition;
mod conditional_stride;

use addresses::{AccessGroupKey, LinearAddress};
pub use condition::{StrideCondition, UniformBound};

/// How the addresses of a group lie from lane to lane.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccessPattern {
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

impl AccessPattern {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            AccessPattern::Uniform => "uniform",
            AccessPattern::Contiguous => "contiguous",
            AccessPattern::Reversed => "reversed",
            AccessPattern::Strided => "strided",
            AccessPattern::Interleaved => "interleaved",
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
    pub kind: AccessPattern,
    /// From a lane to the next.
    pub stride: i64,
    /// What must hold for that; nothing if it always does.
    pub conditions: Vec<StrideCondition>,
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
        let finder = AccessGroupFinder { func, control, divergence, geometry };
        let mut all = AccessGroups::default();
        let mut known: FxHashMap<AccessGroupKey, Option<usize>> = FxHashMap::default();
        for &block in control.index.order() {
            for inst in func.block_insts(block) {
                let Some((pointer, bytes, writes)) = access_of(func, inst) else { continue };
                let Some(address) = finder.address(pointer) else { continue };
                let LinearAddress { root, terms, offset } = address;
                let access = GroupedAccess { inst, offset, bytes, writes };
                let key = AccessGroupKey { root, terms, around: control.cycles.innermost(block) };
                let number = *known.entry(key).or_insert_with_key(|key| {
                    // What is known of the address itself needs no conditions on its parts.
                    let known = finder.strides(pointer, block).map(|stride| (stride, Vec::new()));
                    let (stride, conditions) = known.or_else(|| finder.stride(key, block))?;
                    let kind = AccessPattern::Uniform;
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
    pub fn position(&self, inst: Inst) -> Option<(usize, GroupedAccess)> {
        let &(number, index) = self.of.get(&inst)?;
        Some((number as usize, self.groups[number as usize].accesses[index as usize]))
    }
}

impl AccessGroup {
    /// The group in words.
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
        if matches!(group.kind, AccessPattern::Strided | AccessPattern::Interleaved) {
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

fn kind_of(group: &AccessGroup) -> AccessPattern {
    let bytes = group.accesses.iter().map(|access| i64::from(access.bytes)).max().unwrap_or(0);
    let are_alike = group.accesses.iter().all(|access| i64::from(access.bytes) == bytes);
    match group.stride {
        0 => return AccessPattern::Uniform,
        stride if stride == bytes && are_alike => return AccessPattern::Contiguous,
        stride if stride == -bytes && are_alike => return AccessPattern::Reversed,
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
    if spans.len() > 1 && are_apart && fit { AccessPattern::Interleaved } else { AccessPattern::Strided }
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

struct AccessGroupFinder<'a> {
    func: &'a Function,
    control: &'a ControlTables,
    divergence: &'a Divergence,
    geometry: &'a Geometry,
}
