//! Lowering of barrier objects in shared memory: `mbarrier`.
//!
//! ```text
//!     object    arrivals since `init`, 32 bits          arrivals of a phase, 32 bits
//!     state     the object before an arrival
//! ```
//!
//! The number of a phase is the quotient of both halves. A wait is a barrier of the group and a look at the object: each thread that
//! others wait for has arrived, or waits itself, when all are there. Threads that wait apart need a hub ([`super::meeting`]); else
//! they are reported as threads at different barriers. Asynchronous copies are done at once, so bytes that
//! transactions expect are not counted.

use super::body::FunctionLowering;
use super::memory::space_of;
use super::{LowerResult, refuse};
use crate::check::{ResolvedInst, ResolvedOperand};
use crate::words::Word;
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::words::{AtomicOrdering, Flags, IntPredicate, Rmw, SyncScope};
use heddle_ir::{Op, Scalar, Value};

/// Access to an object.
const ACCESS: Access =
    Access { atomic: Some((AtomicOrdering::AcqRel, SyncScope::Group)), ..Access::aligned(8) };

/// Look at an object.
const ACQUIRE: Access =
    Access { atomic: Some((AtomicOrdering::Acquire, SyncScope::Group)), ..Access::aligned(8) };

impl FunctionLowering<'_, '_, '_> {
    pub(super) fn barrier_object(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let has = |word: Word| inst.words.contains(&word);
        match () {
            () if has(Word::Init) => self.init_object(inst),
            () if has(Word::Inval) || has(Word::ExpectTx) && !has(Word::Arrive) || has(Word::CompleteTx) => {
                Ok(())
            }
            () if has(Word::Arrive) => self.arrive(inst),
            () if has(Word::PendingCount) => self.pending_count(inst),
            () => self.wait(inst),
        }
    }

    fn init_object(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let pointer = self.address(&inst.args[0], space_of(&inst.words))?;
        let count = self.read(&inst.args[1], Word::U32)?;
        let e = &mut self.emit;
        let count = e.resize(count, Scalar::I64, false);
        let by = e.int(Scalar::I64, 32);
        let object = e.op(Op::Shl, &[count, by]);
        let access = Access { atomic: Some((AtomicOrdering::Relaxed, SyncScope::Group)), ..ACCESS };
        e.store(object, pointer, access, Flags::NONE);
        Ok(())
    }

    /// Lowers `cp.async.mbarrier.arrive`. Without `.noinc` the arrival was not counted on before, and changes nothing.
    pub(super) fn arrive_after_copies(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let pointer = self.address(&inst.args[0], space_of(&inst.words))?;
        if inst.words.contains(&Word::Noinc) {
            let one = self.emit.int(Scalar::I64, 1);
            let add = InstData::new(Op::AtomicRmw, [pointer, one], Detail::Rmw(Rmw::Add, ACCESS));
            self.emit.value(add, None);
        }
        Ok(())
    }

    fn arrive(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let pointer = self.address(&inst.args[1], space_of(&inst.words))?;
        // The operand of `expect_tx` is a number of bytes.
        let count = match inst.args.get(2) {
            Some(count) if !inst.words.contains(&Word::ExpectTx) => self.read(count, Word::U32)?,
            _ => self.emit.int32(1),
        };
        let count = self.emit.resize(count, Scalar::I64, false);
        let add = InstData::new(Op::AtomicRmw, [pointer, count], Detail::Rmw(Rmw::Add, ACCESS));
        let state = self.emit.value(add, None);
        if !matches!(inst.args[0], ResolvedOperand::Sink) {
            self.write(&inst.args[0], state, false);
        }
        Ok(())
    }

    /// Returns the arrivals in an object or state, and those of a phase.
    fn counts(&mut self, object: Value) -> [Value; 2] {
        let e = &mut self.emit;
        let arrived = e.resize(object, Scalar::I32, false);
        let by = e.int(Scalar::I64, 32);
        let of_phase = e.op(Op::Lshr, &[object, by]);
        let of_phase = e.resize(of_phase, Scalar::I32, false);
        // Nobody divides by the zero of an object that is not initialized.
        let one = e.int32(1);
        [arrived, e.op(Op::Umax, &[of_phase, one])]
    }

    /// Returns the number of the phase of an object or state.
    fn phase(&mut self, object: Value) -> Value {
        let counts = self.counts(object);
        self.emit.op(Op::Udiv, &counts)
    }

    fn pending_count(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let state = self.read(&inst.args[1], Word::B64)?;
        let [arrived, of_phase] = self.counts(state);
        let arrived = self.emit.op(Op::Urem, &[arrived, of_phase]);
        let pending = self.emit.op(Op::Sub, &[of_phase, arrived]);
        self.write(&inst.args[0], pending, false);
        Ok(())
    }

    fn wait(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        if inst.args.len() < 3 {
            return refuse("the wait names no phase", "write a state or a parity");
        }
        let pointer = self.address(&inst.args[1], space_of(&inst.words))?;
        let is_parity = inst.words.contains(&Word::Parity);
        let before = self.read(&inst.args[2], if is_parity { Word::U32 } else { Word::B64 })?;
        if self.meeting.is_none() {
            self.group_barrier();
        }
        let object = self.emit.load(Scalar::I64, pointer, ACQUIRE, Flags::NONE);
        let now = self.phase(object);
        let is_done = if is_parity {
            let one = self.emit.int32(1);
            let now = self.emit.op(Op::And, &[now, one]);
            let before = self.emit.op(Op::And, &[before, one]);
            self.emit.icmp(IntPredicate::Ne, now, before)
        } else {
            let before = self.phase(before);
            self.emit.icmp(IntPredicate::Ne, now, before)
        };
        self.write(&inst.args[0], is_done, false);
        Ok(())
    }
}
