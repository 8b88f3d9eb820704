//! Finds private objects that live across barriers and chooses how the lanes' copies are laid out.
//!
//! ```text
//!     consecutive                          a0 a1 a2 | b0 b1 b2 | c0 c1 c2 | d0 d1 d2       any access, any use
//!     interleaved                          a0 b0 c0 d0 | a1 b1 c1 d1 | a2 b2 c2 d2         elements of one size
//! ```
//!
//! An object is interleaved if all accesses have one element size and no other use observes its addresses. Lanes that use
//! one index then access contiguous memory. Offsets are scaled by `W`; `memset` and `memcpy` become element accesses.

use super::continuations::ContinuationGraph;
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::diagnostic::DiagnosticLocation;
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::inst::{Access, Detail};
use heddle_ir::words::{Flag, Flags};
use heddle_ir::{Code, Diagnostic, Function, Inst, Op, Scalar, Type, Value};
use smallvec::SmallVec;

/// Private object that several states use, or one state that repeats.
pub(super) struct PrivateObject {
    /// Its `alloca`.
    pub(super) alloca: Inst,
    /// True if no loop iteration can keep the address of the object of an earlier iteration.
    pub(super) is_followed: bool,
    /// Element size in bytes, if the lanes' copies are interleaved.
    pub(super) element: Option<u32>,
}

/// Maximum number of element accesses that replace a `memset` or `memcpy`.
const MAX_ELEMENTS: u64 = 64;

/// Returns the private objects that live across barriers.
pub(super) fn find_objects_across_barriers(
    kernel: &Function,
    states: &ContinuationGraph,
) -> Vec<PrivateObject> {
    let insts = kernel.blocks().flat_map(|block| kernel.block_insts(block));
    let allocas: Vec<Inst> = insts.filter(|&inst| kernel.inst(inst).op == Op::Alloca).collect();
    if allocas.is_empty() {
        return Vec::new();
    }
    // Values derived from each object's address, and objects whose address escapes.
    let mut source: SecondaryMap<Value, SmallVec<[u32; 2]>> = SecondaryMap::new();
    let users = users_of(kernel);
    let mut escapes = vec![false; allocas.len()];
    let mut is_joined = vec![false; allocas.len()];
    let mut blocks: Vec<EntitySet<heddle_ir::Block>> = vec![EntitySet::new(); allocas.len()];
    for (number, &alloca) in allocas.iter().enumerate() {
        let mut work: Vec<Value> = kernel.results(alloca).to_vec();
        while let Some(value) = work.pop() {
            if source[value].contains(&(number as u32)) {
                continue;
            }
            source[value].push(number as u32);
            for &user in &users[value] {
                let data = kernel.inst(user);
                kernel.layout.block_of(user).into_iter().for_each(|block| _ = blocks[number].insert(block));
                match data.op {
                    Op::Load | Op::Memset | Op::Memcpy | Op::Memmove => {}
                    Op::Store if data.args[0] == value => match pointer_cell_at(kernel, data.args[1], &users)
                    {
                        Some((cell, loaded)) => {
                            let block = |inst| kernel.layout.block_of(inst);
                            is_joined[number] |= block(cell) != block(alloca);
                            work.extend(loaded);
                        }
                        None => escapes[number] = true,
                    },
                    Op::Store => {}
                    Op::Phi => {
                        is_joined[number] = true;
                        work.extend(kernel.results(user));
                    }
                    Op::PtrAdd | Op::Select | Op::SpaceCast | Op::Freeze => {
                        work.extend(kernel.results(user));
                    }
                    Op::Icmp => {}
                    _ => escapes[number] = true,
                }
            }
        }
    }
    let is_in_cycle: Vec<bool> = (0..states.all.len()).map(|number| is_in_cycle(states, number)).collect();
    let is_across = |number: usize| {
        let mut used = (0..states.all.len())
            .filter(|&state| states.all[state].blocks.iter().any(|&block| blocks[number].contains(block)));
        match (used.next(), used.next()) {
            _ if escapes[number] => true,
            (Some(only), None) => only != 0 || is_in_cycle[only],
            (None, _) => false,
            _ => true,
        }
    };
    let across = allocas.iter().enumerate().filter(|(number, _)| is_across(*number));
    let object = |(number, &alloca): (usize, &Inst)| {
        let is_followed = !escapes[number] && !is_joined[number];
        PrivateObject { alloca, is_followed, element: None }
    };
    across.map(object).collect()
}

