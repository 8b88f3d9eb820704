//! A run in words ([`RunLine`]), done natively: the function is made vector code for the brush (unless it is that already),
//! compiled, and called in a process of its own.
//!
//! Results are bit-identical to the oracle's for programs that the oracle runs without fault. Nothing is checked here:
//! the caller promises that a program stays within its objects. Poison is an arbitrary number. A time limit replaces
//! the step limit.

use crate::line::{LineError, RunLine, RunLineOutcome};
use crate::spec::{ObjectSpec, SpecError, parse_arguments, parse_object};
use crate::wide_call::{lanes_of_outcome, wide_arguments, wide_form};
use heddle_compiler::context::PassContext;
use heddle_compiler::session::retain_reachable;
use heddle_compiler::{BrushExtents, Session, VectorizeOptions};
use heddle_interp::{Argument, Datum, Memory, RunCounters, RunOutcome, Schedule, Trace};
use heddle_ir::module::{DeclaredShape, FunctionKind};
use heddle_ir::{Function, Module, Type};
use heddle_llvm::{ChildFailure, CodegenLevel, EmitOptions, ObjectCache, SharedMapping, slot_bytes};
use heddle_transform::widen::wide_name;
use std::time::Duration;
use thiserror::Error;

/// Options of a native run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NativeOptions {
    /// Time limit; none is unlimited.
    pub limit: Option<Duration>,
    /// Optimization level of the code generator.
    pub level: CodegenLevel,
    /// Where compiled code is kept; none compiles it each time.
    pub cache: Option<ObjectCache>,
}

impl Default for NativeOptions {
    fn default() -> NativeOptions {
        NativeOptions { limit: Some(Duration::from_secs(10)), level: CodegenLevel::Default, cache: None }
    }
}

