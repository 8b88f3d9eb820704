//! Extended instructions: OpenCL.std as calls of OpenCL C's builtins, lines of debug information.

use crate::binary::SpirvInst;
use crate::error::SpirvResult;
use crate::function::{ANY, FunctionWriter, PURE, SpirvValue};
use crate::mangle::{MangledNumber, MangledType};
use crate::module::ExtendedSet;
use crate::output::line_of;
use crate::types::{NumberKind, NumberType};
use spirv::{FPFastMathMode, FPRoundingMode, OpenclStd100Op as Std};

/// Relation of a builtin's result to its first operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResultRule {
    /// Its type.
    Same,
    /// Its elements' type.
    Element,
    /// Integers of 32 bits, as many as elements.
    Ints,
    /// Floats of the integers' width.
    Floats,
    /// Integers of twice the width.
    Double,
    /// Its elements' type, with the count of the last operand.
    Picked,
}

/// Builtin: name, sign of each parameter (`s`, `u`, `p` for a pointer), and result.
struct BuiltinRow {
    name: String,
    params: &'static str,
    rule: ResultRule,
}

fn row(op: Std) -> Option<BuiltinRow> {
    use ResultRule::*;
    let plain = format!("{op:?}");
    let (name, params, rule): (&str, &'static str, ResultRule) = match op {
        Std::fma | Std::mad | Std::mix | Std::smoothstep | Std::bitselect => (&plain, "sss", Same),
        Std::fclamp => ("clamp", "sss", Same),
        Std::fmax_common => ("max", "ss", Same),
        Std::fmin_common => ("min", "ss", Same),
        Std::select => (&plain, "sss", Same),
        Std::atan2
        | Std::atan2pi
        | Std::copysign
        | Std::fdim
        | Std::fmax
        | Std::fmin
        | Std::fmod
        | Std::hypot
        | Std::maxmag
        | Std::minmag
        | Std::nextafter
        | Std::pow
        | Std::powr
        | Std::remainder
        | Std::half_divide
        | Std::half_powr
        | Std::native_divide
        | Std::native_powr
        | Std::step
        | Std::cross
        | Std::rotate
        | Std::ldexp
        | Std::pown
        | Std::rootn => (&plain, "ss", Same),
        Std::distance | Std::fast_distance => (&plain, "ss", Element),
        Std::length | Std::fast_length => (&plain, "s", Element),
        Std::ilogb => (&plain, "s", Ints),
        Std::nan => (&plain, "u", Floats),
        Std::fract | Std::modf | Std::frexp | Std::lgamma_r | Std::sincos => (&plain, "sp", Same),
        Std::remquo => (&plain, "ssp", Same),
        Std::s_abs => ("abs", "s", Same),
        Std::u_abs => ("abs", "u", Same),
        Std::s_abs_diff => ("abs_diff", "ss", Same),
        Std::u_abs_diff => ("abs_diff", "uu", Same),
        Std::s_add_sat => ("add_sat", "ss", Same),
        Std::u_add_sat => ("add_sat", "uu", Same),
        Std::s_sub_sat => ("sub_sat", "ss", Same),
        Std::u_sub_sat => ("sub_sat", "uu", Same),
        Std::s_hadd => ("hadd", "ss", Same),
        Std::u_hadd => ("hadd", "uu", Same),
        Std::s_rhadd => ("rhadd", "ss", Same),
        Std::u_rhadd => ("rhadd", "uu", Same),
        Std::s_clamp => ("clamp", "sss", Same),
        Std::u_clamp => ("clamp", "uuu", Same),
        Std::s_mad_hi => ("mad_hi", "sss", Same),
        Std::u_mad_hi => ("mad_hi", "uuu", Same),
        Std::s_mad_sat => ("mad_sat", "sss", Same),
        Std::u_mad_sat => ("mad_sat", "uuu", Same),
        Std::s_max => ("max", "ss", Same),
        Std::u_max => ("max", "uu", Same),
        Std::s_min => ("min", "ss", Same),
        Std::u_min => ("min", "uu", Same),
        Std::s_mul_hi => ("mul_hi", "ss", Same),
        Std::u_mul_hi => ("mul_hi", "uu", Same),
        Std::s_upsample => ("upsample", "su", Double),
        Std::u_upsample => ("upsample", "uu", Double),
        Std::s_mad24 => ("mad24", "sss", Same),
        Std::u_mad24 => ("mad24", "uuu", Same),
        Std::s_mul24 => ("mul24", "ss", Same),
        Std::u_mul24 => ("mul24", "uu", Same),
        Std::shuffle => (&plain, "su", Picked),
        Std::shuffle2 => (&plain, "ssu", Picked),
        _ if is_special(op) => return None,
        // Functions of one number.
        _ => (&plain, "s", Same),
    };
    Some(BuiltinRow { name: name.into(), params, rule })
}

