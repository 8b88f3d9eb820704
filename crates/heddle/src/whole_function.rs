//! Whole functions as vector code: what is asked for, and what comes out.

use crate::pipeline::{PassError, brushes_that_pay, run_passes_with_remarks};
use heddle_ir::function::Loc;
use heddle_ir::module::DeclaredShape;
use heddle_ir::{Detail, Function, Inst, Module, Op, Value};
use heddle_math::Accuracy;
use heddle_transform::Remark;
pub use heddle_transform::Target;
use heddle_transform::specialize::enter_with_mask;
use heddle_transform::widen::wide_name;
use rustc_hash::FxHashSet;
use thiserror::Error;

/// Why there is no vector code.
#[derive(Debug, Error)]
pub enum WholeFunctionError {
    /// There is no such function.
    #[error("there is no function @{name}{}", if known.is_empty() { String::new() } else { format!("; there are {}", known.join(", ")) })]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The parameters are not as many as was said.
    #[error(
        "@{name} has {expected} parameters, and {found} shapes are given: one for each, as in `uniform,varying,linear:4`"
    )]
    Shapes {
        /// The function.
        name: String,
        /// The parameters that it has.
        expected: usize,
        /// The shapes that were given.
        found: usize,
    },
    /// One thread runs it.
    #[error("@{name} launches @{region}: one thread runs it, and lanes run @{region}, so vectorize that")]
    Launches {
        /// The function.
        name: String,
        /// What it launches.
        region: String,
    },
    /// A pass does not take it.
    #[error(transparent)]
    Pass(#[from] PassError),
}

/// What memory operations became.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Accesses {
    /// One for all lanes.
    pub scalar: usize,
    /// Side by side.
    pub contiguous: usize,
    /// Each lane at an address of its own.
    pub scattered: usize,
}

/// What became of a function.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// The name of the wide form.
    pub wide: String,
    /// How many lanes it is for, of all brushes.
    pub lanes: u32,
    /// Branches of the source, and those that are left.
    pub branches: [usize; 2],
    /// Loads and stores.
    pub accesses: Accesses,
    /// Instructions on scalars and on vectors.
    pub instructions: [usize; 2],
    /// What is done lane by lane, by name.
    pub lane_by_lane: Vec<String>,
    /// What loads and stores became that had a choice, how many brushes were chosen, and why.
    pub remarks: Vec<String>,
}

/// Leaves of a module a function and what it calls.
pub fn retain_reachable(module: &mut Module, name: &str) {
    let mut wanted: FxHashSet<String> = FxHashSet::default();
    let mut work = vec![name.to_string()];
    while let Some(next) = work.pop() {
        let Some(func) = module.function(&next).filter(|_| !wanted.contains(&next)) else { continue };
        work.extend(func.callees.values().map(|callee| callee.name.clone()));
        wanted.insert(next);
    }
    module.functions.retain(|func| wanted.contains(&func.name));
}

/// How many brushes run side by side in one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Brushes {
    /// So many.
    Count(u32),
    /// As many as pay.
    Auto,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct WholeFunction<'a> {
    /// The function.
    pub name: &'a str,
    /// How many lanes a brush has.
    pub lanes: u32,
    /// How many brushes one call runs.
    pub brushes: Brushes,
    /// What is said of its parameters; of those beyond nothing is known.
    pub shapes: &'a [DeclaredShape],
    /// Whether one more parameter is wanted, a mask of the lanes that are there.
    pub is_masked: bool,
    /// The machine.
    pub target: Target,
    /// Whose mathematical functions are called.
    pub math: Accuracy,
}

impl<'a> WholeFunction<'a> {
    /// All lanes are there, and the machine is any.
    pub fn new(name: &'a str, lanes: u32, shapes: &'a [DeclaredShape]) -> WholeFunction<'a> {
        WholeFunction {
            name,
            lanes,
            brushes: Brushes::Count(1),
            shapes,
            is_masked: false,
            target: Target::default(),
            math: Accuracy::Exact,
        }
    }
}