/// Returns the private object at an address and the pointers loaded from it, if the object is only used to load and store pointers.
fn pointer_cell_at(
    kernel: &Function,
    address: Value,
    users: &SecondaryMap<Value, Vec<Inst>>,
) -> Option<(Inst, Vec<Value>)> {
    let cell = kernel.def_inst(address).filter(|&inst| kernel.inst(inst).op == Op::Alloca)?;
    let mut loaded = Vec::new();
    for &user in &users[address] {
        let data = kernel.inst(user);
        match data.op {
            Op::Load => loaded.extend(kernel.results(user)),
            Op::Store if data.args[0] != address => {}
            _ => return None,
        }
    }
    let is_pointer = |&value: &Value| matches!(kernel.value_type(value).scalar(), Scalar::Ptr(_));
    loaded.iter().all(is_pointer).then_some((cell, loaded))
}

/// Returns the users of each value, once per operand.
pub(crate) fn users_of(kernel: &Function) -> SecondaryMap<Value, Vec<Inst>> {
    let mut users: SecondaryMap<Value, Vec<Inst>> = SecondaryMap::new();
    for inst in kernel.blocks().flat_map(|block| kernel.block_insts(block)) {
        kernel.inst(inst).args.iter().for_each(|&arg| users[arg].push(inst));
    }
    users
}

/// True if a state is reachable from itself.
fn is_in_cycle(states: &ContinuationGraph, state: usize) -> bool {
    let mut seen = vec![false; states.all.len()];
    let mut work = states.all[state].successors.clone();
    while let Some(next) = work.pop() {
        if !std::mem::replace(&mut seen[next], true) {
            work.extend(&states.all[next].successors);
        }
    }
    seen[state]
}

/// Interleaves the lanes' copies of each object where its uses allow it.
pub(super) fn interleave(kernel: &mut Function, objects: &mut [PrivateObject], lanes: u32) {
    if lanes < 2 {
        return;
    }
    let mut users = users_of(kernel);
    for object in objects {
        let Some(uses) = PrivateObjectUses::new(kernel, object.alloca, &users) else { continue };
        object.element = Some(uses.element);
        if uses.interleave(kernel, lanes) {
            users = users_of(kernel);
        }
    }
}

/// Remarks on the layout of the objects that have a name.
pub(super) fn describe_objects(kernel: &Function, objects: &[PrivateObject], lanes: u32) -> Vec<Diagnostic> {
    let describe = |object: &PrivateObject| {
        let layout = match object.element {
            _ if lanes < 2 => return None,
            Some(element) => format!("interleaved by lane in elements of {element} bytes, kept across barriers"),
            None => "a copy for each lane, kept across barriers: its accesses are not all of one size, or its address \
                     has other uses"
                .into(),
        };
        array_remark(kernel, object.alloca, &layout)
    };
    objects.iter().filter_map(describe).collect()
}

/// Remark on where a private array with a name lives.
pub(crate) fn array_remark(func: &Function, alloca: Inst, layout: &str) -> Option<Diagnostic> {
    let Detail::Alloca { bytes, .. } = func.inst(alloca).detail else { return None };
    let name = func.result(alloca).and_then(|address| func.name_of(address))?;
    let text = format!("private array `{name}` of {bytes} bytes: {layout}");
    Some(Diagnostic::remark(Code::PrivateArray, text).at(DiagnosticLocation::line_of(func, alloca)))
}

/// All uses of an object whose copies can be interleaved.
struct PrivateObjectUses {
    /// Element size in bytes.
    element: u32,
    /// Instructions with one of its addresses as an operand, each once.
    users: Vec<Inst>,
    /// Addresses derived from the object.
    addresses: EntitySet<Value>,
}

