//! Arithmetic: operations on integers, floats and booleans, and comparisons.

use crate::binary::SpirvInst;
use crate::error::SpirvResult;
use crate::function::{FunctionWriter, PURE};
use crate::instruction::OperandClass;
use crate::mangle::{MangledNumber, MangledType};
use crate::types::{NumberKind, NumberType, SpirvTypeKind};
use spirv::{Decoration, ExecutionMode, FPFastMathMode, Op};

/// Returns LLVM's opcode of an operation on two operands of the result's type.
pub(crate) fn binary_opcode(op: Op) -> Option<(&'static str, OperandClass)> {
    use OperandClass::{Bool, Float, Int};
    Some(match op {
        Op::IAdd => ("add", Int),
        Op::ISub => ("sub", Int),
        Op::IMul => ("mul", Int),
        Op::UDiv => ("udiv", Int),
        Op::SDiv => ("sdiv", Int),
        Op::UMod => ("urem", Int),
        Op::SRem => ("srem", Int),
        Op::BitwiseOr => ("or", Int),
        Op::BitwiseXor => ("xor", Int),
        Op::BitwiseAnd => ("and", Int),
        Op::FAdd => ("fadd", Float),
        Op::FSub => ("fsub", Float),
        Op::FMul => ("fmul", Float),
        Op::FDiv => ("fdiv", Float),
        Op::FRem => ("frem", Float),
        Op::LogicalOr => ("or", Bool),
        Op::LogicalAnd => ("and", Bool),
        Op::LogicalNotEqual => ("xor", Bool),
        _ => return None,
    })
}

/// Returns LLVM's opcode with the predicate of a comparison.
pub(crate) fn comparison(op: Op) -> Option<(&'static str, OperandClass)> {
    use OperandClass::{Bool, Float, Int};
    Some(match op {
        Op::IEqual => ("icmp eq", Int),
        Op::INotEqual => ("icmp ne", Int),
        Op::UGreaterThan => ("icmp ugt", Int),
        Op::SGreaterThan => ("icmp sgt", Int),
        Op::UGreaterThanEqual => ("icmp uge", Int),
        Op::SGreaterThanEqual => ("icmp sge", Int),
        Op::ULessThan => ("icmp ult", Int),
        Op::SLessThan => ("icmp slt", Int),
        Op::ULessThanEqual => ("icmp ule", Int),
        Op::SLessThanEqual => ("icmp sle", Int),
        Op::LogicalEqual => ("icmp eq", Bool),
        Op::FOrdEqual => ("fcmp oeq", Float),
        Op::FUnordEqual => ("fcmp ueq", Float),
        Op::FOrdNotEqual | Op::LessOrGreater => ("fcmp one", Float),
        Op::FUnordNotEqual => ("fcmp une", Float),
        Op::FOrdLessThan => ("fcmp olt", Float),
        Op::FUnordLessThan => ("fcmp ult", Float),
        Op::FOrdGreaterThan => ("fcmp ogt", Float),
        Op::FUnordGreaterThan => ("fcmp ugt", Float),
        Op::FOrdLessThanEqual => ("fcmp ole", Float),
        Op::FUnordLessThanEqual => ("fcmp ule", Float),
        Op::FOrdGreaterThanEqual => ("fcmp oge", Float),
        Op::FUnordGreaterThanEqual => ("fcmp uge", Float),
        Op::Ordered => ("fcmp ord", Float),
        Op::Unordered => ("fcmp uno", Float),
        _ => return None,
    })
}

impl FunctionWriter<'_, '_> {
    pub(crate) fn binary(
        &mut self,
        inst: &SpirvInst<'_>,
        opcode: &str,
        class: OperandClass,
    ) -> SpirvResult<()> {
        let (number, id) = self.result_of(inst, class)?;
        let text = number.text();
        let (left, right) = (self.operand_of(inst, 2, &text)?, self.operand_of(inst, 3, &text)?);
        let flags = match class {
            OperandClass::Float => self.fast_flags(inst, matches!(opcode, "fadd" | "fsub" | "fmul")),
            OperandClass::Int if matches!(opcode, "add" | "sub" | "mul") => self.wrap_flags(id),
            _ => String::new(),
        };
        let may_be_off = opcode == "fdiv" && number.kind == NumberKind::Float(32);
        let accuracy = match may_be_off && !self.output.has_exact_quotients {
            true => ", !fpmath !{float 2.5}",
            false => "",
        };
        self.result(id, &format!("{opcode} {flags}{text} {}, {}{accuracy}", left.text, right.text));
        Ok(())
    }

