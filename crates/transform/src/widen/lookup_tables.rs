//! Loads from small private arrays that lanes share, at an index for each lane: permutes of registers.
//!
//! ```text
//!     t[x & 15]      load the table as one vector, pick lane x & 15 of it in each lane
//!     t[x & 63]      load four vectors, permute each, select by x / 16
//! ```
//!
//! The table's object is as large as the vectors that are loaded; what lies beyond the array is never picked.

use super::access_plan::AccessPlanner;
use super::candidate_elements::{IndexedAddress, indexed_address};
use super::value_reps::ValueRep;
use super::widener::Widener;
use crate::target::{AccessDirection, AccessLanes, TargetInfo};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::words::{Flag, IntPredicate};
use heddle_ir::{Constant, Inst, Op, Scalar, Type, Value};
use rustc_hash::FxHashMap;

/// Maximum number of vectors of a table.
const MAX_VECTORS: u64 = 4;
/// Cost of a comparison and a select, per register.
const SELECT_COST: u32 = 20;

/// Load from a table in registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableLookup {
    address: IndexedAddress,
    /// Number of vectors of the table.
    vectors: u32,
    /// Cost of the load.
    pub(super) cost: u32,
}

/// Loads that become permutes.
#[derive(Debug, Default)]
pub(super) struct LookupTables {
    lookups: FxHashMap<Inst, TableLookup>,
    /// Size of each table's object in bytes.
    sizes: SecondaryMap<Inst, u64>,
}

impl LookupTables {
    /// Finds the loads that cost less as permutes than as gathers.
    pub(super) fn new(planner: &AccessPlanner<'_>) -> LookupTables {
        let AccessPlanner { func, facts, reps, objects, options, .. } = *planner;
        let lanes = planner.lanes();
        let mut this = LookupTables::default();
        for inst in func.blocks().flat_map(|block| func.block_insts(block)) {
            let data = func.inst(inst);
            let is_plain = data.access().is_some_and(|access| access.atomic.is_none())
                && !data.flags.has(Flag::Volatile);
            if data.op != Op::Load || !is_plain || reps.of(data.args[0]) != ValueRep::Vector {
                continue;
            }
            let shape = facts.shape(data.args[0]);
            let Some(alloca) = facts.unique_object(data.args[0]).filter(|_| shape.is_varying()) else {
                continue;
            };
            let (Some(result), Detail::Alloca { bytes, .. }) = (func.result(inst), &func.inst(alloca).detail)
            else {
                continue;
            };
            let ty = func.value_type(result);
            let size = u64::from(ty.bytes());
            let vector = size * u64::from(lanes);
            let vectors = bytes.div_ceil(vector.max(1));
            let is_aligned = size.is_power_of_two() && shape.each().align().is_multiple_of(size);
            let is_shared = objects.stride(alloca) == 0;
            let address = indexed_address(func, data.args[0]).filter(|_| is_shared && is_aligned);
            let cost = permutes_cost(&options.target, ty, lanes, vectors);
            if let Some((address, cost)) = address.zip(cost) {
                this.lookups.insert(inst, TableLookup { address, vectors: vectors as u32, cost });
                this.sizes[alloca] = this.sizes[alloca].max(vectors * vector);
            }
        }
        this
    }

    /// Lookup that a load becomes.
    pub(super) fn lookup(&self, inst: Inst) -> Option<TableLookup> {
        self.lookups.get(&inst).copied()
    }

    /// Size of a table's object in bytes; 0 for other objects.
    pub(super) fn size(&self, alloca: Inst) -> u64 {
        self.sizes[alloca]
    }
}

