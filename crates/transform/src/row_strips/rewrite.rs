//! Writes the strips of a loop.
//!
//! ```text
//!     preheader ─────────────┐      a whole strip is left, and no accesses overlap
//!        │                   │
//!     start ◄──────┐         │      reads the rows
//!        │         │         │
//!     header' ◄─┐  │         │      a copy of the loop, once for each iteration of a strip
//!        …      │  │         │
//!     latch' ───┘  │         │
//!        │         │         │
//!     end ─────────┘         │      writes the rows
//!        │                   │
//!     after ──────────────► rest    iterations are left
//!        │                   │
//!        │                header ◄─┐
//!        │                   …     │
//!        │                latch ───┘
//!        ▼                   │
//!      exit ◄────────────────┘
//! ```

use super::StripPlan;
use super::accesses::{LoopAccess, OverlapCheck};
use crate::block_copier::BlockCopier;
use crate::edges::{phis, retarget, set_incoming, set_latch_value};
use crate::induction::trip_count;
use crate::scalar_replacement::emit::write_address;
use heddle_analysis::AddressSum;
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::function::OriginData;
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::words::{Flag, Flags, IntPredicate};
use heddle_ir::{Block, Function, Inst, Op, Scalar, Type, Value};
use rustc_hash::FxHashMap;

/// Strip-mines a loop. Returns the headers of the loops that it became.
pub(super) fn strip_mine(func: &mut Function, plan: &StripPlan) -> Vec<Block> {
    let row_loop = &plan.row_loop;
    let end = func.terminator(row_loop.preheader).expect("a preheader ends in a jump");
    for &inst in &row_loop.invariant {
        func.layout.remove_inst(inst);
        func.layout.insert_inst_before(inst, end);
    }
    let original = func.clone();
    let copies = BlockCopier::within(&original, func, &row_loop.blocks);
    StripWriter::new(func, plan, copies).write()
}

struct StripWriter<'f> {
    func: &'f mut Function,
    plan: &'f StripPlan,
    /// The copy of the loop that runs a strip.
    copies: BlockCopier<'f>,
    start: Block,
    end: Block,
    after: Block,
    rest: Block,
    /// Number of iterations, and those of whole strips.
    count: Value,
    whole: Value,
    /// Number of the iteration in its strip.
    index: Value,
}

