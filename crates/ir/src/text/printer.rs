//! Printer: functions and modules as text.

use super::context::{self, LiteralContext};
use super::literal::{write_constant, write_scalar};
use super::names::{write_name, write_text};
use crate::constant::Constant;
use crate::entity::Entity as _;
use crate::function::Function;
use crate::inst::{Access, Detail, InstData};
use crate::module::{
    Declaration, DeclaredShape, Effects, FunctionKind, Global, GlobalInit, MetadataOperand, Module, Param,
    Signature,
};
use crate::ops::{InstFormat, ResultConstraint};
use crate::types::Type;
use crate::words::{Flag, Flags};
use crate::{Block, Inst, Value};
use std::fmt::{self, Display, Write as _};

/// Line of a function's text that can carry a comment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AnnotatedLine {
    /// The function's head: name, parameters and results.
    Head,
    /// The label of a block.
    Block(Block),
    /// An instruction.
    Inst(Inst),
}

/// Appends the comment for a line.
type AnnotateFn<'a> = dyn FnMut(AnnotatedLine, &mut String) + 'a;

/// Column of comments, unless the line is longer.
const COMMENT_COLUMN: usize = 40;

/// Prints a function with comments: `note` appends the comment of a line; its further lines go below.
pub fn print_function_with(func: &Function, note: &mut dyn FnMut(AnnotatedLine, &mut String)) -> String {
    let mut out = String::new();
    write_function(&mut out, func, Some(note));
    out
}

/// Prints one instruction.
pub fn print_inst(func: &Function, inst: Inst) -> String {
    let mut out = String::new();
    Printer { func, out: &mut out }.inst(inst, false);
    out
}

/// Prints one instruction without source location and metadata.
pub fn print_operation(func: &Function, inst: Inst) -> String {
    let mut out = String::new();
    Printer { func, out: &mut out }.operation(inst, false);
    out
}

/// Prints a value as an operand: its number, or the literal with its type.
pub fn print_operand(func: &Function, value: Value) -> String {
    let mut out = String::new();
    Printer { func, out: &mut out }.operand(value, None);
    out
}

impl Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        write_function(&mut out, self, None);
        f.write_str(&out)
    }
}

impl Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        for (file, name) in self.files.iter() {
            push(&mut out, format_args!("{file} = "));
            write_text(&mut out, name);
            out.push('\n');
        }
        for (fact, parts) in self.facts.iter() {
            push(&mut out, format_args!("{fact} = {{"));
            list(&mut out, parts, write_fact_part);
            out.push_str("}\n");
        }
        let mut is_first = self.files.is_empty() && self.facts.is_empty();
        let mut gap = |out: &mut String| {
            if !std::mem::take(&mut is_first) {
                out.push('\n');
            }
        };
        if !self.globals.is_empty() {
            gap(&mut out);
        }
        for global in &self.globals {
            write_global(&mut out, global);
        }
        if !self.declarations.is_empty() {
            gap(&mut out);
        }
        for declaration in &self.declarations {
            write_declaration(&mut out, declaration);
        }
        for func in &self.functions {
            gap(&mut out);
            write_function(&mut out, func, None);
        }
        f.write_str(&out)
    }
}

fn push(out: &mut String, text: impl Display) {
    write!(out, "{text}").expect("a string takes all text");
}

/// Appends the items, separated by commas.
fn list<T>(out: &mut String, items: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut String, T)) {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write(out, item);
    }
}

fn write_fact_part(out: &mut String, part: &MetadataOperand) {
    match part {
        MetadataOperand::Text(text) => write_text(out, text),
        MetadataOperand::Node(fact) => push(out, fact),
        MetadataOperand::Number(scalar, bits) => {
            push(out, format_args!("{scalar} "));
            write_scalar(out, *scalar, *bits);
        }
    }
}

