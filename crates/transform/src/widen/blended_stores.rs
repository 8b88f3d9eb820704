//! Stores under a mask as stores of whole vectors: inactive lanes store the value that their element has.
//!
//! ```text
//!     x = load a[i]                        x = load <8 x i32>, a + i
//!     store y, a[i]   where p        ->    branch any(p): store select(p, y, x), a + i
//! ```
//!
//! Machines without masks for stores take many times as long for a masked store as for a whole one. An inactive lane may store
//! what it has loaded itself, since another thread that writes the element in between would race with the load. What is private
//! belongs to the lanes of the brush, so it is loaded just before. Without an active lane nothing is stored: memory
//! that nobody writes may be read-only.

use super::access_plan::{AccessPlanner, LaneAccess};
use super::widener::Widener;
use crate::address_pattern::AddressPattern;
use crate::races::RaceSemantics;
use crate::target::{AccessDirection, AccessLanes};
use heddle_analysis::underlying_object;
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::ops::Effect;
use heddle_ir::{Block, Function, Inst, Op, Value};
use rustc_hash::FxHashSet;

/// Maximum number of instructions between a load and the store.
const MAX_DISTANCE: usize = 256;

/// Values that inactive lanes store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum InactiveElements {
    /// Values that a load before the store has given to all lanes.
    Loaded(Value),
    /// Values in memory that belongs to the brush.
    InMemory,
}

impl AccessPlanner<'_> {
    /// Values that inactive lanes of a contiguous store can store; none if a masked store is possible only, or cheaper.
    pub(super) fn inactive_elements(&self, access: &LaneAccess) -> Option<InactiveElements> {
        let is_slow = self.options.target.tests_store_masks(self.lanes(), access.element_bits());
        if access.direction != AccessDirection::Store || access.active != AccessLanes::Masked || !is_slow {
            return None;
        }
        if self.objects.is_interleaved(access.address) {
            return Some(InactiveElements::InMemory);
        }
        if self.options.races != RaceSemantics::Excluded || !may_be_nowhere(self.func, access.address) {
            return None;
        }
        self.loaded_by_all(access).map(InactiveElements::Loaded)
    }

    /// Value that every lane has loaded from the store's address since the last write that inactive lanes may notice.
    fn loaded_by_all(&self, store: &LaneAccess) -> Option<Value> {
        let func = self.func;
        let own = func.layout.block_of(store.inst)?;
        let predicate = func.predicate(own);
        let mut steps = MAX_DISTANCE;
        let mut found = None;
        let mut seen = FxHashSet::default();
        let mut waiting = vec![(own, Some(store.inst))];
        while let Some((block, end)) = waiting.pop() {
            let insts: Vec<Inst> = func.block_insts(block).take_while(|&inst| Some(inst) != end).collect();
            let mut is_loaded = false;
            for &inst in insts.iter().rev() {
                steps = steps.checked_sub(1)?;
                if self.is_load_of_all(inst, block, store) {
                    let loaded = func.result(inst)?;
                    // Two loads may give two values.
                    (*found.get_or_insert(loaded) == loaded).then_some(())?;
                    is_loaded = true;
                    break;
                }
                let data = func.inst(inst);
                let is_same_mask = func.predicate(block) == predicate && !data.is_total();
                match data.op.info().effect {
                    _ if data.is_ordered() => return None,
                    // Lanes that are inactive here are inactive there.
                    Effect::Writes if data.op == Op::Store && is_same_mask => {}
                    Effect::Writes if is_elsewhere(func, inst, store.address) => {}
                    Effect::Pure | Effect::Traps | Effect::Reads | Effect::Horizontal => {}
                    Effect::Allocates | Effect::Assumes | Effect::Terminator | Effect::Joins => {}
                    _ => return None,
                }
            }
            if is_loaded {
                continue;
            }
            let before = self.control.cfg.preds(block);
            // The entry, or an earlier iteration of the store, comes before each load.
            if block == self.control.cfg.entry() || before.contains(&own) {
                return None;
            }
            waiting.extend(before.iter().filter(|&&block| seen.insert(block)).map(|&block| (block, None)));
        }
        found
    }

    /// True for a load by all lanes of what a store overwrites.
    fn is_load_of_all(&self, inst: Inst, block: Block, store: &LaneAccess) -> bool {
        let data = self.func.inst(inst);
        let ty = |value| self.func.value_type(value).scalar();
        data.op == Op::Load
            && !data.is_ordered()
            && data.args[0] == store.address
            && self.func.predicate(block).is_none()
            && self.func.result(inst).is_some_and(|loaded| ty(loaded) == store.scalar)
    }
}

/// True if an address may lead nowhere as far as compilers know: it is not that of a known object. They have moved none of its loads before
/// their conditions, so a lane that loads asks for the element in the source, too.
fn may_be_nowhere(func: &Function, address: Value) -> bool {
    let object = underlying_object(func, address);
    match func.def_inst(object).map(|inst| func.inst(inst)) {
        Some(data) => data.op == Op::Load && data.access().is_some_and(|access| access.dereferenceable == 0),
        None => func.constant(object).is_none(),
    }
}

/// True if an instruction writes a private object, and an address is that of a parameter, which cannot lead there.
fn is_elsewhere(func: &Function, inst: Inst, address: Value) -> bool {
    let object = |address: Value| func.def_inst(underlying_object(func, address));
    let written = func.inst(inst).address().and_then(object);
    written.is_some_and(|inst| func.inst(inst).op == Op::Alloca) && object(address).is_none()
}

impl Widener<'_> {
    /// Emits a store of a whole vector, in which inactive lanes store what is there.
    pub(super) fn store_blended(&mut self, inst: Inst, pattern: AddressPattern, inactive: InactiveElements) {
        let Some(mask) = self.mask(inst) else {
            self.access_by(inst, pattern, &[]);
            return;
        };
        let data = self.old.inst(inst).clone();
        let [stored, address] = [data.args[0], data.args[1]];
        let ty = self.old.value_type(stored);
        let pointer = self.vector_address(inst, address, pattern, ty, &[]);
        let access = data.access().copied().unwrap_or(Access::aligned(1));
        let align = self.vector_align(&access, address, pattern, ty);
        let detail = Detail::Access(self.wide_access(access, align));
        let data = InstData { detail, ..data };
        let (mut value, mut mask) = (self.vector(stored), mask);
        let mut loaded = match inactive {
            InactiveElements::Loaded(loaded) => Some(self.vector(loaded)),
            InactiveElements::InMemory => None,
        };
        if pattern == AddressPattern::Reversed {
            (value, mask) = (self.reverse(value), self.reverse(mask));
            loaded = loaded.map(|loaded| self.reverse(loaded));
        }
        let any = self.any_active_lane(inst);
        self.emit_if(any, |widener| {
            widener.blend(data, value, pointer, mask, loaded);
            Vec::new()
        });
    }

    /// Emits the store of a vector, in which inactive lanes store these values, or those in memory.
    pub(super) fn blend(
        &mut self,
        data: InstData,
        value: Value,
        pointer: Value,
        mask: Value,
        inactive: Option<Value>,
    ) {
        let ty = self.new.value_type(value);
        let inactive = inactive.unwrap_or_else(|| {
            let load = InstData { op: Op::Load, args: [pointer].into_iter().collect(), ..data.clone() };
            self.emit(load, Some(ty))
        });
        let blended = self.emit(InstData::plain(Op::Select, [mask, value, inactive]), None);
        self.insert(InstData { op: Op::Store, args: [blended, pointer].into_iter().collect(), ..data }, None);
    }
}
