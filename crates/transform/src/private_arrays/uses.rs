//! Uses of private arrays: derived addresses, accesses, copies, and an element size for each array.
//!
//! An array is *tracked* if each address derived from it points into no other array and is used by plain accesses, copies, fills
//! and comparisons only. Arrays that are copied to each other form a class with one element size.

use heddle_ir::entity::SecondaryMap;
use heddle_ir::inst::Access;
use heddle_ir::{Detail, Function, Inst, Op, Value};

/// Maximum element size in bytes.
const MAX_ELEMENT: u32 = 8;

/// Private array, and all uses of its addresses.
#[derive(Debug)]
pub(super) struct ArrayInfo {
    /// Its `alloca`.
    pub(super) alloca: Inst,
    /// Address of its first byte.
    pub(super) address: Value,
    /// Size in bytes.
    pub(super) bytes: u64,
    /// Alignment of the `alloca`.
    pub(super) align: u32,
    /// Addresses derived from the array.
    pub(super) addresses: Vec<Value>,
    /// Loads and stores.
    pub(super) accesses: Vec<Inst>,
    /// Copies and fills, each once.
    pub(super) transfers: Vec<Inst>,
    /// True if there is no other use of its addresses.
    pub(super) is_tracked: bool,
    /// Element size in bytes; none if nothing but copies and fills accesses the class.
    pub(super) element: Option<u32>,
}

/// Constant part of an address within its array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ArrayOffset {
    /// Known number of bytes.
    Constant(i64),
    /// Different numbers.
    Variable,
}

/// Private arrays of a function.
#[derive(Debug)]
pub(super) struct ArrayUses {
    /// The arrays, in layout order.
    pub(super) arrays: Vec<ArrayInfo>,
    /// Array that an address points into, with its offset.
    found: SecondaryMap<Value, Option<(u32, ArrayOffset)>>,
}

impl ArrayUses {
    /// Finds the arrays of a function.
    pub(super) fn new(func: &Function) -> ArrayUses {
        let mut this = ArrayUses { arrays: Vec::new(), found: SecondaryMap::new() };
        let users = crate::kernels::users_of(func);
        for inst in func.blocks().flat_map(|block| func.block_insts(block)) {
            if let (Detail::Alloca { bytes, align }, Some(address)) =
                (&func.inst(inst).detail, func.result(inst))
            {
                this.arrays.push(ArrayInfo {
                    alloca: inst,
                    address,
                    bytes: *bytes,
                    align: *align,
                    addresses: Vec::new(),
                    accesses: Vec::new(),
                    transfers: Vec::new(),
                    is_tracked: true,
                    element: None,
                });
            }
        }
        for number in 0..this.arrays.len() {
            this.follow(func, &users, number);
        }
        // A pointer that may point into an array and elsewhere.
        for number in 0..this.arrays.len() {
            let is_own = |value: &Value| this.array_of(*value) == Some(number);
            let is_closed = this.arrays[number].addresses.iter().all(|&address| {
                let Some(inst) = func.def_inst(address) else { return false };
                let data = func.inst(inst);
                match data.op {
                    Op::Phi => data.args.iter().all(is_own),
                    Op::Select => data.args[1..].iter().all(is_own),
                    _ => true,
                }
            });
            this.arrays[number].is_tracked &= is_closed;
        }
        this.choose_elements(func, &users);
        this
    }

    /// Follows the addresses of an array to their uses.
    fn follow(&mut self, func: &Function, users: &SecondaryMap<Value, Vec<Inst>>, number: usize) {
        let first = self.arrays[number].address;
        let mut work = vec![(first, ArrayOffset::Constant(0))];
        while let Some((value, offset)) = work.pop() {
            match self.found[value] {
                Some((other, _)) if other as usize != number => {
                    self.arrays[other as usize].is_tracked = false;
                    self.arrays[number].is_tracked = false;
                    continue;
                }
                Some(_) => continue,
                None => {}
            }
            self.found[value] = Some((number as u32, offset));
            self.arrays[number].addresses.push(value);
            for &user in &users[value] {
                let data = func.inst(user);
                let result = func.result(user);
                let array = &mut self.arrays[number];
                match data.op {
                    Op::Load => array.accesses.push(user),
                    Op::Store if data.args[0] != value => array.accesses.push(user),
                    Op::Memset | Op::Memcpy | Op::Memmove if !array.transfers.contains(&user) => {
                        array.transfers.push(user);
                    }
                    Op::Memset | Op::Memcpy | Op::Memmove | Op::Icmp => {}
                    Op::PtrAdd => {
                        let next = match (offset, func.i64_constant(data.args[1])) {
                            (ArrayOffset::Constant(before), Some(more)) => {
                                before.checked_add(more).map_or(ArrayOffset::Variable, ArrayOffset::Constant)
                            }
                            _ => ArrayOffset::Variable,
                        };
                        work.extend(result.map(|result| (result, next)));
                    }
                    Op::SpaceCast | Op::Freeze => work.extend(result.map(|result| (result, offset))),
                    Op::Phi | Op::Select => {
                        work.extend(result.map(|result| (result, ArrayOffset::Variable)));
                    }
                    _ => array.is_tracked = false,
                }
            }
        }
        let array = &self.arrays[number];
        let is_plain = array.accesses.iter().all(|&inst| self.is_plain_access(func, array, inst))
            && array.transfers.iter().all(|&inst| is_plain(func, inst));
        self.arrays[number].is_tracked &= is_plain;
    }

