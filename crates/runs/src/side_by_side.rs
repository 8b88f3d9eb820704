//! Two modules side by side: whether a function of one computes what that of the other does, on inputs that are made up.
//!
//! An address gets an object of its own, with numbers of the type that is accessed there; integers are small, so that many of them
//! are sizes and places. What the first module does with an input that it cannot take (it faults, or its lanes race) says
//! nothing of the second.

use heddle_interp::{
    Argument, Datum, ExecutionFault, LaunchGeometry, Memory, RunLimits, RunOptions, RunOutcome, run,
};
use heddle_ir::entity::EntitySet;
use heddle_ir::module::FunctionKind;
use heddle_ir::{Function, Module, Op, Scalar, Space, Value};

/// Size of an object in bytes.
const OBJECT: usize = 1 << 14;
/// The most blocks that a run executes.
const STEPS: u64 = 2_000_000;
/// The lanes of a warp.
const WARP: u32 = 32;

/// Result of the comparison of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionComparison {
    /// The function.
    pub func: String,
    /// Number of inputs with equal outcomes.
    pub agreed: u32,
    /// Number of inputs that the first module rejects.
    pub skipped: u32,
    /// Why inputs were skipped.
    pub reason: Option<String>,
    /// First difference.
    pub difference: Option<String>,
}

/// A number that looks like any.
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// Parameter kind inferred from uses.
enum ParamUse {
    /// The address of an object of this space, with elements of this type.
    Address(Space, Scalar),
    /// A number.
    Number(Scalar),
}

/// The type of what is accessed by way of a parameter; none if nothing is.
fn accessed(func: &Function, param: Value) -> Option<Scalar> {
    let mut found: EntitySet<Value> = EntitySet::new();
    found.insert(param);
    let mut element = None;
    // Uses of φs may stand before them: once more, until nothing is new.
    loop {
        let mut is_new = false;
        for inst in func.blocks().flat_map(|block| func.block_insts(block)) {
            let data = func.inst(inst);
            let has = |index: usize| data.args.get(index).is_some_and(|arg| found.contains(*arg));
            let scalar = |value: Value| func.value_type(value).scalar();
            let here = match data.op {
                Op::Load if has(0) => func.result(inst).map(scalar),
                Op::Store if has(1) => data.args.first().map(|&value| scalar(value)),
                Op::AtomicRmw | Op::CompareExchange if has(0) => data.args.get(1).map(|&value| scalar(value)),
                Op::Memset | Op::Memcpy | Op::Memmove if has(0) || has(1) => Some(Scalar::I32),
                _ => None,
            };
            element = element.or(here);
            let passes_on = match data.op {
                Op::PtrAdd | Op::Inttoptr | Op::Ptrtoint | Op::SpaceCast | Op::Freeze => has(0),
                Op::Add => has(0) || has(1),
                Op::Phi => data.args.iter().any(|arg| found.contains(*arg)),
                Op::Select => has(1) || has(2),
                _ => false,
            };
            if passes_on {
                func.results(inst).iter().for_each(|&result| is_new |= found.insert(result));
            }
        }
        if !is_new {
            return element;
        }
    }
}

fn uses(func: &Function) -> Option<Vec<ParamUse>> {
    let params = func.params().iter().map(|&param| {
        let ty = func.value_type(param);
        if ty.lanes().is_some() {
            return None;
        }
        let scalar = ty.scalar();
        Some(match scalar {
            Scalar::Ptr(space) => ParamUse::Address(space, accessed(func, param).unwrap_or(Scalar::I32)),
            Scalar::I64 => match accessed(func, param) {
                Some(element) => ParamUse::Address(Space::Global, element),
                None => ParamUse::Number(scalar),
            },
            _ => ParamUse::Number(scalar),
        })
    });
    params.collect()
}

/// A number of a type: small, or of a size, by the input.
fn number(scalar: Scalar, seed: u64, input: u32) -> u128 {
    let any = mixed(seed);
    let float = (any >> 40) as f64 / f64::from(1 << 22) - 2.0;
    match scalar {
        Scalar::F32 => u128::from((float as f32).to_bits()),
        Scalar::F64 => u128::from(float.to_bits()),
        Scalar::F16 => u128::from(0x3c00 + (any & 0x83ff)),
        Scalar::BF16 => u128::from((float as f32).to_bits() >> 16),
        _ => {
            let most = [16, 64, 1, 200, 33, u64::MAX][input as usize % 6];
            u128::from(any % most.max(1)) & scalar.bit_mask()
        }
    }
}

