//! Constants and specialization constants: values of numbers, and LLVM's text of everything.

use crate::SpirvOptions;
use crate::binary::SpirvInst;
use crate::chain::{ChainIndex, address};
use crate::error::SpirvResult;
use crate::function::NO_LOWERING;
use crate::module::SpirvModule;
use crate::refusal::refusal;
use crate::types::{NumberKind, NumberType, SpirvTypeKind, pointer_text};
use spirv::{Decoration, Op};
use std::rc::Rc;

/// Maximum number of scalars in a constant.
const MAX_PARTS: u64 = 1 << 20;

/// Value of a constant.
#[derive(Clone, Debug)]
pub(crate) enum ConstantValue {
    /// Bits of a number, or of each element of a vector.
    Numbers(Vec<u64>),
    /// Parts of a struct or an array.
    Parts(Vec<u32>),
    /// Zeros, an address, or an expression of addresses: only its text is known.
    Text,
}

/// Constant.
#[derive(Clone, Debug)]
pub(crate) struct SpirvConstant {
    pub(crate) ty: u32,
    pub(crate) value: ConstantValue,
    /// LLVM's text, without the type.
    pub(crate) text: Rc<str>,
    parts: u64,
}

/// Bits that a width has.
pub(crate) fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// Sign-extends an integer of a width.
pub(crate) fn signed(value: u64, bits: u32) -> i64 {
    let shift = 64 - bits.clamp(1, 64);
    ((value << shift) as i64) >> shift
}

/// LLVM's text of a number.
pub(crate) fn number_text(kind: NumberKind, bits: u64) -> String {
    match kind {
        NumberKind::Bool => if bits & 1 != 0 { "true" } else { "false" }.into(),
        NumberKind::Int(width) => signed(bits, width).to_string(),
        NumberKind::Float(16) => format!("0xH{:04X}", bits & 0xffff),
        NumberKind::BFloat => format!("0xR{:04X}", bits & 0xffff),
        NumberKind::Float(32) => format!("0x{:016X}", widened(bits as u32)),
        NumberKind::Float(_) => format!("0x{bits:016X}"),
    }
}

/// Bits of a single as a double. Payloads of NaN are kept, which a conversion might change.
fn widened(bits: u32) -> u64 {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        return u64::from(bits >> 31) << 63 | 0x7ff << 52 | u64::from(bits & 0x7f_ffff) << 29;
    }
    f64::from(value).to_bits()
}

fn numbers_text(ty: NumberType, bits: &[u64]) -> String {
    match (ty.is_vector, bits) {
        (false, [bits]) => number_text(ty.kind, *bits),
        _ => {
            let element = |&bits: &u64| format!("{} {}", ty.kind.text(), number_text(ty.kind, bits));
            format!("<{}>", bits.iter().map(element).collect::<Vec<_>>().join(", "))
        }
    }
}

