//! Lowering of barriers and warp-wide operations: votes, shuffles, matches, reductions.
//!
//! A warp is a brush. An all-ones member mask means all active lanes. Any other mask is tested bit by bit, since lanes with
//! different masks may execute together.

use super::body::FunctionLowering;
use super::{LowerResult, VOTES, refuse};
use crate::check::{ResolvedInst, ResolvedOperand};
use crate::words::Word;
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::words::{AtomicOrdering, IntPredicate, Reduction, Rmw, SyncScope};
use heddle_ir::{Op, Scalar, Space, Type, Value};

impl FunctionLowering<'_, '_, '_> {
    pub(super) fn active_mask(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let yes = self.emit.bool(true);
        let mask = self.ballot(yes);
        self.write(&inst.args[0], mask, false);
        Ok(())
    }

    pub(super) fn fence(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let has = |word: Word| inst.words.contains(&word);
        let scope = match () {
            () if has(Word::Cta) => SyncScope::Group,
            () if has(Word::Sys) => SyncScope::System,
            () => SyncScope::Device,
        };
        let ordering = match () {
            () if has(Word::Acquire) => AtomicOrdering::Acquire,
            () if has(Word::Release) => AtomicOrdering::Release,
            () if has(Word::AcqRel) => AtomicOrdering::AcqRel,
            () => AtomicOrdering::SeqCst,
        };
        self.emit.inst(InstData::new(Op::Fence, [], Detail::Fence(ordering, scope)), None);
        Ok(())
    }

    pub(super) fn group_barrier(&mut self) {
        self.emit.inst(InstData::new(Op::Barrier, [], Detail::Barrier(SyncScope::Group)), None);
    }

    pub(super) fn barrier(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        if inst.words.contains(&Word::Warp) {
            self.emit.inst(InstData::new(Op::Barrier, [], Detail::Barrier(SyncScope::Brush)), None);
            return Ok(());
        }
        if self.meeting.is_some() {
            // Waits end blocks, so this is an arrival.
            return self.arrive_at_barrier(inst);
        }
        if let Some(refusal) = self.needs_hub(inst) {
            return Err(refusal);
        }
        if !inst.words.contains(&Word::Red) {
            self.group_barrier();
            return Ok(());
        }
        self.counted(inst)
    }

    /// Lowers `bar.red`: the threads clear a counter, all add to it, all read it.
    fn counted(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let Some(last) = inst.args.last() else { return refuse("missing predicate", "write one") };
        let condition = match last {
            ResolvedOperand::Reg(reg) if self.body.regs[*reg] != Word::Pred => {
                return refuse("the operand of the vote is not a predicate", "write one");
            }
            arg => self.read(arg, Word::Pred)?,
        };
        let address = self.emit.global(Space::Local, &VOTES.into());
        let access =
            Access { atomic: Some((AtomicOrdering::Relaxed, SyncScope::Group)), ..Access::aligned(4) };
        let zero = self.emit.int32(0);
        self.group_barrier();
        // All threads store the same value, so their order does not matter.
        self.emit.store(zero, address, access, heddle_ir::words::Flags::NONE);
        self.group_barrier();
        let has = |word: Word| inst.words.contains(&word);
        // Threads that have exited do not vote, so `and` counts those that vote no.
        let counts_no = !has(Word::Popc) && !has(Word::Or);
        let counted = if counts_no { self.emit.not(condition) } else { condition };
        let one = self.emit.resize(counted, Scalar::I32, false);
        let add = InstData::new(Op::AtomicRmw, [address, one], Detail::Rmw(Rmw::Add, access));
        self.emit.inst(add, None);
        self.group_barrier();
        let count = self.emit.load(Scalar::I32, address, access, heddle_ir::words::Flags::NONE);
        let value = self.outcome_of_votes(inst, count);
        self.write(&inst.args[0], value, false);
        Ok(())
    }

    /// Returns the result of `bar.red` for the number of threads that voted yes; no for `and`.
    pub(super) fn outcome_of_votes(&mut self, inst: &ResolvedInst, count: Value) -> Value {
        let zero = self.emit.int32(0);
        match () {
            () if inst.words.contains(&Word::Popc) => count,
            () if inst.words.contains(&Word::Or) => self.emit.icmp(IntPredicate::Ne, count, zero),
            () => self.emit.icmp(IntPredicate::Eq, count, zero),
        }
    }

    fn ballot(&mut self, condition: Value) -> Value {
        self.emit.value(InstData::plain(Op::Ballot, [condition]), Some(Type::I32))
    }

    /// Returns the member mask of an instruction; none if it is all ones.
    fn members(&mut self, arg: Option<&ResolvedOperand>) -> LowerResult<Option<Value>> {
        let Some(arg) = arg else { return Ok(None) };
        let mask = self.read(arg, Word::B32)?;
        Ok((self.emit.constant(mask) != Some(Scalar::I32.bit_mask())).then_some(mask))
    }

    pub(super) fn vote(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let condition = self.read(&inst.args[1], Word::Pred)?;
        let members = self.members(inst.args.get(2))?;
        let has = |word: Word| inst.words.contains(&word);
        let value = match members {
            None if has(Word::Any) => self.emit.op(Op::Any, &[condition]),
            None if has(Word::All) => self.emit.op(Op::All, &[condition]),
            None if has(Word::Ballot) => self.ballot(condition),
            _ => {
                let all = self.emit.int32(-1);
                let members = members.unwrap_or(all);
                let yes = self.ballot(condition);
                let other = self.emit.not(condition);
                let no = self.ballot(other);
                let none_yes = self.has_none(yes, members);
                let none_no = self.has_none(no, members);
                match () {
                    () if has(Word::Any) => self.emit.not(none_yes),
                    () if has(Word::All) => none_no,
                    () if has(Word::Uni) => self.emit.op(Op::Or, &[none_yes, none_no]),
                    () => self.emit.op(Op::And, &[yes, members]),
                }
            }
        };
        self.write(&inst.args[0], value, false);
        Ok(())
    }

    pub(super) fn shuffle(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let value = self.read(&inst.args[1], Word::B32)?;
        let by = self.read(&inst.args[2], Word::U32)?;
        let bounds = self.read(&inst.args[3], Word::U32)?;
        let has = |word: Word| inst.words.contains(&word);
        let e = &mut self.emit;
        let lane = e.query(Op::Lane, None);
        let low = e.int32(31);
        let by = e.op(Op::And, &[by, low]);
        let clamp = e.op(Op::And, &[bounds, low]);
        let eight = e.int32(8);
        let segments = e.op(Op::Lshr, &[bounds, eight]);
        let segments = e.op(Op::And, &[segments, low]);
        let in_segment = e.not(segments);
        let first = e.op(Op::And, &[lane, segments]);
        let rest = e.op(Op::And, &[clamp, in_segment]);
        let last = e.op(Op::Or, &[first, rest]);
        let (from, is_there) = match () {
            () if has(Word::Up) => {
                let from = e.op(Op::Sub, &[lane, by]);
                (from, e.icmp(IntPredicate::Sge, from, last))
            }
            () if has(Word::Down) => {
                let from = e.op(Op::Add, &[lane, by]);
                (from, e.icmp(IntPredicate::Sle, from, last))
            }
            () if has(Word::Bfly) => {
                let from = e.op(Op::Xor, &[lane, by]);
                (from, e.icmp(IntPredicate::Sle, from, last))
            }
            () => {
                let within = e.op(Op::And, &[by, in_segment]);
                let from = e.op(Op::Or, &[first, within]);
                (from, e.icmp(IntPredicate::Sle, from, last))
            }
        };
        let from = e.select(is_there, from, lane);
        // PTX leaves the value of an inactive lane open; GPUs give 0. Where all lanes are active, this folds away.
        let yes = e.bool(true);
        let active = self.ballot(yes);
        let e = &mut self.emit;
        let inactive = e.not(active);
        let bits = e.op(Op::Lshr, &[inactive, from]);
        let is_inactive = e.resize(bits, Scalar::I1, false);
        let moved = e.op(Op::Shuffle, &[value, from]);
        let moved = self.frozen(moved);
        let zero = self.emit.int32(0);
        let moved = self.emit.select(is_inactive, zero, moved);
        self.write(&inst.args[0], moved, false);
        self.write_second(&inst.args[0], |_| is_there);
        Ok(())
    }

    pub(super) fn matches(&mut self, inst: &ResolvedInst, ty: Word) -> LowerResult<()> {
        let value = self.read(&inst.args[1], ty)?;
        let members = self.members(inst.args.get(2))?;
        let yes = self.emit.bool(true);
        let active = self.ballot(yes);
        let members = match members {
            Some(members) => self.emit.op(Op::And, &[members, active]),
            None => active,
        };
        // A comparison with each lane takes fewer instructions than a vote on each bit.
        let zero = self.emit.int32(0);
        let mut equal = zero;
        for lane in 0..Scalar::I32.bits() {
            let from = self.emit.int32(lane.into());
            let theirs = self.emit.op(Op::Broadcast, &[value, from]);
            // Lanes that are not active give any value; the members exclude them.
            let theirs = self.frozen(theirs);
            let is_equal = self.emit.icmp(IntPredicate::Eq, value, theirs);
            let bit = self.emit.int32(1 << lane);
            let bit = self.emit.select(is_equal, bit, zero);
            equal = self.emit.op(Op::Or, &[equal, bit]);
        }
        let mut same = self.emit.op(Op::And, &[equal, members]);
        if inst.words.contains(&Word::All) {
            let all = self.emit.icmp(IntPredicate::Eq, same, members);
            same = self.emit.select(all, members, zero);
            self.write(&inst.args[0], same, false);
            self.write_second(&inst.args[0], |_| all);
            return Ok(());
        }
        self.write(&inst.args[0], same, false);
        Ok(())
    }

    pub(super) fn reduce(&mut self, inst: &ResolvedInst, ty: Word) -> LowerResult<()> {
        let mut value = self.read(&inst.args[1], ty)?;
        let has = |word: Word| inst.words.contains(&word);
        let signed = ty.is_signed();
        if has(Word::Abs) {
            value = self.emit.op(Op::Fabs, &[value]);
        }
        let (by, op) = match () {
            () if has(Word::Add) => (Reduction::Add, Op::Add),
            () if has(Word::And) => (Reduction::And, Op::And),
            () if has(Word::Or) => (Reduction::Or, Op::Or),
            () if has(Word::Xor) => (Reduction::Xor, Op::Xor),
            () if has(Word::Min) && ty == Word::F32 => {
                (Reduction::Fmin, if has(Word::NanToo) { Op::Fminimum } else { Op::Fmin })
            }
            () if ty == Word::F32 => {
                (Reduction::Fmax, if has(Word::NanToo) { Op::Fmaximum } else { Op::Fmax })
            }
            () if has(Word::Min) && signed => (Reduction::Smin, Op::Smin),
            () if has(Word::Min) => (Reduction::Umin, Op::Umin),
            () if signed => (Reduction::Smax, Op::Smax),
            () => (Reduction::Umax, Op::Umax),
        };
        let members = self.members(inst.args.get(2))?;
        let result = match members {
            None if !has(Word::NanToo) => {
                self.emit.value(InstData::new(Op::Reduce, [value], Detail::Reduce(by)), None)
            }
            _ => {
                let all = self.emit.int32(-1);
                self.reduce_members(value, members.unwrap_or(all), op)
            }
        };
        self.write(&inst.args[0], result, signed);
        Ok(())
    }

    /// Reduces over the members by pointer jumping: a lane adds what the next member has summed up, five times, and the first
    /// member ends with the sum of all. The masks of lanes that execute together are equal or disjoint.
    fn reduce_members(&mut self, value: Value, members: Value, op: Op) -> Value {
        let yes = self.emit.bool(true);
        let active = self.ballot(yes);
        let e = &mut self.emit;
        let members = e.op(Op::And, &[members, active]);
        let lane = e.query(Op::Lane, None);
        let (none, above_first) = (e.int32(32), e.int32(-2));
        let above = e.op(Op::Shl, &[above_first, lane]);
        let above = e.op(Op::And, &[members, above]);
        // Without a member above, `cttz` gives 32.
        let mut next = e.op(Op::Cttz, &[above]);
        let mut sum = value;
        for step in 0..5 {
            let has_next = e.icmp(IntPredicate::Ult, next, none);
            let from = e.select(has_next, next, lane);
            let theirs = e.op(Op::Shuffle, &[sum, from]);
            let both = e.op(op, &[sum, theirs]);
            sum = e.select(has_next, both, sum);
            if step < 4 {
                let behind = e.op(Op::Shuffle, &[next, from]);
                next = e.select(has_next, behind, next);
            }
        }
        let leader = e.op(Op::Cttz, &[members]);
        e.op(Op::Shuffle, &[sum, leader])
    }

    pub(super) fn elect(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let members = self.members(inst.args.get(1))?;
        let yes = self.emit.bool(true);
        let mut active = self.ballot(yes);
        if let Some(members) = members {
            active = self.emit.op(Op::And, &[active, members]);
        }
        let leader = self.emit.op(Op::Cttz, &[active]);
        let lane = self.emit.query(Op::Lane, None);
        let is_leader = self.emit.icmp(IntPredicate::Eq, leader, lane);
        self.write(&inst.args[0], leader, false);
        self.write_second(&inst.args[0], |_| is_leader);
        Ok(())
    }
}
