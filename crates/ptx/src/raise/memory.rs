//! Emission of addresses, loads, stores, atomics, copies.

use super::{FunctionRaising, RaiseResult, scope_word, space_word};
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::words::{AtomicOrdering, Flag, Rmw};
use heddle_ir::{Constant, Inst, Op, Scalar, Space};
use std::fmt::Write as _;

impl FunctionRaising<'_> {
    pub(super) fn address(&mut self, from: Scalar, scalar: Scalar, to: &str, arg: &str) -> RaiseResult<()> {
        let space = |scalar: Scalar| match scalar {
            Scalar::Ptr(space) => space_word(space),
            _ => None,
        };
        match (space(from), space(scalar)) {
            (Some(from), None) => put!(self, "cvta.{from}.u64 {to}, {arg}"),
            (None, Some(scalar)) => put!(self, "cvta.to.{scalar}.u64 {to}, {arg}"),
            (Some(from), Some(scalar)) if from != scalar => {
                put!(self, "cvta.{from}.u64 {to}, {arg}");
                put!(self, "cvta.to.{scalar}.u64 {to}, {to}");
            }
            _ if from.bits() == scalar.bits() => put!(self, "mov.u64 {to}, {arg}"),
            _ => return Err("an address has 64 bits".into()),
        }
        Ok(())
    }

    /// Returns the modifiers of an access: its ordering and space.
    pub(super) fn access(&self, data: &InstData, access: &Access, pointer: Scalar) -> RaiseResult<String> {
        let mut text = String::new();
        match access.atomic {
            None if data.flags.has(Flag::Volatile) => text.push_str(".volatile"),
            None => {}
            Some((ordering, scope)) => {
                let word = match (ordering, data.op) {
                    (AtomicOrdering::Unordered | AtomicOrdering::Relaxed, _) => "relaxed",
                    (AtomicOrdering::Acquire, _) | (AtomicOrdering::AcqRel, Op::Load) => "acquire",
                    (AtomicOrdering::Release, _) | (AtomicOrdering::AcqRel, Op::Store) => "release",
                    (AtomicOrdering::AcqRel, _) => "acq_rel",
                    (AtomicOrdering::SeqCst, _) => {
                        return Err("it is in one order for all; put fences around it".into());
                    }
                };
                let _ = write!(text, ".{word}.{}", scope_word(scope).unwrap_or("cta"));
            }
        }
        if let Scalar::Ptr(space) = pointer
            && let Some(word) = space_word(space)
        {
            let _ = write!(text, ".{word}");
        }
        Ok(text)
    }

    pub(super) fn load(&mut self, inst: Inst, data: &InstData, to: &str, address: &str) -> RaiseResult<()> {
        let Some(access) = data.access().copied() else { return Ok(()) };
        let result = self.func.results(inst)[0];
        let scalar = self.scalar(result);
        let pointer = self.scalar(data.args[0]);
        if access.align < scalar.bytes() {
            return self.load_unaligned(data, &access, scalar, to, address);
        }
        let mut words = self.access(data, &access, pointer)?;
        let is_constant = data.flags.has(Flag::Invariant) || self.facts.invariant.contains(&inst);
        if is_constant
            && access.atomic.is_none()
            && pointer == Scalar::Ptr(Space::Global)
            && !data.flags.has(Flag::Volatile)
        {
            words.push_str(".nc");
        }
        match scalar {
            Scalar::I1 => {
                let byte = self.fresh(Scalar::I16)?;
                put!(self, "ld{words}.u8 {byte}, [{address}]");
                put!(self, "setp.ne.b16 {to}, {byte}, 0");
            }
            Scalar::I8 => put!(self, "ld{words}.u8 {to}, [{address}]"),
            Scalar::I128 => return Err("no registers for integers of 128 bits".into()),
            _ => put!(self, "ld{words}.b{} {to}, [{address}]", scalar.bits()),
        }
        Ok(())
    }

    /// Returns the integer type that assembles a value from smaller pieces, and the size of a piece.
    pub(super) fn assembled_type(access: &Access, scalar: Scalar) -> RaiseResult<(Scalar, u32)> {
        if access.atomic.is_some() || scalar.bits() > 64 {
            return Err("unaligned address".into());
        }
        Ok((if scalar.bits() == 64 { Scalar::I64 } else { Scalar::I32 }, access.align.max(1)))
    }

    /// Loads a value whose alignment is less than its size, which PTX does not allow in one access.
    pub(super) fn load_unaligned(
        &mut self,
        data: &InstData,
        access: &Access,
        scalar: Scalar,
        to: &str,
        address: &str,
    ) -> RaiseResult<()> {
        let (whole, size) = Self::assembled_type(access, scalar)?;
        let words = self.access(data, access, self.scalar(data.args[0]))?;
        let (all, piece, bits) = (self.fresh(whole)?, self.fresh(whole)?, whole.bits());
        put!(self, "mov.b{bits} {all}, 0");
        for at in (0..scalar.bytes()).step_by(size as usize) {
            put!(self, "ld{words}.u{} {piece}, [{address}+{at}]", size * 8);
            put!(self, "shl.b{bits} {piece}, {piece}, {}", at * 8);
            put!(self, "or.b{bits} {all}, {all}, {piece}");
        }
        match scalar.bits() {
            16 => put!(self, "cvt.u16.u32 {to}, {all}"),
            _ => put!(self, "mov.b{bits} {to}, {all}"),
        }
        Ok(())
    }

    pub(super) fn store_in_pieces(
        &mut self,
        data: &InstData,
        access: &Access,
        scalar: Scalar,
    ) -> RaiseResult<()> {
        let (whole, size) = Self::assembled_type(access, scalar)?;
        let words = self.access(data, access, self.scalar(data.args[1]))?;
        let (value, address) = (self.read(data.args[0])?, self.read(data.args[1])?);
        let (all, bits) = (self.fresh(whole)?, whole.bits());
        match scalar.bits() {
            16 => put!(self, "cvt.u32.u16 {all}, {value}"),
            _ => put!(self, "mov.b{bits} {all}, {value}"),
        }
        for at in (0..scalar.bytes()).step_by(size as usize) {
            put!(self, "st{words}.u{} [{address}+{at}], {all}", size * 8);
            put!(self, "shr.b{bits} {all}, {all}, {}", (size * 8).min(bits - 1));
        }
        Ok(())
    }

    pub(super) fn store(&mut self, data: &InstData) -> RaiseResult<()> {
        let Some(access) = data.access().copied() else { return Ok(()) };
        let scalar = self.scalar(data.args[0]);
        if access.align < scalar.bytes() {
            return self.store_in_pieces(data, &access, scalar);
        }
        let (value, address) = (self.read(data.args[0])?, self.read(data.args[1])?);
        let words = self.access(data, &access, self.scalar(data.args[1]))?;
        match scalar {
            Scalar::I1 => {
                let byte = self.fresh(Scalar::I16)?;
                put!(self, "selp.b16 {byte}, 1, 0, {value}");
                put!(self, "st{words}.u8 [{address}], {byte}");
            }
            _ => put!(self, "st{words}.b{} [{address}], {value}", scalar.bits()),
        }
        Ok(())
    }

    pub(super) fn atomic(
        &mut self,
        data: &InstData,
        from: Scalar,
        to: &str,
        second: Option<&str>,
        args: &[String],
    ) -> RaiseResult<()> {
        let Some(access) = data.access().copied() else { return Ok(()) };
        let value = self.scalar(data.args[1]);
        let words = self.access(data, &access, from)?;
        let bits = value.bits();
        if let Some(done) = second {
            if bits < 16 {
                return Err("exchange of less than 16 bits".into());
            }
            put!(self, "atom{words}.cas.b{bits} {to}, [{}], {}, {}", args[0], args[1], args[2]);
            put!(self, "setp.eq.b{bits} {done}, {to}, {}", args[1]);
            return Ok(());
        }
        let Detail::Rmw(by, _) = data.detail else { return Ok(()) };
        if bits < 32 && !matches!(by, Rmw::Fadd) {
            return Err("atomic update of less than 32 bits".into());
        }
        let (word, operand) = match by {
            Rmw::Exchange => (format!("exch.b{bits}"), args[1].clone()),
            Rmw::Add => (format!("add.u{bits}"), args[1].clone()),
            Rmw::Sub => {
                let minus = self.fresh(value)?;
                put!(self, "neg.s{bits} {minus}, {}", args[1]);
                (format!("add.u{bits}"), minus)
            }
            Rmw::And | Rmw::Or | Rmw::Xor => (format!("{}.b{bits}", by.name()), args[1].clone()),
            Rmw::Umin => (format!("min.u{bits}"), args[1].clone()),
            Rmw::Umax => (format!("max.u{bits}"), args[1].clone()),
            Rmw::Smin => (format!("min.s{bits}"), args[1].clone()),
            Rmw::Smax => (format!("max.s{bits}"), args[1].clone()),
            Rmw::IncWrap if bits == 32 => ("inc.u32".into(), args[1].clone()),
            Rmw::DecWrap if bits == 32 => ("dec.u32".into(), args[1].clone()),
            Rmw::Fadd if value == Scalar::BF16 => return self.add_by_exchange(&words, value, to, args),
            Rmw::Fadd if value == Scalar::F16 => ("add.noftz.f16".into(), args[1].clone()),
            Rmw::Fadd if bits >= 32 => (format!("add.f{bits}"), args[1].clone()),
            _ => return Err(format!("PTX has no atomic `{by}` of {value}")),
        };
        put!(self, "atom{words}.{word} {to}, [{}], {operand}", args[0]);
        Ok(())
    }

    /// Emits small copies and fills, piece by piece.
    pub(super) fn bulk(&mut self, data: &InstData) -> RaiseResult<()> {
        let known = match self.func.constant(data.args[2]) {
            Some(&Constant::Scalar(_, bytes)) => Some(bytes),
            _ => None,
        };
        let Some(bytes) = known.filter(|&bytes| bytes <= MAX_INLINE_BYTES) else {
            return self.byte_by_byte(data);
        };
        let (into, outof) = match &data.detail {
            Detail::Transfer(both) => (both.0.align, both.1.align),
            Detail::Access(access) => (access.align, 8),
            _ => return Ok(()),
        };
        let pointer = |scalar: Scalar| match scalar {
            Scalar::Ptr(space) => space_word(space).map_or(String::new(), |word| format!(".{word}")),
            _ => String::new(),
        };
        let to = self.read(data.args[0])?;
        let to_space = pointer(self.scalar(data.args[0]));
        let fill = match (data.op, self.func.constant(data.args[1])) {
            (Op::Memset, Some(Constant::Scalar(_, bits))) => Some(*bits & 255),
            (Op::Memset, _) => return Err("the fill byte is not constant; write a loop".into()),
            _ => None,
        };
        let from = if fill.is_none() { self.read(data.args[1])? } else { String::new() };
        let from_space = pointer(self.scalar(data.args[1]));
        let mut at = 0u128;
        let mut pieces = Vec::new();
        while at < bytes {
            let most = u128::from(into.min(outof).clamp(1, 8));
            let mut size = most;
            while size > bytes - at || !at.is_multiple_of(size) {
                size /= 2;
            }
            let scalar = match size {
                8 => Scalar::I64,
                4 => Scalar::I32,
                _ => Scalar::I16,
            };
            let register = self.fresh(scalar)?;
            match fill {
                Some(byte) => {
                    let value = (0..size).fold(0u128, |value, _| value << 8 | byte);
                    self.constant(&register, scalar, value);
                }
                None => put!(self, "ld{from_space}.b{} {register}, [{from}+{at}]", size * 8),
            }
            pieces.push((at, size, register));
            at += size;
        }
        // All loads precede the stores, so overlapping copies are correct.
        for (at, size, register) in pieces {
            put!(self, "st{to_space}.b{} [{to}+{at}], {register}", size * 8);
        }
        Ok(())
    }

    /// Emits a byte loop, for copies and fills of large or unknown size.
    fn byte_by_byte(&mut self, data: &InstData) -> RaiseResult<()> {
        if data.op == Op::Memmove {
            return Err("the memory may overlap, and the size is large or unknown; write a loop".into());
        }
        let word = |scalar: Scalar| match scalar {
            Scalar::Ptr(space) => space_word(space).map_or(String::new(), |word| format!(".{word}")),
            _ => String::new(),
        };
        let [into, from] = [0, 1].map(|index| word(self.scalar(data.args[index])));
        let (to, source) = (self.read(data.args[0])?, self.read(data.args[1])?);
        let count = self.read(data.args[2])?;
        let count = self.long(data.args[2], &count)?;
        let (at, emit_loc, byte) =
            (self.fresh(Scalar::I64)?, self.fresh(Scalar::I64)?, self.fresh(Scalar::I16)?);
        let (ends, start) = (self.fresh(Scalar::I1)?, self.loop_label());
        put!(self, "mov.b64 {at}, 0");
        let _ = writeln!(self.text, "{start}:");
        put!(self, "setp.ge.u64 {ends}, {at}, {count}");
        put!(self, "@{ends} bra {start}_end");
        if data.op == Op::Memset {
            put!(self, "mov.b16 {byte}, {source}");
        } else {
            put!(self, "add.s64 {emit_loc}, {source}, {at}");
            put!(self, "ld{from}.u8 {byte}, [{emit_loc}]");
        }
        put!(self, "add.s64 {emit_loc}, {to}, {at}");
        put!(self, "st{into}.u8 [{emit_loc}], {byte}");
        put!(self, "add.s64 {at}, {at}, 1");
        put!(self, "bra {start}");
        let _ = writeln!(self.text, "{start}_end:");
        Ok(())
    }

    /// Emits a 16-bit atomic sum without a PTX instruction, as a compare-and-swap loop.
    fn add_by_exchange(&mut self, words: &str, value: Scalar, to: &str, args: &[String]) -> RaiseResult<()> {
        let (old, next, done) = (self.fresh(value)?, self.fresh(value)?, self.fresh(Scalar::I1)?);
        let sum = self.fresh(Scalar::F32)?;
        let start = self.loop_label();
        let more = self.single(value, &args[1])?;
        put!(self, "mov.b16 {old}, 0");
        let _ = writeln!(self.text, "{start}:");
        let single = self.single(value, &old)?;
        put!(self, "add.rn.f32 {sum}, {single}, {more}");
        self.convert(Op::Fptrunc, Scalar::F32, value, &next, &sum)?;
        put!(self, "atom{words}.cas.b16 {to}, [{}], {old}, {next}", args[0]);
        put!(self, "setp.eq.b16 {done}, {to}, {old}");
        put!(self, "mov.b16 {old}, {to}");
        put!(self, "@!{done} bra {start}");
        Ok(())
    }
}

/// Maximum number of bytes for copies and fills without a loop.
const MAX_INLINE_BYTES: u128 = 256;
