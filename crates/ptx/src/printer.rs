//! Printer of modules. Printed text parses to the same module, and that module prints to the same bytes.

use crate::module::{
    DebugLine, PtxFunction, PtxInitializer, PtxInstruction, PtxItem, PtxModule, PtxNumber, PtxOperand,
    PtxStatement, PtxVariable,
};
use crate::names::{PtxNames, Symbol};
use smallvec::SmallVec;
use std::fmt::{self, Display, Formatter};

/// Syntax node with the interner of its names.
struct WithNames<'a, 's, T: ?Sized>(&'a PtxNames<'s>, &'a T);

impl Display for PtxModule<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for item in &self.items {
            write!(f, "{}", WithNames(&self.names, item))?;
        }
        Ok(())
    }
}

impl PtxModule<'_> {
    /// Prints an instruction, without the semicolon.
    pub fn instruction_text(&self, instruction: &PtxInstruction<'_>) -> String {
        WithNames(&self.names, instruction).to_string()
    }
}

fn pragma(f: &mut Formatter<'_>, texts: &[&str]) -> fmt::Result {
    f.write_str(".pragma ")?;
    for (index, text) in texts.iter().enumerate() {
        write!(f, "{}\"{text}\"", if index > 0 { ", " } else { "" })?;
    }
    f.write_str(";\n")
}

fn list<T>(
    f: &mut Formatter<'_>,
    items: &[T],
    between: &str,
    mut one: impl FnMut(&mut Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        one(f, item)?;
    }
    Ok(())
}

impl Display for WithNames<'_, '_, PtxItem<'_>> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let WithNames(names, item) = self;
        match item {
            PtxItem::Version(version) => writeln!(f, ".version {version}"),
            PtxItem::Target(words) => writeln!(f, ".target {}", words.join(", ")),
            PtxItem::AddressSize(bits) => writeln!(f, ".address_size {bits}\n"),
            PtxItem::File { number, folder, name, stamp } => {
                write!(f, ".file {number}")?;
                if let Some(folder) = folder {
                    write!(f, " \"{folder}\"")?;
                }
                write!(f, " \"{name}\"")?;
                match stamp {
                    Some((time, size)) => writeln!(f, ", {time}, {size}"),
                    None => writeln!(f),
                }
            }
            PtxItem::Section(name, lines) => {
                writeln!(f, ".section .{name}\n{{")?;
                for line in lines {
                    match line {
                        DebugLine::Label(name) => writeln!(f, "{name}:")?,
                        DebugLine::Data(ty, values) => {
                            write!(f, ".{ty} ")?;
                            list(f, values, ", ", |f, value| f.write_str(&value.concat()))?;
                            writeln!(f)?;
                        }
                    }
                }
                writeln!(f, "}}")
            }
            PtxItem::Pragma(texts) => pragma(f, texts),
            PtxItem::Alias(name, of) => writeln!(f, ".alias {}, {};", names.text(*name), names.text(*of)),
            PtxItem::Variable(variable) => writeln!(f, "{};", WithNames(names, variable)),
            PtxItem::Function(function) => write!(f, "{}", WithNames(names, function)),
        }
    }
}

impl Display for PtxNumber<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.negative { "-" } else { "" }, self.text)
    }
}