impl SpirvModule<'_> {
    fn numbers(&self, ty: u32, number: NumberType, bits: Vec<u64>) -> SpirvConstant {
        let mask = mask(number.kind.bits());
        let bits: Vec<u64> = bits.into_iter().map(|bits| bits & mask).collect();
        let text = numbers_text(number, &bits).into();
        SpirvConstant { ty, parts: bits.len() as u64, value: ConstantValue::Numbers(bits), text }
    }

    fn text_constant(&self, ty: u32, text: String) -> SpirvConstant {
        SpirvConstant { ty, value: ConstantValue::Text, text: text.into(), parts: 1 }
    }

    /// Reads a constant of any kind.
    pub(crate) fn read_constant(
        &self,
        inst: &SpirvInst<'_>,
        op: Op,
        options: &SpirvOptions,
    ) -> SpirvResult<SpirvConstant> {
        let mut operands = inst.operands();
        let (ty, id) = (operands.word()?, operands.word()?);
        let Some(of) = self.types.get(ty) else { return Err(self.undefined(inst, ty, "type")) };
        let number = self.types.number(ty);
        let literal = |bits: u64| -> u64 {
            let is_special = matches!(op, Op::SpecConstant | Op::SpecConstantTrue | Op::SpecConstantFalse);
            let words = self.decoration(id, Decoration::SpecId).filter(|_| is_special);
            let given = words
                .and_then(|words| options.constants.iter().rev().find(|(id, _)| words.first() == Some(id)));
            given.map_or(bits, |&(_, bits)| bits)
        };
        match op {
            Op::ConstantTrue | Op::ConstantFalse | Op::SpecConstantTrue | Op::SpecConstantFalse => {
                let Some(bool @ NumberType { kind: NumberKind::Bool, is_vector: false, .. }) = number else {
                    return Err(inst.invalid("the type is not bool"));
                };
                let bits = literal(matches!(op, Op::ConstantTrue | Op::SpecConstantTrue).into());
                Ok(self.numbers(ty, bool, vec![u64::from(bits != 0)]))
            }
            Op::Constant | Op::SpecConstant => {
                let Some(number) = number.filter(|it| !it.is_vector && it.kind != NumberKind::Bool) else {
                    return Err(inst.invalid("the type is none of a number"));
                };
                let mut bits = u64::from(operands.word()?);
                if number.kind.bits() == 64 {
                    bits |= u64::from(operands.word()?) << 32;
                }
                Ok(self.numbers(ty, number, vec![literal(bits)]))
            }
            Op::ConstantNull => match (number, &of.kind) {
                (Some(number), _) => Ok(self.numbers(ty, number, vec![0; number.count as usize])),
                (_, SpirvTypeKind::Pointer { .. }) => Ok(self.text_constant(ty, "null".into())),
                (_, SpirvTypeKind::Void | SpirvTypeKind::Function { .. } | SpirvTypeKind::Opaque) => {
                    Err(inst.unsupported("this type has no null", "keep the object in a parameter"))
                }
                _ => Ok(self.text_constant(ty, "zeroinitializer".into())),
            },
            Op::Undef => {
                if !self.types.is_sized(ty) {
                    return Err(
                        inst.unsupported("this type has no undefined value", "keep it in a parameter")
                    );
                }
                Ok(self.text_constant(ty, "undef".into()))
            }
            Op::ConstantComposite | Op::SpecConstantComposite => self.composite(inst, ty, operands.rest()),
            Op::ConstantCompositeReplicateEXT | Op::SpecConstantCompositeReplicateEXT => {
                let count = self.types.part_count(ty).filter(|&count| count <= MAX_PARTS);
                let count = count.ok_or_else(|| inst.invalid("the type has no parts, or too many"))?;
                self.composite(inst, ty, &vec![operands.word()?; count as usize])
            }
            Op::ConstantSizeOfEXT => {
                let measured = operands.word()?;
                let size = self.types.get(measured).filter(|_| self.types.is_sized(measured));
                match (size, number) {
                    (Some(of), Some(number)) if number.kind.is_int() && !number.is_vector => {
                        Ok(self.numbers(ty, number, vec![of.bytes]))
                    }
                    _ => Err(inst.invalid("the type has no size")),
                }
            }
            Op::ConstantSampler => {
                let (mode, normalized, filter) = (operands.word()?, operands.word()?, operands.word()?);
                if of.kind != SpirvTypeKind::Sampler || mode > 4 || normalized > 1 || filter > 1 {
                    return Err(inst.invalid("it is no sampler"));
                }
                // Bits as in OpenCL C.
                Ok(self.text_constant(ty, (mode << 1 | normalized | 0x10 << filter).to_string()))
            }
            Op::SpecConstantOp => {
                let number = operands.word()?;
                let Some(operation) = Op::from_u32(number) else {
                    return Err(
                        inst.unsupported(format!("the opcode {number} is unknown"), "compute it elsewhere")
                    );
                };
                self.fold(inst, ty, operation, operands.rest())
            }
            _ => {
                let (reason, help) =
                    refusal(&inst.name()).unwrap_or((NO_LOWERING, "use constants of OpenCL C"));
                Err(inst.unsupported(reason, help))
            }
        }
    }

    fn composite(&self, inst: &SpirvInst<'_>, ty: u32, parts: &[u32]) -> SpirvResult<SpirvConstant> {
        let count = self.types.part_count(ty);
        if count != Some(parts.len() as u64) {
            return Err(inst.invalid(format!("the type has not {} parts", parts.len())));
        }
        let mut texts = Vec::new();
        let mut total = 1u64;
        for (index, &part) in (0..).zip(parts) {
            let wanted = self.types.member(ty, Some(index)).unwrap_or_default();
            let (of, text, size) = match (self.constants.get(&part), self.variable_of.get(&part)) {
                (Some(constant), _) => (constant.ty, constant.text.to_string(), constant.parts),
                (None, Some(&variable)) => (self.variables[variable].ty, self.symbol_text(part), 1),
                (None, None) => return Err(self.undefined(inst, part, "constant")),
            };
            if !self.same_type(of, wanted) {
                return Err(inst.invalid(format!("{} has another type than its part", self.show(part))));
            }
            total = total.saturating_add(size);
            if total > MAX_PARTS {
                let reason = format!("a constant has more than {MAX_PARTS} parts");
                return Err(inst.unsupported(reason, "keep the data in a buffer"));
            }
            texts.push(format!("{} {text}", self.types.get(of).map_or("", |ty| &ty.text)));
        }
        let list = texts.join(", ");
        let (value, text) = match self.types.get(ty).map(|ty| &ty.kind) {
            Some(SpirvTypeKind::Vector { .. }) => {
                let bits: Option<Vec<u64>> = parts.iter().map(|&part| self.constant_bits(part)).collect();
                match (bits, self.types.number(ty)) {
                    (Some(bits), Some(number)) => return Ok(self.numbers(ty, number, bits)),
                    _ => (ConstantValue::Text, format!("<{list}>")),
                }
            }
            Some(SpirvTypeKind::Struct { is_packed: true, .. }) => {
                (ConstantValue::Parts(parts.to_vec()), format!("<{{ {list} }}>"))
            }
            Some(SpirvTypeKind::Struct { .. }) => {
                (ConstantValue::Parts(parts.to_vec()), format!("{{ {list} }}"))
            }
            _ => (ConstantValue::Parts(parts.to_vec()), format!("[{list}]")),
        };
        Ok(SpirvConstant { ty, value, text: text.into(), parts: total })
    }

    /// LLVM's text of a variable or function.
    pub(crate) fn symbol_text(&self, id: u32) -> String {
        format!("@{}", crate::text::quoted(self.symbols.get(&id).map_or("", String::as_str)))
    }

    /// Returns the numbers of an operand of an operation on constants.
    fn folded_operand(&self, inst: &SpirvInst<'_>, id: u32) -> SpirvResult<(NumberType, &[u64])> {
        let of = self.constants.get(&id).and_then(|constant| match &constant.value {
            ConstantValue::Numbers(bits) => Some((self.types.number(constant.ty)?, &bits[..])),
            _ => None,
        });
        of.ok_or_else(|| self.undefined(inst, id, "constant number"))
    }

    /// Type and text of a pointer constant or the address of a variable.
    fn address_operand(&self, inst: &SpirvInst<'_>, id: u32) -> SpirvResult<(u32, String)> {
        if let Some(constant) = self.constants.get(&id) {
            return Ok((constant.ty, constant.text.to_string()));
        }
        match self.variable_of.get(&id) {
            Some(&variable) if self.variables[variable].builtin.is_none() => {
                Ok((self.variables[variable].ty, self.symbol_text(id)))
            }
            _ => Err(self.undefined(inst, id, "constant")),
        }
    }

    /// Computes an operation on constants.
    fn fold(&self, inst: &SpirvInst<'_>, ty: u32, op: Op, ids: &[u32]) -> SpirvResult<SpirvConstant> {
        let at = |index: usize| {
            ids.get(index).copied().ok_or_else(|| inst.invalid("the instruction is too short"))
        };
        let unsupported = || {
            let reason = format!("Op{op:?} on specialization constants is not supported");
            inst.unsupported(reason, "compute it in the kernel")
        };
        let Some(of) = self.types.get(ty) else { return Err(self.undefined(inst, ty, "type")) };
        match op {
            Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::InBoundsPtrAccessChain => {
                let (base_type, base) = self.address_operand(inst, at(0)?)?;
                let mut indices = Vec::new();
                for &id in &ids[1..] {
                    let constant = self.constants.get(&id);
                    let constant = constant.ok_or_else(|| self.undefined(inst, id, "constant"))?;
                    let text = constant.text.to_string();
                    indices.push(ChainIndex { ty: constant.ty, text, bits: self.constant_bits(id) });
                }
                let chain = address(self, inst, op, base_type, &indices)?;
                if self.types.pointer(ty).is_none_or(|(space, _)| space != chain.space) {
                    return Err(inst.invalid("the result is no pointer of the same storage class"));
                }
                let text = match &*chain.indices {
                    "" => base,
                    list => {
                        let flag = if chain.in_bounds { "inbounds " } else { "" };
                        let pointer = pointer_text(chain.space);
                        format!("getelementptr {flag}({}, {pointer} {base}{list})", chain.element)
                    }
                };
                Ok(self.text_constant(ty, text))
            }
            Op::Bitcast
            | Op::PtrCastToGeneric
            | Op::GenericCastToPtr
            | Op::ConvertPtrToU
            | Op::ConvertUToPtr
                if self.types.pointer(ty).is_some() || op == Op::ConvertPtrToU =>
            {
                let (from, text) = self.address_operand(inst, at(0)?)?;
                let source = self.types.get(from).map_or("", |ty| &ty.text);
                let cast = match (self.types.pointer(from), self.types.pointer(ty)) {
                    (Some((from, _)), Some((to, _))) if from == to => return Ok(self.text_constant(ty, text)),
                    (Some(_), Some(_)) if op != Op::Bitcast => "addrspacecast",
                    (Some(_), None) if self.types.number(ty).is_some_and(|it| it.kind.is_int()) => "ptrtoint",
                    (None, Some(_)) if self.types.number(from).is_some_and(|it| it.kind.is_int()) => {
                        "inttoptr"
                    }
                    _ => return Err(inst.invalid("these types cannot be converted")),
                };
                Ok(self.text_constant(ty, format!("{cast} ({source} {text} to {})", of.text)))
            }
            Op::CompositeExtract => {
                let (mut part, mut bits) = (at(0)?, None);
                for &index in &ids[1..] {
                    let constant = self.constants.get(&part);
                    match constant.map(|constant| &constant.value) {
                        Some(ConstantValue::Parts(parts)) => {
                            part = *parts.get(index as usize).ok_or_else(unsupported)?;
                        }
                        Some(ConstantValue::Numbers(list)) if bits.is_none() => {
                            bits = Some(*list.get(index as usize).ok_or_else(unsupported)?);
                        }
                        _ => return Err(unsupported()),
                    }
                }
                match (bits, self.types.number(ty), self.constants.get(&part)) {
                    (Some(bits), Some(number), _) if !number.is_vector => {
                        Ok(self.numbers(ty, number, vec![bits]))
                    }
                    (None, _, Some(constant)) if self.same_type(constant.ty, ty) => Ok(constant.clone()),
                    _ => Err(inst.invalid("the part has another type than the result")),
                }
            }
            Op::CompositeInsert => match (ids, self.types.number(ty)) {
                (&[object, composite, index], Some(number)) => {
                    let (_, list) = self.folded_operand(inst, composite)?;
                    let bits = self.constant_bits(object).ok_or_else(unsupported)?;
                    let mut list = list.to_vec();
                    *list.get_mut(index as usize).ok_or_else(unsupported)? = bits;
                    Ok(self.numbers(ty, number, list))
                }
                _ => Err(unsupported()),
            },
            Op::VectorShuffle => {
                let number = self.types.number(ty).ok_or_else(unsupported)?;
                let (_, left) = self.folded_operand(inst, at(0)?)?;
                let (_, right) = self.folded_operand(inst, at(1)?)?;
                let both = [left, right].concat();
                let pick = |&index: &u32| match index {
                    u32::MAX => Some(0),
                    _ => both.get(index as usize).copied(),
                };
                let list: Option<Vec<u64>> = ids[2..].iter().map(pick).collect();
                let list = list.filter(|list| list.len() == number.count as usize);
                Ok(self.numbers(ty, number, list.ok_or_else(unsupported)?))
            }
            _ => {
                let Some(number) = self.types.number(ty) else { return Err(unsupported()) };
                let mut operands = Vec::new();
                for &id in ids {
                    let (of, bits) = self.folded_operand(inst, id)?;
                    if of.count != number.count && of.count != 1 {
                        return Err(inst.invalid("the operands have different numbers of elements"));
                    }
                    operands.push((of, bits));
                }
                let mut list = Vec::new();
                for index in 0..number.count as usize {
                    let lane: Vec<(NumberKind, u64)> = operands
                        .iter()
                        .map(|(of, bits)| (of.kind, *bits.get(index).or(bits.first()).unwrap_or(&0)))
                        .collect();
                    list.push(fold_scalar(op, number.kind, &lane).ok_or_else(unsupported)?);
                }
                Ok(self.numbers(ty, number, list))
            }
        }
    }
}