/// Makes vector code of a function and of what it calls. Other functions go.
pub fn vectorize_function(
    module: &mut Module,
    asked: &WholeFunction<'_>,
) -> Result<Report, WholeFunctionError> {
    let &WholeFunction { name, lanes, brushes, shapes, is_masked, target, math } = asked;
    retain_reachable(module, name);
    let known = module.functions.iter().map(|func| format!("@{}", func.name)).collect();
    let Some(func) = module.function_mut(name) else {
        return Err(WholeFunctionError::Unknown { name: name.into(), known });
    };
    if let Some(region) = launched(func) {
        return Err(WholeFunctionError::Launches { name: name.into(), region });
    }
    let expected = func.signature.params.len();
    if !shapes.is_empty() && shapes.len() != expected {
        return Err(WholeFunctionError::Shapes { name: name.into(), expected, found: shapes.len() });
    }
    for (param, shape) in func.signature.params.iter_mut().zip(shapes) {
        param.shape = Some(shape.clone());
    }
    let before = branches(func);
    let masked = format!("{name}.masked");
    let source = module.function(name).filter(|_| is_masked).cloned();
    let name = if is_masked { &masked } else { name };
    if let Some(mut func) = source {
        func.name = masked.clone();
        enter_with_mask(&mut func);
        module.functions.push(func);
        retain_reachable(module, name);
    }
    let width = format!("W={lanes}");
    let machine = format!("target={}", target.name);
    let math = format!("math={}", math.name());
    let one = ["vectorize", &width, "params=varying", &machine, &math];
    let mut remarks = Vec::new();
    let brushes = match brushes {
        Brushes::Count(count) => count,
        Brushes::Auto => brushes_that_pay(module, &one, &mut remarks)?,
    };
    let side_by_side = format!("brushes={brushes}");
    let passes = [&one[..], &[&side_by_side]].concat();
    remarks.extend(run_passes_with_remarks(module, &passes, false, |_, _| {})?);
    let lanes = lanes.saturating_mul(brushes);
    let wide = wide_name(name, &[lanes]);
    let branches = [before, module.function(&wide).map_or(0, branches)];
    let remarks = remarks.into_iter().filter(|remark| wide_name(&remark.func, &[lanes]) == wide);
    let mut report = Report { branches, remarks: remarks.map(in_words).collect(), ..Report::default() };
    if let Some(func) = module.function(&wide) {
        report.count(func);
    }
    (report.wide, report.lanes) = (wide, lanes);
    Ok(report)
}

/// What a function launches first, if anything.
fn launched(func: &Function) -> Option<String> {
    let mut details =
        func.blocks().flat_map(|block| func.block_insts(block)).map(|inst| &func.inst(inst).detail);
    details.find_map(|detail| match detail {
        Detail::Launch(launch) => Some(func.callees[launch.callee].name.clone()),
        _ => None,
    })
}

/// The blocks that lead to one of several.
fn branches(func: &Function) -> usize {
    func.blocks().filter(|&block| func.successors(block).len() > 1).count()
}

fn in_words(remark: Remark) -> String {
    match remark.loc {
        None => remark.text,
        Some(Loc { line, column: 0, .. }) => format!("line {line}: {}", remark.text),
        Some(Loc { line, column, .. }) => format!("line {line}:{column}: {}", remark.text),
    }
}

impl Report {
    /// Counts what stands in a wide function.
    fn count(&mut self, func: &Function) {
        for inst in func.blocks().flat_map(|block| func.block_insts(block)) {
            let data = func.inst(inst);
            let is_vector = |value: &Value| func.value_type(*value).is_vector();
            let on_vectors = data.args.iter().chain(func.results(inst)).any(is_vector);
            self.instructions[usize::from(on_vectors)] += 1;
            match (data.op, &data.detail) {
                (Op::Load | Op::Store, _) if !on_vectors => self.accesses.scalar += 1,
                (Op::Load | Op::Store | Op::MaskedLoad | Op::MaskedStore, _) => self.accesses.contiguous += 1,
                (Op::Gather | Op::Scatter, _) => self.accesses.scattered += 1,
                (Op::Call, Detail::Call(callee)) if !on_vectors && is_of_one_lane(func, inst) => {
                    self.lane_by_lane.push(format!("call of @{}", func.callees[*callee].name));
                }
                (Op::AtomicRmw | Op::CompareExchange, _) => self.lane_by_lane.push(data.op.to_string()),
                _ => {}
            }
        }
    }
}

/// Whether an instruction works on what was taken out of vectors.
fn is_of_one_lane(func: &Function, inst: Inst) -> bool {
    let is_extracted = |&arg: &Value| func.def_inst(arg).is_some_and(|it| func.inst(it).op == Op::Extract);
    func.inst(inst).args.iter().any(is_extracted)
}
