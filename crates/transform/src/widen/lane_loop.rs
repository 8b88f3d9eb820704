//! Serializes an operation without a vector form: a loop over the lanes, in ascending order.
//!
//! ```text
//!     block1:  br block7
//!     block7:  v1 = phi i32 [block1: 0], [block9: v6]      lane number, and a φ for the results so far
//!              v2 = extract mask, v1
//!              br v2, block8, block9
//!     block8:  v3 = extract …, v1;  v4 = the operation on v3;  v5 = insert …, v4, v1
//!     block9:  v6 = add v1, 1;  br v6 < W, block7, block10
//!     block10: the rest of block1
//! ```
//!
//! A lane by number costs a store of the whole vector, unless LLVM unrolls the loop. Loops that it does not unroll store their operands once,
//! before the loop, and load each lane's; results are stored by lane and loaded after the loop.

use super::value_reps::ValueRep;
use super::widener::{WidenResult, Widener};
use super::{Remark, RemarkKind};
use heddle_ir::diagnostic::DiagnosticLocation;
use heddle_ir::function::MetadataKind;
use heddle_ir::inst::{Access, Args, Detail, InstData};
use heddle_ir::words::{Flag, IntPredicate};
use heddle_ir::{Code, Diagnostic, Inst, Op, Scalar, Type, Value};

/// Name prefix of placeholder functions for calls that only LLVM IR can express.
const OUTSIDE: &str = "heddle.outside.";
/// Lanes of the longest loop that LLVM unrolls.
const UNROLLED_LANES: u16 = 8;

/// Alignment of memory for a vector, in bytes: at most a cache line.
fn vector_align(ty: Type) -> u32 {
    ty.bytes().next_power_of_two().min(64)
}

/// Vector of a loop over lanes: an operand or a result.
#[derive(Clone, Copy)]
enum LaneVector {
    /// Equal in all lanes.
    Uniform(Value),
    /// In registers.
    Registers(Value),
    /// In memory at an address, lane by lane.
    Memory(Value, Scalar),
}

