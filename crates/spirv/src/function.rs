//! Functions: control flow, values, calls.

use crate::binary::SpirvInst;
use crate::dominance::ValueFlow;
use crate::error::{SpirvError, SpirvResult};
use crate::mangle::{MangledNumber, MangledType, mangle};
use crate::module::{SpirvFunction, SpirvModule, ends_block, has_no_result, is_intrinsic};
use crate::output::ModuleWriter;
use crate::refusal::refusal;
use crate::types::{NumberKind, NumberType, SpirvTypeKind, pointer_text};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{BuiltIn, Op};
use std::fmt::Write as _;

/// Maximum bytes of a constant's text in an instruction.
const MAX_OPERAND: usize = 1 << 16;

/// Reason of an instruction that neither has a lowering nor is refused by name.
pub(crate) const NO_LOWERING: &str = "the instruction is not supported";

/// Attributes of functions that only compute.
pub(crate) const PURE: &str = "convergent nounwind willreturn memory(none)";
/// Attributes of functions that access memory or wait.
pub(crate) const ANY: &str = "convergent nounwind";

/// Builtin variables that are functions of a dimension.
const QUERIES: [(BuiltIn, &str); 8] = [
    (BuiltIn::GlobalInvocationId, "get_global_id"),
    (BuiltIn::LocalInvocationId, "get_local_id"),
    (BuiltIn::WorkgroupId, "get_group_id"),
    (BuiltIn::NumWorkgroups, "get_num_groups"),
    (BuiltIn::WorkgroupSize, "get_local_size"),
    (BuiltIn::EnqueuedWorkgroupSize, "get_enqueued_local_size"),
    (BuiltIn::GlobalSize, "get_global_size"),
    (BuiltIn::GlobalOffset, "get_global_offset"),
];
/// Builtin variables that are functions without parameters, with the width of their results.
const SCALARS: [(BuiltIn, &str, u32); 9] = [
    (BuiltIn::WorkDim, "get_work_dim", 32),
    (BuiltIn::GlobalLinearId, "get_global_linear_id", 64),
    (BuiltIn::LocalInvocationIndex, "get_local_linear_id", 64),
    (BuiltIn::SubgroupSize, "get_sub_group_size", 32),
    (BuiltIn::SubgroupMaxSize, "get_max_sub_group_size", 32),
    (BuiltIn::NumSubgroups, "get_num_sub_groups", 32),
    (BuiltIn::NumEnqueuedSubgroups, "get_enqueued_num_sub_groups", 32),
    (BuiltIn::SubgroupId, "get_sub_group_id", 32),
    (BuiltIn::SubgroupLocalInvocationId, "get_sub_group_local_id", 32),
];
/// Builtin variables that are masks of lanes.
const MASKS: [(BuiltIn, &str); 5] = [
    (BuiltIn::SubgroupEqMask, "get_sub_group_eq_mask"),
    (BuiltIn::SubgroupGeMask, "get_sub_group_ge_mask"),
    (BuiltIn::SubgroupGtMask, "get_sub_group_gt_mask"),
    (BuiltIn::SubgroupLeMask, "get_sub_group_le_mask"),
    (BuiltIn::SubgroupLtMask, "get_sub_group_lt_mask"),
];

/// True for builtin variables that the lowering has.
pub(crate) fn has_builtin(builtin: BuiltIn) -> bool {
    QUERIES.iter().any(|(known, _)| *known == builtin)
        || SCALARS.iter().any(|(known, ..)| *known == builtin)
        || MASKS.iter().any(|(known, _)| *known == builtin)
}

/// Value in LLVM's text.
#[derive(Clone, Debug)]
pub(crate) struct SpirvValue {
    pub(crate) id: u32,
    pub(crate) ty: u32,
    /// Without the type.
    pub(crate) text: String,
    /// Text of the type.
    pub(crate) type_text: String,
}

impl SpirvValue {
    /// Text with the type.
    pub(crate) fn typed(&self) -> String {
        format!("{} {}", self.type_text, self.text)
    }
}

