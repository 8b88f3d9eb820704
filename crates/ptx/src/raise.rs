//! PTX out: functions of the IR at stages Source and Canonical, as text that ptxas takes.
//!
//! Each value is a register of its type; a φ is a register that predecessors write and its block reads first, so copies
//! never meet. A pointer to a space holds the address in that space, a generic pointer a generic one. What analyses know comes
//! as plain data ([`Facts`]): branches that all lanes take together become `bra.uni`, loads of memory that nothing writes
//! `ld.global.nc`.
//! Invariant: an `i8` lies in a register of 16 bits with zeros above.

use heddle_ir::diagnostic::{Code, Diagnostic};
use heddle_ir::entity::Entity as _;
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::module::{Declaration, Global, Init, Kind, Signature};
use heddle_ir::words::{Flag, FloatPredicate, IntPredicate, Ordering, Reduction, Rmw, Scope};
use heddle_ir::{Block, Constant, Function, Inst, Module, Op, Scalar, Space, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write as _;

/// What is known of a function beside its text.
#[derive(Clone, Default, Debug)]
pub struct FunctionFacts {
    /// Blocks whose branch all lanes of a warp take together.
    pub uniform: FxHashSet<Block>,
    /// Loads of memory that nothing writes while the kernel runs.
    pub invariant: FxHashSet<Inst>,
}

/// What is known of functions, by their names.
pub type Facts = FxHashMap<String, FunctionFacts>;

/// What text is wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RaiseOptions {
    /// The version of PTX.
    pub version: String,
    /// The least GPU that is to run it.
    pub target: String,
    /// Whether functions of the C library that PTX approximates (`exp2f`, `log2f`, `sinf`, `cosf`, `tanhf`) become these
    /// approximations: so they do in what came from PTX, where they are nothing else.
    pub approximate: bool,
}

impl Default for RaiseOptions {
    fn default() -> RaiseOptions {
        RaiseOptions { version: "8.7".into(), target: "sm_75".into(), approximate: false }
    }
}

/// The module as PTX.
pub fn raise(module: &Module, facts: &Facts, options: &RaiseOptions) -> Result<String, Vec<Diagnostic>> {
    let mut text = format!(".version {}\n.target {}\n.address_size 64\n\n", options.version, options.target);
    let mut errors = Vec::new();
    for global in &module.globals {
        match global_text(global) {
            Ok(line) => text.push_str(&line),
            Err(reason) => {
                let told = format!("@{} has no form in PTX: {reason}", global.name);
                errors.push(Diagnostic::error(Code::NotEmitted, told));
            }
        }
    }
    let defined: FxHashSet<&str> = module.functions.iter().map(|func| func.name.as_str()).collect();
    for func in &module.functions {
        if func.kind == Kind::Function {
            text.push_str(&head(func.name.as_str(), &func.signature, false));
            text.push_str(";\n");
        }
    }
    for declaration in &module.declarations {
        let is_builtin = approximation(&declaration.name).is_some() || declaration.name == "llvm.trap";
        if !is_builtin && !defined.contains(declaration.name.as_str()) {
            text.push_str(".extern ");
            text.push_str(&head(&declaration.name, &declaration.signature, false));
            text.push_str(";\n");
        }
    }
    let none = FunctionFacts::default();
    let mut bodies = String::new();
    for func in &module.functions {
        let facts = facts.get(&func.name).unwrap_or(&none);
        let mut raise = Raise {
            func,
            facts,
            options,
            text: String::new(),
            counts: [0; KINDS.len()],
            registers: FxHashMap::default(),
            pairs: FxHashMap::default(),
            objects: String::new(),
            calls: 0,
            loc: None,
        };
        match raise.function() {
            Ok(text) => bodies.push_str(&text),
            Err((inst, reason)) => {
                let mut told =
                    Diagnostic::error(Code::NotEmitted, format!("it has no form in PTX: {reason}"));
                told = match inst {
                    Some(inst) => told.of_inst(func, inst).in_module(module),
                    None => told.of_func(&func.name),
                };
                errors.push(told);
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    for (number, name) in module.files.values().enumerate() {
        let _ = writeln!(text, ".file {} \"{}\"", number + 1, name.replace(['"', '\n'], "_"));
    }
    text.push('\n');
    text.push_str(&bodies);
    Ok(text)
}

/// A name as PTX takes it.
fn name_of(name: &str) -> String {
    let mut text: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '$' { c } else { '$' })
        .collect();
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.len() < 2
        || text.starts_with(|c: char| c.is_ascii_digit())
    {
        text.insert(0, '$');
    }
    text
}

fn global_text(global: &Global) -> Result<String, String> {
    let space = match global.space {
        Space::Global => ".visible .global",
        Space::Constant => ".visible .const",
        Space::Local => ".shared",
        Space::Generic | Space::Private => return Err("its space is none of PTX's for variables".into()),
    };
    let name = name_of(&global.name);
    let bytes = global.bytes();
    let align = global.align.max(1);
    if let [Init::Extern(_)] = global.init[..] {
        let space = space.trim_start_matches(".visible ");
        return Ok(format!(".extern {space} .align {align} .b8 {name}[{bytes}];\n"));
    }
    let is_set = global.init.iter().any(|init| matches!(init, Init::Values(..) | Init::Address(..)));
    if !is_set {
        return Ok(format!("{space} .align {align} .b8 {name}[{bytes}];\n"));
    }
    if bytes > 1 << 24 {
        return Err("its initial value is too long".into());
    }
    let has_address = global.init.iter().any(|init| matches!(init, Init::Address(..)));
    let mut data: Vec<u8> = Vec::new();
    let mut addresses: Vec<(usize, String)> = Vec::new();
    for init in &global.init {
        match init {
            Init::Values(scalar, values) => {
                for value in values {
                    data.extend(&value.to_le_bytes()[..scalar.bytes() as usize]);
                }
            }
            Init::Zero(count) | Init::Poison(count) | Init::Extern(count) => {
                data.extend(std::iter::repeat_n(0, *count as usize))
            }
            Init::Address(of, offset) => {
                addresses.push((data.len(), format!("generic({})+{offset}", name_of(of))));
                data.extend([0; 8]);
            }
        }
    }
    if !has_address {
        let list: Vec<String> = data.iter().map(u8::to_string).collect();
        return Ok(format!("{space} .align {align} .b8 {name}[{bytes}] = {{{}}};\n", list.join(", ")));
    }
    if !bytes.is_multiple_of(8) || addresses.iter().any(|(at, _)| at % 8 != 0) {
        return Err("it has addresses that are not aligned to 8 bytes".into());
    }
    let mut list = Vec::new();
    for (index, word) in data.chunks_exact(8).enumerate() {
        let address = addresses.iter().find(|(at, _)| *at == index * 8);
        list.push(match address {
            Some((_, text)) => text.clone(),
            None => word.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte)).to_string(),
        });
    }
    Ok(format!("{space} .align {} .b64 {name}[{}] = {{{}}};\n", align.max(8), bytes / 8, list.join(", ")))
}

/// The type of a parameter: a float's own, else its bits, at least 32 of them for functions.
fn param_type(scalar: Scalar, is_kernel: bool) -> String {
    match scalar {
        Scalar::Ptr(_) => "u64".into(),
        Scalar::F32 | Scalar::F64 => scalar.to_string(),
        _ if is_kernel && scalar == Scalar::I1 => "u8".into(),
        _ if is_kernel => format!("b{}", scalar.bits()),
        _ => format!("b{}", scalar.bits().max(32)),
    }
}

fn head(name: &str, signature: &Signature, is_kernel: bool) -> String {
    let name = name_of(name);
    let mut text = String::from(if is_kernel { ".visible .entry " } else { ".func " });
    match &signature.results[..] {
        [] => {}
        [one] => {
            let _ = write!(text, "(.param .{} {name}_result) ", param_type(one.ty.scalar(), false));
        }
        many => {
            let _ = write!(text, "(.param .align 16 .b8 {name}_result[{}]) ", many.len() * 16);
        }
    }
    text.push_str(&name);
    text.push('(');
    for (index, param) in signature.params.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let scalar = param.ty.scalar();
        let _ = write!(text, "{comma}\n\t.param .{}", param_type(scalar, is_kernel));
        if let (true, Scalar::Ptr(space)) = (is_kernel, scalar) {
            text.push_str(match space {
                Space::Global => " .ptr .global",
                Space::Constant => " .ptr .const",
                Space::Local => " .ptr .shared",
                Space::Generic | Space::Private => " .ptr",
            });
            let _ = write!(text, " .align {}", param.align.max(1));
        }
        let _ = write!(text, " {name}_param_{index}");
    }
    text.push_str(if signature.params.is_empty() { ")" } else { "\n)" });
    text
}