impl<'f> StripWriter<'f> {
    fn new(func: &'f mut Function, plan: &'f StripPlan, copies: BlockCopier<'f>) -> StripWriter<'f> {
        let row_loop = &plan.row_loop;
        let [start, end, after, rest] = [(); 4].map(|()| func.append_block());
        let jump = func.terminator(row_loop.preheader).expect("a preheader ends in a jump");
        func.remove_inst(jump);
        let mut builder = Builder::new(func, InsertPoint::End(row_loop.preheader));
        let (_, count) = trip_count(&mut builder, &row_loop.counter);
        let mask = builder.int(Scalar::I64, -i128::from(plan.length));
        let whole = builder.op(Op::And, &[count, mask]);
        let zero = builder.int(Scalar::I64, 0);
        let mut holds = builder.icmp(IntPredicate::Ne, whole, zero);
        if let Some(separate) = compare_ranges(&mut builder, plan, count) {
            holds = builder.op(Op::And, &[holds, separate]);
        }
        builder.branch(holds, start, rest);
        let index = zero;
        StripWriter { func, plan, copies, start, end, after, rest, count, whole, index }
    }

    fn write(mut self) -> Vec<Block> {
        let row_loop = &self.plan.row_loop;
        let headers = [row_loop.header, self.copies.block_or_self(row_loop.header), self.start];
        let started = self.write_header();
        self.write_inner_latch();
        self.write_strip_latch();
        self.move_rows(&started);
        let [start, inner] = [self.start, headers[1]];
        Builder::new(self.func, InsertPoint::End(start)).jump(inner);
        self.write_exits();
        headers.to_vec()
    }

    /// Writes the φs of the strip loop and of its inner loop. Returns the values of the header's φs at the start of a strip.
    fn write_header(&mut self) -> FxHashMap<Value, Value> {
        let row_loop = &self.plan.row_loop;
        let (start, end, after) = (self.start, self.end, self.after);
        let inner_latch = self.copies.block_or_self(row_loop.latch);
        let mut started = FxHashMap::default();
        for phi in phis(self.func, row_loop.header) {
            let value = self.func.results(phi)[0];
            let ty = self.func.value_type(value);
            let ends = [row_loop.preheader, row_loop.latch];
            let [Some(init), Some(next)] = ends.map(|block| self.func.inst(phi).incoming_from(block)) else {
                continue;
            };
            let next_copy = self.copies.value_or_self(next);
            let mut builder = Builder::new(self.func, InsertPoint::End(start));
            let at_start = builder.phi(ty, &[(row_loop.preheader, init), (end, next_copy)], None);
            started.insert(value, at_start);
            let copy = self.func.def_inst(self.copies.value_or_self(value)).expect("a φ was copied");
            set_incoming(self.func, copy, [(start, at_start), (inner_latch, next_copy)]);
            let mut builder = Builder::new(self.func, InsertPoint::End(self.rest));
            let at_rest = builder.phi(ty, &[(row_loop.preheader, init), (after, next_copy)], None);
            set_incoming(self.func, phi, [(self.rest, at_rest), (row_loop.latch, next)]);
        }
        Builder::new(self.func, InsertPoint::End(self.rest)).jump(row_loop.header);
        started
    }

    /// Counts the iterations of a strip.
    fn write_inner_latch(&mut self) {
        let row_loop = &self.plan.row_loop;
        let (header, latch) =
            (self.copies.block_or_self(row_loop.header), self.copies.block_or_self(row_loop.latch));
        let branch = self.func.terminator(latch).expect("a latch ends in a branch");
        self.func.remove_inst(branch);
        let zero = self.func.make_int(Scalar::I64, 0);
        let mut builder = Builder::new(self.func, InsertPoint::Start(header));
        let index = builder.phi(Type::I64, &[(self.start, zero)], None);
        builder.set_insert_point(InsertPoint::End(latch));
        let one = builder.int(Scalar::I64, 1);
        let next = builder.op_with(Op::Add, &[index, one], Flags::of(&[Flag::Nuw, Flag::Nsw]));
        let length = builder.int(Scalar::I64, self.plan.length.into());
        let continues = builder.icmp(IntPredicate::Ult, next, length);
        builder.branch(continues, header, self.end);
        set_latch_value(self.func, index, latch, next);
        self.index = index;
    }

    /// Counts the iterations of whole strips.
    fn write_strip_latch(&mut self) {
        let zero = self.func.make_int(Scalar::I64, 0);
        let mut builder = Builder::new(self.func, InsertPoint::Start(self.start));
        let done = builder.phi(Type::I64, &[(self.plan.row_loop.preheader, zero)], None);
        builder.set_insert_point(InsertPoint::End(self.end));
        let length = builder.int(Scalar::I64, self.plan.length.into());
        let next = builder.op_with(Op::Add, &[done, length], Flags::of(&[Flag::Nuw]));
        let continues = builder.icmp(IntPredicate::Ult, next, self.whole);
        builder.branch(continues, self.start, self.after);
        set_latch_value(self.func, done, self.end, next);
    }

    /// Moves the accesses of rows to the ends of the strip.
    fn move_rows(&mut self, started: &FxHashMap<Value, Value>) {
        let strips: Vec<Value> = self.plan.rows.iter().map(|row| self.make_array(row)).collect();
        let mut stores: Vec<(Value, Value)> = Vec::new();
        let plan = self.plan;
        for (row, &strip) in plan.rows.iter().zip(&strips) {
            let end = Builder::new(self.func, InsertPoint::End(self.start)).jump(self.end);
            let base = place(self.func, &row.address, started, end);
            if !row.is_store {
                let loads: Vec<Value> =
                    (0..plan.length).map(|at| self.load_element(row, base, at, end)).collect();
                for (at, value) in (0..).zip(loads) {
                    let mut builder = Builder::new(self.func, InsertPoint::Before(end));
                    let address = offset(&mut builder, strip, i64::from(at * row.bytes));
                    builder.store(value, address, row.bytes);
                }
            }
            self.func.remove_inst(end);
            stores.push((base, strip));
            self.access_strip(row, strip);
        }
        let end = self.func.terminator(self.end).expect("the latch is written");
        for (row, &(base, strip)) in plan.rows.iter().zip(&stores).filter(|(row, _)| row.is_store) {
            let ty = self.func.value_type(self.func.inst(row.inst).args[0]);
            let mut builder = Builder::new(self.func, InsertPoint::Before(end));
            let mut values = Vec::new();
            for at in 0..plan.length {
                let address = offset(&mut builder, strip, i64::from(at * row.bytes));
                values.push(builder.load(ty, address, row.bytes));
            }
            for (at, value) in (0..).zip(values) {
                let address = offset(&mut builder, base, i64::from(at) * step_of(row));
                let mut data = element_access(builder.func, row);
                (data.args[0], data.args[1]) = (value, address);
                builder.inst(data, None);
            }
        }
    }

    /// Loads an element of a row.
    fn load_element(&mut self, row: &LoopAccess, base: Value, at: u32, before: Inst) -> Value {
        let mut builder = Builder::new(self.func, InsertPoint::Before(before));
        let address = offset(&mut builder, base, i64::from(at) * step_of(row));
        let ty = builder.func.value_type(builder.func.result(row.inst).expect("a load gives a value"));
        let mut data = element_access(builder.func, row);
        data.args[0] = address;
        builder.value(data, Some(ty))
    }

    /// Makes the private array of a row.
    fn make_array(&mut self, row: &LoopAccess) -> Value {
        let entry = self.func.entry();
        let detail = Detail::Alloca { bytes: (self.plan.length * row.bytes).into(), align: row.bytes };
        Builder::new(self.func, InsertPoint::Start(entry)).value(InstData::new(Op::Alloca, [], detail), None)
    }

    /// Lets the copied access of a row access its strip.
    fn access_strip(&mut self, row: &LoopAccess, strip: Value) {
        let copy = self.copies.inst_or_self(row.inst);
        let mut builder = Builder::new(self.func, InsertPoint::Before(copy));
        let size = builder.int(Scalar::I64, row.bytes.into());
        let distance = builder.op_with(Op::Mul, &[self.index, size], Flags::of(&[Flag::Nuw, Flag::Nsw]));
        let address = builder.op(Op::PtrAdd, &[strip, distance]);
        let origin = self.func.inst(copy).origin;
        let data = self.func.inst_mut(copy);
        data.args[usize::from(row.is_store)] = address;
        data.detail = Detail::Access(Access::aligned(row.bytes));
        // Facts are about the row.
        let loc = self.func.origin(origin).loc;
        let origin = self.func.make_origin(OriginData { loc, ..OriginData::default() });
        self.func.inst_mut(copy).origin = origin;
    }

    /// Joins the values that leave the strips with those that leave the rest.
    fn write_exits(&mut self) {
        let row_loop = &self.plan.row_loop;
        let [strips_exit, rest_exit] = [(); 2].map(|()| self.func.append_block());
        let mut builder = Builder::new(self.func, InsertPoint::End(self.after));
        let is_done = builder.icmp(IntPredicate::Eq, self.whole, self.count);
        builder.branch(is_done, strips_exit, self.rest);
        builder.set_insert_point(InsertPoint::End(strips_exit));
        builder.jump(row_loop.exit);
        builder.set_insert_point(InsertPoint::End(rest_exit));
        builder.jump(row_loop.exit);
        retarget(self.func, row_loop.latch, row_loop.exit, rest_exit);
        for phi in phis(self.func, row_loop.exit) {
            let Some(value) = self.func.inst(phi).incoming_from(row_loop.latch) else { continue };
            set_incoming(
                self.func,
                phi,
                [(rest_exit, value), (strips_exit, self.copies.value_or_self(value))],
            );
        }
    }
}

/// Copies the access of a row, for another element of it.
fn element_access(func: &Function, row: &LoopAccess) -> InstData {
    let mut data = func.inst(row.inst).clone();
    if let Detail::Access(access) = &mut data.detail {
        access.align = access.align.min(row.bytes);
        access.dereferenceable = 0;
    }
    data
}

/// Bytes from the element of an iteration to that of the next one.
fn step_of(row: &LoopAccess) -> i64 {
    row.step.unwrap_or(row.bytes.into())
}

fn offset(builder: &mut Builder<'_>, base: Value, bytes: i64) -> Value {
    if bytes == 0 {
        return base;
    }
    let bytes = builder.int(Scalar::I64, bytes.into());
    builder.op(Op::PtrAdd, &[base, bytes])
}

/// Computes an address with other values of the header's φs.
fn place(func: &mut Function, address: &AddressSum, values: &FxHashMap<Value, Value>, before: Inst) -> Value {
    let map = |value: Value| values.get(&value).copied().unwrap_or(value);
    write_address(func, &address.renamed(map), before)
}

/// Compares the bytes that pairs of accesses touch in the whole loop. True if none overlap in any lane; none without pairs.
fn compare_ranges(builder: &mut Builder<'_>, plan: &StripPlan, count: Value) -> Option<Value> {
    let mut all: Option<Value> = None;
    for OverlapCheck { accesses, may_be_equal } in &plan.checks {
        let [a, b] = [0, 1].map(|at| range_of(builder, plan, &accesses[at], count));
        let before = builder.icmp(IntPredicate::Ule, a.end, b.start);
        let after = builder.icmp(IntPredicate::Ule, b.end, a.start);
        let mut holds = builder.op(Op::Or, &[before, after]);
        if *may_be_equal {
            let is_equal = builder.icmp(IntPredicate::Eq, a.start, b.start);
            holds = builder.op(Op::Or, &[holds, is_equal]);
        }
        // An access that does not execute may have no address. It must not decide about others.
        let holds = builder.op(Op::Freeze, &[holds]);
        all = Some(all.map_or(holds, |all| builder.op(Op::And, &[all, holds])));
    }
    Some(builder.op(Op::All, &[all?]))
}

/// Bytes that an access touches in the whole loop.
struct ByteRange {
    start: Value,
    end: Value,
}

fn range_of(builder: &mut Builder<'_>, plan: &StripPlan, access: &LoopAccess, count: Value) -> ByteRange {
    let row_loop = &plan.row_loop;
    let values: FxHashMap<Value, Value> = row_loop.inductions.iter().map(|it| (it.value, it.init)).collect();
    // `write` inserts before an instruction.
    let mark = builder.jump(row_loop.header);
    let first = place(builder.func, &access.address, &values, mark);
    builder.func.remove_inst(mark);
    let number = builder.op_to(Op::Ptrtoint, Type::I64, &[first]);
    let step = access.step.expect("compared accesses have a step");
    let [one, factor, bytes] =
        [1, step.into(), access.bytes.into()].map(|number: i128| builder.int(Scalar::I64, number));
    let back = builder.op(Op::Sub, &[count, one]);
    let distance = builder.op(Op::Mul, &[back, factor]);
    let last = builder.op(Op::Add, &[number, distance]);
    let (start, highest) = if step < 0 { (last, number) } else { (number, last) };
    ByteRange { start, end: builder.op(Op::Add, &[highest, bytes]) }
}