/// Why there is no native run.
#[derive(Debug, Error)]
pub enum NativeError {
    /// The run cannot be understood.
    #[error(transparent)]
    Line(#[from] LineError),
    /// An argument has not as many values as there are lanes.
    #[error("argument {index} of @{func} has {found} values for {lanes} lanes")]
    Lanes {
        /// The function.
        func: String,
        /// Argument index, from 0.
        index: usize,
        /// Number of values.
        found: usize,
        /// Number of lanes.
        lanes: usize,
    },
    /// It runs on the oracle only.
    #[error("no native run {what}: {help}")]
    Without {
        /// Unsupported feature.
        what: &'static str,
        /// Suggested alternative.
        help: &'static str,
    },
    /// There is no code of it.
    #[error(transparent)]
    Refused(#[from] heddle_ir::Diagnostic),
    /// It did not come to its end.
    #[error(transparent)]
    ChildFailure(#[from] ChildFailure),
}

/// Runs it natively.
pub fn run_native(
    module: &Module,
    line: &RunLine,
    native: &NativeOptions,
) -> Result<RunLineOutcome, NativeError> {
    let options = &line.options;
    if options.geometry.is_some() {
        let help = "pass the index as a parameter, or run it on the interpreter";
        return Err(NativeError::Without { what: "of launches over work-groups", help });
    }
    let mut memory = Memory::new();
    let objects: Vec<ObjectSpec> = line
        .objects
        .iter()
        .map(|text| parse_object(text, &mut memory, options.limits.memory))
        .collect::<Result<_, SpecError>>()
        .map_err(LineError::from)?;
    let whole = wide_form(module, &line.func, &options.brush);
    let func = module.function(&line.func).or(whole).ok_or_else(|| LineError::Function(line.func.clone()))?;
    let args = parse_arguments(&line.func, &func.signature, &line.args, &memory).map_err(LineError::from)?;
    let lanes = options.width() as usize;
    for (index, arg) in args.iter().enumerate() {
        if let Argument::Varying(values) = arg
            && values.len() != lanes
        {
            let found = values.len();
            return Err(NativeError::Lanes { func: line.func.clone(), index, found, lanes });
        }
    }

    let mut session = Session::default();
    session.options =
        VectorizeOptions { params: Some(DeclaredShape::Varying), ..VectorizeOptions::default() };
    session.cache = native.cache.clone();
    let code = match whole {
        Some(_) => module.clone(),
        None => vector_code(&session, module, &line.func, &options.brush, &args)?,
    };
    let is_scalar = lanes == 1 && whole.is_none();
    let name = if is_scalar { line.func.clone() } else { wide_name(&line.func, &options.brush) };
    let entered = code.function(&name).ok_or_else(|| LineError::Function(name.clone()))?;
    let emission =
        EmitOptions { canonical_nans: true, fused: Some(options.fused), exact_roots: true, entries: true };
    let jit = session.jit(&code, emission, native.level)?;
    let entry = jit.entry(&name)?;

    let has_addresses: Vec<bool> = line.args.iter().map(|text| text.contains('&')).collect();
    let mut room = NativeMemory::new(entered, &memory, line, &objects)?;
    room.set_arguments(entered, &wide_arguments(args, entered, &options.brush), &has_addresses);
    entry.call_in_child(&mut room.shared, [0, room.results_at], native.limit)?;
    let results = room.results(entered);
    room.take_objects(&mut memory, &objects, line);
    let outcome = RunOutcome {
        results,
        race: None,
        counters: RunCounters::default(),
        schedule: Schedule::default(),
        trace: Trace::default(),
        profile: None,
    };
    Ok(RunLineOutcome { outcome: Ok(lanes_of_outcome(outcome, &options.brush)), memory, objects })
}

/// The function and what it calls, for a brush; as it is for one lane. Parameters of which nothing is declared are what
/// their arguments are.
fn vector_code(
    session: &Session,
    module: &Module,
    name: &str,
    brush: &[u32],
    args: &[Argument],
) -> Result<Module, NativeError> {
    let mut code = module.clone();
    retain_reachable(&mut code, name);
    if brush.iter().all(|&extent| extent == 1) {
        return Ok(code);
    }
    if let Some(func) = code.function_mut(name) {
        if let FunctionKind::Kernel(_) = func.kind {
            let help = "call a function that is not a kernel";
            return Err(NativeError::Without { what: "of kernels", help });
        }
        for (param, arg) in func.signature.params.iter_mut().zip(args) {
            param.shape.get_or_insert_with(|| match arg {
                Argument::Uniform(_) => DeclaredShape::Uniform,
                Argument::Linear { strides, .. } => DeclaredShape::Linear(strides[..].into()),
                Argument::Varying(_) | Argument::Vector(_) => DeclaredShape::Varying,
            });
        }
    }
    session.widen_module(&mut code, &BrushExtents::new(brush)?, &mut PassContext::new())?;
    Ok(code)
}

/// Bytes between objects, as the oracle has them: what reads a little too far reads none of another's.
const GAP: usize = 4096;

/// Arguments, results and objects in memory of their own, and where the oracle has the objects.
struct NativeMemory {
    shared: SharedMapping,
    results_at: usize,
    /// Of each named object: the oracle's address, its bytes, and where it lies here.
    moved: Vec<(u64, usize, usize)>,
}

impl NativeMemory {
    fn new(
        func: &Function,
        memory: &Memory,
        line: &RunLine,
        objects: &[ObjectSpec],
    ) -> Result<NativeMemory, NativeError> {
        let slots = |types: &mut dyn Iterator<Item = Type>| types.map(slot_bytes).sum::<usize>();
        let results_at = slots(&mut func.signature.params.iter().map(|param| param.ty));
        let results = slots(&mut func.signature.results.iter().map(|result| result.ty));
        let mut end = results_at + results;
        let mut moved = Vec::new();
        for object in objects.iter().filter_map(|spec| memory.object(&spec.name)) {
            let at = (end + GAP).next_multiple_of(64);
            moved.push((object.address, object.bytes.len(), at));
            end = at + object.bytes.len();
        }
        let shared = SharedMapping::new(end + GAP).map_err(ChildFailure::from)?;
        let mut room = NativeMemory { shared, results_at, moved };
        for (index, spec) in objects.iter().enumerate() {
            let Some(object) = memory.object(&spec.name) else { continue };
            let (_, len, at) = room.moved[index];
            let mut bytes = object.bytes.clone();
            if holds_addresses(line, index, spec) {
                map_words(&mut bytes, |address| room.address_here(address));
            }
            room.shared.bytes_mut()[at..at + len].copy_from_slice(&bytes);
        }
        Ok(room)
    }

    /// An address of the oracle as one of this process; numbers that are none stay.
    fn address_here(&self, theirs: u64) -> u64 {
        let base = self.shared.address();
        let find =
            |&&(address, len, _): &&(u64, usize, usize)| address <= theirs && theirs - address <= len as u64;
        self.moved.iter().find(find).map_or(theirs, |&(address, _, at)| base + at as u64 + (theirs - address))
    }

    /// And back.
    fn address_there(&self, ours: u64) -> u64 {
        let Some(place) = ours.checked_sub(self.shared.address()) else { return ours };
        let find =
            |&&(_, len, at): &&(u64, usize, usize)| at as u64 <= place && place - at as u64 <= len as u64;
        self.moved.iter().find(find).map_or(ours, |&(address, _, at)| address + (place - at as u64))
    }

    fn set_arguments(&mut self, func: &Function, args: &[Argument], has_addresses: &[bool]) {
        let mut at = 0;
        for (index, (arg, param)) in args.iter().zip(&func.signature.params).enumerate() {
            let scalar = param.ty.scalar();
            let one;
            let data: &[Datum] = match arg {
                Argument::Uniform(datum) => {
                    one = [*datum];
                    &one
                }
                Argument::Vector(data) | Argument::Varying(data) => data,
                Argument::Linear { base, .. } => {
                    one = [Datum::Bits(*base)];
                    &one
                }
            };
            let size = scalar.bytes() as usize;
            let count = usize::from(param.ty.lanes().unwrap_or(1));
            for (lane, datum) in data.iter().take(count).enumerate() {
                let bits = datum.bits().unwrap_or(0) & scalar.bit_mask();
                let is_address = scalar.is_ptr() || has_addresses.get(index).copied().unwrap_or(false);
                let bits = if is_address { u128::from(self.address_here(bits as u64)) } else { bits };
                let place = at + lane * size;
                self.shared.bytes_mut()[place..place + size].copy_from_slice(&bits.to_le_bytes()[..size]);
            }
            at += slot_bytes(param.ty);
        }
    }

    fn results(&self, func: &Function) -> Vec<Vec<Datum>> {
        let mut at = self.results_at;
        let mut all = Vec::new();
        for result in &func.signature.results {
            let (scalar, size) = (result.ty.scalar(), result.ty.scalar().bytes() as usize);
            let value = |lane: usize| {
                let place = at + lane * size;
                let mut bytes = [0; 16];
                bytes[..size].copy_from_slice(&self.shared.bytes()[place..place + size]);
                let bits = u128::from_le_bytes(bytes) & scalar.bit_mask();
                Datum::Bits(if scalar.is_ptr() { self.address_there(bits as u64).into() } else { bits })
            };
            all.push((0..usize::from(result.ty.lanes().unwrap_or(1))).map(value).collect());
            at += slot_bytes(result.ty);
        }
        all
    }

    /// Returns the contents of the objects; every byte is defined.
    fn take_objects(&self, memory: &mut Memory, objects: &[ObjectSpec], line: &RunLine) {
        for (index, spec) in objects.iter().enumerate() {
            let (_, len, at) = self.moved[index];
            let Some(object) = memory.object_mut(&spec.name) else { continue };
            object.bytes.copy_from_slice(&self.shared.bytes()[at..at + len]);
            if holds_addresses(line, index, spec) {
                map_words(&mut object.bytes, |address| self.address_there(address));
            }
            object.poison.fill(false);
        }
    }
}

/// True if an object is declared to hold addresses of others.
fn holds_addresses(line: &RunLine, index: usize, spec: &ObjectSpec) -> bool {
    spec.element.bytes() == 8 && (spec.element.is_ptr() || line.objects[index].contains('&'))
}

fn map_words(bytes: &mut [u8], map: impl Fn(u64) -> u64) {
    for word in bytes.chunks_exact_mut(8) {
        let mut copy = [0; 8];
        copy.copy_from_slice(word);
        word.copy_from_slice(&map(u64::from_le_bytes(copy)).to_le_bytes());
    }
}
