//! Memory: accessible regions, loads, stores, copies, atomics.

use super::writer::{FunctionGenerator, MemoryRegion, Reach, Temp, ValueConstraint, WALKED, Walk};
use heddle_ir::inst::Access;
use heddle_ir::words::{AtomicOrdering, Flag, Flags, IntPredicate, Reduction, Rmw, SyncScope};
use heddle_ir::{Detail, InstData, Op, Scalar, Space, Value};

/// Read-modify-writes that work on integers.
const INT_RMW: &[Rmw] = &[
    Rmw::Exchange,
    Rmw::Add,
    Rmw::Sub,
    Rmw::And,
    Rmw::Nand,
    Rmw::Or,
    Rmw::Xor,
    Rmw::Umin,
    Rmw::Umax,
    Rmw::Smin,
    Rmw::Smax,
    Rmw::IncWrap,
    Rmw::DecWrap,
];
const FLOAT_RMW: &[Rmw] = &[Rmw::Fadd, Rmw::Fsub, Rmw::Fmin, Rmw::Fmax, Rmw::Exchange];
const RMW_ORDERS: &[AtomicOrdering] = &[
    AtomicOrdering::Relaxed,
    AtomicOrdering::Acquire,
    AtomicOrdering::Release,
    AtomicOrdering::AcqRel,
    AtomicOrdering::SeqCst,
];
const SCOPES: &[SyncScope] = &[SyncScope::Group, SyncScope::Device, SyncScope::System];

/// Number of elements of a region large enough for lanes to step through it freely: all values of an eight-bit number,
/// and more than the most lanes need at their largest strides.
pub(super) const FIELD: u32 = 256;

impl MemoryRegion {
    fn bytes(&self) -> u32 {
        self.scalar.bytes() * self.len
    }

    fn is_writable(&self) -> bool {
        self.reach != Reach::ReadOnly
    }
}

