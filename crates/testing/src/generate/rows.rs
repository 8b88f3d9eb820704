//! Loops in which each lane walks along a row of its own, with several accesses of several rows.

use super::access::FIELD;
use super::writer::{FunctionGenerator, MemoryRegion, Reach, Temp, ValueConstraint, VariableSlot};
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::words::{Flag, Flags, IntPredicate};
use heddle_ir::{Op, Scalar};

/// Elements of a lane's own region that a row needs.
const ROW: u32 = 32;
/// Maximum number of iterations.
const MOST_TRIPS: u32 = 20;
/// Maximum distance of a row's first element from its base.
const MOST_AHEAD: usize = 6;

/// Row that a loop accesses.
#[derive(Clone, Copy, Debug)]
struct Row {
    place: MemoryRegion,
    /// Index of the row's first element, computed before the loop; none for the region's first one.
    first: Option<VariableSlot>,
    /// Further elements ahead of it.
    ahead: i128,
    /// Elements from an iteration to the next.
    step: i128,
}

impl FunctionGenerator<'_> {
    /// Generates a loop over rows, tested at the bottom.
    pub(super) fn row_loop(&mut self) {
        let scalar = self.random.pick(&[Scalar::I32, Scalar::I32, Scalar::I64]);
        let rows: Vec<Row> = (0..self.random.between(1, 4)).filter_map(|_| self.row(scalar)).collect();
        if rows.is_empty() {
            return;
        }
        let trips = self.row_trips(scalar);
        let zero = self.int(scalar, 0);
        let counter = self.declare(zero, true, true);
        let [header, leave] = [(); 2].map(|()| self.func.new_block());
        let before = self.scope();
        let enters = self.icmp(IntPredicate::Ult, zero, trips);
        self.branch(enters.value, header, leave);
        self.start(header);
        for _ in 0..self.random.between(1, 5) {
            let row = self.random.pick(&rows);
            if self.random.chance(15) {
                let is_uniform = self.random.chance(30);
                let condition = self.condition(is_uniform);
                let [then, join] = [(); 2].map(|()| self.func.new_block());
                self.branch(condition.value, then, join);
                self.start_sealed(then);
                let inside = self.scope();
                self.row_access(row, counter);
                self.leave_scope(inside);
                self.jump(join);
                self.start_sealed(join);
            } else {
                self.row_access(row, counter);
            }
            if self.random.chance(60) {
                self.accumulate();
            }
        }
        if self.random.chance(20) {
            match self.random.below(4) {
                0 if self.allowed.calls => self.call(),
                1 => self.access(),
                2 => self.fill(),
                _ => self.store_something(),
            }
        }
        let count = self.read(counter);
        let one = self.int(scalar, 1);
        let flags = self.random.pick(&[Flags::WRAP, Flags::WRAP, Flags::NONE.with(Flag::Nsw), Flags::NONE]);
        let data = InstData { flags, ..InstData::plain(Op::Add, [count.value, one.value]) };
        let next = self.define(data, None, true, true);
        self.write(counter, next);
        let predicate = self.random.pick(&[IntPredicate::Ult, IntPredicate::Slt, IntPredicate::Ne]);
        let goes_on = self.icmp(predicate, next, trips);
        self.branch(goes_on.value, header, leave);
        self.seal(header);
        self.leave_scope(before);
        self.start_sealed(leave);
    }

    /// Number of iterations, the same for all lanes, at most 20.
    fn row_trips(&mut self, scalar: Scalar) -> Temp {
        if self.random.chance(40) {
            let trips = self.random.between(0, MOST_TRIPS);
            return self.int(scalar, trips.into());
        }
        let any = self.pick_known(scalar, ValueConstraint::UNIFORM);
        let few = self.op_int(Op::And, any, 15);
        let least = self.random.below(6) as i128;
        self.op_int(Op::Add, few, least)
    }

    /// Chooses a row: of a lane's own region, or of a large one that lanes share.
    fn row(&mut self, index: Scalar) -> Option<Row> {
        let suits = |place: &MemoryRegion| match place.reach {
            Reach::Own => place.len >= ROW,
            Reach::ReadOnly => place.len >= FIELD,
            _ => false,
        };
        let mut place = self.place(suits)?;
        if self.random.chance(30) {
            // A pointer of which nothing is known.
            let condition = self.condition(false);
            let data = InstData::plain(Op::Select, [condition.value, place.pointer, place.pointer]);
            place.pointer = self.define(data, None, true, false).value;
            place.base = None;
        }
        let ahead = self.random.below(MOST_AHEAD + 1) as i128;
        let step = self.random.pick(&[1, 1, 1, 1, 1, -1, -1, 0]);
        if place.reach == Reach::Own {
            return Some(Row { place, first: None, ahead, step });
        }
        let any = match self.allowed.lanes {
            true => self.lane(index, None),
            false => self.pick_known(index, ValueConstraint::CLEAN),
        };
        let number = self.op_int(Op::And, any, 7);
        // Eight rows of up to 28 elements, and 20 + 6 more, are in the region.
        let pitch = self.random.between(1, 28);
        let first = self.op_int(Op::Mul, number, pitch.into());
        let first = self.declare(first, true, false);
        Some(Row { place, first: Some(first), ahead, step })
    }

    /// Loads an element of a row, or stores one.
    fn row_access(&mut self, row: Row, counter: VariableSlot) {
        let Row { place, first, ahead, step } = row;
        let mut index = self.read(counter);
        match step {
            0 => index = self.int(index.scalar, 0),
            -1 => {
                let end = self.int(index.scalar, MOST_TRIPS.into());
                index = self.exact(Op::Sub, end, index);
            }
            _ => {}
        }
        let is_early = self.random.chance(50);
        if is_early && ahead > 0 {
            let ahead = self.int(index.scalar, ahead);
            index = self.exact(Op::Add, index, ahead);
        }
        if let Some(first) = first {
            let first = self.read(first);
            index = self.exact(Op::Add, first, index);
        }
        if index.scalar != Scalar::I64 {
            let op = self.random.pick(&[Op::Sext, Op::Zext]);
            index = self.op_to(op, Scalar::I64, &[index]);
        }
        let bytes = place.scalar.bytes();
        let offset = if bytes == 1 { index } else { self.op_int(Op::Mul, index, bytes.into()) };
        let data = InstData::plain(Op::PtrAdd, [place.pointer, offset.value]);
        let mut address = self.define(data, None, true, false);
        if !is_early && ahead > 0 {
            let distance = self.int(Scalar::I64, ahead * i128::from(bytes));
            let data = InstData::plain(Op::PtrAdd, [address.value, distance.value]);
            address = self.define(data, None, true, false);
        }
        let access = Detail::Access(Access::aligned(bytes));
        if place.reach == Reach::Own && self.random.chance(45) {
            let want = ValueConstraint { clean: place.clean, uniform: false };
            let value = self.pick_known(place.scalar, want);
            self.put(InstData::new(Op::Store, [value.value, address.value], access), None);
        } else {
            let data = InstData::new(Op::Load, [address.value], access);
            self.define(data, Some(place.scalar), place.clean, false);
        }
    }

    /// Sum or difference of small numbers, which does not wrap.
    fn exact(&mut self, op: Op, a: Temp, b: Temp) -> Temp {
        let flags = self.random.pick(&[Flags::WRAP, Flags::WRAP, Flags::NONE]);
        let data = InstData { flags, ..InstData::plain(op, [a.value, b.value]) };
        self.define(data, None, a.clean && b.clean, false)
    }
}