/// Writer of one function.
pub(crate) struct FunctionWriter<'m, 'w> {
    pub(crate) module: &'m SpirvModule<'w>,
    pub(crate) output: &'m mut ModuleWriter,
    func: &'m SpirvFunction<'w>,
    /// Types of parameters and results.
    types: FxHashMap<u32, u32>,
    /// Images and samplers of sampled images.
    pub(crate) sampled: FxHashMap<u32, (SpirvValue, SpirvValue)>,
    labels: FxHashSet<u32>,
    /// Numbers of edges between blocks.
    edges: FxHashMap<(u32, u32), u32>,
    /// Numbers of blocks with an edge to a block.
    predecessors: FxHashMap<u32, usize>,
    flow: ValueFlow,
    /// Variables and builtins, at the start of the entry block.
    prologue: String,
    body: String,
    /// Length of the body after the φs of the block.
    phis_end: usize,
    builtins: FxHashSet<u32>,
    next: u32,
    block: u32,
    /// Metadata of the subprogram.
    subprogram: u32,
    /// True if the function has no lines: words of the module, which errors name too, stand for them.
    numbers_words: bool,
    /// Suffix of instructions: their line.
    location: String,
}

/// Text of a function's body, and its subprogram.
pub(crate) struct FunctionBody {
    pub(crate) text: String,
    pub(crate) subprogram: Option<u32>,
}

/// Returns the targets of a terminator with multiplicity.
fn targets(module: &SpirvModule<'_>, inst: &SpirvInst<'_>, selector: Option<u32>) -> SpirvResult<Vec<u32>> {
    Ok(match inst.op {
        Some(Op::Branch) => vec![inst.operand(0)?],
        Some(Op::BranchConditional) => {
            let (yes, no) = (inst.operand(1)?, inst.operand(2)?);
            if yes == no { vec![yes] } else { vec![yes, no] }
        }
        Some(Op::Switch) => {
            let mut list = vec![inst.operand(1)?];
            list.extend(switch_cases(module, inst, selector)?.into_iter().map(|(_, target)| target));
            list
        }
        _ => Vec::new(),
    })
}

/// Returns the literals and targets of a switch.
fn switch_cases(
    module: &SpirvModule<'_>,
    inst: &SpirvInst<'_>,
    selector: Option<u32>,
) -> SpirvResult<Vec<(u64, u32)>> {
    let number = selector.and_then(|ty| module.types.number(ty));
    let Some(number) = number.filter(|it| it.kind.is_int() && !it.is_vector) else {
        return Err(inst.invalid("the selector is no integer"));
    };
    let words = inst.words.get(2..).unwrap_or_default();
    let literal = if number.kind.bits() == 64 { 2 } else { 1 };
    let mut cases = Vec::new();
    for case in words.chunks(literal + 1) {
        match *case {
            [low, high, target] if literal == 2 => {
                cases.push((u64::from(high) << 32 | u64::from(low), target));
            }
            [value, target] if literal == 1 => cases.push((value.into(), target)),
            _ => return Err(inst.invalid("a case lacks its target")),
        }
    }
    Ok(cases)
}

impl<'m, 'w> FunctionWriter<'m, 'w> {
    /// Writes the body of a function.
    pub(crate) fn write(
        module: &'m SpirvModule<'w>,
        output: &'m mut ModuleWriter,
        func: &'m SpirvFunction<'w>,
        name: &str,
    ) -> SpirvResult<FunctionBody> {
        let has_lines =
            func.body.iter().any(|inst| inst.op == Some(Op::Line) || output.is_line(module, inst));
        let subprogram = output.subprogram(module, func, name);
        let mut writer = FunctionWriter {
            module,
            output,
            func,
            types: func.params.iter().copied().collect(),
            sampled: FxHashMap::default(),
            labels: FxHashSet::default(),
            edges: FxHashMap::default(),
            predecessors: FxHashMap::default(),
            flow: ValueFlow::default(),
            prologue: String::new(),
            body: String::new(),
            phis_end: 0,
            builtins: FxHashSet::default(),
            next: 0,
            block: 0,
            subprogram,
            numbers_words: !has_lines,
            location: String::new(),
        };
        for &id in func.params.iter().map(|(id, _)| id).chain([&func.id]) {
            let inst =
                SpirvInst { op: Some(Op::Function), number: Op::Function as u32, at: func.at, words: &[] };
            module.check_decorations(&inst, id)?;
        }
        let entry = func.body.first().map(|inst| inst.operand(0)).transpose()?.unwrap_or_default();
        writer.survey(entry)?;
        writer.set_location(None);
        let mut is_open = false;
        for inst in &func.body {
            writer.place(inst, entry, &mut is_open).map_err(|error| error.of(|| inst.name()))?;
            if writer.body.len() + writer.output.len() > writer.output.limit {
                let reason = "the program becomes too long";
                return Err(inst.unsupported(reason, "keep large constants in buffers"));
            }
        }
        writer.check_dominance(entry)?;
        let text = format!("b{entry}:\n{}{}", writer.prologue, writer.body);
        Ok(FunctionBody { text, subprogram: Some(subprogram) })
    }