fn write_global(out: &mut String, global: &Global) {
    out.push_str("global ");
    write_name(out, &global.name);
    push(out, format_args!(": {} align {} = [", Type::ptr(global.space), global.align));
    let is_empty = |init: &&GlobalInit| matches!(init, GlobalInit::Values(_, values) if values.is_empty());
    list(out, global.init.iter().filter(|init| !is_empty(init)), |out, init| match init {
        GlobalInit::Values(scalar, values) => {
            push(out, format_args!("{scalar} "));
            list(out, values, |out, &value| write_scalar(out, *scalar, value));
        }
        GlobalInit::Zero(bytes) => push(out, format_args!("zero {bytes}")),
        GlobalInit::Poison(bytes) => push(out, format_args!("poison {bytes}")),
        GlobalInit::Extern(bytes) => push(out, format_args!("extern {bytes}")),
        GlobalInit::Address(name, offset) => {
            write_name(out, name);
            match offset {
                0 => {}
                1.. => push(out, format_args!(" + {offset}")),
                _ => push(out, format_args!(" - {}", offset.unsigned_abs())),
            }
        }
    });
    out.push_str("]\n");
}

fn write_declaration(out: &mut String, declaration: &Declaration) {
    out.push_str("declare ");
    write_kind(out, declaration.kind);
    write_name(out, &declaration.name);
    out.push('(');
    list(out, &declaration.signature.params, write_param);
    out.push(')');
    write_results(out, &declaration.signature);
    out.push('\n');
}

fn write_kind(out: &mut String, kind: FunctionKind) {
    match kind {
        FunctionKind::Function => {}
        FunctionKind::Kernel(None) => out.push_str("kernel "),
        FunctionKind::Kernel(Some([x, y, z])) => push(out, format_args!("kernel({x}, {y}, {z}) ")),
    }
}

fn write_param(out: &mut String, param: &Param) {
    push(out, param.ty);
    write_shape(out, param.shape.as_ref());
    if param.noalias {
        out.push_str(" noalias");
    }
    if param.readonly {
        out.push_str(" readonly");
    }
    if param.align != 1 {
        push(out, format_args!(" align {}", param.align));
    }
    if param.dereferenceable != 0 {
        push(out, format_args!(" dereferenceable {}", param.dereferenceable));
    }
}

fn write_shape(out: &mut String, shape: Option<&DeclaredShape>) {
    match shape {
        None => {}
        Some(DeclaredShape::Uniform) => out.push_str(" uniform"),
        Some(DeclaredShape::Varying) => out.push_str(" varying"),
        Some(DeclaredShape::Linear(strides)) => {
            out.push_str(" linear(");
            list(out, strides, push);
            out.push(')');
        }
    }
}

fn write_results(out: &mut String, signature: &Signature) {
    if !signature.results.is_empty() {
        out.push_str(" -> ");
    }
    list(out, &signature.results, |out, result| {
        push(out, result.ty);
        write_shape(out, result.shape.as_ref());
    });
    let effects = signature.effects;
    if effects == Effects::PURE {
        out.push_str(" pure");
    } else if effects != Effects::ANY {
        out.push_str(" effects(");
        list(out, effects.words().into_iter().filter(|(_, has)| *has), |out, (word, _)| out.push_str(word));
        out.push(')');
    }
}