impl Display for WithNames<'_, '_, PtxVariable<'_>> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let WithNames(names, variable) = self;
        if let Some(linkage) = variable.linkage {
            write!(f, ".{} ", linkage.text())?;
        }
        write!(f, ".{}", variable.space)?;
        if let Some(attribute) = variable.attribute {
            write!(f, " {attribute}")?;
        }
        if let Some(align) = variable.align {
            write!(f, " .align {align}")?;
        }
        if let Some(vector) = variable.vector {
            write!(f, " .{vector}")?;
        }
        write!(f, " .{}", variable.ty)?;
        if let Some((space, align)) = &variable.pointer {
            f.write_str(" .ptr")?;
            if let Some(space) = space {
                write!(f, " .{space}")?;
            }
            if let Some(align) = align {
                write!(f, " .align {align}")?;
            }
        }
        write!(f, " {}", names.text(variable.name))?;
        if let Some(count) = variable.range {
            write!(f, "<{count}>")?;
        }
        for dim in &variable.dims {
            match dim {
                Some(count) => write!(f, "[{count}]")?,
                None => f.write_str("[]")?,
            }
        }
        let Some(init) = &variable.init else { return Ok(()) };
        f.write_str(" = ")?;
        let mut is_first = true;
        for part in init {
            if !is_first && !matches!(part, PtxInitializer::Close) {
                f.write_str(", ")?;
            }
            is_first = matches!(part, PtxInitializer::Open);
            match part {
                PtxInitializer::Open => f.write_str("{")?,
                PtxInitializer::Close => f.write_str("}")?,
                PtxInitializer::Number(number) => write!(f, "{number}")?,
                PtxInitializer::Address { name, offset, generic } => {
                    let name = names.text(*name);
                    if *generic {
                        write!(f, "generic({name})")?
                    } else {
                        f.write_str(name)?
                    }
                    if let Some(offset) = offset {
                        write!(f, "+{offset}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn variables(f: &mut Formatter<'_>, names: &PtxNames<'_>, params: &[PtxVariable<'_>]) -> fmt::Result {
    f.write_str("(")?;
    list(f, params, ", ", |f, param| write!(f, "{}", WithNames(names, param)))?;
    f.write_str(")")
}

fn directives(f: &mut Formatter<'_>, all: &[(&str, SmallVec<[u64; 3]>)], before: &str) -> fmt::Result {
    for (name, numbers) in all {
        write!(f, "{before}.{name}")?;
        for (index, number) in numbers.iter().enumerate() {
            write!(f, "{}{number}", if index > 0 { ", " } else { " " })?;
        }
    }
    Ok(())
}

impl Display for WithNames<'_, '_, PtxFunction<'_>> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let WithNames(names, function) = self;
        if let Some(linkage) = function.linkage {
            write!(f, ".{} ", linkage.text())?;
        }
        f.write_str(if function.is_kernel { ".entry " } else { ".func " })?;
        if let Some(attribute) = function.attribute {
            write!(f, "{attribute} ")?;
        }
        if !function.returns.is_empty() {
            variables(f, names, &function.returns)?;
            f.write_str(" ")?;
        }
        f.write_str(names.text(function.name))?;
        match &function.params[..] {
            [] => f.write_str("()")?,
            params => {
                f.write_str("(\n")?;
                list(f, params, ",\n", |f, param| write!(f, "\t{}", WithNames(names, param)))?;
                f.write_str("\n)")?;
            }
        }
        directives(f, &function.directives, "\n")?;
        for texts in &function.pragmas {
            f.write_str("\n")?;
            pragma(f, texts)?;
        }
        let Some(body) = &function.body else { return f.write_str(";\n\n") };
        f.write_str("\n{\n")?;
        for statement in body {
            write!(f, "{}", WithNames(names, statement))?;
        }
        f.write_str("}\n\n")
    }
}

impl Display for WithNames<'_, '_, PtxStatement<'_>> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let WithNames(names, statement) = self;
        match statement {
            PtxStatement::Open => f.write_str("\t{\n"),
            PtxStatement::Close => f.write_str("\t}\n"),
            PtxStatement::Label(name, _) => writeln!(f, "{}:", names.text(*name)),
            PtxStatement::Variable(variable) => writeln!(f, "\t{};", WithNames(names, variable)),
            PtxStatement::Instruction(instruction) => writeln!(f, "\t{};", WithNames(names, &**instruction)),
            PtxStatement::Unknown { text, .. } => writeln!(f, "\t{text};"),
            PtxStatement::Loc { place: [file, line, column], inlined } => {
                write!(f, "\t.loc {file} {line} {column}")?;
                if let Some((name, added, [file, line, column])) = inlined {
                    write!(f, ", function_name {}", names.text(*name))?;
                    if let Some(added) = added {
                        write!(f, "+{added}")?;
                    }
                    write!(f, ", inlined_at {file} {line} {column}")?;
                }
                f.write_str("\n")
            }
            PtxStatement::Pragma(texts) => {
                f.write_str("\t")?;
                pragma(f, texts)
            }
            PtxStatement::Targets { name, calls, list: targets, .. } => {
                let word = if *calls { "calltargets" } else { "branchtargets" };
                write!(f, "{}: .{word} ", names.text(*name))?;
                list(f, targets, ", ", |f, target| f.write_str(names.text(*target)))?;
                f.write_str(";\n")
            }
            PtxStatement::Prototype { name, returns, params, directives: words } => {
                write!(f, "{}: .callprototype ", names.text(*name))?;
                variables(f, names, returns)?;
                f.write_str(" _ ")?;
                variables(f, names, params)?;
                directives(f, words, " ")?;
                f.write_str(";\n")
            }
        }
    }
}

impl Display for WithNames<'_, '_, PtxInstruction<'_>> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let WithNames(names, instruction) = self;
        if let Some(guard) = instruction.guard {
            write!(f, "@{}{} ", if guard.negated { "!" } else { "" }, names.text(guard.register))?;
        }
        f.write_str(names.text(instruction.mnemonic))?;
        for word in &instruction.modifiers {
            write!(f, ".{}", names.text(*word))?;
        }
        if !instruction.operands.is_empty() {
            f.write_str(" ")?;
        }
        list(f, &instruction.operands, ", ", |f, operand| operand_text(f, names, operand))
    }
}

// Recursion is bounded: the parser limits the nesting of operands.
fn operand_text(f: &mut Formatter<'_>, names: &PtxNames<'_>, operand: &PtxOperand<'_>) -> fmt::Result {
    let text = |symbol: &Symbol| names.text(*symbol);
    match operand {
        PtxOperand::Name(name) => f.write_str(text(name)),
        PtxOperand::Component(name, component) => write!(f, "{}.{}", text(name), text(component)),
        PtxOperand::Not(name) => write!(f, "!{}", text(name)),
        PtxOperand::Pair(first, second) => write!(f, "{}|{}", text(first), text(second)),
        PtxOperand::Number(number) => write!(f, "{number}"),
        PtxOperand::Sum(name, number) => write!(f, "{}+{number}", text(name)),
        PtxOperand::Element(name, number) => write!(f, "{}[{number}]", text(name)),
        PtxOperand::Vector(parts) => {
            f.write_str("{")?;
            list(f, parts, ", ", |f, part| operand_text(f, names, part))?;
            f.write_str("}")
        }
        PtxOperand::List(parts) => {
            f.write_str("(")?;
            list(f, parts, ", ", |f, part| operand_text(f, names, part))?;
            f.write_str(")")
        }
        PtxOperand::Address { base, offset, more } => {
            f.write_str("[")?;
            operand_text(f, names, base)?;
            if let Some(offset) = offset {
                write!(f, "+{offset}")?;
            }
            for part in more {
                f.write_str(", ")?;
                operand_text(f, names, part)?;
            }
            f.write_str("]")
        }
    }
}