    fn wrap_flags(&self, id: u32) -> String {
        let mut flags = String::new();
        for (kind, word) in [(Decoration::NoUnsignedWrap, "nuw "), (Decoration::NoSignedWrap, "nsw ")] {
            if self.module.decoration(id, kind).is_some() {
                flags.push_str(word);
            }
        }
        flags
    }

    /// Returns what a result may ignore, by its decorations and the build options.
    pub(crate) fn fast_mode(&self, id: u32) -> FPFastMathMode {
        let words = self.module.decoration(id, Decoration::FPFastMathMode);
        let mode = words.and_then(|words| words.first()).copied().unwrap_or(0);
        let mode = FPFastMathMode::from_bits_truncate(mode);
        match self.output.has_finite_math {
            true => mode | FPFastMathMode::NOT_NAN | FPFastMathMode::NOT_INF,
            false => mode,
        }
    }

    /// Returns the fast-math flags of an instruction. Contraction is allowed unless a kernel turns it off.
    pub(crate) fn fast_flags(&self, inst: &SpirvInst<'_>, may_contract: bool) -> String {
        let Some(&id) = inst.words.get(1) else { return String::new() };
        let module = self.module;
        let mode = self.fast_mode(id);
        if mode.contains(FPFastMathMode::FAST) {
            return "fast ".into();
        }
        let table = [
            (FPFastMathMode::NOT_NAN, "nnan "),
            (FPFastMathMode::NOT_INF, "ninf "),
            (FPFastMathMode::NSZ, "nsz "),
            (FPFastMathMode::ALLOW_RECIP, "arcp "),
            (FPFastMathMode::ALLOW_REASSOC, "reassoc "),
        ];
        let mut flags: String =
            table.iter().filter(|(bit, _)| mode.contains(*bit)).map(|(_, word)| *word).collect();
        let is_off = module.modes.values().flatten().any(|mode| mode.mode == ExecutionMode::ContractionOff)
            || module.decoration(id, Decoration::NoContraction).is_some();
        if may_contract && (mode.contains(FPFastMathMode::ALLOW_CONTRACT) || !is_off) {
            flags.push_str("contract ");
        }
        flags
    }

    pub(crate) fn compare(
        &mut self,
        inst: &SpirvInst<'_>,
        opcode: &str,
        class: OperandClass,
    ) -> SpirvResult<()> {
        let (number, id) = self.result_of(inst, OperandClass::Bool)?;
        let left = self.operand(inst, 2)?;
        let right = self.operand_of(inst, 3, &left.type_text)?;
        // LLVM's back end compares pointers by the instructions for integers.
        let is_pointer = class == OperandClass::Int && self.module.types.pointer(left.ty).is_some();
        if is_pointer && !number.is_vector {
            self.result(id, &format!("{opcode} {}, {}", left.typed(), right.text));
            return Ok(());
        }
        let of = self.number_of(inst, &left)?;
        if !class.holds(of.kind) || of.with(NumberKind::Bool) != number {
            return Err(inst.invalid(format!("{} has the wrong type", self.module.show(left.id))));
        }
        let flags = if class == OperandClass::Float { self.fast_flags(inst, false) } else { String::new() };
        let (opcode, predicate) = opcode.split_once(' ').unwrap_or((opcode, ""));
        self.result(id, &format!("{opcode} {flags}{predicate} {}, {}", left.typed(), right.text));
        Ok(())
    }