/// Cost of a load by permutes, if the target permutes such vectors in one instruction, and that costs less than a gather.
fn permutes_cost(target: &TargetInfo, ty: Type, lanes: u32, vectors: u64) -> Option<u32> {
    let bits = lanes * ty.bytes() * 8;
    let has_permute = match ty.scalar() {
        Scalar::I1 | Scalar::Ptr(_) => false,
        scalar => match scalar.bytes() {
            1 => bits == 128 || bits == 512 && target.vector_bits >= 512,
            2 => target.vector_bits >= 512,
            4 | 8 => true,
            _ => false,
        },
    };
    let is_whole = target.vector_bits >= 256 && bits <= target.vector_bits && bits >= 128;
    let is_few = (1..=MAX_VECTORS).contains(&vectors) && (vectors == 1 || lanes.is_power_of_two());
    if !(has_permute && is_whole && is_few) {
        return None;
    }
    let vectors = vectors as u32;
    let (load, all) = (AccessDirection::Load, AccessLanes::All);
    let each = target.cost(target.load.whole, lanes, bits) + target.cost(target.permute, lanes, bits);
    let cost = each * vectors + SELECT_COST * (vectors - 1);
    (cost < target.scattered_cost(load, all, lanes, ty.bytes() * 8)).then_some(cost)
}

impl Widener<'_> {
    /// Emits a load as permutes of its table.
    pub(super) fn load_from_table(&mut self, inst: Inst, lookup: &TableLookup) -> Value {
        let TableLookup { address: IndexedAddress { object, constant, index }, vectors, .. } = *lookup;
        let ty = self.old.value_type(self.old.result(inst).expect("a load gives a value"));
        let lanes = u32::from(self.lanes);
        let bits = lanes * ty.bytes() * 8;
        let number = self.element_number(index, constant, ty);
        let number_ty = self.new.value_type(number);
        let object = self.scalar(object);
        let wide = self.wide_type(ty);
        let mut picked: Option<Value> = None;
        // The last vector serves all larger numbers, so that each further one is selected by an upper bound.
        for part in (0..vectors).rev() {
            let far = self.new.make_int(Scalar::I64, (u64::from(part) * u64::from(bits / 8)).into());
            let start = self.emit(InstData::plain(Op::PtrAdd, [object, far]), None);
            let access = self.old.inst(inst).access().copied().unwrap_or(Access::aligned(1));
            let mut data = self.old.inst(inst).clone();
            data.detail = Detail::Access(self.wide_access(access, access.align.min(ty.bytes())));
            let table = self.load_vector(data, start, None, wide);
            let within = match vectors {
                1 => number,
                _ => {
                    let low = self.new.make_const(Constant::splat(number_ty, (lanes - 1).into()));
                    self.emit(InstData::plain(Op::And, [number, low]), None)
                }
            };
            let permuted = self.emit(InstData::plain(Op::Shuffle, [table, within]), None);
            picked = Some(match picked {
                None => permuted,
                Some(later) => {
                    let end = u128::from((part + 1) * lanes);
                    let end = self.new.make_const(Constant::splat(number_ty, end));
                    let is_here = self.compare(IntPredicate::Ult, number, end);
                    self.emit(InstData::plain(Op::Select, [is_here, permuted, later]), None)
                }
            });
        }
        picked.expect("a table has a vector")
    }

    /// Number of each lane's element: its offset divided by the element size, as an integer of that size.
    fn element_number(&mut self, index: Value, constant: i64, ty: Type) -> Value {
        let mut offset = self.vector(index);
        let found = self.new.value_type(offset);
        if constant != 0 {
            let constant = Constant::splat(found, constant as u64 as u128 & found.scalar().bit_mask());
            let constant = self.new.make_const(constant);
            offset = self.emit(InstData::plain(Op::Add, [offset, constant]), None);
        }
        let shift = u128::from(ty.bytes().trailing_zeros());
        if shift > 0 {
            let shift = self.new.make_const(Constant::splat(found, shift));
            offset = self.emit(InstData::plain(Op::Lshr, [offset, shift]), None);
        }
        let wanted = Scalar::int(8 * ty.bytes()).unwrap_or(Scalar::I64);
        match wanted.bits() < found.scalar().bits() {
            true => self.emit(InstData::plain(Op::Trunc, [offset]), Some(found.with_scalar(wanted))),
            false => offset,
        }
    }
}
