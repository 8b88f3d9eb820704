//! Combines the lanes' atomic updates of one address into one update.
//!
//! ```text
//!     v2 = atomic_rmw add v0, v1          v3 = reduce add v1          inactive lanes contribute the neutral element
//!                                         v4 = atomic_rmw add v0, v3
//!                                         v2 = v4 + (scan add before v1)
//! ```
//!
//! Lanes update one address in ascending order, and no other thread has to interleave with them. So each lane reads
//! the original value updated by the lanes before it. Float additions are not reordered.

use super::horizontal::neutral;
use super::value_reps::{ValueRep, ValueReps};
use super::widener::Widener;
use heddle_analysis::shape::Steps;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::words::{Flag, Flags, Reduction, Rmw};
use heddle_ir::{Function, Inst, Op, Value};

/// Reduction of the operands, and operation of one update; none if the result depends on the order of lanes.
fn combination(rmw: Rmw) -> Option<UpdateCombination> {
    let (by, op) = match rmw {
        Rmw::Add => (Reduction::Add, Op::Add),
        // Subtractions add up.
        Rmw::Sub => (Reduction::Add, Op::Sub),
        Rmw::And => (Reduction::And, Op::And),
        Rmw::Or => (Reduction::Or, Op::Or),
        Rmw::Xor => (Reduction::Xor, Op::Xor),
        Rmw::Umin => (Reduction::Umin, Op::Umin),
        Rmw::Umax => (Reduction::Umax, Op::Umax),
        Rmw::Smin => (Reduction::Smin, Op::Smin),
        Rmw::Smax => (Reduction::Smax, Op::Smax),
        _ => return None,
    };
    Some(UpdateCombination { by, op })
}

/// Combination of the lanes' updates into one.
#[derive(Clone, Copy, Debug)]
pub(super) struct UpdateCombination {
    /// Reduction of the operands.
    by: Reduction,
    /// Operation of the update.
    op: Op,
}

/// Returns the combination of an atomic operation's updates, if the address is uniform and the updates combine.
pub(super) fn combined_update(func: &Function, reps: &ValueReps, inst: Inst) -> Option<UpdateCombination> {
    let data = func.inst(inst);
    let Detail::Rmw(rmw, _) = data.detail else { return None };
    let [address, operand] = data.args[..] else { return None };
    let is_int = func.value_type(operand).scalar().is_int();
    let is_one = is_int && reps.is_uniform(address) && !data.flags.has(Flag::Volatile);
    combination(rmw).filter(|_| is_one)
}

impl Widener<'_> {
    /// Emits one update for all lanes.
    pub(super) fn update_together(&mut self, inst: Inst, combination: UpdateCombination) {
        let data = self.old.inst(inst).clone();
        let any = self.any_active_lane(inst);
        let results = self.emit_if(any, |widener| widener.update_once(inst, data, combination));
        let Some(&result) = self.old.results(inst).first() else { return };
        let value = match self.reps.of(result) {
            ValueRep::Vector => results[0],
            ValueRep::Scalar(_) => {
                let lane = self.first_lane();
                self.emit(InstData::plain(Op::Extract, [results[0], lane]), None)
            }
        };
        self.define_value(result, value);
    }

    fn update_once(
        &mut self,
        inst: Inst,
        data: InstData,
        UpdateCombination { by, op }: UpdateCombination,
    ) -> Vec<Value> {
        let operand = data.args[1];
        let ty = self.old.value_type(operand);
        let shown = self.with_inactive(inst, operand, neutral(by, ty.scalar(), Flags::NONE));
        let all = self.emit(InstData::new(Op::Reduce, [shown], Detail::Reduce(by)), None);
        let pointer = self.scalar(data.args[0]);
        let detail = self.wide_detail(data.detail.clone());
        let once = InstData { args: [pointer, all].into_iter().collect(), detail, ..data };
        let found = match self.plain_update(&once) {
            Some(found) => found[0],
            None => self.emit(once, None),
        };
        let before = Detail::Scan { by, before: true };
        let before = self.emit(InstData::new(Op::Scan, [shown], before), None);
        let found = self.strided_vector(found, Steps::default(), self.wide_type(ty));
        vec![self.emit(InstData::plain(op, [found, before]), None)]
    }
}