    /// Writes an operation of one operand: of the type's text, zeros, and the operand.
    pub(crate) fn unary(
        &mut self,
        inst: &SpirvInst<'_>,
        class: OperandClass,
        write: impl Fn((&str, &str, &str)) -> String,
    ) -> SpirvResult<()> {
        let (number, id) = self.result_of(inst, class)?;
        let text = number.text();
        let value = self.operand_of(inst, 2, &text)?;
        self.result(id, &write((&text, &number.splat("0"), &value.text)));
        Ok(())
    }

    pub(crate) fn unary_ones(&mut self, inst: &SpirvInst<'_>, class: OperandClass) -> SpirvResult<()> {
        let (number, id) = self.result_of(inst, class)?;
        let text = number.text();
        let value = self.operand_of(inst, 2, &text)?;
        let ones = number.splat(if class == OperandClass::Bool { "true" } else { "-1" });
        self.result(id, &format!("xor {text} {}, {ones}", value.text));
        Ok(())
    }

    /// Writes a shift. The amount may have another width.
    pub(crate) fn shift(&mut self, inst: &SpirvInst<'_>, opcode: &str) -> SpirvResult<()> {
        let (number, id) = self.result_of(inst, OperandClass::Int)?;
        let text = number.text();
        let value = self.operand_of(inst, 2, &text)?;
        let amount = self.operand(inst, 3)?;
        let by = self.number_of(inst, &amount)?;
        if !by.kind.is_int() || by.with(number.kind) != number {
            return Err(inst.invalid(format!("{} has the wrong type", self.module.show(amount.id))));
        }
        let amount = match by.kind.bits().cmp(&number.kind.bits()) {
            std::cmp::Ordering::Equal => amount.text,
            std::cmp::Ordering::Less => self.temporary(&format!("zext {} to {text}", amount.typed())),
            std::cmp::Ordering::Greater => self.temporary(&format!("trunc {} to {text}", amount.typed())),
        };
        let flags = if opcode == "shl" { self.wrap_flags(id) } else { String::new() };
        self.result(id, &format!("{opcode} {flags}{text} {}, {amount}", value.text));
        Ok(())
    }

    /// Remainder with the sign of the divisor.
    pub(crate) fn signed_modulo(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (number, id) = self.result_of(inst, OperandClass::Int)?;
        let (text, bools) = (number.text(), number.with(NumberKind::Bool).text());
        let zeros = number.splat("0");
        let left = self.operand_of(inst, 2, &text)?.text;
        let right = self.operand_of(inst, 3, &text)?.text;
        let rest = self.temporary(&format!("srem {text} {left}, {right}"));
        let signs = self.temporary(&format!("xor {text} {rest}, {right}"));
        let differ = self.temporary(&format!("icmp slt {text} {signs}, {zeros}"));
        let some = self.temporary(&format!("icmp ne {text} {rest}, {zeros}"));
        let both = self.temporary(&format!("and {bools} {differ}, {some}"));
        let moved = self.temporary(&format!("add {text} {rest}, {right}"));
        self.result(id, &format!("select {bools} {both}, {text} {moved}, {text} {rest}"));
        Ok(())
    }

    /// Remainder of floats with the sign of the divisor.
    pub(crate) fn float_modulo(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (number, id) = self.result_of(inst, OperandClass::Float)?;
        let (text, bools) = (number.text(), number.with(NumberKind::Bool).text());
        let zeros = number.splat("0.0");
        let left = self.operand_of(inst, 2, &text)?.text;
        let right = self.operand_of(inst, 3, &text)?.text;
        let rest = self.temporary(&format!("frem {text} {left}, {right}"));
        let low = self.temporary(&format!("fcmp olt {text} {rest}, {zeros}"));
        let below = self.temporary(&format!("fcmp olt {text} {right}, {zeros}"));
        let differ = self.temporary(&format!("xor {bools} {low}, {below}"));
        let some = self.temporary(&format!("fcmp one {text} {rest}, {zeros}"));
        let both = self.temporary(&format!("and {bools} {differ}, {some}"));
        let moved = self.temporary(&format!("fadd {text} {rest}, {right}"));
        self.result(id, &format!("select {bools} {both}, {text} {moved}, {text} {rest}"));
        Ok(())
    }