    /// Checks that definitions dominate their uses.
    fn check_dominance(&self, entry: u32) -> SpirvResult<()> {
        let mut edges: Vec<(u32, u32)> = self.edges.keys().copied().collect();
        edges.sort_unstable();
        let Some(found) = self.flow.undominated(entry, &edges) else { return Ok(()) };
        let reason = format!("{} is used where a path leads past its definition", self.module.show(found.id));
        let user = self.func.body.iter().find(|inst| inst.at == found.word);
        Err(user.map_or_else(|| SpirvError::invalid(found.word, &*reason), |inst| inst.invalid(&*reason)))
    }

    /// Collects labels, types of results and edges.
    fn survey(&mut self, entry: u32) -> SpirvResult<()> {
        let module = self.module;
        let mut defined: FxHashSet<u32> = self.types.keys().copied().collect();
        let mut block = entry;
        for inst in &self.func.body {
            let Some(op) = inst.op else {
                let reason = "the opcode is unknown";
                return Err(
                    inst.unsupported(reason, "write a module without the extension that it belongs to")
                );
            };
            let id = match op {
                Op::Label => inst.operand(0)?,
                _ if has_no_result(op) => continue,
                _ => inst.operand(1)?,
            };
            let is_new = defined.insert(id)
                && !module.constants.contains_key(&id)
                && !module.variable_of.contains_key(&id)
                && !module.function_of.contains_key(&id)
                && module.types.get(id).is_none();
            if !is_new {
                return Err(inst.invalid(format!("{} is defined twice", module.show(id))));
            }
            module.check_decorations(inst, id)?;
            match op {
                Op::Label => {
                    self.labels.insert(id);
                    block = id;
                }
                _ => {
                    self.types.insert(id, inst.operand(0)?);
                    self.flow.define(id, block);
                }
            }
        }
        let mut block = 0;
        for inst in &self.func.body {
            match inst.op {
                Some(Op::Label) => block = inst.operand(0)?,
                Some(op) if ends_block(op) => {
                    let selector = inst.words.first().and_then(|&id| self.type_of(id));
                    for target in targets(module, inst, selector)? {
                        if !self.labels.contains(&target) {
                            let reason = format!("{} is no label of the function", module.show(target));
                            return Err(inst.invalid(reason));
                        }
                        if target == entry {
                            let reason =
                                format!("{} is the first block of the function", module.show(target));
                            return Err(inst.invalid(reason));
                        }
                        let edges = self.edges.entry((block, target)).or_default();
                        if *edges == 0 {
                            *self.predecessors.entry(target).or_default() += 1;
                        }
                        *edges += 1;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Type of a value that is defined anywhere.
    pub(crate) fn type_of(&self, id: u32) -> Option<u32> {
        let constant = || self.module.constants.get(&id).map(|constant| constant.ty);
        let variable = || self.module.variable_of.get(&id).map(|&index| self.module.variables[index].ty);
        self.types.get(&id).copied().or_else(constant).or_else(variable)
    }

    /// Writes an instruction at its position.
    fn place(&mut self, inst: &SpirvInst<'w>, entry: u32, is_open: &mut bool) -> SpirvResult<()> {
        let Some(op) = inst.op else { return Ok(()) };
        match op {
            Op::Label => {
                if *is_open {
                    return Err(inst.invalid("the block before has no terminator"));
                }
                self.block = inst.operand(0)?;
                *is_open = true;
                if self.block != entry {
                    let _ = writeln!(self.body, "b{}:", self.block);
                }
                self.phis_end = self.body.len();
                self.set_location(None);
                return Ok(());
            }
            Op::Line => {
                let (file, line, column) = (inst.operand(0)?, inst.operand(1)?, inst.operand(2)?);
                self.set_location(Some((Some(file), line, column)));
                return Ok(());
            }
            Op::NoLine => {
                self.set_location(None);
                return Ok(());
            }
            _ => {}
        }
        if !*is_open {
            return match op {
                Op::ExtInst => Ok(()),
                _ => Err(inst.invalid("the instruction is outside of a block")),
            };
        }
        if self.numbers_words {
            self.set_location(Some((None, inst.at as u32, 0)));
        }
        if ends_block(op) {
            *is_open = false;
            return self.terminator(inst, op);
        }
        self.instruction(inst, op)?;
        if !has_no_result(op) {
            self.flow.complete(inst.operand(1)?);
        }
        Ok(())
    }

    /// Sets the line of the next instructions: file, line, column.
    pub(crate) fn set_location(&mut self, at: Option<(Option<u32>, u32, u32)>) {
        let (file, line, column) = at.unwrap_or((None, 0, 0));
        let file = file.and_then(|file| self.module.strings.get(&file)).cloned();
        let node = self.output.location(self.subprogram, file.as_deref(), line, column);
        self.location = format!(", !dbg !{node}");
    }

    /// Writes a line of the body.
    pub(crate) fn line(&mut self, text: &str) {
        let location = &self.location;
        let _ = writeln!(self.body, "  {text}{location}");
    }

    /// Writes an instruction with a new temporary as its result.
    pub(crate) fn temporary(&mut self, text: &str) -> String {
        self.next += 1;
        let name = format!("%t{}", self.next);
        self.line(&format!("{name} = {text}"));
        name
    }

    /// Writes an instruction that gives the result of a SPIR-V instruction.
    pub(crate) fn result(&mut self, id: u32, text: &str) {
        self.line(&format!("%v{id} = {text}"));
    }

    /// Defines a result as a copy of a value.
    pub(crate) fn alias(&mut self, id: u32, ty: &str, text: &str) {
        // A select of one value is removed by the first pass; LLVM IR has no copies.
        self.result(id, &format!("select i1 true, {ty} {text}, {ty} {text}"));
    }

    /// Text of a type.
    pub(crate) fn type_text(&self, inst: &SpirvInst<'_>, ty: u32) -> SpirvResult<String> {
        match self.module.types.get(ty) {
            Some(of) if !of.text.is_empty() => Ok(of.text.clone()),
            _ => Err(self.module.undefined(inst, ty, "type of values")),
        }
    }

    /// Text of the type of a value in memory.
    pub(crate) fn sized_text(&self, inst: &SpirvInst<'_>, ty: u32) -> SpirvResult<String> {
        match self.module.types.get(ty) {
            Some(of) if self.module.types.is_sized(ty) => Ok(of.text.clone()),
            Some(of) if of.kind == SpirvTypeKind::Opaque => {
                let reason = "pipes and queues of the device are not supported";
                Err(inst.unsupported(reason, "use buffers"))
            }
            _ => Err(self.module.undefined(inst, ty, "type of values in memory")),
        }
    }

    /// Notes that an instruction of the current block uses a value.
    pub(crate) fn note_use(&mut self, inst: &SpirvInst<'_>, id: u32) {
        self.flow.note_use(id, self.block, inst.at);
    }

    /// Returns an operand.
    pub(crate) fn value(&mut self, inst: &SpirvInst<'_>, id: u32) -> SpirvResult<SpirvValue> {
        self.note_use(inst, id);
        self.look_up(inst, id)
    }

    fn look_up(&mut self, inst: &SpirvInst<'_>, id: u32) -> SpirvResult<SpirvValue> {
        let module = self.module;
        let (ty, text) = if let Some(&ty) = self.types.get(&id) {
            (ty, format!("%v{id}"))
        } else if let Some(constant) = module.constants.get(&id) {
            if constant.text.len() > MAX_OPERAND {
                let reason = format!("{} is too large a constant for an instruction", module.show(id));
                return Err(inst.unsupported(reason, "keep it in a variable of constant memory"));
            }
            (constant.ty, constant.text.to_string())
        } else if let Some(&index) = module.variable_of.get(&id) {
            let variable = &module.variables[index];
            match variable.builtin {
                Some(builtin) => (variable.ty, self.builtin(inst, id, variable.pointee, builtin)?),
                None => (variable.ty, module.symbol_text(id)),
            }
        } else {
            return Err(module.undefined(inst, id, "value"));
        };
        let type_text = self.type_text(inst, ty)?;
        if type_text == "void" {
            return Err(inst.invalid(format!("{} has no value", module.show(id))));
        }
        Ok(SpirvValue { id, ty, text, type_text })
    }

    /// Returns the operand at an index of the instruction's words.
    pub(crate) fn operand(&mut self, inst: &SpirvInst<'_>, index: usize) -> SpirvResult<SpirvValue> {
        self.value(inst, inst.operand(index)?)
    }

    /// Number type of a value.
    pub(crate) fn number_of(&self, inst: &SpirvInst<'_>, value: &SpirvValue) -> SpirvResult<NumberType> {
        self.module.types.number(value.ty).ok_or_else(|| {
            inst.invalid(format!("{} is neither a number nor a vector", self.module.show(value.id)))
        })
    }

    /// Number type with this id.
    pub(crate) fn number_type(&self, inst: &SpirvInst<'_>, ty: u32) -> SpirvResult<NumberType> {
        self.module
            .types
            .number(ty)
            .ok_or_else(|| self.module.undefined(inst, ty, "type of numbers or vectors"))
    }

    /// Returns an operand that has a type.
    pub(crate) fn operand_of(
        &mut self,
        inst: &SpirvInst<'_>,
        index: usize,
        type_text: &str,
    ) -> SpirvResult<SpirvValue> {
        let value = self.operand(inst, index)?;
        self.expect(inst, &value, type_text)?;
        Ok(value)
    }

    /// Checks a value's type.
    pub(crate) fn expect(
        &self,
        inst: &SpirvInst<'_>,
        value: &SpirvValue,
        type_text: &str,
    ) -> SpirvResult<()> {
        if value.type_text == type_text {
            return Ok(());
        }
        let name = self.module.show(value.id);
        Err(inst.invalid(format!("{name} is of type {}, not {type_text}", value.type_text)))
    }

    /// Returns a pointer operand with its address space and pointee.
    pub(crate) fn pointer(
        &mut self,
        inst: &SpirvInst<'_>,
        index: usize,
    ) -> SpirvResult<(SpirvValue, u32, u32)> {
        let value = self.operand(inst, index)?;
        match self.module.types.pointer(value.ty) {
            Some((space, pointee)) => Ok((value, space, pointee)),
            None => Err(inst.invalid(format!("{} is no pointer", self.module.show(value.id)))),
        }
    }

    /// Writes a call of a function that is declared with these attributes. Returns the call's text.
    pub(crate) fn call_text(
        &mut self,
        name: &str,
        result: &str,
        args: &[(String, String)],
        attributes: &str,
    ) -> String {
        let types: Vec<&str> = args.iter().map(|(ty, _)| &**ty).collect();
        self.output.declare(name, result, &types.join(", "), attributes);
        let args: Vec<String> = args.iter().map(|(ty, text)| format!("{ty} {text}")).collect();
        format!("call spir_func {result} @{}({}) {attributes}", crate::text::quoted(name), args.join(", "))
    }

    /// Writes a call of a builtin of OpenCL C, by its plain name and the types in its mangled name.
    pub(crate) fn builtin_call(
        &mut self,
        name: &str,
        result: &str,
        mangled: &[MangledType],
        args: &[(String, String)],
        attributes: &str,
    ) -> String {
        self.call_text(&mangle(name, mangled), result, args, attributes)
    }

    /// Returns the address of a builtin variable: of a copy that the entry block makes.
    fn builtin(
        &mut self,
        inst: &SpirvInst<'_>,
        id: u32,
        pointee: u32,
        builtin: BuiltIn,
    ) -> SpirvResult<String> {
        let address = format!("%builtin{id}");
        if !self.builtins.insert(id) {
            return Ok(address);
        }
        let number = self.number_type(inst, pointee)?;
        if !number.kind.is_int() {
            return Err(inst.invalid(format!("{} is not of integers", self.module.show(id))));
        }
        let unsigned = |bits| MangledNumber { kind: NumberKind::Int(bits), is_signed: false, count: 1 };
        // Instructions of the prologue go through the body's writer, which is set aside.
        let body = std::mem::take(&mut self.body);
        let element = number.kind.text();
        let text = number.text();
        let value = if let Some((_, name)) = QUERIES.iter().find(|(known, _)| *known == builtin) {
            let mut vector = "undef".to_string();
            for dimension in 0..number.count {
                let param = [MangledType::Number(unsigned(32))];
                let argument = [("i32".to_string(), dimension.to_string())];
                let call = self.builtin_call(name, "i64", &param, &argument, PURE);
                let item = self.temporary(&call);
                let item = self.resized(&item, 64, number.kind.bits());
                vector = match number.is_vector {
                    true => self.temporary(&format!(
                        "insertelement {text} {vector}, {element} {item}, i64 {dimension}"
                    )),
                    false => item,
                };
            }
            Some(vector)
        } else if let Some(&(_, name, bits)) = SCALARS.iter().find(|(known, ..)| *known == builtin)
            && !number.is_vector
        {
            let call = self.builtin_call(name, &format!("i{bits}"), &[], &[], PURE);
            let item = self.temporary(&call);
            Some(self.resized(&item, bits, number.kind.bits()))
        } else if let Some((_, name)) = MASKS.iter().find(|(known, _)| *known == builtin)
            && text == "<4 x i32>"
        {
            let call = self.builtin_call(name, &text, &[], &[], ANY);
            Some(self.temporary(&call))
        } else {
            None
        };
        let written = std::mem::replace(&mut self.body, body);
        let Some(value) = value else {
            let reason = format!("the builtin {builtin:?} is not supported in this type");
            return Err(inst.unsupported(reason, "use the builtins of OpenCL C"));
        };
        self.prologue.push_str(&written);
        let location = &self.location;
        let _ = writeln!(self.prologue, "  {address} = alloca {text}{location}");
        let _ = writeln!(self.prologue, "  store {text} {value}, ptr {address}{location}");
        Ok(address)
    }

    /// Extends or truncates an unsigned integer.
    pub(crate) fn resized(&mut self, text: &str, from: u32, to: u32) -> String {
        match from.cmp(&to) {
            std::cmp::Ordering::Equal => text.into(),
            std::cmp::Ordering::Less => self.temporary(&format!("zext i{from} {text} to i{to}")),
            std::cmp::Ordering::Greater => self.temporary(&format!("trunc i{from} {text} to i{to}")),
        }
    }

    /// Writes a variable of the function.
    pub(crate) fn variable(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let Some((0, mut pointee)) = self.module.types.pointer(ty) else {
            return Err(inst.invalid("a variable of a function is outside of the storage class Function"));
        };
        let mut initializer = 3;
        if inst.op == Some(Op::UntypedVariableKHR) {
            pointee = inst.operand(3)?;
            initializer = 4;
        }
        let text = self.sized_text(inst, pointee)?;
        let align = self.alignment(inst, id, pointee)?;
        let location = self.location.clone();
        let _ = writeln!(self.prologue, "  %v{id} = alloca {text}, align {align}{location}");
        if inst.words.len() > initializer {
            let initial = self.operand_of(inst, initializer, &text)?;
            self.line(&format!("store {}, ptr %v{id}, align {align}", initial.typed()));
        }
        Ok(())
    }

    /// Alignment of an object: as decorated, at least that of its type.
    fn alignment(&self, inst: &SpirvInst<'_>, id: u32, ty: u32) -> SpirvResult<u64> {
        let natural = self.module.types.get(ty).map_or(1, |ty| ty.align);
        let decorated = self.module.decoration(id, spirv::Decoration::Alignment);
        let align =
            decorated.and_then(|words| words.first()).map_or(natural, |&align| u64::from(align).max(natural));
        match align.is_power_of_two() && align <= 1 << 16 {
            true => Ok(align),
            false => Err(inst.invalid(format!("the alignment {align} is no power of two"))),
        }
    }

    /// Writes the φs of a block.
    pub(crate) fn phi(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let text = self.sized_text(inst, ty)?;
        if self.body.len() != self.phis_end {
            return Err(inst.invalid("other instructions of the block are before it"));
        }
        let mut parts = Vec::new();
        let pairs = inst.words.get(2..).unwrap_or_default();
        let mut parents = FxHashSet::default();
        for pair in pairs.chunks(2) {
            let &[value, parent] = pair else { return Err(inst.invalid("a value lacks its block")) };
            self.flow.note_phi_use(value, parent, inst.at);
            let value = self.look_up(inst, value)?;
            self.expect(inst, &value, &text)?;
            let Some(&count) = self.edges.get(&(parent, self.block)) else {
                let reason = format!("{} is no predecessor of the block", self.module.show(parent));
                return Err(inst.invalid(reason));
            };
            if !parents.insert(parent) {
                return Err(inst.invalid(format!("{} is there twice", self.module.show(parent))));
            }
            for _ in 0..count {
                parts.push(format!("[ {}, %b{parent} ]", value.text));
            }
        }
        if parts.is_empty() {
            return Err(inst.invalid("there are no values"));
        }
        if parents.len() != self.predecessors.get(&self.block).copied().unwrap_or_default() {
            return Err(inst.invalid("a predecessor of the block has no value"));
        }
        self.result(id, &format!("phi {text} {}", parts.join(", ")));
        self.phis_end = self.body.len();
        Ok(())
    }

    fn terminator(&mut self, inst: &SpirvInst<'w>, op: Op) -> SpirvResult<()> {
        match op {
            Op::Branch => self.line(&format!("br label %b{}", inst.operand(0)?)),
            Op::BranchConditional => {
                let condition = self.operand_of(inst, 0, "i1")?;
                let (yes, no) = (inst.operand(1)?, inst.operand(2)?);
                match yes == no {
                    true => self.line(&format!("br label %b{yes}")),
                    false => self.line(&format!("br i1 {}, label %b{yes}, label %b{no}", condition.text)),
                }
            }
            Op::Switch => {
                let selector = self.operand(inst, 0)?;
                let number = self.number_of(inst, &selector)?;
                let mut known = FxHashSet::default();
                let mut text = format!("switch {}, label %b{} [", selector.typed(), inst.operand(1)?);
                for (value, target) in switch_cases(self.module, inst, Some(selector.ty))? {
                    let value = value & crate::constant::mask(number.kind.bits());
                    if !known.insert(value) {
                        return Err(inst.invalid(format!("the case {value} is there twice")));
                    }
                    let value = crate::constant::number_text(number.kind, value);
                    let _ = write!(text, " {} {value}, label %b{target}", selector.type_text);
                }
                self.line(&format!("{text} ]"));
            }
            Op::Return => {
                if self.type_text(inst, self.func.result)? != "void" {
                    return Err(inst.invalid("the function returns a value"));
                }
                self.line("ret void");
            }
            Op::ReturnValue => {
                let text = self.type_text(inst, self.func.result)?;
                let value = self.operand_of(inst, 0, &text)?;
                self.line(&format!("ret {}", value.typed()));
            }
            Op::Unreachable => self.line("unreachable"),
            _ => {
                let reason = "kernels have no such end";
                return Err(inst.unsupported(reason, "write a module for OpenCL"));
            }
        }
        Ok(())
    }

    /// Writes a call of a function of the module.
    pub(crate) fn call(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (ty, id, callee) = (inst.operand(0)?, inst.operand(1)?, inst.operand(2)?);
        let module = self.module;
        let Some(&index) = module.function_of.get(&callee) else {
            return Err(module.undefined(inst, callee, "function"));
        };
        let function = &module.functions[index];
        if ty != function.result {
            return Err(inst.invalid("the call and the function differ in the result's type"));
        }
        let ids = inst.words.get(3..).unwrap_or_default();
        if ids.len() != function.params.len() {
            return Err(inst.invalid(format!("the function takes {} arguments", function.params.len())));
        }
        let mut args = Vec::new();
        for (&arg, &(param, wanted)) in ids.iter().zip(&function.params) {
            let value = self.value(inst, arg)?;
            self.expect(inst, &value, &self.type_text(inst, wanted)?)?;
            let attributes = crate::output::param_attributes(module, param, wanted, false)?;
            args.push(format!("{}{attributes} {}", value.type_text, value.text));
        }
        let text = self.type_text(inst, ty)?;
        let is_plain = module.symbols.get(&callee).is_some_and(|name| is_intrinsic(name));
        let convention = if is_plain { "" } else { "spir_func " };
        let symbol = module.symbol_text(callee);
        let call = format!("call {convention}{text} {symbol}({}) {ANY}", args.join(", "));
        match &*text {
            "void" => self.line(&call),
            _ => self.result(id, &call),
        }
        Ok(())
    }

    /// Pointer type of an address space.
    pub(crate) fn pointer_text(&self, space: u32) -> String {
        pointer_text(space)
    }

    /// Error for an instruction without a lowering.
    pub(crate) fn unsupported(&self, inst: &SpirvInst<'_>) -> SpirvError {
        match refusal(&inst.name()) {
            Some((reason, help)) => inst.unsupported(reason, help),
            None => inst.unsupported(NO_LOWERING, "write the kernel without it"),
        }
    }
}