    /// True for a plain access of a scalar whose offset is a multiple of its size.
    fn is_plain_access(&self, func: &Function, array: &ArrayInfo, inst: Inst) -> bool {
        let data = func.inst(inst);
        let is_load = data.op == Op::Load;
        let value = if is_load { func.result(inst) } else { data.args.first().copied() };
        let Some(ty) = value.map(|value| func.value_type(value)) else { return false };
        let bytes = ty.bytes();
        let is_scalar = !ty.is_vector() && bytes.is_power_of_two() && bytes <= MAX_ELEMENT;
        let align = data.access().map_or(1, |access| access.align);
        let is_aligned = match self.found[data.args[usize::from(!is_load)]] {
            Some((_, ArrayOffset::Constant(at))) => at % i64::from(bytes.max(1)) == 0,
            // The offset is a multiple only if the array itself is aligned.
            _ => align.min(array.align) >= bytes,
        };
        is_plain(func, inst) && is_scalar && is_aligned
    }

    /// Number of the array that an address points into.
    pub(super) fn array_of(&self, address: Value) -> Option<usize> {
        self.found[address].map(|(number, _)| number as usize)
    }

    /// Tracked array with an element size that an address points into, with the address's offset.
    pub(super) fn element_array(&self, address: Value) -> Option<(&ArrayInfo, u32, ArrayOffset)> {
        let (number, offset) = self.found[address]?;
        let array = &self.arrays[number as usize];
        let element = array.element.filter(|_| array.is_tracked)?;
        Some((array, element, offset))
    }

    /// Chooses an element size for each class of arrays.
    fn choose_elements(&mut self, func: &Function, users: &SecondaryMap<Value, Vec<Inst>>) {
        let mut class: Vec<usize> = (0..self.arrays.len()).collect();
        fn root(class: &mut [usize], mut number: usize) -> usize {
            while class[number] != number {
                class[number] = class[class[number]];
                number = class[number];
            }
            number
        }
        for number in 0..self.arrays.len() {
            for &inst in &self.arrays[number].transfers {
                let data = func.inst(inst);
                if data.op == Op::Memset || !self.arrays[number].is_tracked {
                    continue;
                }
                for other in [self.array_of(data.args[0]), self.array_of(data.args[1])].into_iter().flatten()
                {
                    if self.arrays[other].is_tracked {
                        let (a, b) = (root(&mut class, number), root(&mut class, other));
                        class[a.max(b)] = a.min(b);
                    }
                }
            }
        }
        // Size of computed-on elements, and of elements that are only copied.
        let mut sizes = vec![(0u32, 0u32); self.arrays.len()];
        for number in 0..self.arrays.len() {
            let root = root(&mut class, number);
            for &inst in self.arrays[number].accesses.iter().filter(|_| self.arrays[number].is_tracked) {
                let Some(bytes) = accessed_bytes(func, inst) else { continue };
                let size = if is_copy(func, users, inst) { &mut sizes[root].1 } else { &mut sizes[root].0 };
                *size = (*size).max(bytes);
            }
        }
        for number in 0..self.arrays.len() {
            let root = root(&mut class, number);
            let (computed, copied) = sizes[root];
            let element = if computed > 0 { computed } else { copied };
            let is_whole = element > 0 && self.arrays[number].bytes.is_multiple_of(element.into());
            self.arrays[number].element = is_whole.then_some(element);
        }
    }
}

/// Bytes that a load or store accesses.
pub(super) fn accessed_bytes(func: &Function, inst: Inst) -> Option<u32> {
    let data = func.inst(inst);
    let value = if data.op == Op::Load { func.result(inst)? } else { data.args[0] };
    Some(func.value_type(value).bytes())
}

/// True if an instruction is neither volatile nor atomic nor `total`.
fn is_plain(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    !data.is_ordered() && !data.is_total()
}

/// True for a load whose value is only stored, and for the store of such a value.
fn is_copy(func: &Function, users: &SecondaryMap<Value, Vec<Inst>>, inst: Inst) -> bool {
    let data = func.inst(inst);
    let is_stored_only = |value: Value| {
        let is_store = |&user: &Inst| func.inst(user).op == Op::Store && func.inst(user).args[1] != value;
        func.value_type(value).scalar().is_int() && users[value].iter().all(is_store)
    };
    match data.op {
        Op::Load => func.result(inst).is_some_and(is_stored_only),
        _ => {
            let stored = data.args[0];
            let is_load = func.def_inst(stored).is_some_and(|inst| func.inst(inst).op == Op::Load);
            is_load && is_stored_only(stored)
        }
    }
}

/// Constant size in bytes of a copy or fill.
pub(super) fn transfer_bytes(func: &Function, inst: Inst) -> Option<u64> {
    u64::try_from(func.unsigned_constant(func.inst(inst).args[2])?).ok()
}

/// Known alignment of an address's offset in its array.
pub(super) fn offset_align(array: &ArrayInfo, offset: ArrayOffset, access: &Access) -> u32 {
    // The array is aligned as its `alloca` says, and so is an address as its access says.
    let promised = access.align.min(array.align);
    match offset {
        ArrayOffset::Constant(0) => MAX_ELEMENT,
        ArrayOffset::Constant(bytes) => promised.max(1 << bytes.trailing_zeros().min(3)),
        ArrayOffset::Variable => promised,
    }
}