impl Widener<'_> {
    /// Adds a remark that an instruction is serialized, with help.
    fn remark_serialized(&mut self, inst: Inst) {
        let data = self.old.inst(inst);
        let (what, help) = match (data.op, self.old.callee_of(data)) {
            (Op::Call, Some(callee)) => {
                let help = "define the function in this module, or declare a vector form with `#pragma omp declare simd`";
                match callee.name.starts_with(OUTSIDE) {
                    true => ("call of an external function".to_string(), help),
                    false => (format!("call of @{}", callee.name), help),
                }
            }
            (op, _) if data.flags.has(Flag::Volatile) => {
                (format!("volatile `{op}`"), "remove `volatile` if nothing else accesses the memory")
            }
            (Op::Load | Op::Store, _) => (
                format!("atomic `{}`", data.op),
                "access one address with all lanes, or use a plain access if no other thread accesses the memory",
            ),
            (Op::AtomicRmw | Op::CompareExchange, _) => {
                ("atomic operation".into(), "combine the lanes' values and update memory once")
            }
            (op, _) => (format!("`{op}`"), "make it the same in all lanes"),
        };
        let diagnostic = Diagnostic::remark(Code::LaneByLane, format!("{what} runs one lane at a time"))
            .at(DiagnosticLocation::line_of(self.old, inst))
            .help(help);
        self.remarks.push(Remark { kind: RemarkKind::Serialized, accesses: 0, diagnostic });
    }

    /// Emits a loop that runs an instruction for one lane per iteration.
    pub(super) fn lane_by_lane(&mut self, inst: Inst) -> WidenResult {
        self.remark_serialized(inst);
        let mut data = self.old.inst(inst).clone();
        let results = self.old.results(inst).to_vec();
        let mut operands: Vec<LaneVector> = data
            .args
            .iter()
            .map(|&arg| match self.reps.is_uniform(arg) {
                true => LaneVector::Uniform(self.scalar(arg)),
                false => LaneVector::Registers(self.vector(arg)),
            })
            .collect();
        let types: Vec<Type> =
            results.iter().map(|&result| self.wide_type(self.old.value_type(result))).collect();
        for (slot, operand) in operands.iter_mut().enumerate() {
            *operand = self.stored_operand(slot, *operand);
        }
        let mask = self.mask(inst);
        data.detail = self.wide_detail(data.detail);

        let before = self.current_block();
        let head = self.new_block();
        self.insert(InstData::jump(head), None);
        self.continue_in(head);
        let lane = self.emit(InstData::phi([], None), Some(Type::I32));
        let gathered: Vec<LaneVector> = types
            .iter()
            .enumerate()
            .map(|(slot, &ty)| match self.lane_memory(data.args.len() + slot, ty) {
                Some(memory) => LaneVector::Memory(memory, ty.scalar()),
                None => LaneVector::Registers(self.emit(InstData::phi([], None), Some(ty))),
            })
            .collect();

        let body = self.new_block();
        let mut skipping = None;
        let latch = self.new.insert_block_after(body);
        let after = self.new.insert_block_after(latch);
        match mask {
            Some(mask) => {
                let is_active = self.emit(InstData::plain(Op::Extract, [mask, lane]), None);
                self.insert(InstData::branch(is_active, body, latch), None);
                skipping = Some(head);
            }
            None => _ = self.insert(InstData::jump(body), None),
        }
        self.continue_in(body);
        let args: Args = operands.into_iter().map(|operand| self.operand_of_lane(operand, lane)).collect();
        data.args = args;
        let is_written = matches!(data.op.info().gives, heddle_ir::ops::ResultConstraint::Written(_));
        let written = results.first().map(|&result| self.old.value_type(result)).filter(|_| is_written);
        let scalars = match self.plain_update(&data) {
            Some(scalars) => scalars,
            None => {
                let done = self.insert(data, written);
                self.new.results(done).to_vec()
            }
        };
        let inserted: Vec<Option<Value>> =
            gathered.iter().zip(scalars).map(|(&all, one)| self.set_lane(all, one, lane)).collect();
        self.insert(InstData::jump(latch), None);

        self.continue_in(latch);
        let joined: Vec<Option<Value>> = (0..types.len())
            .map(|at| match (gathered[at], inserted[at], skipping) {
                (LaneVector::Registers(all), Some(inserted), Some(head)) => {
                    let incoming = [(head, all), (body, inserted)];
                    Some(self.emit(InstData::phi(incoming, None), Some(types[at])))
                }
                (_, inserted, _) => inserted,
            })
            .collect();
        let one = self.new.make_int(Scalar::I32, 1);
        let next = self.emit(InstData::plain(Op::Add, [lane, one]), None);
        let count = self.new.make_int(Scalar::I32, self.lanes.into());
        let goes_on = self.compare(IntPredicate::Ult, next, count);
        let closing = self.insert(InstData::branch(goes_on, head, after), None);
        if let Some(hint) = self.context.keep_lane_loops {
            let mut origin = self.new.origin(self.new.inst(closing).origin).clone();
            origin.tags.retain(|(tag, _)| *tag != MetadataKind::Loop);
            origin.tags.push((MetadataKind::Loop, hint));
            origin.tags.sort_unstable();
            self.new.inst_mut(closing).origin = self.new.make_origin(origin);
        }

        let zero = self.new.make_int(Scalar::I32, 0);
        self.complete_phi(lane, [(before, zero), (latch, next)]);
        for (&all, (&joined, &ty)) in gathered.iter().zip(joined.iter().zip(&types)) {
            if let (LaneVector::Registers(phi), Some(joined)) = (all, joined) {
                let poison = self.new.make_poison(ty);
                self.complete_phi(phi, [(before, poison), (latch, joined)]);
            }
        }
        self.continue_in(after);
        for ((&result, all), (joined, &ty)) in
            results.iter().zip(gathered).zip(joined.into_iter().zip(&types))
        {
            let all = match (all, joined) {
                (LaneVector::Memory(address, _), _) => self.without_tags(|widener| {
                    let access = Detail::Access(Access::aligned(vector_align(ty)));
                    widener.emit(InstData::new(Op::Load, [address], access), Some(ty))
                }),
                (LaneVector::Registers(all) | LaneVector::Uniform(all), joined) => joined.unwrap_or(all),
            };
            let value = match self.reps.of(result) {
                ValueRep::Vector => all,
                ValueRep::Scalar(_) => {
                    let lane = self.first_lane();
                    self.emit(InstData::plain(Op::Extract, [all, lane]), None)
                }
            };
            self.define_value(result, value);
        }
        Ok(())
    }

    /// Address of memory for a vector of a loop over lanes, if LLVM keeps the loop. Loops share the memory of each slot.
    fn lane_memory(&mut self, slot: usize, ty: Type) -> Option<Value> {
        let is_kept = self.lanes > UNROLLED_LANES || self.context.keep_lane_loops.is_some();
        if !is_kept || self.lanes == 1 || ty.scalar() == Scalar::I1 || !ty.scalar().bytes().is_power_of_two()
        {
            return None;
        }
        if let Some(&memory) = self.lane_memory.get(&(slot, ty)) {
            return Some(memory);
        }
        let object = Detail::Alloca { bytes: ty.bytes().into(), align: vector_align(ty) };
        let memory =
            self.without_tags(|widener| widener.emit_at_entry(InstData::new(Op::Alloca, [], object)));
        self.lane_memory.insert((slot, ty), memory);
        Some(memory)
    }

    /// Stores an operand of a loop over lanes, if its lanes are loaded.
    fn stored_operand(&mut self, slot: usize, operand: LaneVector) -> LaneVector {
        let LaneVector::Registers(vector) = operand else { return operand };
        let ty = self.new.value_type(vector);
        let is_constant = self.new.constant(vector).is_some();
        let Some(memory) = self.lane_memory(slot, ty).filter(|_| !is_constant) else { return operand };
        self.without_tags(|widener| {
            let access = Detail::Access(Access::aligned(vector_align(ty)));
            widener.insert(InstData::new(Op::Store, [vector, memory], access), None);
        });
        LaneVector::Memory(memory, ty.scalar())
    }

    /// Returns a lane of a vector by its number.
    fn operand_of_lane(&mut self, vector: LaneVector, lane: Value) -> Value {
        match vector {
            LaneVector::Uniform(value) => value,
            LaneVector::Registers(vector) => self.emit(InstData::plain(Op::Extract, [vector, lane]), None),
            LaneVector::Memory(memory, scalar) => self.without_tags(|widener| {
                let address = widener.lane_address(memory, scalar, lane);
                let access = Detail::Access(Access::aligned(scalar.bytes()));
                widener.emit(InstData::new(Op::Load, [address], access), Some(scalar.into()))
            }),
        }
    }

    /// Sets a lane of a result by its number. Returns the vector, if it is in registers.
    fn set_lane(&mut self, vector: LaneVector, value: Value, lane: Value) -> Option<Value> {
        match vector {
            LaneVector::Uniform(_) => None,
            LaneVector::Registers(vector) => {
                Some(self.emit(InstData::plain(Op::Insert, [vector, value, lane]), None))
            }
            LaneVector::Memory(memory, scalar) => self.without_tags(|widener| {
                let address = widener.lane_address(memory, scalar, lane);
                let access = Detail::Access(Access::aligned(scalar.bytes()));
                widener.insert(InstData::new(Op::Store, [value, address], access), None);
                None
            }),
        }
    }

    /// Address of a lane's element in the memory of a vector.
    fn lane_address(&mut self, memory: Value, scalar: Scalar, lane: Value) -> Value {
        let lane = self.emit(InstData::plain(Op::Zext, [lane]), Some(Type::I64));
        let shift = self.new.make_int(Scalar::I64, scalar.bytes().trailing_zeros().into());
        let offset = self.emit(InstData::plain(Op::Shl, [lane, shift]), None);
        self.emit(InstData::plain(Op::PtrAdd, [memory, offset]), None)
    }

    /// Emits code without the metadata of the source's instruction, which holds for its own access.
    fn without_tags<T>(&mut self, emit: impl FnOnce(&mut Self) -> T) -> T {
        let mut origin = self.new.origin(self.cursor.origin).clone();
        origin.tags.clear();
        let plain = self.new.make_origin(origin);
        let before = std::mem::replace(&mut self.cursor.origin, plain);
        let emitted = emit(self);
        self.cursor.origin = before;
        emitted
    }
}