fn as_float(kind: NumberKind, bits: u64) -> Option<f64> {
    match kind {
        NumberKind::Float(32) => Some(f32::from_bits(bits as u32).into()),
        NumberKind::Float(64) => Some(f64::from_bits(bits)),
        _ => None,
    }
}

/// Rounds once: results of single arithmetic in doubles are exact enough for that.
fn of_float(kind: NumberKind, value: f64) -> Option<u64> {
    match kind {
        NumberKind::Float(32) => Some((value as f32).to_bits().into()),
        NumberKind::Float(64) => Some(value.to_bits()),
        _ => None,
    }
}

/// Computes an operation on scalars. Division by zero and shifts by the width or more give 0.
fn fold_scalar(op: Op, to: NumberKind, operands: &[(NumberKind, u64)]) -> Option<u64> {
    let &(kind, left) = operands.first()?;
    let right = operands.get(1).map(|&(_, bits)| bits);
    let width = kind.bits();
    let signed_left = signed(left, width);
    let shift = |right: u64| u32::try_from(right).ok().filter(|&by| by < width);
    if kind.is_float() {
        let value = as_float(kind, left)?;
        let other = || as_float(operands.get(1)?.0, right?);
        return Some(match op {
            Op::FConvert => return of_float(to, value),
            Op::FNegate => return of_float(to, -value),
            Op::FAdd => return of_float(to, value + other()?),
            Op::FSub => return of_float(to, value - other()?),
            Op::FMul => return of_float(to, value * other()?),
            Op::FDiv => return of_float(to, value / other()?),
            Op::ConvertFToS => value as i64 as u64,
            Op::ConvertFToU => value as u64,
            Op::Bitcast if to.bits() == width => left,
            Op::FOrdEqual => (value == other()?).into(),
            Op::FOrdLessThan => (value < other()?).into(),
            Op::FOrdGreaterThan => (value > other()?).into(),
            Op::FOrdLessThanEqual => (value <= other()?).into(),
            Op::FOrdGreaterThanEqual => (value >= other()?).into(),
            Op::FUnordNotEqual => (value != other()?).into(),
            _ => return None,
        });
    }
    let signed_right = right.map(|right| signed(right, operands.get(1).map_or(width, |it| it.0.bits())));
    Some(match op {
        Op::SConvert => signed_left as u64,
        Op::UConvert => left,
        Op::ConvertSToF => return of_float(to, signed_left as f64),
        Op::ConvertUToF => return of_float(to, left as f64),
        Op::Bitcast if to.bits() == width => left,
        Op::SNegate => left.wrapping_neg(),
        Op::Not => !left,
        Op::LogicalNot => (left == 0).into(),
        Op::IAdd => left.wrapping_add(right?),
        Op::ISub => left.wrapping_sub(right?),
        Op::IMul => left.wrapping_mul(right?),
        Op::UDiv => left.checked_div(right?).unwrap_or(0),
        Op::UMod => left.checked_rem(right?).unwrap_or(0),
        Op::SDiv => signed_left.checked_div(signed_right?).unwrap_or(0) as u64,
        Op::SRem => signed_left.checked_rem(signed_right?).unwrap_or(0) as u64,
        Op::SMod => {
            let rest = signed_left.checked_rem(signed_right?).unwrap_or(0);
            if rest != 0 && (rest < 0) != (signed_right? < 0) {
                rest.wrapping_add(signed_right?) as u64
            } else {
                rest as u64
            }
        }
        Op::ShiftLeftLogical => shift(right?).map_or(0, |by| left << by),
        Op::ShiftRightLogical => shift(right?).map_or(0, |by| left >> by),
        Op::ShiftRightArithmetic => shift(right?).map_or(0, |by| (signed_left >> by) as u64),
        Op::BitwiseOr | Op::LogicalOr => left | right?,
        Op::BitwiseXor => left ^ right?,
        Op::BitwiseAnd | Op::LogicalAnd => left & right?,
        Op::LogicalEqual | Op::IEqual => (left == right?).into(),
        Op::LogicalNotEqual | Op::INotEqual => (left != right?).into(),
        Op::UGreaterThan => (left > right?).into(),
        Op::SGreaterThan => (signed_left > signed_right?).into(),
        Op::UGreaterThanEqual => (left >= right?).into(),
        Op::SGreaterThanEqual => (signed_left >= signed_right?).into(),
        Op::ULessThan => (left < right?).into(),
        Op::SLessThan => (signed_left < signed_right?).into(),
        Op::ULessThanEqual => (left <= right?).into(),
        Op::SLessThanEqual => (signed_left <= signed_right?).into(),
        Op::Select if kind == NumberKind::Bool => {
            let [_, (_, yes), (_, no)] = operands else { return None };
            if left & 1 != 0 { *yes } else { *no }
        }
        _ => return None,
    })
}