struct InputRun {
    outcome: Result<RunOutcome, ExecutionFault>,
    memory: Memory,
}

fn run_one(module: &Module, func: &Function, uses: &[ParamUse], input: u32) -> InputRun {
    let mut memory = Memory::new();
    let mut args = Vec::new();
    for (index, of) in uses.iter().enumerate() {
        let seed = mixed((index as u64) << 32 | u64::from(input));
        let bits = match *of {
            ParamUse::Address(space, element) => {
                let size = element.bytes() as usize;
                let numbers = (0..OBJECT / size).flat_map(|at| {
                    let bits = number(element, seed.wrapping_add(at as u64), input % 2);
                    bits.to_le_bytes().into_iter().take(size).collect::<Vec<u8>>()
                });
                memory.add(space, Some(&format!("object {index}")), 256, numbers.collect()).into()
            }
            // Integer parameters may be sizes: the objects hold that many elements.
            ParamUse::Number(scalar) => number(scalar, seed, input),
        };
        args.push(Argument::Uniform(Datum::Bits(bits)));
    }
    let geometry = match func.kind {
        FunctionKind::Kernel(size) => {
            let local = size.unwrap_or([64, 1, 1]);
            Some(LaunchGeometry { dims: 3, local, groups: [2, 1, 1], offset: [0; 3] })
        }
        FunctionKind::Function => None,
    };
    let options = RunOptions {
        brush: vec![WARP],
        geometry,
        detect_races: true,
        limits: RunLimits { steps: STEPS, ..RunLimits::default() },
        ..RunOptions::default()
    };
    let outcome = run(module, &func.name, &args, &mut memory, &options);
    InputRun { outcome, memory }
}

/// Returns the first difference between two outcomes.
fn difference(before: &InputRun, after: &InputRun) -> Option<String> {
    let (Ok(first), second) = (&before.outcome, &after.outcome) else { return None };
    let second = match second {
        Ok(second) => second,
        Err(fault) => return Some(fault.to_string()),
    };
    for (index, (expected, found)) in first.results.iter().zip(&second.results).enumerate() {
        let differs = |(expected, found): (&Datum, &Datum)| *expected != Datum::Poison && expected != found;
        if let Some(lane) = expected.iter().zip(found).position(differs) {
            return Some(format!("result {index} of lane {lane} differs"));
        }
    }
    for object in before.memory.objects() {
        let Some(name) = object.name.as_deref() else { continue };
        let Some(other) = after.memory.object(name) else { continue };
        let differs =
            |&at: &usize| !object.poison[at] && (other.poison[at] || object.bytes[at] != other.bytes[at]);
        let bytes = object.bytes.len().min(other.bytes.len());
        if let Some(at) = (0..bytes).find(differs) {
            let (expected, found) = (object.bytes[at], other.bytes[at]);
            return Some(format!("byte {at} of {name} is {found:#04x}, and was {expected:#04x}"));
        }
    }
    None
}

/// Compares the kernels of two modules, or their functions where there are no kernels, on so many inputs each.
pub fn side_by_side(before: &Module, after: &Module, inputs: u32) -> Vec<FunctionComparison> {
    let is_kernel = |func: &&Function| matches!(func.kind, FunctionKind::Kernel(_));
    let has_kernels = before.functions.iter().any(|func| is_kernel(&func));
    let mut all = Vec::new();
    for func in before.functions.iter().filter(|func| !has_kernels || is_kernel(func)) {
        let mut compared = FunctionComparison {
            func: func.name.clone(),
            agreed: 0,
            skipped: 0,
            reason: None,
            difference: None,
        };
        let other = after.function(&func.name);
        let same = other.is_some_and(|other| other.signature.params.len() == func.signature.params.len());
        let (Some(uses), true) = (uses(func), same) else {
            compared.skipped = inputs;
            compared.reason = Some("its parameters are vectors, or change in the passes".into());
            all.push(compared);
            continue;
        };
        for input in 0..inputs {
            let first = run_one(before, func, &uses, input);
            let unusable = match &first.outcome {
                Err(fault) => Some(fault.to_string()),
                Ok(outcome) => outcome.race.as_ref().map(|_| "lanes race".to_string()),
            };
            if let Some(reason) = unusable {
                compared.skipped += 1;
                compared.reason.get_or_insert(reason);
                continue;
            }
            let second = run_one(after, func, &uses, input);
            if let Some(text) = difference(&first, &second) {
                compared.difference = Some(format!("input {input}: {text}"));
                break;
            }
            compared.agreed += 1;
        }
        all.push(compared);
    }
    all
}
