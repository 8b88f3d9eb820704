//! PTX emission: functions of the IR at stages Source and Canonical, as text for ptxas.
//!
//! Each value is a virtual register. A φ is a register that predecessors write and its block reads first, so copies do not
//! interfere. A pointer to a space holds the address in that space; a generic pointer holds a generic address. Analysis
//! results are plain data ([`ModuleFacts`]): uniform branches become `bra.uni`, and loads of read-only memory
//! `ld.global.nc`.

/// Writes a line of PTX.
macro_rules! put {
    ($raise:expr, $($text:tt)*) => {{
        let _ = writeln!($raise.text, "\t{};", format_args!($($text)*));
    }};
}

mod body;
mod double;
mod integer;
mod float;
mod warp;
mod memory;

use heddle_ir::diagnostic::{Code, Diagnostic};
use heddle_ir::module::{FunctionKind, Global, GlobalInit, Signature};
use heddle_ir::words::SyncScope;
use heddle_ir::{Block, Function, Inst, Module, Scalar, Space, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write as _;

/// Analysis results for a function.
#[derive(Clone, Default, Debug)]
pub struct FunctionFacts {
    /// Blocks whose branch is uniform across a warp.
    pub uniform: FxHashSet<Block>,
    /// Loads of memory that is not written while the kernel runs.
    pub invariant: FxHashSet<Inst>,
}

/// Analysis results by function name.
pub type ModuleFacts = FxHashMap<String, FunctionFacts>;

/// Options of the emission.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RaiseOptions {
    /// Version of PTX.
    pub version: String,
    /// Minimum target architecture.
    pub target: String,
    /// Emits PTX's approximations for C library functions that have one (`exp2f`, `log2f`, `sinf`, `cosf`, `tanhf`). This
    /// inverts the lowering of modules that came from PTX.
    pub approximate: bool,
}

impl Default for RaiseOptions {
    fn default() -> RaiseOptions {
        RaiseOptions { version: "8.7".into(), target: "sm_75".into(), approximate: false }
    }
}

/// Emits a module as PTX.
pub fn raise(
    module: &Module,
    facts: &ModuleFacts,
    options: &RaiseOptions,
) -> Result<String, Vec<Diagnostic>> {
    let mut text = format!(".version {}\n.target {}\n.address_size 64\n\n", options.version, options.target);
    let mut errors = Vec::new();
    for global in &module.globals {
        match global_text(global) {
            Ok(line) => text.push_str(&line),
            Err(reason) => {
                let message = format!("@{} cannot be written as PTX: {reason}", global.name);
                errors.push(Diagnostic::error(Code::NotEmitted, message));
            }
        }
    }
    let defined: FxHashSet<&str> = module.functions.iter().map(|func| func.name.as_str()).collect();
    for func in &module.functions {
        if func.kind == FunctionKind::Function {
            text.push_str(&prototype(func.name.as_str(), &func.signature, false));
            text.push_str(";\n");
        }
    }
    for declaration in &module.declarations {
        let is_builtin = approximation(&declaration.name).is_some() || declaration.name == "llvm.trap";
        if !is_builtin && !defined.contains(declaration.name.as_str()) {
            text.push_str(".extern ");
            text.push_str(&prototype(&declaration.name, &declaration.signature, false));
            text.push_str(";\n");
        }
    }
    let none = FunctionFacts::default();
    let mut bodies = String::new();
    for func in &module.functions {
        let facts = facts.get(&func.name).unwrap_or(&none);
        let mut raise = FunctionRaising {
            func,
            facts,
            options,
            text: String::new(),
            counts: [0; REGISTER_CLASSES.len()],
            registers: FxHashMap::default(),
            pairs: FxHashMap::default(),
            objects: String::new(),
            calls: 0,
            loops: 0,
            loc: None,
        };
        match raise.function() {
            Ok(text) => bodies.push_str(&text),
            Err((inst, reason)) => {
                let mut diagnostic =
                    Diagnostic::error(Code::NotEmitted, format!("cannot be written as PTX: {reason}"));
                diagnostic = match inst {
                    Some(inst) => diagnostic.of_inst(func, inst).in_module(module),
                    None => diagnostic.of_func(&func.name),
                };
                errors.push(diagnostic);
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

/// Replaces the characters of a name that PTX does not allow.
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
        Space::Generic | Space::Private => return Err("its space is not a space of PTX variables".into()),
    };
    let name = name_of(&global.name);
    let bytes = global.bytes();
    let align = global.align.max(1);
    if let [GlobalInit::Extern(_)] = global.init[..] {
        let space = space.trim_start_matches(".visible ");
        return Ok(format!(".extern {space} .align {align} .b8 {name}[{bytes}];\n"));
    }
    let is_set =
        global.init.iter().any(|init| matches!(init, GlobalInit::Values(..) | GlobalInit::Address(..)));
    if !is_set {
        return Ok(format!("{space} .align {align} .b8 {name}[{bytes}];\n"));
    }
    if bytes > 1 << 24 {
        return Err("its initial value is too long".into());
    }
    let has_address = global.init.iter().any(|init| matches!(init, GlobalInit::Address(..)));
    let mut data: Vec<u8> = Vec::new();
    let mut addresses: Vec<(usize, String)> = Vec::new();
    for init in &global.init {
        match init {
            GlobalInit::Values(scalar, values) => {
                for value in values {
                    data.extend(&value.to_le_bytes()[..scalar.bytes() as usize]);
                }
            }
            GlobalInit::Zero(count) | GlobalInit::Poison(count) | GlobalInit::Extern(count) => {
                data.extend(std::iter::repeat_n(0, *count as usize))
            }
            GlobalInit::Address(of, offset) => {
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
        return Err("it holds addresses that are not aligned to 8 bytes".into());
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

/// Returns the type of a parameter: the float type, else an untyped width, at least 32 bits for functions.
fn param_type(scalar: Scalar, is_kernel: bool) -> String {
    match scalar {
        Scalar::Ptr(_) => "u64".into(),
        Scalar::F32 | Scalar::F64 => scalar.to_string(),
        _ if is_kernel && scalar == Scalar::I1 => "u8".into(),
        _ if is_kernel => format!("b{}", scalar.bits()),
        _ => format!("b{}", scalar.bits().max(32)),
    }
}

fn prototype(name: &str, signature: &Signature, is_kernel: bool) -> String {
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

/// Returns the PTX instruction that approximates a function of the C library.
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

/// Register classes: prefix and type.
const REGISTER_CLASSES: [(&str, &str); 6] =
    [("%p", "pred"), ("%h", "b16"), ("%r", "b32"), ("%d", "b64"), ("%f", "f32"), ("%g", "f64")];

fn register_class(scalar: Scalar) -> Option<usize> {
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

type RaiseResult<T> = Result<T, String>;

struct FunctionRaising<'a> {
    func: &'a Function,
    facts: &'a FunctionFacts,
    options: &'a RaiseOptions,
    text: String,
    counts: [u32; REGISTER_CLASSES.len()],
    registers: FxHashMap<Value, String>,
    /// Lower and upper half of each 128-bit integer.
    pairs: FxHashMap<Value, [String; 2]>,
    /// Declarations of objects in local memory.
    objects: String,
    calls: u32,
    /// Number of emitted loops that are not in the function.
    loops: u32,
    loc: Option<(u32, u32, u32)>,
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

fn scope_word(scope: SyncScope) -> Option<&'static str> {
    match scope {
        SyncScope::Lane | SyncScope::Brush => None,
        SyncScope::Group => Some("cta"),
        SyncScope::Device => Some("gpu"),
        SyncScope::System => Some("sys"),
    }
}