/// Text of a number of the builtins' parameters.
fn mangled(number: NumberType, is_signed: bool) -> MangledNumber {
    MangledNumber { kind: number.kind, is_signed, count: number.count }
}

/// True for instructions that are no calls of a builtin of numbers.
fn is_special(op: Std) -> bool {
    matches!(op, Std::printf | Std::prefetch) || is_vector_load(op) || is_vector_store(op)
}

fn is_vector_load(op: Std) -> bool {
    matches!(op, Std::vloadn | Std::vload_half | Std::vload_halfn | Std::vloada_halfn)
}

fn is_vector_store(op: Std) -> bool {
    use Std::*;
    matches!(
        op,
        vstoren
            | vstore_half
            | vstore_half_r
            | vstore_halfn
            | vstore_halfn_r
            | vstorea_halfn
            | vstorea_halfn_r
    )
}

/// True for instructions of OpenCL.std that the lowering has.
pub(crate) fn has_extended(op: Std) -> bool {
    is_special(op) || row(op).is_some()
}

impl FunctionWriter<'_, '_> {
    /// Writes an extended instruction.
    pub(crate) fn extended(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let set = inst.operand(2)?;
        let number = inst.operand(3)?;
        match self.module.sets.get(&set) {
            Some(ExtendedSet::OpenCl) => {
                let Some(op) = Std::from_u32(number) else {
                    return Err(inst.invalid(format!("OpenCL.std has no instruction {number}")));
                };
                self.open_cl(inst, op).map_err(|error| error.of(|| format!("OpExtInst {op:?}")))
            }
            Some(ExtendedSet::ShaderDebug) => {
                if let Some((_, line, column)) = line_of(self.module, inst) {
                    let source = inst.words.get(4).and_then(|id| self.module.debug.get(id));
                    let file = source.and_then(|source| source.words.get(4)).copied();
                    self.set_location(Some((file, line, column)));
                }
                Ok(())
            }
            Some(ExtendedSet::OpenClDebug | ExtendedSet::NonSemantic) => Ok(()),
            Some(ExtendedSet::Unknown) => {
                let reason = format!("the instruction set {} is unknown", self.module.show(set));
                Err(inst.unsupported(reason, "use OpenCL.std"))
            }
            None => Err(inst.invalid(format!("{} is no instruction set", self.module.show(set)))),
        }
    }

    fn open_cl(&mut self, inst: &SpirvInst<'_>, op: Std) -> SpirvResult<()> {
        // clang writes `min` as `fmin`, which has to ignore NaNs.
        let has_no_nan = inst
            .words
            .get(1)
            .is_some_and(|&id| self.fast_mode(id).intersects(FPFastMathMode::NOT_NAN | FPFastMathMode::FAST));
        let op = match op {
            Std::fmin if has_no_nan => Std::fmin_common,
            Std::fmax if has_no_nan => Std::fmax_common,
            _ => op,
        };
        match op {
            Std::printf => self.printf(inst),
            // A hint.
            Std::prefetch => Ok(()),
            _ if is_vector_load(op) => self.vector_load(inst, op),
            _ if is_vector_store(op) => self.vector_store(inst, op),
            _ => match row(op) {
                Some(row) => self.builtin_row(inst, op, &row),
                None => Err(self.unsupported(inst)),
            },
        }
    }