fn write_function(out: &mut String, func: &Function, mut note: Option<&mut AnnotateFn<'_>>) {
    let mut line_start = out.len();
    let mut end_line = |out: &mut String, place: AnnotatedLine| {
        if let Some(note) = &mut note {
            write_note(out, line_start, &mut |text| note(place, text));
        }
        out.push('\n');
        line_start = out.len();
    };
    if func.kind == FunctionKind::Function {
        out.push_str("func ");
    }
    write_kind(out, func.kind);
    write_name(out, &func.name);
    out.push('(');
    let mut params = func.params().iter();
    list(out, &func.signature.params, |out, param| {
        match params.next() {
            Some(value) => push(out, value),
            None => out.push('?'),
        }
        out.push_str(": ");
        write_param(out, param);
    });
    out.push(')');
    write_results(out, &func.signature);
    out.push_str(" {");
    end_line(out, AnnotatedLine::Head);
    let explicitly_typed = context::explicitly_typed(func);
    for block in func.blocks() {
        push(out, block);
        if let Some(predicate) = func.predicate(block) {
            out.push_str(" [");
            Printer { func, out }.operand(predicate, Some(Type::I1));
            out.push(']');
        }
        out.push(':');
        end_line(out, AnnotatedLine::Block(block));
        for inst in func.block_insts(block) {
            out.push_str("  ");
            Printer { func, out }.inst(inst, explicitly_typed.contains(inst));
            end_line(out, AnnotatedLine::Inst(inst));
        }
    }
    out.push_str("}\n");
}

fn write_note(out: &mut String, line_start: usize, note: &mut dyn FnMut(&mut String)) {
    let mut text = String::new();
    note(&mut text);
    for (index, line) in text.lines().enumerate() {
        let width = if index == 0 {
            out[line_start..].chars().count()
        } else {
            out.push('\n');
            0
        };
        let gap = COMMENT_COLUMN.saturating_sub(width).max(2);
        push(out, format_args!("{:gap$}; {line}", ""));
    }
}

struct Printer<'a> {
    func: &'a Function,
    out: &'a mut String,
}