impl PrivateObjectUses {
    fn new(
        kernel: &Function,
        alloca: Inst,
        users_of: &SecondaryMap<Value, Vec<Inst>>,
    ) -> Option<PrivateObjectUses> {
        let mut addresses: EntitySet<Value> = EntitySet::new();
        let mut users: Vec<Inst> = Vec::new();
        let mut is_user: EntitySet<Inst> = EntitySet::new();
        let mut work: Vec<Value> = kernel.results(alloca).to_vec();
        while let Some(value) = work.pop() {
            if !addresses.insert(value) {
                continue;
            }
            for &user in users_of[value].iter().filter(|&&user| is_user.insert(user)) {
                users.push(user);
                if matches!(
                    kernel.inst(user).op,
                    Op::PtrAdd | Op::Phi | Op::Select | Op::SpaceCast | Op::Freeze
                ) {
                    work.extend(kernel.results(user));
                }
            }
        }
        let mut element: Option<u32> = None;
        for &user in &users {
            let data = kernel.inst(user);
            let is_own = |at: usize| addresses.contains(data.args[at]);
            let accessed = match data.op {
                Op::Load => kernel.result(user)?,
                Op::Store if !is_own(0) => data.args[0],
                Op::PtrAdd if is_own(0) => continue,
                Op::SpaceCast | Op::Freeze | Op::Memset => continue,
                Op::Memcpy | Op::Memmove => continue,
                Op::Phi if data.args.iter().all(|&arg| addresses.contains(arg)) => continue,
                Op::Select if is_own(1) && is_own(2) => continue,
                Op::Icmp if is_own(0) && is_own(1) => continue,
                _ => return None,
            };
            let ty = kernel.value_type(accessed);
            let is_plain = data.access().is_some_and(|access| access.atomic.is_none())
                && !data.flags.has(Flag::Volatile)
                && !ty.is_vector();
            let bytes = ty.bytes();
            let is_aligned = data.access().is_some_and(|access| access.align >= bytes);
            let is_whole = is_plain && is_aligned && matches!(bytes, 1 | 2 | 4 | 8);
            if !is_whole || element.is_some_and(|other| other != bytes) {
                return None;
            }
            element = Some(bytes);
        }
        let uses = PrivateObjectUses { element: element?, users, addresses };
        let Detail::Alloca { bytes, align } = kernel.inst(alloca).detail else { return None };
        let is_even =
            u64::from(align).is_multiple_of(element?.into()) && bytes.is_multiple_of(element?.into());
        let are_few = |&user: &Inst| match kernel.inst(user).op {
            Op::Memset | Op::Memcpy | Op::Memmove => uses.elements_of(kernel, user).is_some(),
            _ => true,
        };
        (is_even && uses.users.iter().all(are_few)).then_some(uses)
    }

    /// Returns the constant number of elements that a `memset` or `memcpy` covers, if it is at most [`MAX_ELEMENTS`].
    fn elements_of(&self, kernel: &Function, inst: Inst) -> Option<u64> {
        let data = kernel.inst(inst);
        let bytes = u64::try_from(kernel.unsigned_constant(data.args[2])?).ok()?;
        let is_aligned = data.accesses().zip(&data.args).all(|(access, &address)| {
            access.atomic.is_none() && (!self.addresses.contains(address) || access.align >= self.element)
        });
        let is_simple = is_aligned && !data.flags.has(Flag::Volatile) && !data.is_total();
        let count = bytes / u64::from(self.element);
        (is_simple && bytes.is_multiple_of(self.element.into()) && count <= MAX_ELEMENTS).then_some(count)
    }

    /// Rewrites the uses for the interleaved layout. Returns true if this added accesses to another private object.
    fn interleave(self, kernel: &mut Function, lanes: u32) -> bool {
        let mut is_copied = false;
        for &user in &self.users {
            match kernel.inst(user).op {
                Op::Load | Op::Store => {
                    let element = self.element;
                    if let Detail::Access(access) = &mut kernel.inst_mut(user).detail {
                        access.align = access.align.min(element);
                        access.dereferenceable = access.dereferenceable.min(element);
                    }
                }
                Op::PtrAdd => {
                    let offset = kernel.inst(user).args[1];
                    let mut builder = Builder::new(kernel, InsertPoint::Before(user));
                    let offset = scale_by_lanes(&mut builder, offset, lanes);
                    let data = kernel.inst_mut(user);
                    data.args[1] = offset;
                    // The scaled offset may leave the object of one lane, so the flags no longer hold.
                    data.flags = Flags::NONE;
                }
                Op::Memset => self.expand(kernel, user, lanes),
                Op::Memcpy | Op::Memmove => {
                    let args = &kernel.inst(user).args[..2];
                    is_copied |= args.iter().any(|&arg| {
                        !self.addresses.contains(arg) && crate::widen::may_be_private(kernel, arg)
                    });
                    self.expand(kernel, user, lanes);
                }
                _ => {}
            }
        }
        is_copied
    }