    /// Name part of an overloaded intrinsic.
    pub(crate) fn suffix(number: NumberType) -> String {
        let scalar = match number.kind {
            NumberKind::Float(bits) => format!("f{bits}"),
            kind => format!("i{}", kind.bits()),
        };
        if number.is_vector { format!("v{}{scalar}", number.count) } else { scalar }
    }

    /// Writes a call of an LLVM intrinsic of one type and returns its text.
    fn intrinsic(&mut self, name: &str, number: NumberType, args: &[&str]) -> String {
        let text = number.text();
        let full = format!("llvm.{name}.{}", Self::suffix(number));
        self.output.declare_plain(&full, &text, &vec![&*text; args.len()].join(", "));
        let list: Vec<String> = args.iter().map(|arg| format!("{text} {arg}")).collect();
        format!("call {text} @{full}({})", list.join(", "))
    }

    pub(crate) fn bit_intrinsic(&mut self, inst: &SpirvInst<'_>, name: &str) -> SpirvResult<()> {
        let (number, id) = self.result_of(inst, OperandClass::Int)?;
        let value = self.operand(inst, 2)?;
        let of = self.number_of(inst, &value)?;
        if !of.kind.is_int() || of.with(number.kind) != number {
            return Err(inst.invalid(format!("{} has the wrong type", self.module.show(value.id))));
        }
        let call = self.intrinsic(name, of, &[&value.text]);
        if of == number {
            self.result(id, &call);
            return Ok(());
        }
        let counted = self.temporary(&call);
        let cast = if of.kind.bits() < number.kind.bits() { "zext" } else { "trunc" };
        self.result(id, &format!("{cast} {} {counted} to {}", of.text(), number.text()));
        Ok(())
    }

    /// Brings a scalar integer operand to a type, in each element.
    fn spread(&mut self, inst: &SpirvInst<'_>, index: usize, number: NumberType) -> SpirvResult<String> {
        let value = self.index(inst, index)?;
        let bits = self.number_of(inst, &value)?.kind.bits();
        let scalar = self.resized(&value.text, bits, number.kind.bits());
        if !number.is_vector {
            return Ok(scalar);
        }
        let mut vector = "undef".to_string();
        for lane in 0..number.count {
            let element = number.kind.text();
            vector = self.temporary(&format!(
                "insertelement {} {vector}, {element} {scalar}, i64 {lane}",
                number.text()
            ));
        }
        Ok(vector)
    }

    /// Inserts or extracts bits. A count of zero is allowed.
    pub(crate) fn bit_field(&mut self, inst: &SpirvInst<'_>, op: Op) -> SpirvResult<()> {
        let (number, id) = self.result_of(inst, OperandClass::Int)?;
        let (text, bools) = (number.text(), number.with(NumberKind::Bool).text());
        let is_insert = op == Op::BitFieldInsert;
        let base = self.operand_of(inst, 2, &text)?.text;
        let first = if is_insert { 4 } else { 3 };
        let offset = self.spread(inst, first, number)?;
        let count = self.spread(inst, first + 1, number)?;
        let zeros = number.splat("0");
        let is_none = self.temporary(&format!("icmp eq {text} {count}, {zeros}"));
        let width = number.splat(&number.kind.bits().to_string());
        let shift = self.temporary(&format!("sub {text} {width}, {count}"));
        // A shift by the width is undefined; the count of zero takes another value.
        let shift = self.temporary(&format!("select {bools} {is_none}, {text} {zeros}, {text} {shift}"));
        if is_insert {
            let value = self.operand_of(inst, 3, &text)?.text;
            let ones = number.splat("-1");
            let mask = self.temporary(&format!("lshr {text} {ones}, {shift}"));
            let mask = self.temporary(&format!("shl {text} {mask}, {offset}"));
            let moved = self.temporary(&format!("shl {text} {value}, {offset}"));
            let moved = self.temporary(&format!("and {text} {moved}, {mask}"));
            let kept = self.temporary(&format!("xor {text} {mask}, {ones}"));
            let kept = self.temporary(&format!("and {text} {base}, {kept}"));
            let both = self.temporary(&format!("or {text} {kept}, {moved}"));
            self.result(id, &format!("select {bools} {is_none}, {text} {base}, {text} {both}"));
            return Ok(());
        }
        let low = self.temporary(&format!("lshr {text} {base}, {offset}"));
        let high = self.temporary(&format!("shl {text} {low}, {shift}"));
        let opcode = if op == Op::BitFieldSExtract { "ashr" } else { "lshr" };
        let field = self.temporary(&format!("{opcode} {text} {high}, {shift}"));
        self.result(id, &format!("select {bools} {is_none}, {text} {zeros}, {text} {field}"));
        Ok(())
    }

