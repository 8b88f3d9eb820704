//! What became of a function: counted over its vector code and all that this calls.

use heddle_ir::{Detail, Diagnostic, Function, Inst, Module, Op, Value};
use rustc_hash::FxHashSet;

/// What memory operations became.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Accesses {
    /// One for all lanes.
    pub scalar: usize,
    /// Contiguous.
    pub contiguous: usize,
    /// Gathers and scatters.
    pub scattered: usize,
}

/// What became of a function.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// How many lanes the vector code is for, of all brushes.
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
    pub remarks: Vec<Diagnostic>,
}

/// The functions of a module that come with one of them: it, and those that it calls.
pub(crate) fn reachable(module: &Module, name: &str) -> FxHashSet<String> {
    let mut wanted: FxHashSet<String> = FxHashSet::default();
    let mut work = vec![name.to_string()];
    while let Some(next) = work.pop() {
        let Some(func) = module.function(&next).filter(|_| !wanted.contains(&next)) else { continue };
        work.extend(func.callees.values().map(|callee| callee.name.clone()));
        wanted.insert(next);
    }
    wanted
}

/// The branches of a function and of those that it calls, but for Heddle's own mathematical functions.
pub(crate) fn branches(module: &Module, name: &str) -> usize {
    let leads_apart =
        |func: &Function| func.blocks().filter(|&block| func.successors(block).len() > 1).count();
    users(module, name).map(leads_apart).sum()
}

/// The functions that come with one of them, in the order of the module, and are the user's.
fn users<'m>(module: &'m Module, name: &str) -> impl Iterator<Item = &'m Function> {
    let reached = reachable(module, name);
    let is_own = |func: &Function| func.name.starts_with(heddle_math::PREFIX);
    module.functions.iter().filter(move |func| reached.contains(&func.name) && !is_own(func))
}

impl Report {
    /// Counts what stands in a wide function and in those that it calls.
    pub(crate) fn count(&mut self, module: &Module, name: &str) {
        for func in users(module, name) {
            for inst in func.blocks().flat_map(|block| func.block_insts(block)) {
                self.count_inst(func, inst);
            }
        }
    }

    fn count_inst(&mut self, func: &Function, inst: Inst) {
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

/// Whether an instruction works on what was taken out of vectors.
fn is_of_one_lane(func: &Function, inst: Inst) -> bool {
    let is_extracted = |&arg: &Value| func.def_inst(arg).is_some_and(|it| func.inst(it).op == Op::Extract);
    func.inst(inst).args.iter().any(is_extracted)
}