    /// Expands a `memset` or `memcpy` into element accesses. All loads precede all stores.
    fn expand(&self, kernel: &mut Function, inst: Inst, lanes: u32) {
        let count = self.elements_of(kernel, inst).unwrap_or(0);
        let data = kernel.inst(inst).clone();
        let scalar = match self.element {
            1 => Scalar::I8,
            2 => Scalar::I16,
            4 => Scalar::I32,
            _ => Scalar::I64,
        };
        let (to, from) = match &data.detail {
            Detail::Transfer(both) => (both.0, Some(both.1)),
            Detail::Access(access) => (*access, None),
            _ => return,
        };
        let mut builder = Builder::new(kernel, InsertPoint::Before(inst));
        builder.set_origin(data.origin);
        let element = u64::from(self.element);
        let place = |builder: &mut Builder<'_>, address: Value, access: &Access, index: u64| {
            let is_own = self.addresses.contains(address);
            let offset = index * element * if is_own { lanes.into() } else { 1 };
            // The offset limits the alignment.
            let align = match offset.trailing_zeros() {
                zeros @ 0..31 => access.align.min(1 << zeros),
                _ => access.align,
            };
            let align = if is_own { self.element } else { align };
            let offset = builder.int(Scalar::I64, offset.into());
            (builder.op(Op::PtrAdd, &[address, offset]), align)
        };
        let values: Vec<Value> = match from {
            Some(from) => (0..count)
                .map(|index| {
                    let (address, align) = place(&mut builder, data.args[1], &from, index);
                    builder.load(scalar.into(), address, align)
                })
                .collect(),
            None => {
                let byte = data.args[1];
                let mut value = byte;
                if scalar != Scalar::I8 {
                    value = builder.op_to(Op::Zext, scalar.into(), &[byte]);
                    let ones = 0x0101_0101_0101_0101u64 & scalar.bit_mask() as u64;
                    let ones = builder.int(scalar, ones.into());
                    value = builder.op(Op::Mul, &[value, ones]);
                }
                vec![value; count as usize]
            }
        };
        for (index, value) in (0..).zip(values) {
            let (address, align) = place(&mut builder, data.args[0], &to, index);
            builder.store(value, address, align);
        }
        kernel.remove_inst(inst);
    }
}

/// Multiplies a signed offset by the number of lanes, in 64 bits, so that it does not wrap.
fn scale_by_lanes(builder: &mut Builder<'_>, offset: Value, lanes: u32) -> Value {
    let scalar = builder.func.value_type(offset).scalar();
    if let Some(number) = builder.func.signed_constant(offset) {
        return builder.int(Scalar::I64, number.wrapping_mul(lanes.into()));
    }
    let wide = match scalar.bits() {
        bits if bits < 64 => builder.op_to(Op::Sext, Type::I64, &[offset]),
        64 => offset,
        _ => builder.op_to(Op::Trunc, Type::I64, &[offset]),
    };
    let lanes = builder.int(Scalar::I64, lanes.into());
    builder.op(Op::Mul, &[wide, lanes])
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_ir::parse_module;

    fn element_of(uses: &str) -> Option<u32> {
        let text = format!(
            "kernel @k(v0: ptr(global), v1: i64) {{\nblock0:\n  v2 = alloca 32 align 16\n  v3 = shl v1, 2\n  v4 = ptradd v2, v3\n{uses}  ret\n}}\n"
        );
        let module = parse_module(&text).expect("it parses");
        let kernel = &module.functions[0];
        let alloca = kernel.block_insts(kernel.entry()).next().expect("there is an object");
        PrivateObjectUses::new(kernel, alloca, &users_of(kernel)).map(|uses| uses.element)
    }

    #[test]
    fn elements_of_one_size_are_interleaved() {
        assert_eq!(element_of("  v5 = load f32, v4\n  store v5, v2\n"), Some(4));
        assert_eq!(element_of("  v5 = load f32, v4\n  memset v2, i8 0, i64 32 align 16\n"), Some(4));
        assert_eq!(element_of("  v5 = load i64, v2\n  memcpy v2, v0, i64 32 align 16, align 1\n"), Some(8));
    }

    #[test]
    fn what_else_looks_at_addresses_keeps_objects_apart() {
        assert_eq!(element_of("  v5 = load f32, v4\n  v6 = load i64, v2\n"), None);
        assert_eq!(element_of("  v5 = load i32, v4 align 2\n"), None);
        assert_eq!(element_of("  v5 = load volatile i32, v4\n"), None);
        assert_eq!(element_of("  v5 = load i32, v4\n  v6 = ptrtoint i64, v4\n"), None);
        assert_eq!(element_of("  v5 = load i32, v4\n  memset v2, i8 0, v1 align 16\n"), None);
        assert_eq!(element_of("  v5 = load i32, v4\n  memset v2, i8 0, i64 6 align 16\n"), None);
        assert_eq!(element_of(""), None);
    }
}