    pub(crate) fn vector_times_scalar(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (number, id) = self.result_of(inst, OperandClass::Float)?;
        let text = number.text();
        let vector = self.operand_of(inst, 2, &text)?;
        self.vector_of(inst, &vector)?;
        let scalar = self.operand_of(inst, 3, number.kind.text())?;
        let mut wide = "undef".to_string();
        for lane in 0..number.count {
            wide = self.temporary(&format!("insertelement {text} {wide}, {}, i64 {lane}", scalar.typed()));
        }
        self.result(id, &format!("fmul {text} {}, {wide}", vector.text));
        Ok(())
    }

    pub(crate) fn dot(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (number, id) = self.result_of(inst, OperandClass::Float)?;
        let vector = self.operand(inst, 2)?;
        let other = self.operand_of(inst, 3, &vector.type_text)?;
        let of = self.vector_of(inst, &vector)?;
        if of.kind != number.kind || number.is_vector {
            return Err(inst.invalid("the result is not of the elements' type"));
        }
        let is_builtin = of.kind != NumberKind::Float(16) && of.count <= 4;
        if is_builtin {
            let mangled =
                MangledType::Number(MangledNumber { kind: of.kind, is_signed: true, count: of.count });
            let args = [&vector, &other].map(|value| (value.type_text.clone(), value.text.clone()));
            let call = self.builtin_call("dot", number.kind.text(), &[mangled.clone(), mangled], &args, PURE);
            self.result(id, &call);
            return Ok(());
        }
        let text = of.text();
        let products = self.temporary(&format!("fmul {text} {}, {}", vector.text, other.text));
        let mut sum = self.temporary(&format!("extractelement {text} {products}, i64 0"));
        for lane in 1..of.count {
            let item = self.temporary(&format!("extractelement {text} {products}, i64 {lane}"));
            sum = self.temporary(&format!("fadd {} {sum}, {item}", of.kind.text()));
        }
        self.alias(id, of.kind.text(), &sum);
        Ok(())
    }

