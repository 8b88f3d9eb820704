//! Layout of private objects: one copy for all lanes, or an array with a copy for each lane.
//!
//! ```text
//!     blocked          a0 a1 a2 | b0 b1 b2 | c0 c1 c2 | d0 d1 d2       any access, any use
//!     interleaved      a0 b0 c0 d0 | a1 b1 c1 d1 | a2 b2 c2 d2         elements of one size
//! ```
//!
//! An object is interleaved if all accesses have one element size and its address has no other use. Lanes with equal
//! indices are then contiguous; offsets are scaled by `W`.
//!
//! If a program computes with addresses as integers, results of a lane's own addresses belong to that lane, too. The
//! copies are then spaced so that all lanes agree on the alignment of an address.

use super::worklist::InstWorklist;
use super::{Remark, RemarkKind, refusal};
use heddle_analysis::{ControlTables, Divergence};
use heddle_ir::Diagnostic;
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::inst::Detail;
use heddle_ir::ops::Effect;
use heddle_ir::types::MAX_LANES;
use heddle_ir::verify::MAX_ALLOCA_BYTES;
use heddle_ir::words::Flag;
use heddle_ir::{Block, Constant, Function, Inst, Op, Scalar, Value};

/// Layout of the private objects of a function.
#[derive(Debug)]
pub(super) struct PrivateObjects {
    strides: SecondaryMap<Inst, u64>,
    /// Addresses of interleaved objects.
    interleaved: EntitySet<Value>,
    sizes: SecondaryMap<Inst, u64>,
    /// Fills of interleaved objects that change only those of active lanes.
    masked_fills: EntitySet<Inst>,
    /// Why an object that could be interleaved is not.
    obstacles: SecondaryMap<Inst, Option<&'static str>>,
    /// True if an object's address is stored or passed to a call. Then no object is shared: the addresses in it differ.
    pub(super) addresses_escape: bool,
    /// True if such an address escapes as an integer.
    pub(super) integers_escape: bool,
}

/// Alignment that all copies of an object share where the program computes with its address.
const COMMON_ALIGN: u64 = 64;
/// Maximum number of elements that a fill under a mask stores.
const MAX_FILLED: u64 = 64;
/// Maximum number of instructions between an address and its object.
const MAX_STEPS: usize = 16;

impl PrivateObjects {
    /// Computes the layout of every object.
    pub(super) fn new(
        func: &Function,
        worklist: &InstWorklist,
        facts: &Divergence,
        lanes: u32,
    ) -> Result<PrivateObjects, Diagnostic> {
        let allocas: Vec<Inst> = func
            .blocks()
            .flat_map(|block| func.block_insts(block))
            .filter(|&inst| func.inst(inst).op == Op::Alloca)
            .collect();
        let addresses = addresses(func, worklist, &allocas);
        let has_address_arithmetic = addresses.iter().any(|value| is_address_arithmetic(func, value));
        let mut this = PrivateObjects {
            strides: SecondaryMap::new(),
            interleaved: EntitySet::new(),
            sizes: SecondaryMap::new(),
            masked_fills: EntitySet::new(),
            obstacles: SecondaryMap::new(),
            addresses_escape: any_escapes(func, |value| addresses.contains(value)),
            integers_escape: any_escapes(func, |value| {
                addresses.contains(value) && func.value_type(value).scalar().is_int()
            }),
        };
        for &inst in &allocas {
            if facts.object_agreement(inst).is_some() && !this.addresses_escape {
                continue;
            }
            let Detail::Alloca { bytes, align } = func.inst(inst).detail else { continue };
            let align = u64::from(align).max(if has_address_arithmetic { COMMON_ALIGN } else { 1 });
            let stride = bytes.next_multiple_of(align);
            this.sizes[inst] = stride;
            if stride.checked_mul(lanes.into()).is_none_or(|all| all > MAX_ALLOCA_BYTES) {
                let reason = format!(
                    "{lanes} private objects of {bytes} bytes, one per lane, exceed the maximum size"
                );
                return Err(refusal(func, inst, reason));
            }
            this.strides[inst] = stride;
        }
        if !this.addresses_escape {
            this.interleave(func, facts, &allocas);
        }
        Ok(this)
    }

