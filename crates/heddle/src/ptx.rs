//! What analyses know of functions that go out as PTX.

use heddle_analysis::shape::Geometry;
use heddle_analysis::{ControlTables, InitialShapes, Summaries, divergence};
use heddle_ir::inst::InstData;
use heddle_ir::module::Kind;
use heddle_ir::{Function, Inst, Module, Op, Value, ValueDef};
use heddle_ptx::{Facts, FunctionFacts};

/// The lanes of a warp.
const WARP: u32 = 32;

/// Branches that all lanes of a warp take together. Functions with irreducible control flow have none that are known.
pub(crate) fn facts(module: &Module) -> Facts {
    let geometry = Geometry::brush(&[WARP]);
    let summaries = Summaries::infer(module, &geometry);
    let of = |func: &Function| {
        let control = ControlTables::new(func);
        if !control.cycles.is_graph_reducible() {
            return FunctionFacts::default();
        }
        let initial = InitialShapes::declared(func, geometry.clone()).knowing(&summaries);
        let facts = divergence(func, &control, &initial);
        let uniform = func
            .blocks()
            .filter(|&block| control.cfg.is_reachable(block) && !facts.is_divergent_branch(block));
        FunctionFacts { uniform: uniform.collect(), invariant: invariant_loads(func) }
    };
    module.functions.iter().map(|func| (func.name.clone(), of(func))).collect()
}

/// The most steps that an address is followed back.
const MOST_STEPS: usize = 64;

/// Loads of a kernel by way of a parameter that promises that nobody writes what it leads to while the kernel runs: it is
/// `noalias` and `readonly`.
fn invariant_loads(func: &Function) -> rustc_hash::FxHashSet<Inst> {
    if !matches!(func.kind, Kind::Kernel(_)) {
        return rustc_hash::FxHashSet::default();
    }
    let promises = |mut address: Value| {
        for _ in 0..MOST_STEPS {
            let inst = match func.value_def(address) {
                ValueDef::Param(index) => {
                    let param = func.signature.params.get(index as usize);
                    return param.is_some_and(|param| param.noalias && param.readonly);
                }
                ValueDef::Result(inst, _) => inst,
                _ => return false,
            };
            let data: &InstData = func.inst(inst);
            match data.op {
                Op::PtrAdd | Op::SpaceCast | Op::Freeze => address = data.args[0],
                _ => return false,
            }
        }
        false
    };
    let insts = func.blocks().flat_map(|block| func.block_insts(block));
    insts.filter(|&inst| func.inst(inst).op == Op::Load && promises(func.inst(inst).args[0])).collect()
}
