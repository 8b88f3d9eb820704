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

use super::value_reps::ValueRep;
use super::widener::{WidenResult, Widener};
use super::{Remark, RemarkKind};
use heddle_ir::diagnostic::DiagnosticLocation;
use heddle_ir::function::MetadataKind;
use heddle_ir::inst::{Args, InstData};
use heddle_ir::words::{Flag, IntPredicate};
use heddle_ir::{Code, Diagnostic, Inst, Op, Scalar, Type, Value};

/// Name prefix of placeholder functions for calls that only LLVM IR can express.
const OUTSIDE: &str = "heddle.outside.";

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
            (Op::Load, _) => ("atomic load".into(), "load it once for all lanes, if the address is the same"),
            (Op::Store, _) => {
                ("atomic store".into(), "store it once for all lanes, if the address is the same")
            }
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
        let operands: Vec<(Value, bool)> = data
            .args
            .iter()
            .map(|&arg| match self.reps.is_uniform(arg) {
                true => (self.scalar(arg), false),
                false => (self.vector(arg), true),
            })
            .collect();
        let mask = self.mask(inst);
        data.detail = self.wide_detail(data.detail);

        let before = self.current_block();
        let head = self.new_block();
        self.insert(InstData::jump(head), None);
        self.continue_in(head);
        let lane = self.emit(InstData::phi([], None), Some(Type::I32));
        let types: Vec<Type> =
            results.iter().map(|&result| self.wide_type(self.old.value_type(result))).collect();
        let gathered: Vec<Value> =
            types.iter().map(|&ty| self.emit(InstData::phi([], None), Some(ty))).collect();

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
        let args: Args = operands
            .into_iter()
            .map(|(operand, is_vector)| match is_vector {
                true => self.emit(InstData::plain(Op::Extract, [operand, lane]), None),
                false => operand,
            })
            .collect();
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
        let inserted: Vec<Value> = gathered
            .iter()
            .zip(scalars)
            .map(|(&all, one)| self.emit(InstData::plain(Op::Insert, [all, one, lane]), None))
            .collect();
        self.insert(InstData::jump(latch), None);

        self.continue_in(latch);
        let joined: Vec<Value> = (0..types.len())
            .map(|at| match skipping {
                None => inserted[at],
                Some(head) => {
                    let incoming = [(head, gathered[at]), (body, inserted[at])];
                    self.emit(InstData::phi(incoming, None), Some(types[at]))
                }
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
        for at in 0..types.len() {
            let poison = self.new.make_poison(types[at]);
            self.complete_phi(gathered[at], [(before, poison), (latch, joined[at])]);
        }
        self.continue_in(after);
        for (&result, all) in results.iter().zip(joined) {
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
}