    /// Interleaves the copied objects whose uses allow it.
    fn interleave(&mut self, func: &Function, facts: &Divergence, allocas: &[Inst]) {
        let mut numbers: SecondaryMap<Inst, usize> = SecondaryMap::new();
        allocas.iter().enumerate().for_each(|(number, &alloca)| numbers[alloca] = number);
        let object = |&alloca: &Inst| AddressedObject { alloca, addresses: Vec::new(), uses: Vec::new() };
        let mut objects: Vec<AddressedObject> = allocas.iter().map(object).collect();
        for block in func.blocks() {
            for inst in func.block_insts(block) {
                for &result in func.results(inst) {
                    if let Some(alloca) = facts.unique_object(result) {
                        objects[numbers[alloca]].addresses.push(result);
                    }
                }
                for (index, &arg) in func.inst(inst).args.iter().enumerate() {
                    if let Some(alloca) = facts.unique_object(arg) {
                        objects[numbers[alloca]].uses.push(ObjectUse { block, inst, index });
                    }
                }
            }
        }
        let control = ControlTables::new(func);
        for object in objects {
            let alloca = object.alloca;
            let bytes = match object.element_size(func, facts) {
                ElementSize::Unused => continue,
                ElementSize::Mixed(reason) => {
                    self.obstacles[alloca] = Some(reason);
                    continue;
                }
                ElementSize::Bytes(bytes) => bytes,
            };
            let masked_fills = object.masked_fills(func, &control);
            if !masked_fills.is_empty() && self.sizes[alloca] / bytes > MAX_FILLED {
                self.obstacles[alloca] = Some("it has many elements, and is filled under a condition");
                continue;
            }
            let Detail::Alloca { align, .. } = func.inst(alloca).detail else { continue };
            let is_own = self.sizes[alloca] != 0 && self.strides[alloca] != 0;
            if is_own && u64::from(align).is_multiple_of(bytes) && self.sizes[alloca].is_multiple_of(bytes) {
                self.strides[alloca] = bytes;
                masked_fills.into_iter().for_each(|inst| _ = self.masked_fills.insert(inst));
                object.addresses.iter().for_each(|&address| _ = self.interleaved.insert(address));
            }
        }
    }

    /// Remarks on the layout of the objects that have a name.
    pub(super) fn remarks(&self, func: &Function, lanes: u32) -> Vec<Remark> {
        let insts = func.blocks().flat_map(|block| func.block_insts(block));
        let allocas = insts.filter(|&inst| func.inst(inst).op == Op::Alloca && lanes > 1);
        let describe = |inst: Inst| {
            let is_interleaved = func.result(inst).is_some_and(|address| self.is_interleaved(address));
            let layout = match self.obstacles[inst] {
                _ if self.strides[inst] == 0 => "one copy for all lanes, which store the same".to_string(),
                _ if is_interleaved => interleaved_text(self.strides[inst]),
                Some(obstacle) => format!("a copy for each lane: {obstacle}"),
                None => "a copy for each lane: the address of a private array is stored or passed on".into(),
            };
            let diagnostic = crate::kernels::array_remark(func, inst, &layout)?;
            Some(Remark { kind: RemarkKind::PrivateArray, accesses: 0, diagnostic })
        };
        allocas.filter_map(describe).collect()
    }

    /// Bytes of one lane's copy.
    pub(super) fn size(&self, alloca: Inst) -> u64 {
        self.sizes[alloca]
    }

    /// True if an address points into an interleaved object.
    pub(super) fn is_interleaved(&self, address: Value) -> bool {
        self.interleaved.contains(address)
    }

    /// True for a fill of an interleaved object that changes only those of active lanes.
    pub(super) fn is_masked_fill(&self, inst: Inst) -> bool {
        self.masked_fills.contains(inst)
    }

    /// Bytes from a lane's copy to the next one's; 0 for a shared object.
    pub(super) fn stride(&self, alloca: Inst) -> u64 {
        self.strides[alloca]
    }
}

/// Says that copies are interleaved, and why they are in memory.
fn interleaved_text(bytes: u64) -> String {
    let plural = if bytes == 1 { "" } else { "s" };
    format!("interleaved by lane in elements of {bytes} byte{plural}: an index is not constant")
}

/// Size of the elements that an object is accessed by.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum ElementSize {
    /// No access.
    #[default]
    Unused,
    /// One size, in bytes.
    Bytes(u64),
    /// Several sizes, or uses other than plain accesses.
    Mixed(&'static str),
}

impl ElementSize {
    fn merge(self, other: ElementSize) -> ElementSize {
        match (self, other) {
            (ElementSize::Unused, one) | (one, ElementSize::Unused) => one,
            (a, b) if a == b => a,
            (ElementSize::Mixed(reason), _) | (_, ElementSize::Mixed(reason)) => ElementSize::Mixed(reason),
            _ => ElementSize::Mixed("it is accessed in elements of several sizes"),
        }
    }
}