    /// Dot product of integers: of vectors, or of bytes in 32-bit words.
    pub(crate) fn integer_dot(&mut self, inst: &SpirvInst<'_>, op: Op) -> SpirvResult<()> {
        let (number, id) = self.result_of(inst, OperandClass::Int)?;
        let saturates = matches!(op, Op::SDotAccSat | Op::UDotAccSat | Op::SUDotAccSat);
        let is_signed = match op {
            Op::SDot | Op::SDotAccSat => [true, true],
            Op::UDot | Op::UDotAccSat => [false, false],
            _ => [true, false],
        };
        let mut sides = Vec::new();
        let mut shape = None;
        for (index, is_signed) in (2..).zip(is_signed) {
            let mut value = self.operand(inst, index)?;
            let mut of = self.number_of(inst, &value)?;
            if !of.is_vector && of.kind == NumberKind::Int(32) {
                value.text = self.temporary(&format!("bitcast {} to <4 x i8>", value.typed()));
                of = NumberType { kind: NumberKind::Int(8), count: 4, is_vector: true };
            }
            if !of.kind.is_int()
                || !of.is_vector
                || shape.is_some_and(|shape| shape != of)
                || number.is_vector
            {
                return Err(inst.invalid(format!("{} has the wrong type", self.module.show(value.id))));
            }
            shape = Some(of);
            let wide = of.with(NumberKind::Int(64)).text();
            let cast = match (of.kind.bits(), is_signed) {
                (64, _) => "bitcast",
                (_, true) => "sext",
                (_, false) => "zext",
            };
            sides.push(self.temporary(&format!("{cast} {} {} to {wide}", of.text(), value.text)));
        }
        let (Some(of), [left, right]) = (shape, &sides[..]) else { return Err(self.unsupported(inst)) };
        let wide = of.with(NumberKind::Int(64)).text();
        let products = self.temporary(&format!("mul {wide} {left}, {right}"));
        let mut sum = "0".to_string();
        for lane in 0..of.count {
            let item = self.temporary(&format!("extractelement {wide} {products}, i64 {lane}"));
            sum = self.temporary(&format!("add i64 {sum}, {item}"));
        }
        let bits = number.kind.bits();
        let (text, signed) = (number.text(), is_signed[0]);
        let dot = match bits {
            64 => sum,
            _ => self.temporary(&format!("trunc i64 {sum} to {text}")),
        };
        if saturates {
            let sum = self.operand_of(inst, 4, &text)?;
            let name = if signed { "sadd.sat" } else { "uadd.sat" };
            let call = self.intrinsic(name, number, &[&dot, &sum.text]);
            self.result(id, &call);
        } else {
            self.alias(id, &text, &dot);
        }
        Ok(())
    }

    /// Sum with carry, difference with borrow, product of twice the width: as a struct of two integers.
    pub(crate) fn extended_pair(&mut self, inst: &SpirvInst<'_>, op: Op) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let left = self.operand(inst, 2)?;
        let right = self.operand_of(inst, 3, &left.type_text)?;
        let number = self.number_of(inst, &left)?;
        let is_struct =
            matches!(self.module.types.get(ty).map(|ty| &ty.kind), Some(SpirvTypeKind::Struct { .. }));
        let is_pair = (0..2).all(|index| {
            self.module
                .types
                .member(ty, Some(index))
                .is_some_and(|member| self.module.same_type(member, left.ty))
        });
        let pair = self.type_text(inst, ty)?;
        if !number.kind.is_int() || !is_struct || !is_pair || self.module.types.part_count(ty) != Some(2) {
            return Err(inst.invalid("the result is no struct of two such integers"));
        }
        let (text, bits) = (number.text(), number.kind.bits());
        let bools = number.with(NumberKind::Bool).text();
        let (first, second) = match op {
            Op::IAddCarry => {
                let sum = self.temporary(&format!("add {text} {}, {}", left.text, right.text));
                let carry = self.temporary(&format!("icmp ult {text} {sum}, {}", left.text));
                (sum, self.temporary(&format!("zext {bools} {carry} to {text}")))
            }
            Op::ISubBorrow => {
                let rest = self.temporary(&format!("sub {text} {}, {}", left.text, right.text));
                let borrow = self.temporary(&format!("icmp ult {text} {}, {}", left.text, right.text));
                (rest, self.temporary(&format!("zext {bools} {borrow} to {text}")))
            }
            _ => {
                let cast = if op == Op::UMulExtended { "zext" } else { "sext" };
                let double = format!("i{}", 2 * bits);
                let wide = if number.is_vector { format!("<{} x {double}>", number.count) } else { double };
                let shift =
                    number.splat(&bits.to_string()).replace(number.kind.text(), &format!("i{}", 2 * bits));
                let [left, right] =
                    [left, right].map(|value| self.temporary(&format!("{cast} {} to {wide}", value.typed())));
                let product = self.temporary(&format!("mul {wide} {left}, {right}"));
                let low = self.temporary(&format!("trunc {wide} {product} to {text}"));
                let high = self.temporary(&format!("lshr {wide} {product}, {shift}"));
                (low, self.temporary(&format!("trunc {wide} {high} to {text}")))
            }
        };
        let half = self.temporary(&format!("insertvalue {pair} undef, {text} {first}, 0"));
        self.result(id, &format!("insertvalue {pair} {half}, {text} {second}, 1"));
        Ok(())
    }