impl FunctionGenerator<'_> {
    /// Generates a memory access, if any region is accessible.
    pub(super) fn access(&mut self) {
        if let Some(walk) = self.walks.last().copied()
            && self.random.chance(75)
            && self.places.iter().any(|place| place.pointer == walk.place.pointer)
        {
            if walk.place.is_writable() && self.random.chance(35) {
                let value =
                    self.pick(walk.place.scalar, ValueConstraint { clean: walk.place.clean, uniform: false });
                self.store(value, walk.place);
            } else {
                self.load(walk.place);
            }
            return;
        }
        if self.allowed.privates && self.random.chance(12) {
            self.allocate();
            return;
        }
        if self.allowed.privates && self.profile.views > 0 && self.random.chance(60) {
            self.array_traffic();
            return;
        }
        match self.random.below(20) {
            0..=3 => self.record(),
            4..=8 => {
                self.load_something();
            }
            9..=14 => self.store_something(),
            15 => self.copy(),
            16 => self.fill(),
            17 => self.merge_places(),
            18 => self.spill_pointer(),
            _ if self.allowed.atomics => self.atomic(),
            _ => {
                self.load_something();
            }
        }
    }

    pub(super) fn place(&mut self, fits: impl Fn(&MemoryRegion) -> bool) -> Option<MemoryRegion> {
        let count = self.places.len();
        if count == 0 {
            return None;
        }
        let first = self.random.below(count);
        (0..count).map(|index| self.places[(first + index) % count]).find(fits)
    }

    /// Loads fields of each lane's record, wherever that is, or lanes' neighbours in a field, which lie regularly if nothing wraps
    /// around.
    fn record(&mut self) {
        let Some(place) = self.place(|place| place.len >= FIELD && place.reach == Reach::ReadOnly) else {
            self.load_something();
            return;
        };
        let (index, fields) = self.index_of_record();
        let bytes = place.scalar.bytes();
        let offset = if bytes == 1 { index } else { self.op_int(Op::Mul, index, bytes.into()) };
        let start = InstData::plain(Op::PtrAdd, [place.pointer, offset.value]);
        let start = self.define(start, None, true, false);
        for field in 0..fields {
            if fields > 1 && self.random.chance(25) {
                continue;
            }
            if self.random.chance(20) {
                self.store_something();
            }
            let distance = self.int(Scalar::I64, (field * bytes).into());
            let data = InstData::plain(Op::PtrAdd, [start.value, distance.value]);
            let address = self.define(data, None, true, false);
            let data = InstData::new(Op::Load, [address.value], Detail::Access(Access::aligned(bytes)));
            self.define(data, Some(place.scalar), place.clean, false);
        }
    }

    /// Returns the index of the lane's first element in a large region, and the number of elements from there.
    fn index_of_record(&mut self) -> (Temp, u32) {
        match self.random.below(8) {
            // Structures, or elements at a fixed stride.
            0 | 1 => {
                let period = self.random.pick(&[2, 2, 3, 4, 4]);
                let period = if self.is_of_group() { 2 } else { period };
                let lane = self.lane(Scalar::I64, None);
                (self.op_int(Op::Mul, lane, period.into()), period)
            }
            // An eight-bit index wraps around within the region.
            2 | 3 => {
                let lane = self.lane(Scalar::I8, None);
                let step = self.random.pick(&[1, 1, 1, -1, 2, 4]);
                let lane = if step == 1 { lane } else { self.op_int(Op::Mul, lane, step) };
                let from = self.pick(Scalar::I8, ValueConstraint { clean: true, uniform: true });
                let mut index = self.op(Op::Add, &[from, lane]);
                match self.random.below(10) {
                    0..4 => index = self.clamped(index),
                    4 | 5 => index = self.turned(index),
                    _ => {}
                }
                (self.op_to(Op::Zext, Scalar::I64, &[index]), 1)
            }
            // Structures anywhere.
            4 | 5 => {
                let fields = self.random.pick(&[2, 3, 4]);
                let number = self.pick(Scalar::I8, ValueConstraint { clean: true, uniform: false });
                let number = self.op_int(Op::And, number, 63);
                let number = self.op_to(Op::Zext, Scalar::I64, &[number]);
                (self.op_int(Op::Mul, number, fields.into()), fields)
            }
            // Rows of a fixed number of elements.
            _ => {
                let column = self.lane(Scalar::I64, Some(0));
                let row = self.lane(Scalar::I64, Some(1));
                // A group has up to twelve rows.
                let (longest, some) = if self.is_of_group() { (20, 15) } else { (31, 31) };
                let length = if self.random.chance(50) {
                    let length = self.random.between(3, 31).min(longest);
                    self.int(Scalar::I64, length.into())
                } else {
                    let length = self.pick(Scalar::I64, ValueConstraint { clean: true, uniform: true });
                    self.op_int(Op::And, length, some)
                };
                let before = self.op(Op::Mul, &[row, length]);
                (self.op(Op::Add, &[before, column]), 1)
            }
        }
    }

    /// A number of eight bits, kept on one side of a uniform one or between two.
    fn clamped(&mut self, mut number: Temp) -> Temp {
        let [least, greatest] =
            self.random.pick(&[[Op::Smax, Op::Smin], [Op::Smax, Op::Smin], [Op::Umax, Op::Umin]]);
        for op in self.random.pick(&[&[least, greatest][..], &[greatest, least], &[least], &[greatest]]) {
            let bound = match self.random.below(3) {
                0 => self.pick(Scalar::I8, ValueConstraint { clean: true, uniform: true }),
                _ => {
                    let bound = self.random.between(0, 120);
                    self.int(Scalar::I8, bound.into())
                }
            };
            number = self.op(*op, &[number, bound]);
        }
        number
    }

    /// A number of eight bits next to another one, or a uniform one where the other one is at a border or beyond.
    fn turned(&mut self, number: Temp) -> Temp {
        use IntPredicate::{Eq, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
        let uniform = ValueConstraint { clean: true, uniform: true };
        let border = match self.random.below(3) {
            0 => self.pick(Scalar::I8, uniform),
            _ => {
                let border = self.random.between(0, 120);
                self.int(Scalar::I8, border.into())
            }
        };
        let next = self.random.pick(&[-1, 1, 1, 3]);
        let next = self.op_int(Op::Add, number, next);
        let other = match self.random.below(3) {
            0 => number,
            1 => self.int(Scalar::I8, 0),
            _ => self.pick(Scalar::I8, uniform),
        };
        let predicate = self.random.pick(&[Eq, Eq, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult]);
        let [a, b] = if self.random.chance(80) { [number, border] } else { [border, number] };
        let is_beyond = self.icmp(predicate, a, b);
        let [one, two] = if self.random.chance(50) { [other, next] } else { [next, other] };
        self.op(Op::Select, &[is_beyond, one, two])
    }

    /// Computes the address of a walk's element, or of a neighbour, in one of several ways.
    fn walked(&mut self, walk: Walk, place: MemoryRegion) -> Value {
        let mut index = self.read(walk.counter);
        if let Some(from) = walk.from {
            let from = self.read(from);
            index = self.op(Op::Add, &[index, from]);
        }
        let distance = i128::from(self.random.below(3) as u32);
        let (early, late) = if self.random.chance(50) { (distance, 0) } else { (0, distance) };
        if early > 0 {
            let kept = self.int(index.scalar, early);
            let flags = self.random.pick(&[Flags::NONE, Flags::NONE.with(Flag::Nsw), Flags::WRAP]);
            let data = InstData { flags, ..InstData::plain(Op::Add, [index.value, kept.value]) };
            index = self.define(data, None, true, index.uniform);
        }
        if index.scalar != Scalar::I64 {
            let op = self.random.pick(&[Op::Sext, Op::Zext]);
            index = self.op_to(op, Scalar::I64, &[index]);
        }
        let bytes = i128::from(place.scalar.bytes());
        let offset = match bytes {
            1 => index,
            _ if self.random.chance(50) => self.op_int(Op::Shl, index, bytes.ilog2().into()),
            _ => self.op_int(Op::Mul, index, bytes),
        };
        let data = InstData::plain(Op::PtrAdd, [place.pointer, offset.value]);
        let pointer = self.define(data, None, true, false).value;
        if late == 0 {
            return pointer;
        }
        let distance = self.int(Scalar::I64, late * bytes);
        self.define(InstData::plain(Op::PtrAdd, [pointer, distance.value]), None, true, false).value
    }

    /// Computes the address of an element of the region.
    fn element(&mut self, place: MemoryRegion) -> Value {
        if let Some(&walk) = self.walks.last()
            && place.len >= WALKED
            && self.random.chance(85)
        {
            return self.walked(walk, place);
        }
        // One cell of a private object is stored to and loaded again, or what it holds would hardly ever matter.
        if place.space == Space::Private && self.random.chance(40) {
            return place.pointer;
        }
        let offset = match self.random.below(10) {
            0 => return place.pointer,
            1 | 2 => {
                let index = self.random.below(place.len as usize) as i128;
                self.int(Scalar::I64, index * i128::from(place.scalar.bytes()))
            }
            kind => {
                let scalar = self.random.pick(&[Scalar::I32, Scalar::I32, Scalar::I64]);
                let is_shared = matches!(place.reach, Reach::ReadOnly | Reach::Racy);
                if kind < 7 && place.len >= FIELD && is_shared {
                    let (index, _) = self.index_of_record();
                    let bytes = place.scalar.bytes();
                    let offset = if bytes == 1 { index } else { self.op_int(Op::Mul, index, bytes.into()) };
                    let data = InstData::plain(Op::PtrAdd, [place.pointer, offset.value]);
                    return self.define(data, None, true, false).value;
                }
                let index = match kind {
                    3 | 4 if matches!(place.reach, Reach::ReadOnly | Reach::Racy) => {
                        let lane = self.lane(scalar, None);
                        let by = self.random.below(4) as i128;
                        if by == 0 { lane } else { self.op_int(Op::Add, lane, by) }
                    }
                    5 | 6 => self.pick(scalar, ValueConstraint::UNIFORM),
                    _ => self.pick_known(scalar, ValueConstraint::CLEAN),
                };
                let index = self.op_int(Op::And, index, i128::from(place.len) - 1);
                match place.scalar.bytes() {
                    1 => index,
                    bytes if self.random.chance(50) => self.op_int(Op::Shl, index, bytes.ilog2().into()),
                    bytes => self.op_int(Op::Mul, index, bytes.into()),
                }
            }
        };
        let flags = match self.random.below(6) {
            0 => Flags::NONE.with(Flag::Inbounds),
            1 => Flags::of(&[Flag::Inbounds, Flag::Nuw]),
            _ => Flags::NONE,
        };
        let data = InstData { flags, ..InstData::plain(Op::PtrAdd, [place.pointer, offset.value]) };
        self.define(data, None, true, false).value
    }

    fn access_of(&mut self, place: MemoryRegion) -> Access {
        let size = place.scalar.bytes();
        let align =
            if self.random.chance(80) { size } else { 1 << self.random.below(size.ilog2() as usize + 1) };
        let base = place.base.filter(|_| self.random.chance(15));
        Access { base, ..Access::aligned(align) }
    }

    fn access_flags(&mut self, place: MemoryRegion) -> Flags {
        match self.random.below(30) {
            0 => Flags::NONE.with(Flag::Volatile),
            1 => Flags::NONE.with(Flag::Nontemporal),
            2 if place.reach == Reach::ReadOnly => Flags::NONE.with(Flag::Invariant),
            _ => Flags::NONE,
        }
    }

    /// True if atomic accesses of the type are plain: an integer, aligned.
    fn may_be_atomic(&self, place: MemoryRegion) -> bool {
        self.allowed.atomics
            && place.scalar.is_int()
            && place.scalar != Scalar::I1
            && place.scalar.bits() <= 64
    }

    pub(super) fn load(&mut self, place: MemoryRegion) -> Temp {
        let address = self.element(place);
        let mut access = self.access_of(place);
        if self.may_be_atomic(place) && self.random.chance(15) {
            let order = self.random.pick(&[
                AtomicOrdering::Unordered,
                AtomicOrdering::Relaxed,
                AtomicOrdering::Acquire,
                AtomicOrdering::SeqCst,
            ]);
            access.align = place.scalar.bytes();
            access.atomic = Some((order, self.random.pick(SCOPES)));
        } else if place.reach == Reach::ReadOnly && self.random.chance(10) {
            access.dereferenceable = place.scalar.bytes();
        }
        let flags = self.access_flags(place);
        let data = InstData { flags, ..InstData::new(Op::Load, [address], Detail::Access(access)) };
        self.define(data, Some(place.scalar), place.clean, false)
    }

    /// Loads from any region.
    pub(super) fn load_something(&mut self) -> Option<Temp> {
        let place = self.place(|_| true)?;
        Some(self.load(place))
    }

    pub(super) fn store(&mut self, value: Temp, place: MemoryRegion) {
        let address = self.element(place);
        let mut access = self.access_of(place);
        if self.may_be_atomic(place) && self.random.chance(15) {
            let order = self.random.pick(&[
                AtomicOrdering::Unordered,
                AtomicOrdering::Relaxed,
                AtomicOrdering::Release,
                AtomicOrdering::SeqCst,
            ]);
            access.align = place.scalar.bytes();
            access.atomic = Some((order, self.random.pick(SCOPES)));
        }
        let flags = self.access_flags(place);
        let data =
            InstData { flags, ..InstData::new(Op::Store, [value.value, address], Detail::Access(access)) };
        self.put(data, None);
        self.order_dependent |= place.reach == Reach::Racy;
    }

    /// Stores to any writable region.
    pub(super) fn store_something(&mut self) {
        let Some(place) = self.place(MemoryRegion::is_writable) else { return };
        // Storing even one uniform value distinguishes the lanes that execute the store separately from the others.
        let uniform = place.space == Space::Private && self.random.chance(50);
        let value = self.pick(place.scalar, ValueConstraint { clean: place.clean, uniform });
        self.store(value, place);
    }

    /// Makes a private array and fills it, or not.
    pub(super) fn allocate(&mut self) {
        let scalar = match self.random.below(8) {
            0 => Scalar::I1,
            1..=3 => Scalar::I32,
            4 => Scalar::F32,
            _ => super::writer::number_type(self.random),
        };
        let lens = if self.profile.walks > 0 { [2, 4, 16, 16, 32] } else { [1, 2, 4, 4, 8] };
        let len = self.random.pick(&lens);
        let bytes = scalar.bytes() * len;
        let align = scalar.bytes().max(self.random.pick(&[1, 4, 16]));
        let data = InstData::new(Op::Alloca, [], Detail::Alloca { bytes: bytes.into(), align });
        let inst = self.put(data, None);
        let pointer = self.func.result(inst).expect("an alloca gives its address");
        let clean = self.random.chance(85);
        let place = MemoryRegion {
            pointer,
            space: Space::Private,
            scalar,
            len,
            reach: Reach::Private,
            base: Some(pointer),
            time: self.clock,
            clean,
        };
        self.clock += 1;
        if clean {
            if len <= 2 && self.random.chance(60) {
                for index in 0..len {
                    let value = self.pick(scalar, ValueConstraint::CLEAN);
                    let offset = self.int(Scalar::I64, (index * scalar.bytes()).into());
                    let data = InstData::plain(Op::PtrAdd, [pointer, offset.value]);
                    let address = self.define(data, None, true, true);
                    let access = Access::aligned(scalar.bytes());
                    let data = InstData::new(Op::Store, [value.value, address.value], Detail::Access(access));
                    self.put(data, None);
                }
            } else {
                let byte = if scalar == Scalar::I1 || scalar.is_float() {
                    self.int(Scalar::I8, 0)
                } else {
                    self.pick(Scalar::I8, ValueConstraint::CLEAN)
                };
                self.memset(place, byte, bytes);
            }
        }
        self.places.push(place);
        if self.profile.views > 0 && clean && scalar.is_int() && scalar != Scalar::I1 {
            self.view(place, align);
        }
    }

    /// Generates what programs do with private arrays: accesses to known elements, copies, moves, fills, and pointers to one of two.
    fn array_traffic(&mut self) {
        let is_own =
            |place: &MemoryRegion| place.space == Space::Private && place.base == Some(place.pointer);
        let own: Vec<MemoryRegion> = self.places.iter().copied().filter(is_own).collect();
        if own.len() < 2 {
            self.allocate();
            return;
        }
        let place = self.random.pick(&own);
        let alike: Vec<MemoryRegion> = own
            .iter()
            .copied()
            .filter(|other| other.pointer != place.pointer && other.scalar == place.scalar)
            .filter(|other| other.clean == place.clean)
            .collect();
        let size = place.scalar.bytes();
        let constraint = ValueConstraint { clean: place.clean, uniform: false };
        match self.random.below(10) {
            0..=2 => {
                let value = self.pick(place.scalar, constraint);
                let address = self.known_element(place);
                self.put_store(value, address, size);
            }
            3..=5 => {
                let address = self.known_element(place);
                let data = InstData::new(Op::Load, [address], Detail::Access(Access::aligned(size)));
                self.define(data, Some(place.scalar), place.clean, false);
            }
            6 | 7 if !alike.is_empty() => {
                let from = self.random.pick(&alike);
                let count = self.random.between(1, place.len.min(from.len));
                self.transfer(Op::Memcpy, (place.pointer, from.pointer), count * size, size);
            }
            8 if place.len > 1 => {
                let next = self.int(Scalar::I64, size.into());
                let data = InstData::plain(Op::PtrAdd, [place.pointer, next.value]);
                let second = self.define(data, None, true, true).value;
                let ends = self.random.pick(&[(place.pointer, second), (second, place.pointer)]);
                self.transfer(Op::Memmove, ends, (place.len - 1) * size, size);
            }
            _ if !alike.is_empty() => {
                let other = self.random.pick(&alike);
                let condition = self.condition(false);
                let data = InstData::plain(Op::Select, [condition.value, place.pointer, other.pointer]);
                let either = self.define(data, None, true, false).value;
                let value = self.pick(place.scalar, constraint);
                self.put_store(value, either, size);
            }
            _ => {
                let address = place.pointer;
                let value = self.pick(place.scalar, constraint);
                self.put_store(value, address, size);
            }
        }
    }

    /// Computes the address of an element with a constant index.
    fn known_element(&mut self, place: MemoryRegion) -> Value {
        let index = self.random.below(place.len.min(4) as usize) as i128;
        if index == 0 {
            return place.pointer;
        }
        let offset = self.int(Scalar::I64, index * i128::from(place.scalar.bytes()));
        self.define(InstData::plain(Op::PtrAdd, [place.pointer, offset.value]), None, true, true).value
    }

    fn put_store(&mut self, value: Temp, address: Value, align: u32) {
        let access = Detail::Access(Access::aligned(align));
        self.put(InstData::new(Op::Store, [value.value, address], access), None);
    }

    /// Copies a constant number of bytes.
    fn transfer(&mut self, op: Op, (to, from): (Value, Value), bytes: u32, align: u32) {
        let count = self.int(Scalar::I64, bytes.into());
        let detail = Detail::Transfer(Box::new((Access::aligned(align), Access::aligned(align))));
        self.put(InstData::new(op, [to, from, count.value], detail), None);
    }

    /// Adds a view of a private array as integers of another size, as unions have.
    fn view(&mut self, place: MemoryRegion, align: u32) {
        if !self.random.chance(self.profile.views) {
            return;
        }
        let sizes: Vec<Scalar> = [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64]
            .into_iter()
            .filter(|other| *other != place.scalar && align >= other.bytes())
            .filter(|other| place.bytes().is_multiple_of(other.bytes()))
            .collect();
        if sizes.is_empty() {
            return;
        }
        let scalar = self.random.pick(&sizes);
        self.add_place(MemoryRegion { scalar, len: place.bytes() / scalar.bytes(), ..place });
    }

    fn memset(&mut self, place: MemoryRegion, byte: Temp, bytes: u32) {
        let count_type = self.random.pick(&[Scalar::I32, Scalar::I64]);
        let count = self.int(count_type, bytes.into());
        let access = Access::aligned(place.scalar.bytes());
        let data =
            InstData::new(Op::Memset, [place.pointer, byte.value, count.value], Detail::Access(access));
        self.put(data, None);
        self.order_dependent |= place.reach == Reach::Racy;
    }

    /// Fills part of a region, with a constant or dynamic size.
    pub(super) fn fill(&mut self) {
        let fits =
            |place: &MemoryRegion| place.is_writable() && place.scalar.is_int() && place.scalar != Scalar::I1;
        let Some(place) = self.place(fits) else { return };
        let byte = self.pick(Scalar::I8, ValueConstraint::CLEAN);
        if self.random.chance(60) {
            let values = self.random.between(1, place.len);
            self.memset(place, byte, values * place.scalar.bytes());
            return;
        }
        let count = self.pick_known(Scalar::I32, ValueConstraint::CLEAN);
        let count = self.op_int(Op::And, count, i128::from(place.bytes()) - 1);
        let access = Access::aligned(1);
        let operands = [place.pointer, byte.value, count.value];
        self.put(InstData::new(Op::Memset, operands, Detail::Access(access)), None);
        self.order_dependent |= place.reach == Reach::Racy;
    }

    /// Copies between two regions of one type, or within one.
    fn copy(&mut self) {
        let Some(to) = self.place(MemoryRegion::is_writable) else { return };
        let same = |from: &MemoryRegion| from.scalar == to.scalar && (from.clean || !to.clean);
        let (op, from) = if self.random.chance(40) {
            (Op::Memmove, Some(to))
        } else {
            let aliases = self.allowed.aliases;
            let may_be_one = |from: &MemoryRegion| {
                let are_from_outside = from.space != Space::Private && to.space != Space::Private;
                from.base == to.base || (aliases && are_from_outside)
            };
            let apart = |from: &MemoryRegion| {
                same(from) && from.base.is_some() && to.base.is_some() && !may_be_one(from)
            };
            (Op::Memcpy, self.place(apart))
        };
        let Some(from) = from else { return };
        let size = to.scalar.bytes();
        let values = self.random.between(1, to.len.min(from.len));
        let offset = |writer: &mut Self, place: MemoryRegion| {
            let room = place.len - values;
            let index = writer.random.between(0, room);
            let offset = writer.int(Scalar::I64, (index * size).into());
            let data = InstData::plain(Op::PtrAdd, [place.pointer, offset.value]);
            writer.define(data, None, true, true).value
        };
        let (target, source) = (offset(self, to), offset(self, from));
        let count = self.int(Scalar::I64, (values * size).into());
        let detail = Detail::Transfer(Box::new((Access::aligned(size), Access::aligned(size))));
        self.put(InstData::new(op, [target, source, count.value], detail), None);
        self.order_dependent |= to.reach == Reach::Racy;
    }

    /// Selects between pointers to two regions, by a value.
    fn merge_places(&mut self) {
        let Some(a) = self.place(|_| true) else { return };
        let same = |b: &MemoryRegion| {
            (b.space, b.scalar, b.reach) == (a.space, a.scalar, a.reach) && b.pointer != a.pointer
        };
        let Some(b) = self.place(same) else { return };
        let condition = self.condition(false);
        let data = InstData::plain(Op::Select, [condition.value, a.pointer, b.pointer]);
        let pointer = self.define(data, None, true, false).value;
        self.add_place(MemoryRegion {
            pointer,
            len: a.len.min(b.len),
            base: None,
            clean: a.clean && b.clean,
            ..a
        });
    }

    fn add_place(&mut self, place: MemoryRegion) {
        self.places.push(MemoryRegion { time: self.clock, ..place });
        self.clock += 1;
    }

    /// Passes a pointer through memory, an integer or another space.
    fn spill_pointer(&mut self) {
        let Some(place) = self.place(|place| place.space != Space::Generic) else { return };
        let ty = Scalar::Ptr(place.space);
        let whole = Temp { value: place.pointer, scalar: ty, time: 0, clean: true, uniform: false };
        let (pointer, space) = match self.random.below(3) {
            0 => {
                let cast = self.op_to(Op::SpaceCast, Scalar::Ptr(Space::Generic), &[whole]);
                (cast.value, Space::Generic)
            }
            1 => {
                let int = self.op_to(Op::Ptrtoint, Scalar::I64, &[whole]);
                // The number is the memory's affair: only differences of addresses are the program's.
                self.pool.retain(|temp| temp.value != int.value);
                (self.op_to(Op::Inttoptr, ty, &[int]).value, place.space)
            }
            _ if self.allowed.privates => {
                let cell =
                    self.put(InstData::new(Op::Alloca, [], Detail::Alloca { bytes: 8, align: 8 }), None);
                let cell = self.func.result(cell).expect("an alloca gives its address");
                let access = Detail::Access(Access::aligned(8));
                self.put(InstData::new(Op::Store, [place.pointer, cell], access.clone()), None);
                let data = InstData::new(Op::Load, [cell], access);
                (self.define(data, Some(ty), true, false).value, place.space)
            }
            _ => return,
        };
        self.add_place(MemoryRegion { pointer, space, base: None, ..place });
    }

    /// Replaces a value in memory in one step.
    fn atomic(&mut self) {
        let fits = |place: &MemoryRegion| {
            matches!(place.reach, Reach::Own | Reach::Racy)
                && place.clean
                && place.scalar != Scalar::I1
                && place.scalar.bits() <= 64
        };
        let Some(place) = self.place(fits) else { return };
        let address = self.element(place);
        let scope = self.random.pick(SCOPES);
        let order = self.random.pick(RMW_ORDERS);
        let access = Access { atomic: Some((order, scope)), ..Access::aligned(place.scalar.bytes()) };
        self.order_dependent |= place.reach == Reach::Racy;
        let value = self.pick(place.scalar, ValueConstraint::CLEAN);
        if place.scalar.is_float() {
            let rmw = self.random.pick(FLOAT_RMW);
            let data = InstData::new(Op::AtomicRmw, [address, value.value], Detail::Rmw(rmw, access));
            self.define(data, None, true, false);
        } else if self.random.chance(70) {
            let rmw = self.random.pick(INT_RMW);
            let data = InstData::new(Op::AtomicRmw, [address, value.value], Detail::Rmw(rmw, access));
            self.define(data, None, true, false);
        } else {
            let expected = self.pick(place.scalar, ValueConstraint::CLEAN);
            let failure =
                self.random.pick(&[AtomicOrdering::Relaxed, AtomicOrdering::Acquire, AtomicOrdering::SeqCst]);
            let data = InstData::new(
                Op::CompareExchange,
                [address, expected.value, value.value],
                Detail::CompareExchange(access, failure),
            );
            let inst = self.put(data, None);
            for value in self.func.results(inst).to_vec() {
                self.temp(value, true, false);
            }
        }
    }

    /// Adds to a number that all lanes share; the order of additions does not show.
    pub(super) fn count(&mut self, counter: Value) {
        let value = self.pick(Scalar::I32, ValueConstraint::CLEAN);
        let access =
            Access { atomic: Some((AtomicOrdering::Relaxed, SyncScope::Device)), ..Access::aligned(4) };
        self.put(InstData::new(Op::AtomicRmw, [counter, value.value], Detail::Rmw(Rmw::Add, access)), None);
    }

    /// Orders memory.
    pub(super) fn fence(&mut self) {
        let order = self.random.pick(&[
            AtomicOrdering::Acquire,
            AtomicOrdering::Release,
            AtomicOrdering::AcqRel,
            AtomicOrdering::SeqCst,
        ]);
        let scope = self.random.pick(&[
            SyncScope::Lane,
            SyncScope::Brush,
            SyncScope::Group,
            SyncScope::Device,
            SyncScope::System,
        ]);
        self.put(InstData::new(Op::Fence, [], Detail::Fence(order, scope)), None);
    }

    /// Combines what the active lanes have.
    pub(super) fn horizontal(&mut self) {
        let condition = self.condition(false);
        let scalar = super::writer::number_type(self.random);
        match self.random.below(10) {
            0 => {
                let mask = self.put(InstData::plain(Op::Mask, []), None);
                // After a loop that lanes leave in different iterations only a copy may be read: the mask keeps
                // changing.
                let mask = self.func.results(mask)[0];
                self.define(InstData::plain(Op::Freeze, [mask]), None, true, true);
            }
            1 => {
                self.horizontal_of(Op::Any, Detail::None, condition, None);
            }
            2 => {
                self.horizontal_of(Op::All, Detail::None, condition, None);
            }
            3 => {
                let to = self.random.pick(&[Scalar::I64, Scalar::I32, Scalar::I128]);
                self.horizontal_of(Op::Ballot, Detail::None, condition, Some(to));
            }
            4 => {
                let to = self.random.pick(&[Scalar::I64, Scalar::I32, Scalar::I8]);
                self.horizontal_of(Op::Popcount, Detail::None, condition, Some(to));
            }
            5 => {
                let a = self.pick_known(scalar, ValueConstraint::CLEAN);
                self.horizontal_of(Op::First, Detail::None, a, None);
            }
            6 | 7 => self.exchange(scalar),
            kind => {
                let a = self.pick_known(scalar, ValueConstraint::CLEAN);
                let by = if scalar.is_float() {
                    self.random.pick(&[Reduction::Fadd, Reduction::Fmul, Reduction::Fmin, Reduction::Fmax])
                } else {
                    self.random.pick(&Reduction::ALL[..9])
                };
                if kind == 8 {
                    self.horizontal_of(Op::Reduce, Detail::Reduce(by), a, None);
                } else {
                    let before = self.random.chance(50);
                    self.horizontal_of(Op::Scan, Detail::Scan { by, before }, a, None);
                }
            }
        }
    }

    fn horizontal_of(&mut self, op: Op, detail: Detail, a: Temp, to: Option<Scalar>) -> Temp {
        self.define(InstData::new(op, [a.value], detail), to, a.clean, op != Op::Scan)
    }

    /// Another lane's value, where that lane is active.
    fn exchange(&mut self, scalar: Scalar) {
        let a = self.pick_known(scalar, ValueConstraint::CLEAN);
        let from = self.pick_known(Scalar::I64, ValueConstraint::CLEAN);
        let shuffles = self.random.chance(60);
        let from = if shuffles {
            self.op_int(Op::And, from, 7)
        } else {
            let few = self.op_int(Op::And, from, 7);
            self.horizontal_of(Op::First, Detail::None, few, None)
        };
        let yes = self.func.make_bool(true);
        let active = self.define(InstData::plain(Op::Ballot, [yes]), Some(Scalar::I64), true, true);
        let op = if shuffles { Op::Shuffle } else { Op::Broadcast };
        let data = InstData::plain(op, [a.value, from.value]);
        let taken = self.define(data, None, false, !shuffles);
        let there = self.op(Op::Lshr, &[active, from]);
        let there = self.op_to(Op::Trunc, Scalar::I1, &[there]);
        self.chosen_if(there, taken, ValueConstraint::CLEAN);
    }
}