    fn builtin_row(&mut self, inst: &SpirvInst<'_>, op: Std, row: &BuiltinRow) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let result = self.number_type(inst, ty)?;
        let given = inst.words.len().saturating_sub(4);
        if given != row.params.len() {
            return Err(inst.invalid(format!("it takes {} operands, not {given}", row.params.len())));
        }
        let (mut types, mut args, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (index, sign) in row.params.bytes().enumerate() {
            if sign == b'p' {
                let (pointer, space, _) = self.pointer(inst, 4 + index)?;
                if space == 2 {
                    return Err(inst.invalid("constant memory cannot be written"));
                }
                // The type that OpenCL C's function writes, whatever the pointer's type is.
                let kind = match op {
                    Std::frexp | Std::lgamma_r | Std::remquo => NumberKind::Int(32),
                    _ => result.kind,
                };
                let pointee = mangled(result.with(kind), true);
                types.push(MangledType::Pointer { space, is_const: false, pointee });
                args.push((pointer.type_text, pointer.text));
                continue;
            }
            let value = self.operand(inst, 4 + index)?;
            let number = self.number_of(inst, &value)?;
            if matches!(number.kind, NumberKind::Bool | NumberKind::BFloat) {
                return Err(inst.invalid(format!(
                    "{} is of type {}",
                    self.module.show(value.id),
                    number.text()
                )));
            }
            types.push(MangledType::Number(mangled(number, sign == b's')));
            args.push((value.type_text.clone(), value.text.clone()));
            values.push((value, number));
        }
        self.check_row(inst, op, row, result, &values)?;
        // OpenCL C has fast functions of floats only.
        let is_fast = ["fast_", "half_", "native_"].iter().any(|prefix| row.name.starts_with(prefix));
        if is_fast && values.iter().any(|(_, number)| number.kind == NumberKind::Float(16)) {
            return self.fast_half(inst, row, result, &values);
        }
        let attributes = if row.params.contains('p') { ANY } else { PURE };
        let text = result.text();
        let call = self.builtin_call(&row.name, &text, &types, &args, attributes);
        self.result(id, &call);
        Ok(())
    }

    /// Checks that operands and result have types that OpenCL C has a function for.
    fn check_row(
        &self,
        inst: &SpirvInst<'_>,
        op: Std,
        row: &BuiltinRow,
        result: NumberType,
        values: &[(SpirvValue, NumberType)],
    ) -> SpirvResult<()> {
        let Some((_, first)) = values.first() else { return Ok(()) };
        let fits = match row.rule {
            ResultRule::Same => result == *first,
            ResultRule::Element => result == NumberType::scalar(first.kind),
            ResultRule::Ints => result == first.with(NumberKind::Int(32)),
            ResultRule::Floats => result == first.with(NumberKind::Float(first.kind.bits())),
            ResultRule::Double => result == first.with(NumberKind::Int(2 * first.kind.bits())),
            ResultRule::Picked => {
                let picked = values.last().map(|(_, number)| *number);
                // OpenCL C shuffles vectors of 2, 4, 8 and 16 elements.
                let is_fit = |count: u32| count > 1 && count != 3;
                picked.is_some_and(|number| {
                    result == number.with(first.kind)
                        && number.kind == NumberKind::Int(first.kind.bits())
                        && is_fit(first.count)
                        && is_fit(number.count)
                })
            }
        };
        // Integers take functions of integers, floats those of floats; some functions have both.
        let is_integer = matches!(op, Std::clz | Std::ctz | Std::popcount | Std::rotate | Std::nan)
            || !matches!(row.rule, ResultRule::Picked)
                && format!("{op:?}").starts_with(['s', 'u'])
                && format!("{op:?}").as_bytes().get(1) == Some(&b'_');
        let is_both = matches!(op, Std::bitselect | Std::select | Std::shuffle | Std::shuffle2);
        let class = is_both || if is_integer { first.kind.is_int() } else { first.kind.is_float() };
        let others = values.iter().enumerate().skip(1).all(|(index, (_, number))| match (op, row.rule) {
            (Std::select, _) if index == 2 => *number == first.with(NumberKind::Int(first.kind.bits())),
            (Std::ldexp | Std::pown | Std::rootn, _) => *number == first.with(NumberKind::Int(32)),
            (_, ResultRule::Picked) => number.kind.bits() == first.kind.bits(),
            _ => number == first,
        });
        let is_narrow = matches!(
            op,
            Std::length
                | Std::fast_length
                | Std::distance
                | Std::fast_distance
                | Std::normalize
                | Std::fast_normalize
                | Std::cross
        );
        let is_short = !is_narrow || first.count <= 4 && (op != Std::cross || first.count >= 3);
        let is_24 = !matches!(op, Std::s_mad24 | Std::u_mad24 | Std::s_mul24 | Std::u_mul24)
            || first.kind == NumberKind::Int(32);
        let is_fast = matches!(op, Std::fast_length | Std::fast_distance | Std::fast_normalize);
        let is_single =
            !(is_fast || format!("{op:?}").starts_with("native_") || format!("{op:?}").starts_with("half_"))
                || matches!(first.kind, NumberKind::Float(16 | 32));
        let is_upsampled = row.rule != ResultRule::Double || first.kind.bits() < 64;
        if fits && class && others && is_short && is_24 && is_single && is_upsampled {
            return Ok(());
        }
        let list: Vec<String> = values.iter().map(|(_, number)| number.text()).collect();
        Err(inst.invalid(format!(
            "there is no such function of {} that gives {}",
            list.join(", "),
            result.text()
        )))
    }

    /// Calls a fast function of floats for halves.
    fn fast_half(
        &mut self,
        inst: &SpirvInst<'_>,
        row: &BuiltinRow,
        result: NumberType,
        values: &[(SpirvValue, NumberType)],
    ) -> SpirvResult<()> {
        let (mut types, mut args) = (Vec::new(), Vec::new());
        for (value, number) in values {
            let wide = match number.kind {
                NumberKind::Float(16) => number.with(NumberKind::Float(32)),
                _ => *number,
            };
            let text = match wide == *number {
                true => value.text.clone(),
                false => self.temporary(&format!("fpext {} to {}", value.typed(), wide.text())),
            };
            types.push(MangledType::Number(mangled(wide, true)));
            args.push((wide.text(), text));
        }
        let id = inst.operand(1)?;
        let wide = match result.kind {
            NumberKind::Float(_) => result.with(NumberKind::Float(32)),
            _ => result,
        };
        let call = self.builtin_call(&row.name, &wide.text(), &types, &args, PURE);
        if wide == result {
            self.result(id, &call);
            return Ok(());
        }
        let value = self.temporary(&call);
        self.result(id, &format!("fptrunc {} {value} to {}", wide.text(), result.text()));
        Ok(())
    }

    fn printf(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let id = inst.operand(1)?;
        self.check_type(inst, inst.operand(0)?, "i32")?;
        let (format, space, _) = self.pointer(inst, 4)?;
        let mut text = format.text.clone();
        if space != 2 {
            text = self.temporary(&format!("addrspacecast {} to ptr addrspace(2)", format.typed()));
        }
        let mut args = vec![format!("ptr addrspace(2) {text}")];
        for &arg in inst.words.get(5..).unwrap_or_default() {
            let value = self.value(inst, arg)?;
            let is_pointer = self.module.types.pointer(value.ty).is_some();
            match self.module.types.number(value.ty) {
                None if is_pointer => args.push(value.typed()),
                // C's promotions.
                Some(number) if !number.is_vector && number.kind.is_float() && number.kind.bits() < 64 => {
                    let wide = self.temporary(&format!("fpext {} to double", value.typed()));
                    args.push(format!("double {wide}"));
                }
                Some(number) if !number.is_vector && number.kind.bits() < 32 => {
                    let cast = if number.kind == NumberKind::Bool { "zext" } else { "sext" };
                    let wide = self.temporary(&format!("{cast} {} to i32", value.typed()));
                    args.push(format!("i32 {wide}"));
                }
                Some(_) => args.push(value.typed()),
                None => {
                    let name = self.module.show(arg);
                    return Err(inst.invalid(format!("{name} is neither a number nor a pointer")));
                }
            }
        }
        self.output.declare("printf", "i32", "ptr addrspace(2), ...", ANY);
        let list = args.join(", ");
        self.result(id, &format!("call spir_func i32 (ptr addrspace(2), ...) @printf({list}) {ANY}"));
        Ok(())
    }

    /// Returns an offset as `size_t`.
    fn offset(&mut self, inst: &SpirvInst<'_>, index: usize) -> SpirvResult<String> {
        let value = self.index(inst, index)?;
        let bits = self.number_of(inst, &value)?.kind.bits();
        Ok(self.resized(&value.text, bits, 64))
    }

    fn vector_load(&mut self, inst: &SpirvInst<'_>, op: Std) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let result = self.number_type(inst, ty)?;
        let offset = self.offset(inst, 4)?;
        let (pointer, space, _) = self.pointer(inst, 5)?;
        let is_vector = op != Std::vload_half;
        let is_count = !is_vector || inst.operand(6)? == result.count;
        let is_half = op != Std::vloadn;
        if result.is_vector != is_vector || !is_count || is_half && result.kind != NumberKind::Float(32) {
            return Err(inst.invalid("the result has the wrong type"));
        }
        let count = if is_vector { result.count.to_string() } else { String::new() };
        let name = match op {
            Std::vloadn => format!("vload{count}"),
            Std::vloada_halfn => format!("vloada_half{count}"),
            _ => format!("vload_half{count}"),
        };
        let kind = if is_half { NumberKind::Float(16) } else { result.kind };
        if matches!(kind, NumberKind::Bool | NumberKind::BFloat) {
            return Err(inst.invalid("the result has the wrong type"));
        }
        let pointee = mangled(NumberType::scalar(kind), true);
        let types = [size_type(), MangledType::Pointer { space, is_const: true, pointee }];
        let args = [("i64".to_string(), offset), (pointer.type_text, pointer.text)];
        let call = self.builtin_call(&name, &result.text(), &types, &args, ANY);
        self.result(id, &call);
        Ok(())
    }

    fn vector_store(&mut self, inst: &SpirvInst<'_>, op: Std) -> SpirvResult<()> {
        self.check_type(inst, inst.operand(0)?, "void")?;
        let data = self.operand(inst, 4)?;
        let number = self.number_of(inst, &data)?;
        let offset = self.offset(inst, 5)?;
        let (pointer, space, _) = self.pointer(inst, 6)?;
        let is_vector = !matches!(op, Std::vstore_half | Std::vstore_half_r);
        let is_half = op != Std::vstoren;
        let is_fit = match is_half {
            true => matches!(number.kind, NumberKind::Float(32 | 64)),
            false => !matches!(number.kind, NumberKind::Bool | NumberKind::BFloat),
        };
        if number.is_vector != is_vector || !is_fit || space == 2 {
            return Err(inst.invalid(format!("{} cannot be stored like that", self.module.show(data.id))));
        }
        let count = if is_vector { number.count.to_string() } else { String::new() };
        let mode = match op {
            Std::vstore_half_r | Std::vstore_halfn_r | Std::vstorea_halfn_r => {
                match FPRoundingMode::from_u32(inst.operand(7)?) {
                    Some(FPRoundingMode::RTE) => "_rte",
                    Some(FPRoundingMode::RTZ) => "_rtz",
                    Some(FPRoundingMode::RTP) => "_rtp",
                    Some(FPRoundingMode::RTN) => "_rtn",
                    _ => return Err(inst.invalid("the rounding mode is unknown")),
                }
            }
            _ => "",
        };
        let base = match op {
            Std::vstoren => "vstore",
            Std::vstorea_halfn | Std::vstorea_halfn_r => "vstorea_half",
            _ => "vstore_half",
        };
        let kind = if is_half { NumberKind::Float(16) } else { number.kind };
        let pointee = mangled(NumberType::scalar(kind), true);
        let types = [
            MangledType::Number(mangled(number, true)),
            size_type(),
            MangledType::Pointer { space, is_const: false, pointee },
        ];
        let args =
            [(data.type_text, data.text), ("i64".to_string(), offset), (pointer.type_text, pointer.text)];
        let call = self.builtin_call(&format!("{base}{count}{mode}"), "void", &types, &args, ANY);
        self.line(&call);
        Ok(())
    }
}

/// `size_t`.
fn size_type() -> MangledType {
    MangledType::Number(MangledNumber { kind: NumberKind::Int(64), is_signed: false, count: 1 })
}