/// The instruction of PTX that approximates a function of the C library.
fn approximation(name: &str) -> Option<&'static str> {
    Some(match name {
        "exp2f" => "ex2.approx.f32",
        "log2f" => "lg2.approx.f32",
        "sinf" => "sin.approx.f32",
        "cosf" => "cos.approx.f32",
        "tanhf" => "tanh.approx.f32",
        _ => return None,
    })
}

/// The kinds of registers: prefix and type.
const KINDS: [(&str, &str); 6] =
    [("%p", "pred"), ("%h", "b16"), ("%r", "b32"), ("%d", "b64"), ("%f", "f32"), ("%g", "f64")];

fn kind_of(scalar: Scalar) -> Option<usize> {
    Some(match scalar {
        Scalar::I1 => 0,
        Scalar::I8 | Scalar::I16 | Scalar::F16 | Scalar::BF16 => 1,
        Scalar::I32 => 2,
        Scalar::I64 | Scalar::Ptr(_) => 3,
        Scalar::F32 => 4,
        Scalar::F64 => 5,
        Scalar::I128 => return None,
    })
}

type Out<T> = Result<T, String>;

struct Raise<'a> {
    func: &'a Function,
    facts: &'a FunctionFacts,
    options: &'a RaiseOptions,
    text: String,
    counts: [u32; KINDS.len()],
    registers: FxHashMap<Value, String>,
    /// The lower and the upper half of each integer of 128 bits.
    pairs: FxHashMap<Value, [String; 2]>,
    /// Declarations of objects in local memory.
    objects: String,
    calls: u32,
    loc: Option<(u32, u32, u32)>,
}

macro_rules! put {
    ($raise:expr, $($text:tt)*) => {{
        let _ = writeln!($raise.text, "\t{};", format_args!($($text)*));
    }};
}