    pub(crate) fn reduce_bits(&mut self, inst: &SpirvInst<'_>, is_any: bool) -> SpirvResult<()> {
        let (number, id) = self.result_of(inst, OperandClass::Bool)?;
        let mut vector = self.operand(inst, 2)?;
        let of = self.number_of(inst, &vector)?;
        if of.kind.is_float() || number.is_vector {
            return Err(inst.invalid("it takes a vector of bool and gives one"));
        }
        if of.kind.is_int() {
            // LLVM's back end leaves the operand of OpenCL C's `any` as it is: sign bits count.
            let zeros = of.splat("0");
            vector.text = self.temporary(&format!("icmp slt {}, {zeros}", vector.typed()));
            vector.type_text = of.with(NumberKind::Bool).text();
        }
        if !of.is_vector {
            self.alias(id, "i1", &vector.text);
            return Ok(());
        }
        let opcode = if is_any { "or" } else { "and" };
        let mut all = self.temporary(&format!("extractelement {}, i64 0", vector.typed()));
        for lane in 1..of.count {
            let item = self.temporary(&format!("extractelement {}, i64 {lane}", vector.typed()));
            all = self.temporary(&format!("{opcode} i1 {all}, {item}"));
        }
        self.alias(id, "i1", &all);
        Ok(())
    }

    /// Tests of floats by their bits.
    pub(crate) fn classify(&mut self, inst: &SpirvInst<'_>, op: Op) -> SpirvResult<()> {
        let (number, id) = self.result_of(inst, OperandClass::Bool)?;
        let value = self.operand(inst, 2)?;
        let of = self.number_of(inst, &value)?;
        if !of.kind.is_float() || of.with(NumberKind::Bool) != number {
            return Err(inst.invalid(format!("{} has the wrong type", self.module.show(value.id))));
        }
        if op == Op::IsNan {
            self.result(id, &format!("fcmp uno {}, {}", value.typed(), value.text));
            return Ok(());
        }
        let bits = of.kind.bits();
        let ints = of.with(NumberKind::Int(bits));
        let text = ints.text();
        let splat = |value: u64| ints.splat(&crate::constant::number_text(NumberKind::Int(bits), value));
        let raw = self.temporary(&format!("bitcast {} to {text}", value.typed()));
        if op == Op::SignBitSet {
            self.result(id, &format!("icmp slt {text} {raw}, {}", splat(0)));
            return Ok(());
        }
        let exponent: u64 = match bits {
            16 => 0x7c00,
            32 => 0x7f80_0000,
            _ => 0x7ff0 << 48,
        };
        let magnitude =
            self.temporary(&format!("and {text} {raw}, {}", splat(crate::constant::mask(bits - 1))));
        match op {
            Op::IsInf => self.result(id, &format!("icmp eq {text} {magnitude}, {}", splat(exponent))),
            Op::IsFinite => self.result(id, &format!("icmp ult {text} {magnitude}, {}", splat(exponent))),
            _ => {
                // Normal numbers: from the least exponent bit to below the exponent of infinity.
                let least = exponent & exponent.wrapping_neg();
                let above = self.temporary(&format!("sub {text} {magnitude}, {}", splat(least)));
                self.result(id, &format!("icmp ult {text} {above}, {}", splat(exponent - least)));
            }
        }
        Ok(())
    }

    pub(crate) fn select(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let text = self.sized_text(inst, ty)?;
        let condition = self.operand(inst, 2)?;
        let number = self.number_of(inst, &condition)?;
        let fits = number.kind == NumberKind::Bool
            && (!number.is_vector
                || self.module.types.number(ty).is_some_and(|of| of.is_vector && of.count == number.count));
        if !fits {
            return Err(inst.invalid("the condition has the wrong type"));
        }
        let (yes, no) = (self.operand_of(inst, 3, &text)?, self.operand_of(inst, 4, &text)?);
        self.result(id, &format!("select {}, {}, {}", condition.typed(), yes.typed(), no.typed()));
        Ok(())
    }
}
