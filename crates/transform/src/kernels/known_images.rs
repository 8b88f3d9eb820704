//! Kernels whose code knows the formats of the images that a launch passes, and the samplers.
//!
//! An image is the address of a descriptor. The functions that read and write texels branch on the format in it and on the sampler: tens of
//! cases, of which a launch needs one. A launch knows them.
//!
//! Invariant: a descriptor does not change while its image exists.
//! Requires: Stage::Source.  Ensures: with these descriptors and samplers, the kernel does the same.
//! Decision: functions are copied for their arguments, since one kernel may read one format and write another.

use super::insts_of;
use crate::inline::{inline_small, remove_unreached};
use heddle_ir::inst::Detail;
use heddle_ir::module::{Declaration, FunctionKind};
use heddle_ir::{Function, Inst, Module, Op, Scalar, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of images and samplers of a kernel that code knows.
const MOST_ARGUMENTS: usize = 6;
/// Maximum number of copies of functions. Further calls read the descriptors.
const MOST_COPIES: usize = 64;
/// Maximum number of operations between a descriptor's address and an access to it.
const MOST_STEPS: usize = 16;

/// Offsets in bytes of the fields that code knows, in the descriptors of images and in those of textures, which begin with an image.
pub mod descriptor_offsets {
    /// Layout of a texel.
    pub const LAYOUT: usize = 48;
    /// Order of the channels.
    pub const ORDER: usize = 52;
    /// First of three samplers.
    pub const SAMPLERS: usize = 72;
    /// 1 if texels may be outside.
    pub const HAS_BORDER: usize = 100;
    /// 1 if texels are read as floats.
    pub const IS_FLOAT: usize = 104;
}

/// Fields of a descriptor that code knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DescriptorFields {
    /// Layout of a texel.
    pub layout: i32,
    /// Order of the channels.
    pub order: i32,
    /// Modes of a texture; an image has none.
    pub modes: Option<SamplingModes>,
}

/// Fields of a texture's descriptor that code knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SamplingModes {
    /// Sampler along each dimension.
    pub samplers: [u32; 3],
    /// True if texels may be outside.
    pub has_border: bool,
    /// True if texels are read as floats.
    pub is_float: bool,
}

impl DescriptorFields {
    /// Value of the 32-bit field at an offset, if code knows it.
    fn field(&self, offset: i64) -> Option<u32> {
        let offset = usize::try_from(offset).ok()?;
        match offset {
            descriptor_offsets::LAYOUT => return Some(self.layout as u32),
            descriptor_offsets::ORDER => return Some(self.order as u32),
            _ => {}
        }
        let modes = self.modes?;
        match offset {
            descriptor_offsets::HAS_BORDER => Some(modes.has_border.into()),
            descriptor_offsets::IS_FLOAT => Some(modes.is_float.into()),
            _ => {
                let place = offset
                    .checked_sub(descriptor_offsets::SAMPLERS)
                    .filter(|place| place.is_multiple_of(4))?;
                modes.samplers.get(place / 4).copied()
            }
        }
    }
}

/// Argument of a launch that code for its images knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum KnownArgument {
    /// The address of a descriptor with these fields, as a pointer or as a number of 64 bits.
    Descriptor(DescriptorFields),
    /// A sampler, by its bits.
    Sampler(u32),
}

/// Images of a launch and their samplers, by the numbers of the parameters: a hash of them, by which the process finds them. Each launch compares
/// it, so it is small.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct KnownImages(u64);

/// Known arguments by number of the parameter.
type NumberedArguments = Vec<(usize, KnownArgument)>;

/// Known arguments of all launches so far, by hash.
static KNOWN: Mutex<BTreeMap<u64, NumberedArguments>> = Mutex::new(BTreeMap::new());

/// The arguments, by which caches tell code apart.
impl fmt::Debug for KnownImages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.arguments())
    }
}

impl KnownImages {
    /// Returns the known arguments of a launch with these images and samplers: the first ones.
    pub fn of_launch(arguments: impl IntoIterator<Item = (usize, KnownArgument)>) -> KnownImages {
        let arguments: NumberedArguments = arguments.into_iter().take(MOST_ARGUMENTS).collect();
        if arguments.is_empty() {
            return KnownImages::default();
        }
        let mut hasher = FxHasher::default();
        arguments.hash(&mut hasher);
        let hash = hasher.finish().max(1);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        // Of two with one hash, code knows the first.
        let first = known.entry(hash).or_insert_with(|| arguments.clone());
        if *first == arguments { KnownImages(hash) } else { KnownImages::default() }
    }

    /// True if the code knows no argument.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn arguments(self) -> NumberedArguments {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&self.0).cloned().unwrap_or_default()
    }

    /// Replaces what the kernels of a module read of the descriptors, in the functions that they call, too.
    pub fn assume_in_kernels(self, module: &mut Module) {
        if self.is_empty() {
            return;
        }
        let is_kernel = |func: &&Function| matches!(func.kind, FunctionKind::Kernel(_));
        let kernels: Vec<Function> = module.functions.iter().filter(is_kernel).cloned().collect();
        let names: Vec<String> = kernels.iter().map(|kernel| kernel.name.clone()).collect();
        let mut copies = FunctionCopies {
            sources: module.functions.iter().map(|func| (func.name.clone(), func)).collect(),
            used: module.functions.iter().map(|func| func.name.clone()).collect(),
            names: FxHashMap::default(),
            open: Vec::new(),
        };
        for kernel in kernels {
            let mut arguments = vec![None; kernel.params().len()];
            for (number, argument) in self.arguments() {
                if let Some(known) = arguments.get_mut(number) {
                    *known = Some(argument);
                }
            }
            copies.open.push((kernel, arguments));
        }
        let mut changed = Vec::new();
        while let Some((mut func, arguments)) = copies.open.pop() {
            copies.assume(&mut func, &arguments);
            changed.push(func);
        }
        changed.sort_by(|one, other| one.name.cmp(&other.name));
        for func in changed {
            match module.function_mut(&func.name) {
                Some(kernel) => *kernel = func,
                None => module.functions.push(func),
            }
        }
        remove_unreached(module, names);
        inline_small(module);
    }
}