impl Printer<'_> {
    fn push(&mut self, text: impl Display) {
        push(self.out, text);
    }

    fn value(&mut self, value: Value) {
        self.push(value);
    }

    /// Prints an operand; a literal carries its type unless it equals the context's.
    fn operand(&mut self, value: Value, context: Option<Type>) {
        match self.func.constant(value) {
            None => self.value(value),
            Some(Constant::Address(_, name)) => write_name(self.out, name),
            Some(constant) => {
                let ty = constant.ty();
                if context != Some(ty) {
                    self.push(format_args!("{ty} "));
                }
                write_constant(self.out, constant);
            }
        }
    }

    /// The type of a value, if it has one.
    fn ty(&self, value: Value) -> Option<Type> {
        (value.index() < self.func.value_count()).then(|| self.func.value_type(value))
    }

    /// Prints an instruction; `writes_type` adds the type of its `T` operands.
    fn inst(&mut self, inst: Inst, writes_type: bool) {
        self.operation(inst, writes_type);
        let origin = self.func.origin(self.func.inst(inst).origin);
        if let Some(loc) = origin.loc {
            self.push(format_args!(" at {}:{}", loc.file, loc.line));
            if loc.column != 0 {
                self.push(format_args!(":{}", loc.column));
            }
        }
        if !origin.tags.is_empty() {
            self.out.push_str(" !{");
            list(self.out, &origin.tags, |out, (tag, fact)| push(out, format_args!("{tag} {fact}")));
            self.out.push('}');
        }
    }

    /// Prints an instruction without source location and metadata.
    fn operation(&mut self, inst: Inst, writes_type: bool) {
        let func = self.func;
        let data = func.inst(inst);
        let results = func.results(inst);
        if !results.is_empty() {
            list(self.out, results, push);
            self.out.push_str(" = ");
        }
        self.out.push_str(data.op.name());
        if let Detail::Scan { before: true, .. } = data.detail {
            self.out.push_str("_before");
        }
        write_flags(self.out, data.flags);
        let info = data.op.info();
        let written = match info.gives {
            ResultConstraint::Written(_) => results.first().and_then(|&result| self.ty(result)),
            _ => None,
        };
        self.words(&data.detail);
        if let ResultConstraint::Written(_) = info.gives {
            match written {
                Some(ty) => self.push(format_args!(" {ty}")),
                None => self.out.push_str(" ?"),
            }
            if info.format != InstFormat::Phi && !data.args.is_empty() {
                self.out.push(',');
            }
        }
        self.operands(data, written, writes_type);
        if data.is_total() {
            self.out.push_str(" total");
        }
    }

    /// Prints the keywords of the detail that precede types and operands.
    fn words(&mut self, detail: &Detail) {
        match detail {
            Detail::IntCompare(predicate) => self.push(format_args!(" {predicate}")),
            Detail::FloatCompare(predicate) => self.push(format_args!(" {predicate}")),
            Detail::Reduce(by) | Detail::Scan { by, .. } => self.push(format_args!(" {by}")),
            Detail::Rmw(rmw, _) => self.push(format_args!(" {rmw}")),
            Detail::Fence(ordering, scope) => self.push(format_args!(" {ordering} {scope}")),
            Detail::Barrier(scope) => self.push(format_args!(" {scope}")),
            Detail::Alloca { bytes, align } => self.push(format_args!(" {bytes} align {align}")),
            Detail::Launch(launch) => {
                for (index, dim) in launch.brush.iter().enumerate() {
                    self.push(format_args!("{}{dim}", if index == 0 { " " } else { "x" }));
                }
            }
            _ => {}
        }
    }

    /// Prints the operands and the rest of the detail.
    fn operands(&mut self, data: &InstData, written: Option<Type>, writes_type: bool) {
        let func = self.func;
        let args = &data.args;
        let anchor =
            context::anchor(data.op, |index| args.get(index).is_some_and(|&arg| context::is_bare(func, arg)));
        // If all are bare literals, the first carries the type and so fixes it.
        let carries = if anchor.is_none() { context::operands_of_t(data.op).next() } else { None };
        let controlling = anchor.or(carries).and_then(|index| args.get(index)).and_then(|&arg| self.ty(arg));
        let callee = func.callee_of(data).map(|callee| &**callee);
        let lanes = match &data.detail {
            Detail::Launch(launch) => Some(launch.lanes().try_into().unwrap_or(u16::MAX)),
            _ => None,
        };
        let results = &func.signature.results;
        let context = LiteralContext::new(data.op, controlling, written, callee, lanes, results);
        let expected = |index| if carries == Some(index) { None } else { context.operand(index) };

        match &data.detail {
            Detail::Phi(blocks) => {
                for (index, &block) in blocks.iter().enumerate() {
                    self.push(format_args!("{} [{block}: ", if index == 0 { "" } else { "," }));
                    match args.get(index) {
                        Some(&arg) => self.operand(arg, expected(index)),
                        None => self.out.push('?'),
                    }
                    self.out.push(']');
                }
                for (index, &arg) in args.iter().enumerate().skip(blocks.len()) {
                    self.out.push_str(" shadow(");
                    self.operand(arg, expected(index));
                    self.out.push(')');
                }
            }
            Detail::Call(_) | Detail::Launch(_) => {
                self.out.push(' ');
                write_name(self.out, callee.map_or("?", |callee| &callee.name));
                self.out.push('(');
                let masked =
                    matches!(&data.detail, Detail::Launch(launch) if launch.masked && !args.is_empty());
                let passed = args.len() - usize::from(masked);
                for (index, &arg) in args[..passed].iter().enumerate() {
                    self.out.push_str(if index == 0 { "" } else { ", " });
                    self.operand(arg, expected(index));
                }
                self.out.push(')');
                if masked {
                    self.out.push_str(" if ");
                    // The mask follows all parameters, even if too few arguments are passed.
                    let params = callee.map_or(passed, |callee| callee.signature.params.len());
                    self.operand(args[passed], context.operand(params.max(passed)));
                }
            }
            detail => {
                for (index, &arg) in args.iter().enumerate() {
                    self.out.push_str(if index == 0 { " " } else { ", " });
                    if let (true, Some(ty)) = (writes_type && anchor == Some(index), controlling) {
                        self.push(format_args!("{ty} "));
                    }
                    self.operand(arg, expected(index));
                }
                self.behind(data, detail, written);
            }
        }
    }

    fn behind(&mut self, data: &InstData, detail: &Detail, written: Option<Type>) {
        let types: smallvec::SmallVec<[Type; 4]> =
            data.args.iter().map(|&arg| self.ty(arg).unwrap_or(Type::I8)).collect();
        let natural = context::natural_align(data.op, &types, written);
        match detail {
            Detail::Dimension(Some(dimension)) => self.push(format_args!(", {dimension}")),
            Detail::FloatClass(mask) => self.push(format_args!(", {mask}")),
            Detail::Access(access) => {
                self.access(access, Some(natural));
                if let Some((ordering, scope)) = access.atomic {
                    self.push(format_args!(" atomic {ordering} {scope}"));
                }
            }
            Detail::Transfer(both) => {
                let [write, read] = [&both.0, &both.1];
                let is_plain = |access: &Access| *access == Access::aligned(natural);
                self.access(write, Some(natural).filter(|_| is_plain(read)));
                self.atomic(write);
                if !is_plain(read) {
                    self.out.push(',');
                    self.access(read, None);
                    self.atomic(read);
                }
            }
            Detail::Rmw(_, access) => {
                self.access(access, Some(natural));
                if let Some((ordering, scope)) = access.atomic {
                    self.push(format_args!(" {ordering} {scope}"));
                }
            }
            Detail::CompareExchange(access, failure) => {
                self.access(access, Some(natural));
                if let Some((ordering, scope)) = access.atomic {
                    self.push(format_args!(" {ordering}, {failure} {scope}"));
                }
            }
            Detail::Permute(indices) => {
                self.out.push_str(" [");
                list(self.out, indices, push);
                self.out.push(']');
            }
            Detail::Branch(targets, weights) => {
                for (index, target) in targets.iter().enumerate() {
                    let comma = if index == 0 && data.args.is_empty() { "" } else { "," };
                    self.push(format_args!("{comma} {target}"));
                }
                if let Some([first, second]) = weights.as_deref() {
                    self.push(format_args!(" weights({first}, {second})"));
                }
            }
            Detail::Switch(switch) => {
                let scalar = types.first().map_or(crate::types::Scalar::I128, |ty| ty.scalar());
                match switch.targets.first() {
                    Some(default) => self.push(format_args!(", {default} [")),
                    None => self.out.push_str(", ? ["),
                }
                list(self.out, switch.cases.iter().enumerate(), |out, (index, &case)| {
                    write_scalar(out, scalar, case);
                    match switch.targets.get(index + 1) {
                        Some(target) => push(out, format_args!(": {target}")),
                        None => out.push_str(": ?"),
                    }
                });
                self.out.push(']');
            }
            _ => {}
        }
    }

    /// Prints the attributes of an access, except ordering and scope. `natural` is the alignment that is omitted.
    fn access(&mut self, access: &Access, natural: Option<u32>) {
        if Some(access.align) != natural {
            self.push(format_args!(" align {}", access.align));
        }
        if access.dereferenceable != 0 {
            self.push(format_args!(" dereferenceable {}", access.dereferenceable));
        }
        if let Some(base) = access.base {
            self.out.push_str(" base ");
            self.operand(base, None);
        }
    }

    fn atomic(&mut self, access: &Access) {
        if let Some((ordering, scope)) = access.atomic {
            self.push(format_args!(" atomic {ordering} {scope}"));
        }
    }
}

fn write_flags(out: &mut String, flags: Flags) {
    let is_fast = flags.intersection(Flags::FAST) == Flags::FAST;
    for flag in flags.without(Flags::of(&[Flag::Total])).iter() {
        if !is_fast || !Flags::FAST.has(flag) {
            push(out, format_args!(" {flag}"));
        } else if flag == Flag::Nnan {
            out.push_str(" fast");
        }
    }
}