/// An instruction that has an address of an object as an operand.
struct ObjectUse {
    block: Block,
    inst: Inst,
    /// Number of the operand.
    index: usize,
}

/// An object with what refers to it.
struct AddressedObject {
    alloca: Inst,
    /// Addresses in the object.
    addresses: Vec<Value>,
    /// Uses of the addresses, by blocks and in their order.
    uses: Vec<ObjectUse>,
}

impl AddressedObject {
    /// Fills that only lanes of a mask run, of objects that these lanes may have accessed before.
    fn masked_fills(&self, func: &Function, control: &ControlTables) -> Vec<Inst> {
        let fills = self.uses.iter().filter(|it| func.inst(it.inst).op == Op::Memset);
        let is_masked =
            |it: &&ObjectUse| func.predicate(it.block).is_some() && !self.starts_with(func, control, it.inst);
        fills.filter(is_masked).map(|it| it.inst).collect()
    }

    fn element_size(&self, func: &Function, facts: &Divergence) -> ElementSize {
        let sizes = self.uses.iter().map(|it| self.element_size_of_use(func, facts, it));
        sizes.fold(ElementSize::Unused, ElementSize::merge)
    }

    /// Element size that a use implies.
    fn element_size_of_use(
        &self,
        func: &Function,
        facts: &Divergence,
        &ObjectUse { inst, index, .. }: &ObjectUse,
    ) -> ElementSize {
        let alloca = self.alloca;
        let data = func.inst(inst);
        let is_plain =
            data.access().is_none_or(|access| access.atomic.is_none()) && !data.flags.has(Flag::Volatile);
        let accessed = match data.op {
            Op::Load if index == 0 => func.result(inst),
            Op::Store if index == 1 => Some(data.args[0]),
            // A fill of the whole object fits any element size.
            Op::Memset if index == 0 => {
                let is_whole = func.def_inst(data.args[0]) == Some(alloca);
                let is_constant = |value: Value| func.constant(value).is_some();
                const FILLED: ElementSize = ElementSize::Mixed("a part of it is filled");
                let Detail::Alloca { bytes, .. } = func.inst(alloca).detail else { return FILLED };
                let size = match func.constant(data.args[2]) {
                    Some(&Constant::Scalar(_, size)) => size,
                    _ => return FILLED,
                };
                let all_lanes = size * u128::from(MAX_LANES);
                let fits = all_lanes <= func.value_type(data.args[2]).scalar().bit_mask() >> 1;
                let fills =
                    is_plain && is_whole && fits && is_constant(data.args[1]) && size == u128::from(bytes);
                return if fills { ElementSize::Unused } else { FILLED };
            }
            Op::PtrAdd if index == 0 => None,
            Op::Phi | Op::Select | Op::Freeze | Op::SpaceCast => None,
            Op::Icmp => return ElementSize::Unused,
            Op::Memcpy | Op::Memmove => {
                return ElementSize::Mixed(
                    "it is copied as a whole, by too many elements or an unknown size",
                );
            }
            Op::AtomicRmw | Op::CompareExchange => {
                return ElementSize::Mixed("it is accessed atomically");
            }
            Op::Store | Op::Call => {
                return ElementSize::Mixed(
                    "its address is stored or passed to a function that is not inlined",
                );
            }
            _ => return ElementSize::Mixed("its address is used as a number"),
        };
        match accessed {
            Some(value) => {
                let bytes = u64::from(func.value_type(value).scalar().bytes());
                let aligned = facts.shape(data.args[index]).each().align();
                let is_whole = is_plain && bytes.is_power_of_two() && aligned.is_multiple_of(bytes);
                match is_whole {
                    true => ElementSize::Bytes(bytes),
                    false if is_plain => ElementSize::Mixed("its elements are not known to be aligned"),
                    false => ElementSize::Mixed("it is accessed as volatile or atomically"),
                }
            }
            None if func.result(inst).and_then(|result| facts.unique_object(result)) == Some(alloca) => {
                ElementSize::Unused
            }
            None => ElementSize::Mixed("a pointer may point to it or to another array"),
        }
    }