/// Known arguments of a function.
type KnownArguments = Vec<Option<KnownArgument>>;

/// Copies of functions for their known arguments.
struct FunctionCopies<'m> {
    sources: FxHashMap<String, &'m Function>,
    used: FxHashSet<String>,
    names: FxHashMap<(String, KnownArguments), String>,
    /// Copies that do not assume their arguments yet.
    open: Vec<(Function, KnownArguments)>,
}

impl FunctionCopies<'_> {
    /// Replaces fields of descriptors by their values, and redirects calls that pass descriptors on.
    fn assume(&mut self, func: &mut Function, arguments: &[Option<KnownArgument>]) {
        let samplers = func.params().iter().zip(arguments).filter_map(|(&param, argument)| match argument {
            Some(KnownArgument::Sampler(bits)) if func.value_type(param) == Type::I32 => Some((param, *bits)),
            _ => None,
        });
        let mut known: Vec<(Value, u32)> = samplers.collect();
        let mut calls: Vec<(Inst, String, KnownArguments)> = Vec::new();
        for inst in insts_of(func) {
            let data = func.inst(inst);
            match data.op {
                Op::Load => {
                    let Some(result) = func.result(inst).filter(|&it| func.value_type(it) == Type::I32)
                    else {
                        continue;
                    };
                    let field = field_address(func, data.args[0], arguments);
                    known.extend(field.and_then(|(fields, at)| Some((result, fields.field(at)?))));
                }
                Op::Call => {
                    let Some(callee) = func.callee_of(data).filter(|it| self.sources.contains_key(&it.name))
                    else {
                        continue;
                    };
                    let passed: KnownArguments =
                        data.args.iter().map(|&arg| known_argument(func, arg, arguments)).collect();
                    if passed.iter().any(|it| matches!(it, Some(KnownArgument::Descriptor(_)))) {
                        calls.push((inst, callee.name.clone(), passed));
                    }
                }
                _ => {}
            }
        }
        for (inst, name, passed) in calls {
            let Some(name) = self.copy_for(&name, passed) else { continue };
            let Some(old) = func.callee_of(func.inst(inst)) else { continue };
            let declaration = Declaration { name, ..(**old).clone() };
            let callee = func.make_callee(&Arc::new(declaration));
            func.inst_mut(inst).detail = Detail::Call(callee);
        }
        func.remove_unused_callees();
        let constants: FxHashMap<Value, Value> = known
            .into_iter()
            .map(|(result, value)| (result, func.make_int(Scalar::I32, value.into())))
            .collect();
        if !constants.is_empty() {
            func.map_values(|value| constants.get(&value).copied().unwrap_or(value));
        }
        crate::simplify(func);
    }

    /// Returns the name of a function's copy for these arguments; none if there are too many copies.
    fn copy_for(&mut self, name: &str, arguments: KnownArguments) -> Option<String> {
        let key = (name.to_string(), arguments.clone());
        if let Some(known) = self.names.get(&key) {
            return Some(known.clone());
        }
        if self.names.len() == MOST_COPIES {
            return None;
        }
        let mut func = (*self.sources.get(name)?).clone();
        let own =
            (1..).map(|number| format!("{name}.format{number}")).find(|own| self.used.insert(own.clone()))?;
        func.name = own.clone();
        self.names.insert(key, own.clone());
        self.open.push((func, arguments));
        Some(own)
    }
}

/// Returns what code knows of an argument of a call: a descriptor, or a number that may be a sampler.
fn known_argument(
    func: &Function,
    value: Value,
    arguments: &[Option<KnownArgument>],
) -> Option<KnownArgument> {
    if func.value_type(value) != Type::I32 {
        let (fields, offset) = field_address(func, value, arguments)?;
        return (offset == 0).then_some(KnownArgument::Descriptor(fields));
    }
    let param = func.params().iter().position(|&param| param == value);
    let number = func.unsigned_constant(value).and_then(|number| u32::try_from(number).ok());
    param.and_then(|number| arguments[number]).or(number.map(KnownArgument::Sampler))
}

/// Returns the descriptor that an address leads into, and the offset in it.
fn field_address(
    func: &Function,
    address: Value,
    arguments: &[Option<KnownArgument>],
) -> Option<(DescriptorFields, i64)> {
    let (mut at, mut offset) = (address, 0i64);
    for _ in 0..MOST_STEPS {
        if let Some(number) = func.params().iter().position(|&param| param == at) {
            return match (*arguments.get(number)?)? {
                KnownArgument::Descriptor(fields) => Some((fields, offset)),
                KnownArgument::Sampler(_) => None,
            };
        }
        let data = func.inst(func.def_inst(at)?);
        // Fewer bits are another address.
        if func.value_type(at).scalar().bits() != 64 {
            return None;
        }
        match (data.op, &data.args[..]) {
            (Op::SpaceCast | Op::Inttoptr | Op::Ptrtoint | Op::Freeze, &[operand]) => at = operand,
            (Op::PtrAdd | Op::Add, &[base, by]) => {
                offset =
                    offset.checked_add(func.signed_constant(by).and_then(|by| i64::try_from(by).ok())?)?;
                at = base;
            }
            _ => return None,
        }
    }
    None
}