impl Raise<'_> {
    fn function(&mut self) -> Result<String, (Option<Inst>, String)> {
        let func = self.func;
        let is_kernel = matches!(func.kind, Kind::Kernel(_));
        if !func.signature.results.is_empty() && is_kernel {
            return Err((None, "a kernel gives no results".into()));
        }
        let name = name_of(&func.name);
        for (index, &param) in func.params().iter().enumerate() {
            self.parameter(&name, index, param, is_kernel).map_err(|reason| (None, reason))?;
        }
        let blocks: Vec<Block> = func.blocks().collect();
        // What each predecessor hands to φs.
        let mut handed: FxHashMap<Block, Vec<(String, Value)>> = FxHashMap::default();
        let mut taken: FxHashMap<Value, String> = FxHashMap::default();
        for &block in &blocks {
            for phi in func.phis(block) {
                let data = func.inst(phi);
                if data.shadow().is_some() {
                    return Err((Some(phi), "it has a shadow, which lanes of PTX do not know".into()));
                }
                let Some(result) = func.result(phi) else { continue };
                let register =
                    self.fresh(func.value_type(result).scalar()).map_err(|reason| (Some(phi), reason))?;
                for (from, value) in data.incoming() {
                    handed.entry(from).or_default().push((register.clone(), value));
                }
                taken.insert(result, register);
            }
        }
        for &block in &blocks {
            if func.predicate(block).is_some() {
                return Err((None, format!("{block} has a predicate; write it before `linearize`")));
            }
            let _ = writeln!(self.text, "$L_{}:", block.as_u32());
            for inst in func.block_insts(block) {
                self.place(inst);
                if func.inst(inst).op.is_terminator() {
                    for (register, value) in handed.remove(&block).unwrap_or_default() {
                        let scalar = func.value_type(value).scalar();
                        let value = self.read(value).map_err(|reason| (Some(inst), reason))?;
                        self.copy(scalar, &register, &value);
                    }
                }
                let done = match func.inst(inst).op {
                    Op::Phi => {
                        let result = func.result(inst).filter(|result| taken.contains_key(result));
                        result.map_or(Ok(()), |result| {
                            let scalar = func.value_type(result).scalar();
                            let to = self.register(result)?;
                            self.copy(scalar, &to, &taken[&result]);
                            Ok(())
                        })
                    }
                    _ => self.instruction(block, inst, &name),
                };
                done.map_err(|reason| (Some(inst), reason))?;
            }
        }
        let mut text = head(&func.name, &func.signature, is_kernel);
        if let Kind::Kernel(Some([x, y, z])) = func.kind {
            let _ = write!(text, "\n.reqntid {x}, {y}, {z}");
        }
        text.push_str("\n{\n");
        for (&count, (prefix, ty)) in self.counts.iter().zip(KINDS) {
            if count > 0 {
                let _ = writeln!(text, "\t.reg .{ty} {prefix}<{count}>;");
            }
        }
        text.push_str(&self.objects);
        text.push_str(&self.text);
        text.push_str("}\n\n");
        Ok(text)
    }

    fn place(&mut self, inst: Inst) {
        let Some(loc) = self.func.loc(inst) else { return };
        let here = (loc.file.as_u32() + 1, loc.line, loc.column);
        if self.loc != Some(here) {
            self.loc = Some(here);
            let _ = writeln!(self.text, "\t.loc {} {} {}", here.0, here.1, here.2);
        }
    }

    // Registers.

    fn fresh(&mut self, scalar: Scalar) -> Out<String> {
        let kind = kind_of(scalar).ok_or("integers of 128 bits have no registers")?;
        let number = self.counts[kind];
        self.counts[kind] += 1;
        Ok(format!("{}{number}", KINDS[kind].0))
    }

    fn register(&mut self, value: Value) -> Out<String> {
        if let Some(register) = self.registers.get(&value) {
            return Ok(register.clone());
        }
        let ty = self.func.value_type(value);
        if ty.is_vector() {
            return Err("vectors are of stage Wide; PTX is written before".into());
        }
        let register = self.fresh(ty.scalar())?;
        self.registers.insert(value, register.clone());
        Ok(register)
    }

    fn scalar(&self, value: Value) -> Scalar {
        self.func.value_type(value).scalar()
    }

    /// A value as an operand that is read: a register, where constants need one, too.
    fn read(&mut self, value: Value) -> Out<String> {
        let Some(constant) = self.func.constant(value).cloned() else { return self.register(value) };
        let scalar = self.scalar(value);
        let register = self.fresh(scalar)?;
        match constant {
            Constant::Address(space, name) => {
                put!(self, "mov.u64 {register}, {}", name_of(&name));
                if space == Space::Generic {
                    return Err("the address of a global has no space".into());
                }
            }
            Constant::Scalar(_, bits) => self.constant(&register, scalar, bits),
            Constant::Poison(_) => self.constant(&register, scalar, 0),
            Constant::Vector(..) => return Err("vectors are of stage Wide".into()),
        }
        Ok(register)
    }

    fn constant(&mut self, register: &str, scalar: Scalar, bits: u128) {
        match scalar {
            Scalar::I1 => put!(self, "mov.pred {register}, {bits}"),
            Scalar::F32 => put!(self, "mov.f32 {register}, 0f{bits:08X}"),
            Scalar::F64 => put!(self, "mov.f64 {register}, 0d{bits:016X}"),
            _ => put!(self, "mov.b{} {register}, {bits:#x}", scalar.bits().max(16)),
        }
    }

    fn copy(&mut self, scalar: Scalar, to: &str, from: &str) {
        match scalar {
            Scalar::I1 => put!(self, "mov.pred {to}, {from}"),
            Scalar::F32 => put!(self, "mov.f32 {to}, {from}"),
            Scalar::F64 => put!(self, "mov.f64 {to}, {from}"),
            _ => put!(self, "mov.b{} {to}, {from}", scalar.bits().max(16)),
        }
    }

    fn parameter(&mut self, name: &str, index: usize, param: Value, is_kernel: bool) -> Out<()> {
        let scalar = self.scalar(param);
        let register = self.register(param)?;
        match (scalar, is_kernel) {
            (Scalar::I1, true) => {
                let byte = self.fresh(Scalar::I16)?;
                put!(self, "ld.param.u8 {byte}, [{name}_param_{index}]");
                put!(self, "setp.ne.u16 {register}, {byte}, 0");
            }
            (Scalar::I8, true) => put!(self, "ld.param.u8 {register}, [{name}_param_{index}]"),
            (Scalar::Ptr(space), true) => {
                put!(self, "ld.param.u64 {register}, [{name}_param_{index}]");
                // What a launch passes is a generic address.
                if let Some(word) = space_word(space).filter(|_| space != Space::Local) {
                    put!(self, "cvta.to.{word}.u64 {register}, {register}");
                }
            }
            (_, true) => put!(self, "ld.param.b{} {register}, [{name}_param_{index}]", scalar.bits()),
            (_, false) => self.load_param(scalar, &register, &format!("{name}_param_{index}"), 0)?,
        }
        Ok(())
    }

    /// What a function is passed, in 32 bits at least.
    fn load_param(&mut self, scalar: Scalar, register: &str, from: &str, at: usize) -> Out<()> {
        if scalar.bits() >= 32 {
            put!(self, "ld.param.b{} {register}, [{from}+{at}]", scalar.bits());
            return Ok(());
        }
        let wide = self.fresh(Scalar::I32)?;
        put!(self, "ld.param.b32 {wide}, [{from}+{at}]");
        match scalar {
            Scalar::I1 => put!(self, "setp.ne.b32 {register}, {wide}, 0"),
            _ => put!(self, "cvt.u16.u32 {register}, {wide}"),
        }
        Ok(())
    }

    fn store_param(&mut self, scalar: Scalar, register: &str, to: &str, at: usize) -> Out<()> {
        if scalar.bits() >= 32 {
            put!(self, "st.param.b{} [{to}+{at}], {register}", scalar.bits());
            return Ok(());
        }
        let wide = self.fresh(Scalar::I32)?;
        match scalar {
            Scalar::I1 => put!(self, "selp.b32 {wide}, 1, 0, {register}"),
            _ => put!(self, "cvt.u32.u16 {wide}, {register}"),
        }
        put!(self, "st.param.b32 [{to}+{at}], {wide}");
        Ok(())
    }

    // Instructions.

    fn instruction(&mut self, block: Block, inst: Inst, name: &str) -> Out<()> {
        let func = self.func;
        let data = func.inst(inst);
        if data.is_total() {
            return Err("it is total: lanes of PTX that are not active do nothing".into());
        }
        match data.op {
            Op::Br => self.branch(block, data),
            Op::Switch => self.switch(data),
            Op::Ret => {
                let results = &func.signature.results;
                for (index, (&value, result)) in data.args.iter().zip(results).enumerate() {
                    let register = self.read(value)?;
                    self.store_param(result.ty.scalar(), &register, &format!("{name}_result"), index * 16)?;
                }
                put!(self, "ret");
                Ok(())
            }
            Op::Unreachable => {
                put!(self, "trap");
                Ok(())
            }
            Op::Call => self.call(data, inst),
            Op::Assume => Ok(()),
            Op::Store => self.store(data),
            Op::Fence => {
                let Detail::Fence(ordering, scope) = data.detail else { return Ok(()) };
                let word = match ordering {
                    Ordering::SeqCst => "sc",
                    _ => "acq_rel",
                };
                if let Some(scope) = scope_word(scope) {
                    put!(self, "fence.{word}.{scope}");
                }
                Ok(())
            }
            Op::Barrier => {
                match data.detail {
                    Detail::Barrier(Scope::Group) => put!(self, "bar.sync 0"),
                    Detail::Barrier(Scope::Brush) => put!(self, "bar.warp.sync 0xffffffff"),
                    _ => return Err("there is no barrier for it".into()),
                }
                Ok(())
            }
            Op::Memcpy | Op::Memmove | Op::Memset => self.bulk(data),
            _ if self.is_double(inst, data) => self.double(inst, data),
            _ => {
                let results = func.results(inst).to_vec();
                let Some(&result) = results.first() else {
                    return Err(format!("`{}` has no instruction of PTX", data.op));
                };
                let to = self.register(result)?;
                let second = results.get(1).map(|&second| self.register(second)).transpose()?;
                let args: Vec<String> = data.args.iter().map(|&arg| self.read(arg)).collect::<Out<_>>()?;
                self.value(inst, data, &to, second.as_deref(), &args)
            }
        }
    }

    // Integers of 128 bits, as products of long integers need them: two registers each.

    fn is_double(&self, inst: Inst, data: &InstData) -> bool {
        let is = |&value: &Value| self.scalar(value) == Scalar::I128;
        data.op != Op::Phi && (data.args.iter().any(is) || self.func.results(inst).iter().any(is))
    }

    fn pair(&mut self, value: Value) -> Out<[String; 2]> {
        if let Some(pair) = self.pairs.get(&value) {
            return Ok(pair.clone());
        }
        let pair = [self.fresh(Scalar::I64)?, self.fresh(Scalar::I64)?];
        match self.func.constant(value) {
            Some(&Constant::Scalar(_, bits)) => {
                self.constant(&pair[0], Scalar::I64, bits & u128::from(u64::MAX));
                self.constant(&pair[1], Scalar::I64, bits >> 64);
            }
            Some(_) => {
                self.constant(&pair[0], Scalar::I64, 0);
                self.constant(&pair[1], Scalar::I64, 0);
            }
            // A constant is made where it is read; anything else has one pair.
            None => drop(self.pairs.insert(value, pair.clone())),
        }
        Ok(pair)
    }

    fn double(&mut self, inst: Inst, data: &InstData) -> Out<()> {
        let Some(result) = self.func.result(inst) else {
            return Err(format!("`{}` of 128 bits has no instruction of PTX", data.op));
        };
        match data.op {
            Op::Zext | Op::Sext => {
                let from = self.scalar(data.args[0]);
                let arg = self.read(data.args[0])?;
                let [low, high] = self.pair(result)?;
                match from {
                    Scalar::I64 => put!(self, "mov.b64 {low}, {arg}"),
                    _ => self.resize(data.op, from, Scalar::I64, &low, &arg)?,
                }
                match data.op {
                    Op::Sext => put!(self, "shr.s64 {high}, {low}, 63"),
                    _ => put!(self, "mov.b64 {high}, 0"),
                }
            }
            Op::Trunc => {
                let [low, _] = self.pair(data.args[0])?;
                let to = self.register(result)?;
                match self.scalar(result) {
                    Scalar::I64 => put!(self, "mov.b64 {to}, {low}"),
                    scalar => self.resize(Op::Trunc, Scalar::I64, scalar, &to, &low)?,
                }
            }
            Op::And | Op::Or | Op::Xor => {
                let (a, b, to) = (self.pair(data.args[0])?, self.pair(data.args[1])?, self.pair(result)?);
                for half in 0..2 {
                    put!(self, "{}.b64 {}, {}, {}", data.op.name(), to[half], a[half], b[half]);
                }
            }
            Op::Add | Op::Sub => {
                let (a, b, to) = (self.pair(data.args[0])?, self.pair(data.args[1])?, self.pair(result)?);
                let word = data.op.name();
                put!(self, "{word}.cc.u64 {}, {}, {}", to[0], a[0], b[0]);
                put!(self, "{word}c.u64 {}, {}, {}", to[1], a[1], b[1]);
            }
            Op::Mul => {
                let (a, b, to) = (self.pair(data.args[0])?, self.pair(data.args[1])?, self.pair(result)?);
                let high = self.fresh(Scalar::I64)?;
                put!(self, "mul.hi.u64 {high}, {}, {}", a[0], b[0]);
                put!(self, "mad.lo.u64 {high}, {}, {}, {high}", a[0], b[1]);
                put!(self, "mad.lo.u64 {}, {}, {}, {high}", to[1], a[1], b[0]);
                put!(self, "mul.lo.u64 {}, {}, {}", to[0], a[0], b[0]);
            }
            Op::Lshr | Op::Shl => {
                let Some(&Constant::Scalar(_, by)) = self.func.constant(data.args[1]) else {
                    return Err("128 bits are shifted by constants only".into());
                };
                let by = u32::try_from(by).map_or(127, |by| by.min(127));
                let (a, to) = (self.pair(data.args[0])?, self.pair(result)?);
                // The half that bits come from, and the one that they go to.
                let (source, sink, word, back) = match data.op {
                    Op::Lshr => (1, 0, "shr.u64", "shl.b64"),
                    _ => (0, 1, "shl.b64", "shr.u64"),
                };
                if by >= 64 {
                    put!(self, "{word} {}, {}, {}", to[sink], a[source], by - 64);
                    put!(self, "mov.b64 {}, 0", to[source]);
                } else {
                    let part = self.fresh(Scalar::I64)?;
                    put!(self, "{back} {part}, {}, {}", a[source], 64 - by);
                    put!(self, "{word} {}, {}, {by}", to[sink], a[sink]);
                    put!(self, "or.b64 {}, {}, {part}", to[sink], to[sink]);
                    put!(self, "{word} {}, {}, {by}", to[source], a[source]);
                }
            }
            Op::Select => {
                let condition = self.read(data.args[0])?;
                let (a, b, to) = (self.pair(data.args[1])?, self.pair(data.args[2])?, self.pair(result)?);
                for half in 0..2 {
                    put!(self, "selp.b64 {}, {}, {}, {condition}", to[half], a[half], b[half]);
                }
            }
            _ => return Err(format!("`{}` of 128 bits has no instruction of PTX", data.op)),
        }
        Ok(())
    }

    fn branch(&mut self, block: Block, data: &InstData) -> Out<()> {
        match data.targets() {
            [only] => put!(self, "bra.uni $L_{}", only.as_u32()),
            [then, otherwise, ..] => {
                let condition = self.read(data.args[0])?;
                let uni = if self.facts.uniform.contains(&block) { ".uni" } else { "" };
                put!(self, "@{condition} bra{uni} $L_{}", then.as_u32());
                put!(self, "bra.uni $L_{}", otherwise.as_u32());
            }
            [] => {}
        }
        Ok(())
    }

    fn switch(&mut self, data: &InstData) -> Out<()> {
        let Detail::Switch(switch) = &data.detail else { return Ok(()) };
        let bits = self.scalar(data.args[0]).bits();
        let value = self.read(data.args[0])?;
        if bits < 8 {
            return Err("it chooses by a truth value; run `canonicalize`".into());
        }
        for (case, target) in switch.cases.iter().zip(&switch.targets[1..]) {
            let is = self.fresh(Scalar::I1)?;
            put!(self, "setp.eq.b{} {is}, {value}, {case:#x}", bits.max(16));
            put!(self, "@{is} bra $L_{}", target.as_u32());
        }
        put!(self, "bra.uni $L_{}", switch.targets[0].as_u32());
        Ok(())
    }

    fn call(&mut self, data: &InstData, inst: Inst) -> Out<()> {
        let Some(callee) = self.func.callee_of(data) else { return Ok(()) };
        let callee: &Declaration = callee;
        if callee.name == "llvm.trap" {
            put!(self, "trap");
            return Ok(());
        }
        let results = self.func.results(inst).to_vec();
        if let (Some(word), true) = (approximation(&callee.name), self.options.approximate) {
            let (to, from) = (self.register(results[0])?, self.read(data.args[0])?);
            put!(self, "{word} {to}, {from}");
            return Ok(());
        }
        let number = self.calls;
        self.calls += 1;
        let name = name_of(&callee.name);
        let mut list = Vec::new();
        self.text.push_str("\t{\n");
        for (index, (&arg, param)) in data.args.iter().zip(&callee.signature.params).enumerate() {
            let scalar = param.ty.scalar();
            put!(self, ".param .{} $arg{number}_{index}", param_type(scalar, false));
            let value = self.read(arg)?;
            self.store_param(scalar, &value, &format!("$arg{number}_{index}"), 0)?;
            list.push(format!("$arg{number}_{index}"));
        }
        let list = list.join(", ");
        let given = format!("$result{number}");
        match &callee.signature.results[..] {
            [] => put!(self, "call {name}, ({list})"),
            [one] => {
                put!(self, ".param .{} {given}", param_type(one.ty.scalar(), false));
                put!(self, "call ({given}), {name}, ({list})");
            }
            many => {
                put!(self, ".param .align 16 .b8 {given}[{}]", many.len() * 16);
                put!(self, "call ({given}), {name}, ({list})");
            }
        }
        for (index, &result) in results.iter().enumerate() {
            let scalar = self.scalar(result);
            let register = self.register(result)?;
            self.load_param(scalar, &register, &given, index * 16)?;
        }
        self.text.push_str("\t}\n");
        Ok(())
    }

    fn value(
        &mut self,
        inst: Inst,
        data: &InstData,
        to: &str,
        second: Option<&str>,
        args: &[String],
    ) -> Out<()> {
        let func = self.func;
        let result = func.results(inst)[0];
        let scalar = self.scalar(result);
        let from = data.args.first().map_or(scalar, |&arg| self.scalar(arg));
        match data.op {
            Op::Select => self.select(scalar, to, args),
            Op::Freeze => {
                self.copy(scalar, to, &args[0]);
                Ok(())
            }
            Op::Icmp => self.compare(data, from, to, args),
            Op::Fcmp => self.compare_floats(data, from, to, args),
            Op::FloatClass => self.class(data, from, to, &args[0]),
            Op::Load => self.load(inst, data, to, &args[0]),
            Op::AtomicRmw | Op::CompareExchange => self.atomic(data, from, to, second, args),
            Op::Alloca => {
                let Detail::Alloca { bytes, align } = data.detail else { return Ok(()) };
                if func.layout.block_of(inst) != func.layout.entry() {
                    return Err(
                        "it makes a new object each time it runs, and the stack of PTX does not grow".into(),
                    );
                }
                let name = format!("$object{}", inst.index());
                let _ = writeln!(self.objects, "\t.local .align {align} .b8 {name}[{}];", bytes.max(1));
                put!(self, "mov.u64 {to}, {name}");
                Ok(())
            }
            Op::PtrAdd => {
                let offset = self.long(data.args[1], &args[1])?;
                put!(self, "add.s64 {to}, {}, {offset}", args[0]);
                Ok(())
            }
            Op::Ptrtoint | Op::Inttoptr | Op::SpaceCast => self.address(from, scalar, to, &args[0]),
            Op::Bitcast => self.bitcast(from, scalar, to, &args[0]),
            Op::Trunc | Op::Zext | Op::Sext => self.resize(data.op, from, scalar, to, &args[0]),
            Op::Lane
            | Op::Width
            | Op::LocalId
            | Op::LocalSize
            | Op::GroupId
            | Op::NumGroups
            | Op::GlobalId
            | Op::GlobalSize
            | Op::GlobalOffset
            | Op::WorkDim => self.query(data, scalar, to),
            Op::Mask
            | Op::Any
            | Op::All
            | Op::Ballot
            | Op::Popcount
            | Op::Shuffle
            | Op::Broadcast
            | Op::First
            | Op::Reduce => self.horizontal(data, from, scalar, to, args),
            _ if scalar.is_float() || from.is_float() => self.float(data.op, from, scalar, to, args),
            _ => self.integer(data.op, scalar, to, args),
        }
    }

    fn select(&mut self, scalar: Scalar, to: &str, args: &[String]) -> Out<()> {
        if scalar == Scalar::I1 {
            let (then, not, other) = (self.fresh(scalar)?, self.fresh(scalar)?, self.fresh(scalar)?);
            put!(self, "and.pred {then}, {}, {}", args[0], args[1]);
            put!(self, "not.pred {not}, {}", args[0]);
            put!(self, "and.pred {other}, {not}, {}", args[2]);
            put!(self, "or.pred {to}, {then}, {other}");
            return Ok(());
        }
        let ty = match scalar {
            Scalar::F32 => "f32".into(),
            Scalar::F64 => "f64".into(),
            _ => format!("b{}", scalar.bits().max(16)),
        };
        put!(self, "selp.{ty} {to}, {}, {}, {}", args[1], args[2], args[0]);
        Ok(())
    }

    /// An `i8` with its sign above, for signed operations.
    fn signed(&mut self, scalar: Scalar, register: &str) -> Out<String> {
        if scalar != Scalar::I8 {
            return Ok(register.into());
        }
        let wide = self.fresh(Scalar::I16)?;
        put!(self, "cvt.s16.s8 {wide}, {register}");
        Ok(wide)
    }

    fn compare(&mut self, data: &InstData, from: Scalar, to: &str, args: &[String]) -> Out<()> {
        use IntPredicate as P;
        let Detail::IntCompare(predicate) = data.detail else { return Ok(()) };
        if from == Scalar::I1 {
            let apart = self.fresh(Scalar::I1)?;
            return match predicate {
                P::Ne => {
                    put!(self, "xor.pred {to}, {}, {}", args[0], args[1]);
                    Ok(())
                }
                P::Eq => {
                    put!(self, "xor.pred {apart}, {}, {}", args[0], args[1]);
                    put!(self, "not.pred {to}, {apart}");
                    Ok(())
                }
                _ => Err("truth values are compared for equality only; run `simplify`".into()),
            };
        }
        let (word, signed) = match predicate {
            P::Eq => ("eq", false),
            P::Ne => ("ne", false),
            P::Ult => ("lt", false),
            P::Ule => ("le", false),
            P::Ugt => ("gt", false),
            P::Uge => ("ge", false),
            P::Slt => ("lt", true),
            P::Sle => ("le", true),
            P::Sgt => ("gt", true),
            P::Sge => ("ge", true),
        };
        let bits = from.bits().max(16);
        let (mut a, mut b) = (args[0].clone(), args[1].clone());
        if signed {
            (a, b) = (self.signed(from, &a)?, self.signed(from, &b)?);
        }
        put!(self, "setp.{word}.{}{bits} {to}, {a}, {b}", if signed { "s" } else { "u" });
        Ok(())
    }

    /// A float as a single, where PTX computes with no narrower one.
    fn single(&mut self, scalar: Scalar, register: &str) -> Out<String> {
        let wide = self.fresh(Scalar::F32)?;
        match scalar {
            Scalar::F16 => put!(self, "cvt.f32.f16 {wide}, {register}"),
            Scalar::BF16 => {
                let (bits, zero) = (self.fresh(Scalar::I32)?, self.fresh(Scalar::I16)?);
                put!(self, "mov.b16 {zero}, 0");
                put!(self, "mov.b32 {bits}, {{{zero}, {register}}}");
                put!(self, "mov.b32 {wide}, {bits}");
            }
            _ => return Ok(register.into()),
        }
        Ok(wide)
    }

    fn compare_floats(&mut self, data: &InstData, from: Scalar, to: &str, args: &[String]) -> Out<()> {
        use FloatPredicate as P;
        let Detail::FloatCompare(predicate) = data.detail else { return Ok(()) };
        let word = match predicate {
            P::False => {
                put!(self, "mov.pred {to}, 0");
                return Ok(());
            }
            P::True => {
                put!(self, "mov.pred {to}, 1");
                return Ok(());
            }
            P::Oeq => "eq",
            P::Ogt => "gt",
            P::Oge => "ge",
            P::Olt => "lt",
            P::Ole => "le",
            P::One => "ne",
            P::Ord => "num",
            P::Uno => "nan",
            P::Ueq => "equ",
            P::Ugt => "gtu",
            P::Uge => "geu",
            P::Ult => "ltu",
            P::Ule => "leu",
            P::Une => "neu",
        };
        let (a, b) = (self.single(from, &args[0])?, self.single(from, &args[1])?);
        put!(self, "setp.{word}.f{} {to}, {a}, {b}", from.bits().max(32));
        Ok(())
    }

    /// Whether a float is in classes: by its bits, so nothing is flushed.
    fn class(&mut self, data: &InstData, from: Scalar, to: &str, arg: &str) -> Out<()> {
        let Detail::FloatClass(classes) = data.detail else { return Ok(()) };
        let (bits, fraction, int) = match from {
            Scalar::F32 => (32, 23, Scalar::I32),
            Scalar::F64 => (64, 52, Scalar::I64),
            Scalar::BF16 => (16, 7, Scalar::I16),
            _ => (16, 10, Scalar::I16),
        };
        let infinite: u128 = ((1 << (bits - 1 - fraction)) - 1) << fraction;
        let normal: u128 = 1 << fraction;
        let (whole, size) = (self.fresh(int)?, self.fresh(int)?);
        put!(self, "mov.b{bits} {whole}, {arg}");
        put!(self, "and.b{bits} {size}, {whole}, {:#x}", (1u128 << (bits - 1)) - 1);
        let (negative, positive) = (self.fresh(Scalar::I1)?, self.fresh(Scalar::I1)?);
        put!(self, "setp.lt.s{bits} {negative}, {whole}, 0");
        put!(self, "not.pred {positive}, {negative}");
        put!(self, "mov.pred {to}, 0");
        // From, to (without it), LLVM's bits of the negative and of the positive class.
        let ranges = [
            (0, 1, 0x20, 0x40),
            (1, normal, 0x10, 0x80),
            (normal, infinite, 0x08, 0x100),
            (infinite, infinite + 1, 0x04, 0x200),
            (infinite + 1, 1 << (bits - 1), 0x03, 0x03),
        ];
        for (first, end, minus, plus) in ranges {
            let (wants_minus, wants_plus) = (classes & minus != 0, classes & plus != 0);
            if !wants_minus && !wants_plus {
                continue;
            }
            if first > infinite && classes & 3 != 3 {
                return Err("signalling and quiet NaNs are not told apart".into());
            }
            let (offset, within) = (self.fresh(int)?, self.fresh(Scalar::I1)?);
            put!(self, "sub.u{bits} {offset}, {size}, {first:#x}");
            put!(self, "setp.lt.u{bits} {within}, {offset}, {:#x}", end - first);
            match (wants_minus, wants_plus) {
                (true, false) => put!(self, "and.pred {within}, {within}, {negative}"),
                (false, true) => put!(self, "and.pred {within}, {within}, {positive}"),
                _ => {}
            }
            put!(self, "or.pred {to}, {to}, {within}");
        }
        Ok(())
    }

    /// An integer as one of 64 bits, with its sign.
    fn long(&mut self, value: Value, register: &str) -> Out<String> {
        let scalar = self.scalar(value);
        if scalar == Scalar::I64 {
            return Ok(register.into());
        }
        let wide = self.fresh(Scalar::I64)?;
        self.resize(Op::Sext, scalar, Scalar::I64, &wide, register)?;
        Ok(wide)
    }

    fn address(&mut self, from: Scalar, scalar: Scalar, to: &str, arg: &str) -> Out<()> {
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

    fn bitcast(&mut self, from: Scalar, scalar: Scalar, to: &str, arg: &str) -> Out<()> {
        if from.bits() != scalar.bits() || from == Scalar::I1 {
            return Err("the number of bits changes".into());
        }
        put!(self, "mov.b{} {to}, {arg}", from.bits().max(16));
        Ok(())
    }

    fn resize(&mut self, op: Op, from: Scalar, scalar: Scalar, to: &str, arg: &str) -> Out<()> {
        let bits = scalar.bits();
        if kind_of(from).is_none() || kind_of(scalar).is_none() {
            return Err("integers of 128 bits have no registers".into());
        }
        if from == Scalar::I1 {
            let one = if op == Op::Sext && bits > 8 {
                "-1"
            } else if op == Op::Sext {
                "255"
            } else {
                "1"
            };
            put!(self, "selp.b{} {to}, {one}, 0, {arg}", bits.max(16));
            return Ok(());
        }
        if scalar == Scalar::I1 {
            let low = self.fresh(from)?;
            put!(self, "and.b{} {low}, {arg}, 1", from.bits().max(16));
            put!(self, "setp.ne.b{} {to}, {low}, 0", from.bits().max(16));
            return Ok(());
        }
        let sign = if op == Op::Sext { "s" } else { "u" };
        match (from.bits(), bits) {
            (8, 16) if op == Op::Sext => put!(self, "cvt.s16.s8 {to}, {arg}"),
            (8, 16) => put!(self, "mov.b16 {to}, {arg}"),
            (16, 8) => put!(self, "and.b16 {to}, {arg}, 255"),
            (from, 8) => {
                put!(self, "cvt.u16.u{from} {to}, {arg}");
                put!(self, "and.b16 {to}, {to}, 255");
            }
            (from, bits) => put!(self, "cvt.{sign}{bits}.{sign}{from} {to}, {arg}"),
        }
        Ok(())
    }

    fn query(&mut self, data: &InstData, scalar: Scalar, to: &str) -> Out<()> {
        let Detail::Dimension(dimension) = data.detail else { return Ok(()) };
        let axis = ["x", "y", "z"][usize::from(dimension.unwrap_or(0)).min(2)];
        let value = self.fresh(Scalar::I32)?;
        match data.op {
            Op::Lane => put!(self, "mov.u32 {value}, %laneid"),
            Op::Width => put!(self, "mov.u32 {value}, 32"),
            Op::LocalId => put!(self, "mov.u32 {value}, %tid.{axis}"),
            Op::LocalSize => put!(self, "mov.u32 {value}, %ntid.{axis}"),
            Op::GroupId => put!(self, "mov.u32 {value}, %ctaid.{axis}"),
            Op::NumGroups => put!(self, "mov.u32 {value}, %nctaid.{axis}"),
            Op::GlobalOffset => put!(self, "mov.u32 {value}, 0"),
            Op::WorkDim => put!(self, "mov.u32 {value}, 3"),
            _ => {
                let (group, size) = (self.fresh(Scalar::I32)?, self.fresh(Scalar::I32)?);
                put!(self, "mov.u32 {size}, %ntid.{axis}");
                if data.op == Op::GlobalId {
                    let local = self.fresh(Scalar::I32)?;
                    put!(self, "mov.u32 {group}, %ctaid.{axis}");
                    put!(self, "mov.u32 {local}, %tid.{axis}");
                    put!(self, "mad.lo.u32 {value}, {group}, {size}, {local}");
                } else {
                    put!(self, "mov.u32 {group}, %nctaid.{axis}");
                    put!(self, "mul.lo.u32 {value}, {group}, {size}");
                }
            }
        }
        match scalar {
            Scalar::I32 => self.copy(scalar, to, &value),
            _ => self.resize(
                if scalar.bits() > 32 { Op::Zext } else { Op::Trunc },
                Scalar::I32,
                scalar,
                to,
                &value,
            )?,
        }
        Ok(())
    }

    fn horizontal(
        &mut self,
        data: &InstData,
        from: Scalar,
        scalar: Scalar,
        to: &str,
        args: &[String],
    ) -> Out<()> {
        let active = self.fresh(Scalar::I32)?;
        put!(self, "activemask.b32 {active}");
        match data.op {
            Op::Mask => put!(self, "mov.pred {to}, 1"),
            Op::Any => put!(self, "vote.sync.any.pred {to}, {}, {active}", args[0]),
            Op::All => put!(self, "vote.sync.all.pred {to}, {}, {active}", args[0]),
            Op::Ballot | Op::Popcount => {
                let ballot = self.fresh(Scalar::I32)?;
                put!(self, "vote.sync.ballot.b32 {ballot}, {}, {active}", args[0]);
                if data.op == Op::Popcount {
                    put!(self, "popc.b32 {ballot}, {ballot}");
                }
                match scalar {
                    Scalar::I32 => self.copy(scalar, to, &ballot),
                    Scalar::I64 => self.resize(Op::Zext, Scalar::I32, scalar, to, &ballot)?,
                    _ => return Err("a mask of lanes has 32 bits".into()),
                }
            }
            Op::Shuffle | Op::Broadcast | Op::First => {
                let lane = match data.op {
                    Op::First => {
                        let (reversed, lane) = (self.fresh(Scalar::I32)?, self.fresh(Scalar::I32)?);
                        put!(self, "brev.b32 {reversed}, {active}");
                        put!(self, "clz.b32 {lane}, {reversed}");
                        lane
                    }
                    _ => {
                        let index = self.scalar(data.args[1]);
                        match index.bits() {
                            32 => args[1].clone(),
                            _ => {
                                let lane = self.fresh(Scalar::I32)?;
                                let op = if index.bits() > 32 { Op::Trunc } else { Op::Zext };
                                self.resize(op, index, Scalar::I32, &lane, &args[1])?;
                                lane
                            }
                        }
                    }
                };
                match scalar.bits() {
                    32 => {
                        let (bits, moved) = (self.fresh(Scalar::I32)?, self.fresh(Scalar::I32)?);
                        put!(self, "mov.b32 {bits}, {}", args[0]);
                        put!(self, "shfl.sync.idx.b32 {moved}, {bits}, {lane}, 31, {active}");
                        put!(self, "mov.b32 {to}, {moved}");
                    }
                    64 => {
                        let parts = [self.fresh(Scalar::I32)?, self.fresh(Scalar::I32)?];
                        put!(self, "mov.b64 {{{}, {}}}, {}", parts[0], parts[1], args[0]);
                        for part in &parts {
                            put!(self, "shfl.sync.idx.b32 {part}, {part}, {lane}, 31, {active}");
                        }
                        put!(self, "mov.b64 {to}, {{{}, {}}}", parts[0], parts[1]);
                    }
                    _ => return Err("only values of 32 and 64 bits go from lane to lane".into()),
                }
            }
            _ => {
                let Detail::Reduce(by) = data.detail else { return Ok(()) };
                let word = match by {
                    Reduction::Add => "add.s32",
                    Reduction::And => "and.b32",
                    Reduction::Or => "or.b32",
                    Reduction::Xor => "xor.b32",
                    Reduction::Umin => "min.u32",
                    Reduction::Umax => "max.u32",
                    Reduction::Smin => "min.s32",
                    Reduction::Smax => "max.s32",
                    _ => return Err("floats and products are not reduced by one instruction".into()),
                };
                if from != Scalar::I32 || self.options.target.as_str() < "sm_80" {
                    return Err("integers of 32 bits are reduced from sm_80 on".into());
                }
                put!(self, "redux.sync.{word} {to}, {}, {active}", args[0]);
            }
        }
        Ok(())
    }

    fn integer(&mut self, op: Op, scalar: Scalar, to: &str, args: &[String]) -> Out<()> {
        if kind_of(scalar).is_none() {
            return Err("integers of 128 bits have no registers".into());
        }
        let bits = scalar.bits().max(16);
        if scalar == Scalar::I1 {
            let word = match op {
                Op::And | Op::Mul | Op::Umin | Op::Smax => "and",
                Op::Or | Op::Umax | Op::Smin => "or",
                Op::Xor | Op::Add | Op::Sub => "xor",
                _ => return Err(format!("`{op}` of truth values has no instruction")),
            };
            put!(self, "{word}.pred {to}, {}, {}", args[0], args[1]);
            return Ok(());
        }
        let is_byte = scalar == Scalar::I8;
        let own = scalar.bits();
        let mut args = args.to_vec();
        let is_signed = matches!(op, Op::Sdiv | Op::Srem | Op::Ashr | Op::Smin | Op::Smax | Op::Abs);
        if is_signed && is_byte {
            let count = if op == Op::Ashr { 1 } else { args.len() };
            for arg in &mut args[..count] {
                *arg = self.signed(scalar, arg)?;
            }
        }
        let sign = if is_signed { "s" } else { "u" };
        match op {
            Op::Add
            | Op::Sub
            | Op::Udiv
            | Op::Sdiv
            | Op::Urem
            | Op::Srem
            | Op::Umin
            | Op::Umax
            | Op::Smin
            | Op::Smax => {
                let word = match op {
                    Op::Add => "add",
                    Op::Sub => "sub",
                    Op::Udiv | Op::Sdiv => "div",
                    Op::Urem | Op::Srem => "rem",
                    Op::Umin | Op::Smin => "min",
                    _ => "max",
                };
                put!(self, "{word}.{sign}{bits} {to}, {}, {}", args[0], args[1]);
            }
            Op::Mul => put!(self, "mul.lo.u{bits} {to}, {}, {}", args[0], args[1]),
            Op::And | Op::Or | Op::Xor => put!(self, "{}.b{bits} {to}, {}, {}", op.name(), args[0], args[1]),
            Op::Shl | Op::Lshr | Op::Ashr => {
                let amount = self.fresh(Scalar::I32)?;
                match bits {
                    32 => put!(self, "mov.b32 {amount}, {}", args[1]),
                    _ => put!(self, "cvt.u32.u{bits} {amount}, {}", args[1]),
                }
                match op {
                    Op::Shl => put!(self, "shl.b{bits} {to}, {}, {amount}", args[0]),
                    _ => put!(self, "shr.{sign}{bits} {to}, {}, {amount}", args[0]),
                }
            }
            Op::Abs => put!(self, "abs.s{bits} {to}, {}", args[0]),
            Op::SaddSat | Op::SsubSat if scalar == Scalar::I32 => {
                let word = if op == Op::SaddSat { "add" } else { "sub" };
                put!(self, "{word}.sat.s32 {to}, {}, {}", args[0], args[1]);
            }
            Op::UsubSat => {
                let least = self.fresh(scalar)?;
                put!(self, "min.u{bits} {least}, {}, {}", args[0], args[1]);
                put!(self, "sub.u{bits} {to}, {}, {least}", args[0]);
            }
            Op::UaddSat => {
                let (room, least, ones) = (self.fresh(scalar)?, self.fresh(scalar)?, scalar.bit_mask());
                put!(self, "mov.b{bits} {room}, {ones:#x}");
                put!(self, "sub.u{bits} {room}, {room}, {}", args[0]);
                put!(self, "min.u{bits} {least}, {room}, {}", args[1]);
                put!(self, "add.u{bits} {to}, {}, {least}", args[0]);
            }
            Op::Ctpop | Op::Ctlz | Op::Cttz | Op::Bitreverse => {
                let width = bits.max(32);
                let wide = self.fresh(if width == 64 { Scalar::I64 } else { Scalar::I32 })?;
                match bits {
                    16 => put!(self, "cvt.u32.u16 {wide}, {}", args[0]),
                    _ => put!(self, "mov.b{bits} {wide}, {}", args[0]),
                }
                let count = self.fresh(Scalar::I32)?;
                match op {
                    Op::Ctpop => put!(self, "popc.b{width} {count}, {wide}"),
                    Op::Ctlz => {
                        put!(self, "clz.b{width} {count}, {wide}");
                        put!(self, "sub.u32 {count}, {count}, {}", width - own);
                    }
                    Op::Cttz => {
                        put!(self, "brev.b{width} {wide}, {wide}");
                        put!(self, "clz.b{width} {count}, {wide}");
                        put!(self, "min.u32 {count}, {count}, {own}");
                    }
                    _ => {
                        put!(self, "brev.b{width} {wide}, {wide}");
                        if width > own {
                            put!(self, "shr.u{width} {wide}, {wide}, {}", width - own);
                        }
                        match bits {
                            16 => put!(self, "cvt.u16.u32 {to}, {wide}"),
                            _ => put!(self, "mov.b{bits} {to}, {wide}"),
                        }
                        return Ok(());
                    }
                }
                match bits {
                    32 => put!(self, "mov.b32 {to}, {count}"),
                    _ => put!(self, "cvt.u{bits}.u32 {to}, {count}"),
                }
            }
            Op::Bswap if scalar == Scalar::I32 => put!(self, "prmt.b32 {to}, {}, 0, 0x0123", args[0]),
            Op::Fshl | Op::Fshr if scalar == Scalar::I32 => {
                let side = if op == Op::Fshl { "l" } else { "r" };
                put!(self, "shf.{side}.wrap.b32 {to}, {}, {}, {}", args[1], args[0], args[2]);
            }
            _ => return Err(format!("`{op}` of {scalar} has no instruction of PTX")),
        }
        if is_byte {
            put!(self, "and.b16 {to}, {to}, 255");
        }
        Ok(())
    }

    fn float(&mut self, op: Op, from: Scalar, scalar: Scalar, to: &str, args: &[String]) -> Out<()> {
        match op {
            Op::Fptrunc
            | Op::Fpext
            | Op::Fptoui
            | Op::Fptosi
            | Op::FptouiSat
            | Op::FptosiSat
            | Op::Uitofp
            | Op::Sitofp => return self.convert(op, from, scalar, to, &args[0]),
            _ => {}
        }
        if scalar.bits() == 16 {
            // In singles, rounded once more: right for these operations, since a single has more than twice the digits.
            if matches!(op, Op::Fma | Op::Fmuladd) && scalar == Scalar::F16 {
                put!(self, "fma.rn.f16 {to}, {}, {}, {}", args[0], args[1], args[2]);
                return Ok(());
            }
            if matches!(op, Op::Fma | Op::Fmuladd | Op::Ldexp | Op::Frem) {
                return Err(format!("`{op}` of {scalar} has no instruction of PTX"));
            }
            let args: Vec<String> = args.iter().map(|arg| self.single(scalar, arg)).collect::<Out<_>>()?;
            let wide = self.fresh(Scalar::F32)?;
            self.float(op, Scalar::F32, Scalar::F32, &wide, &args)?;
            return self.convert(Op::Fptrunc, Scalar::F32, scalar, to, &wide);
        }
        let ty = format!("f{}", scalar.bits());
        match op {
            Op::Fadd | Op::Fsub | Op::Fmul | Op::Fdiv => {
                let word = &op.name()[1..];
                put!(self, "{word}.rn.{ty} {to}, {}, {}", args[0], args[1]);
            }
            Op::Sqrt => put!(self, "sqrt.rn.{ty} {to}, {}", args[0]),
            Op::Fma | Op::Fmuladd => put!(self, "fma.rn.{ty} {to}, {}, {}, {}", args[0], args[1], args[2]),
            Op::Fneg => put!(self, "neg.{ty} {to}, {}", args[0]),
            Op::Fabs => put!(self, "abs.{ty} {to}, {}", args[0]),
            Op::Copysign => put!(self, "copysign.{ty} {to}, {}, {}", args[1], args[0]),
            Op::Fmin => put!(self, "min.{ty} {to}, {}, {}", args[0], args[1]),
            Op::Fmax => put!(self, "max.{ty} {to}, {}, {}", args[0], args[1]),
            Op::Fminimum | Op::Fmaximum => {
                let word = if op == Op::Fminimum { "min" } else { "max" };
                let (number, unordered, sum) =
                    (self.fresh(scalar)?, self.fresh(Scalar::I1)?, self.fresh(scalar)?);
                put!(self, "{word}.{ty} {number}, {}, {}", args[0], args[1]);
                put!(self, "setp.nan.{ty} {unordered}, {}, {}", args[0], args[1]);
                put!(self, "add.rn.{ty} {sum}, {}, {}", args[0], args[1]);
                put!(self, "selp.{ty} {to}, {sum}, {number}, {unordered}");
            }
            Op::Floor => put!(self, "cvt.rmi.{ty}.{ty} {to}, {}", args[0]),
            Op::Ceil => put!(self, "cvt.rpi.{ty}.{ty} {to}, {}", args[0]),
            Op::Truncate => put!(self, "cvt.rzi.{ty}.{ty} {to}, {}", args[0]),
            Op::RoundEven => put!(self, "cvt.rni.{ty}.{ty} {to}, {}", args[0]),
            Op::Round => {
                let (whole, rest, one) = (self.fresh(scalar)?, self.fresh(scalar)?, self.fresh(scalar)?);
                let (up, half) = (self.fresh(Scalar::I1)?, self.fresh(scalar)?);
                put!(self, "cvt.rzi.{ty}.{ty} {whole}, {}", args[0]);
                put!(self, "sub.rn.{ty} {rest}, {}, {whole}", args[0]);
                put!(self, "abs.{ty} {rest}, {rest}");
                let bits = if scalar == Scalar::F64 {
                    [0.5f64, 1.0].map(|x| x.to_bits().into())
                } else {
                    [0.5f32, 1.0].map(|x| u128::from(x.to_bits()))
                };
                self.constant(&half, scalar, bits[0]);
                self.constant(&one, scalar, bits[1]);
                put!(self, "setp.ge.{ty} {up}, {rest}, {half}");
                put!(self, "copysign.{ty} {one}, {}, {one}", args[0]);
                put!(self, "add.rn.{ty} {rest}, {whole}, {one}");
                put!(self, "selp.{ty} {rest}, {rest}, {whole}, {up}");
                put!(self, "copysign.{ty} {to}, {}, {rest}", args[0]);
            }
            _ => return Err(format!("`{op}` of {scalar} has no instruction of PTX")),
        }
        Ok(())
    }

    fn convert(&mut self, op: Op, from: Scalar, scalar: Scalar, to: &str, arg: &str) -> Out<()> {
        if kind_of(from).is_none() || kind_of(scalar).is_none() || from == Scalar::I1 || scalar == Scalar::I1
        {
            return Err(format!("`{op}` from {from} to {scalar} has no instruction of PTX"));
        }
        let name = |scalar: Scalar| match scalar {
            Scalar::BF16 => "bf16".into(),
            _ => format!("f{}", scalar.bits()),
        };
        match op {
            Op::Fpext if from == Scalar::BF16 => {
                let single = self.single(from, arg)?;
                match scalar {
                    Scalar::F32 => put!(self, "mov.f32 {to}, {single}"),
                    _ => put!(self, "cvt.f64.f32 {to}, {single}"),
                }
            }
            Op::Fpext => put!(self, "cvt.{}.{} {to}, {arg}", name(scalar), name(from)),
            Op::Fptrunc if scalar == Scalar::BF16 && from != Scalar::F32 => {
                return Err("a double becomes no `bf16` in one rounding".into());
            }
            Op::Fptrunc if scalar == Scalar::BF16 => {
                // To nearest even by the bits: the instruction is there from sm_80 on.
                let (bits, low, nan) =
                    (self.fresh(Scalar::I32)?, self.fresh(Scalar::I32)?, self.fresh(Scalar::I1)?);
                put!(self, "mov.b32 {bits}, {arg}");
                put!(self, "bfe.u32 {low}, {bits}, 16, 1");
                put!(self, "add.u32 {low}, {low}, 0x7fff");
                put!(self, "add.u32 {low}, {low}, {bits}");
                put!(self, "setp.nan.f32 {nan}, {arg}, {arg}");
                put!(self, "or.b32 {bits}, {bits}, 0x400000");
                put!(self, "selp.b32 {bits}, {bits}, {low}, {nan}");
                put!(self, "shr.u32 {bits}, {bits}, 16");
                put!(self, "cvt.u16.u32 {to}, {bits}");
            }
            Op::Fptrunc => put!(self, "cvt.rn.{}.{} {to}, {arg}", name(scalar), name(from)),
            Op::Uitofp | Op::Sitofp => {
                let sign = if op == Op::Sitofp { "s" } else { "u" };
                let ty = if scalar == Scalar::BF16 {
                    return Err("integers become no `bf16` in one rounding".into());
                } else {
                    name(scalar)
                };
                put!(self, "cvt.rn.{ty}.{sign}{} {to}, {arg}", from.bits());
            }
            _ => {
                let sign = if matches!(op, Op::Fptosi | Op::FptosiSat) { "s" } else { "u" };
                let number = self.single(from, arg)?;
                let ty = format!("f{}", from.bits().max(32));
                put!(self, "cvt.rzi.{sign}{}.{ty} {to}, {number}", scalar.bits());
                if scalar == Scalar::I8 {
                    put!(self, "and.b16 {to}, {to}, 255");
                }
                if matches!(op, Op::FptosiSat | Op::FptouiSat)
                    && (from == Scalar::F64 || scalar == Scalar::I64)
                {
                    let nan = self.fresh(Scalar::I1)?;
                    put!(self, "setp.nan.{ty} {nan}, {number}, {number}");
                    put!(self, "selp.b{} {to}, 0, {to}, {nan}", scalar.bits().max(16));
                }
            }
        }
        Ok(())
    }

    // Memory.

    /// The words of an access: how it orders, its space.
    fn access(&self, data: &InstData, access: &Access, pointer: Scalar) -> Out<String> {
        let mut text = String::new();
        match access.atomic {
            None if data.flags.has(Flag::Volatile) => text.push_str(".volatile"),
            None => {}
            Some((ordering, scope)) => {
                let word = match (ordering, data.op) {
                    (Ordering::Unordered | Ordering::Relaxed, _) => "relaxed",
                    (Ordering::Acquire, _) | (Ordering::AcqRel, Op::Load) => "acquire",
                    (Ordering::Release, _) | (Ordering::AcqRel, Op::Store) => "release",
                    (Ordering::AcqRel, _) => "acq_rel",
                    (Ordering::SeqCst, _) => {
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

    fn load(&mut self, inst: Inst, data: &InstData, to: &str, address: &str) -> Out<()> {
        let Some(access) = data.access().copied() else { return Ok(()) };
        let result = self.func.results(inst)[0];
        let scalar = self.scalar(result);
        let pointer = self.scalar(data.args[0]);
        if access.align < scalar.bytes() {
            return Err("its address is not aligned to its size".into());
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
            Scalar::I128 => return Err("integers of 128 bits have no registers".into()),
            _ => put!(self, "ld{words}.b{} {to}, [{address}]", scalar.bits()),
        }
        Ok(())
    }

    fn store(&mut self, data: &InstData) -> Out<()> {
        let Some(access) = data.access().copied() else { return Ok(()) };
        let scalar = self.scalar(data.args[0]);
        if access.align < scalar.bytes() {
            return Err("its address is not aligned to its size".into());
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

    fn atomic(
        &mut self,
        data: &InstData,
        from: Scalar,
        to: &str,
        second: Option<&str>,
        args: &[String],
    ) -> Out<()> {
        let Some(access) = data.access().copied() else { return Ok(()) };
        let value = self.scalar(data.args[1]);
        let words = self.access(data, &access, from)?;
        let bits = value.bits();
        if let Some(done) = second {
            if bits < 16 {
                return Err("less than 16 bits are not exchanged".into());
            }
            put!(self, "atom{words}.cas.b{bits} {to}, [{}], {}, {}", args[0], args[1], args[2]);
            put!(self, "setp.eq.b{bits} {done}, {to}, {}", args[1]);
            return Ok(());
        }
        let Detail::Rmw(by, _) = data.detail else { return Ok(()) };
        if bits < 32 && !matches!(by, Rmw::Fadd) {
            return Err("less than 32 bits are not changed atomically".into());
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
            Rmw::Fadd if value == Scalar::F16 => ("add.noftz.f16".into(), args[1].clone()),
            Rmw::Fadd if bits >= 32 => (format!("add.f{bits}"), args[1].clone()),
            _ => return Err(format!("`{by}` of {value} is not done atomically")),
        };
        put!(self, "atom{words}.{word} {to}, [{}], {operand}", args[0]);
        Ok(())
    }

    /// Copies and fills of few bytes, piece by piece.
    fn bulk(&mut self, data: &InstData) -> Out<()> {
        let Some(&Constant::Scalar(_, bytes)) = self.func.constant(data.args[2]) else {
            return Err("the number of bytes is not known; write a loop".into());
        };
        let (into, outof) = match &data.detail {
            Detail::Transfer(both) => (both.0.align, both.1.align),
            Detail::Access(access) => (access.align, 8),
            _ => return Ok(()),
        };
        if bytes > 256 {
            return Err("more than 256 bytes are copied; write a loop".into());
        }
        let pointer = |scalar: Scalar| match scalar {
            Scalar::Ptr(space) => space_word(space).map_or(String::new(), |word| format!(".{word}")),
            _ => String::new(),
        };
        let to = self.read(data.args[0])?;
        let to_space = pointer(self.scalar(data.args[0]));
        let fill = match (data.op, self.func.constant(data.args[1])) {
            (Op::Memset, Some(Constant::Scalar(_, bits))) => Some(*bits & 255),
            (Op::Memset, _) => return Err("the byte that fills is not known; write a loop".into()),
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
        // All is read before anything is written: what overlaps is moved rightly.
        for (at, size, register) in pieces {
            put!(self, "st{to_space}.b{} [{to}+{at}], {register}", size * 8);
        }
        Ok(())
    }
}

fn space_word(space: Space) -> Option<&'static str> {
    match space {
        Space::Generic => None,
        Space::Global => Some("global"),
        Space::Local => Some("shared"),
        Space::Private => Some("local"),
        Space::Constant => Some("const"),
    }
}

fn scope_word(scope: Scope) -> Option<&'static str> {
    match scope {
        Scope::Lane | Scope::Brush => None,
        Scope::Group => Some("cta"),
        Scope::Device => Some("gpu"),
        Scope::System => Some("sys"),
    }
}