    /// True if a fill runs once and before all accesses of an object that is made once, but for fills that are like it. Then one fill for
    /// all lanes is right under any mask: what other lanes hold is the same, or does not matter.
    fn starts_with(&self, func: &Function, control: &ControlTables, fill: Inst) -> bool {
        let [made, filled] = [self.alloca, fill].map(|inst| func.layout.block_of(inst));
        let is_outside =
            |block: Option<Block>| block.is_some_and(|it| control.cycles.innermost(it).is_none());
        let is_once = is_outside(made) && is_outside(filled);
        let is_access = |inst: Inst| !matches!(func.inst(inst).op, Op::PtrAdd | Op::SpaceCast | Op::Freeze);
        let is_alike = |inst: Inst| {
            let [one, other] = [inst, fill].map(|inst| func.inst(inst));
            one.op == Op::Memset && one.args == other.args
        };
        let mut is_filled = false;
        let comes_after = |it: &ObjectUse| {
            is_filled |= it.inst == fill;
            let is_below = match filled {
                Some(above) if above == it.block => is_filled,
                Some(above) => control.dominators.dominates(above, it.block),
                None => false,
            };
            is_below || is_alike(it.inst) || !is_access(it.inst)
        };
        is_once && self.uses.iter().all(comes_after)
    }
}

/// Closure of a set of values under instructions for which `propagates` holds.
pub(super) fn derived_values(
    func: &Function,
    worklist: &InstWorklist,
    mut found: EntitySet<Value>,
    propagates: impl Fn(Inst, &EntitySet<Value>) -> bool,
) -> EntitySet<Value> {
    worklist.solve(func, |_, inst| {
        let is_new = |found: &EntitySet<Value>| func.results(inst).iter().any(|&it| !found.contains(it));
        let changes = is_new(&found) && propagates(inst, &found);
        if changes {
            func.results(inst).iter().for_each(|&it| _ = found.insert(it));
        }
        changes
    });
    found
}

/// True if a result is an address or integer that depends on a value in the set. Comparisons and differences within
/// one object don't depend on where the object is.
pub(super) fn propagates(func: &Function, inst: Inst, found: &EntitySet<Value>) -> bool {
    let data = func.inst(inst);
    let is_bit = func.result(inst).is_some_and(|it| func.value_type(it).scalar() == Scalar::I1);
    (data.op == Op::Phi || matches!(data.op.info().effect, Effect::Pure | Effect::Traps))
        && !is_bit
        && data.args.iter().any(|arg| found.contains(*arg))
        && !(data.op == Op::Sub && is_difference(func, &data.args))
}

/// True if a subtraction is of two addresses not known to be in different objects. C defines differences only within
/// one object; of addresses loaded from memory the object is unknown.
fn is_difference(func: &Function, args: &[Value]) -> bool {
    let address = |arg: Value| {
        let number = func.inst(func.def_inst(arg)?);
        number.args.first().copied().filter(|_| number.op == Op::Ptrtoint)
    };
    let &[to, from] = args else { return false };
    let (Some(to), Some(from)) = (address(to), address(from)) else { return false };
    let [to, from] = [to, from].map(|address| object_of(func, address));
    to == from || to.is_none() || from.is_none()
}

/// Object that an address points into, if a short chain of instructions leads to it.
fn object_of(func: &Function, address: Value) -> Option<Inst> {
    let mut at = address;
    for _ in 0..MAX_STEPS {
        let inst = func.def_inst(at)?;
        match func.inst(inst).op {
            Op::Alloca => return Some(inst),
            Op::PtrAdd | Op::SpaceCast | Op::Freeze => at = func.inst(inst).args[0],
            _ => return None,
        }
    }
    None
}

/// True if a value is the result of integer arithmetic on an address.
fn is_address_arithmetic(func: &Function, value: Value) -> bool {
    let op = func.def_inst(value).map(|inst| func.inst(inst).op);
    func.value_type(value).scalar().is_int() && op != Some(Op::Ptrtoint)
}

/// Values that depend on the addresses of these objects.
fn addresses(func: &Function, worklist: &InstWorklist, allocas: &[Inst]) -> EntitySet<Value> {
    let mut addresses = EntitySet::new();
    allocas.iter().flat_map(|&inst| func.results(inst)).for_each(|&value| _ = addresses.insert(value));
    if allocas.is_empty() {
        return addresses;
    }
    derived_values(func, worklist, addresses, |inst, found| propagates(func, inst, found))
}

/// True if a value from the set may be stored or passed to a call.
fn any_escapes(func: &Function, is_one: impl Fn(Value) -> bool) -> bool {
    func.blocks().flat_map(|block| func.block_insts(block)).any(|inst| {
        let data = func.inst(inst);
        match data.op {
            Op::Store => is_one(data.args[0]),
            Op::AtomicRmw | Op::CompareExchange => data.args[1..].iter().any(|&arg| is_one(arg)),
            Op::Call => data.args.iter().any(|&arg| is_one(arg)),
            _ => false,
        }
    })
}
