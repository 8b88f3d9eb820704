//! Vector code of marked loops: a function that holds one loop becomes one that runs its iterations in lanes, with the same
//! parameters.

use crate::context::PassContext;
use crate::divergence_statistics::DivergenceStatistics;
use crate::options::{BrushExtents, VectorizeOptions};
use crate::passes::Pass;
use crate::pipeline::{run, vectorization};
use crate::session::{DiagnosticError, Session, SourceModule, retain_reachable};
use crate::vector_abi::{VectorIsa, declare_forms};
use heddle_analysis::shape::Geometry;
use heddle_analysis::{Cfg, ControlTables, CycleForest, InitialShapes, divergence};
use heddle_ir::entity::EntitySet;
use heddle_ir::module::{DeclaredShape, Signature};
use heddle_ir::types::{MAX_LANES, MOST_CHOSEN_LANES};
use heddle_ir::{Block, Code, Diagnostic, Function, Module, Op};
use heddle_llvm::{
    EmitOptions, LlvmModule, emit, internalize_except, optimize, share_globals, vector_variant_names,
};
use heddle_transform::widen::wide_name;
use heddle_transform::{Promises, choose_brushes, find_brush_observer, refill_lanes};
use std::fmt;

/// A loop to make vector code of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopRequest {
    /// The function that holds it and nothing else.
    pub func: String,
    /// How many iterations shall run together, in one vector.
    pub lanes: LoopLanes,
    /// How many vectors shall run side by side; as many as pay, if nothing is said.
    pub interleaved: Option<u32>,
    /// What is known of it.
    pub promises: Promises,
}

/// Scalar code is faster for as many iterations as one lane in so many: it has less to set up, and no masks.
const LANES_FOR_FEW: u32 = 8;

/// How many iterations run together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopLanes {
    /// As many as pay.
    Auto,
    /// As many as pay, of so many that may.
    AtMost(u32),
    /// So many.
    Exactly(u32),
}

/// One form of a loop.
#[derive(Debug)]
pub struct LoopCode {
    /// The module with the code, which LLVM's passes have been through. Nothing but the wide function is seen from outside;
    /// globals are those of the source.
    pub code: LlvmModule,
    /// The wide function.
    pub wide: String,
}

/// Vector code of a loop.
#[derive(Debug)]
pub struct VectorLoop {
    /// The code whose lanes run iterations side by side.
    pub vector: LoopCode,
    /// Code whose lanes take new iterations when they are done with theirs, where lanes may wait for each other in an inner loop.
    /// It computes the same bits; data decide which is faster.
    pub refilled: Option<LoopCode>,
    /// How many iterations run together.
    pub lanes: u32,
    /// How many vectors they fill, of its most frequent width.
    pub interleaved: u32,
    /// Whether data decide if it is faster than scalar code: lanes share what they walk over, an innermost loop gathers, or something is
    /// done for one lane after the other.
    pub is_doubtful: bool,
    /// Up to how many iterations scalar code is faster, since a vector takes as long for one as for all of its lanes.
    pub few: u32,
    /// What diverges in it.
    pub statistics: DivergenceStatistics,
    /// What loads and stores became that had a choice, and why.
    pub remarks: Vec<Diagnostic>,
}

fn failed(code: Code, reason: &dyn fmt::Display) -> Diagnostic {
    Diagnostic::error(code, reason.to_string())
}

impl Session {
    /// Makes vector code of the one loop of a function, all of whose arguments are the same for all iterations.
    pub fn vectorize_loop(
        &self,
        source: &SourceModule,
        request: &LoopRequest,
    ) -> Result<VectorLoop, DiagnosticError> {
        let LoopRequest { func: name, lanes, interleaved: wanted, promises } = request;
        let refusal = source.refused.iter().find(|told| told.place.func.as_ref() == Some(name));
        if let Some(refusal) = refusal {
            return Err(refusal.clone().into());
        }
        let mut module = source.module.clone();
        retain_reachable(&mut module, name);
        if let Some(llvm) = source.llvm.as_ref().filter(|_| self.cpu.is_x86()) {
            let names = vector_variant_names(llvm);
            let isa = VectorIsa::of_bits(self.cpu.vector_bits());
            declare_forms(&mut module, names.iter().map(String::as_str), isa);
        }
        let Some(at) = module.functions.iter().position(|func| func.name == *name) else {
            return Err(failed(Code::UnknownFunction, &format!("there is no function @{name}")).into());
        };
        // Callees have loops of their own, which stay as they are.
        let mut alone = Module { files: module.files.clone(), ..Module::default() };
        alone.functions.push(module.functions.remove(at));
        let is_asked_by_callees = asks_lanes(&module.functions, &module);
        let asks_lanes = is_asked_by_callees || asks_lanes(&alone.functions, &module);
        let mut context = PassContext::verifying(self.verify);
        run(&mut alone, &[Pass::Simplify, Pass::Canonicalize], &mut context)?;
        let canonical = alone.functions.clone();
        let own_blocks: EntitySet<Block> = alone.functions.iter().flat_map(Function::blocks).collect();
        run(&mut alone, &[Pass::Canonicalize, Pass::Spread(*promises), Pass::Simplify], &mut context)?;
        let Some(mut func) = alone.functions.pop() else {
            return Err(failed(Code::Internal, &"a loop is gone").into());
        };
        for param in &mut func.signature.params {
            param.shape = Some(DeclaredShape::Uniform);
        }
        let statistics = DivergenceStatistics::of_blocks(&func, |block| own_blocks.contains(block));
        let bits = self.cpu.vector_bits();
        let (one, most) = match *lanes {
            LoopLanes::Exactly(lanes) => {
                let lanes = lanes.clamp(1, MAX_LANES);
                (lanes, lanes * wanted.unwrap_or(1).clamp(1, MAX_LANES / lanes))
            }
            LoopLanes::Auto => (lanes_in_register(&func, bits), MOST_CHOSEN_LANES),
            LoopLanes::AtMost(most) => {
                let most = 1 << most.clamp(1, MOST_CHOSEN_LANES).ilog2();
                (lanes_in_register(&func, bits).min(most), most)
            }
        };
        let is_free = wanted.is_none() && request.lanes == LoopLanes::Auto;
        let refilled = match canonical.first().filter(|_| is_free && !asks_lanes) {
            Some(func) => self.refilled(source, &module, func, *promises, one)?,
            None => None,
        };
        module.functions.push(func);
        let has_own_floats = takes_floats_of_others(&module);
        let (mut wide, mut remarks) = self.widen_loop(&module, name, one)?;
        let mut interleaved = 1;
        if let Some(func) = wide.function(&wide_name(name, &[one])) {
            // What lanes compute does not depend on how many there are, so more of them are as good as several brushes.
            let paying = || choose_brushes(&wide, func, one, &self.options.target).brushes;
            // Lanes that vote do so as one: more of them go where only some want to.
            let unasked = || if asks_lanes { 1 } else { paying() };
            interleaved = wanted.unwrap_or_else(unasked).min(most / one).max(1);
        }
        if interleaved > 1 {
            (wide, remarks) = self.widen_loop(&module, name, one * interleaved)?;
        }
        let lanes = one * interleaved;
        let wide_func = wide_name(name, &[lanes]);
        let gathers = || wide.function(&wide_func).is_some_and(gathers_in_innermost_loop);
        let is_serialized = || remarks.iter().any(|remark| remark.code == Code::LaneByLane);
        let may_lose = match asks_lanes {
            true => !is_asked_by_callees,
            false => is_serialized() || gathers(),
        };
        let is_doubtful = is_free && !has_own_floats && may_lose;
        let few = if is_free && !has_own_floats && !asks_lanes { lanes / LANES_FOR_FEW } else { 0 };
        let vector = self.loop_code(source, &wide, wide_func)?;
        Ok(VectorLoop { vector, refilled, lanes, interleaved, is_doubtful, few, statistics, remarks })
    }

    /// The form of a loop whose lanes take new iterations, if some may wait; the loop stands in a function, beside its callees.
    fn refilled(
        &self,
        source: &SourceModule,
        callees: &Module,
        func: &Function,
        promises: Promises,
        one: u32,
    ) -> Result<Option<LoopCode>, DiagnosticError> {
        let mut func = func.clone();
        for param in &mut func.signature.params {
            param.shape = Some(DeclaredShape::Uniform);
        }
        if !refill_lanes(&mut func, promises)? {
            return Ok(None);
        }
        func.name += ".refilled";
        let name = func.name.clone();
        let mut module = callees.clone();
        module.functions.push(func);
        let (mut wide, _) = self.widen_loop(&module, &name, one)?;
        let paying = |func| choose_brushes(&wide, func, one, &self.options.target).brushes;
        let interleaved = wide.function(&wide_name(&name, &[one])).map_or(1, paying);
        let lanes = one * interleaved.min(MOST_CHOSEN_LANES / one).max(1);
        if lanes > one {
            (wide, _) = self.widen_loop(&module, &name, lanes)?;
        }
        Ok(Some(self.loop_code(source, &wide, wide_name(&name, &[lanes]))?))
    }

    /// Machine-independent code of a wide function, as fast as LLVM's passes make it.
    fn loop_code(
        &self,
        source: &SourceModule,
        module: &Module,
        wide: String,
    ) -> Result<LoopCode, DiagnosticError> {
        let code = emit(module, EmitOptions::default())?;
        code.strip_debug_info();
        internalize_except(&code, &[&wide]);
        if let Some(llvm) = &source.llvm {
            share_globals(&code, llvm);
        }
        optimize(&code, &self.cpu)?;
        code.verify().map_err(|reason| failed(Code::Internal, &reason))?;
        Ok(LoopCode { code, wide })
    }

    /// The module at stage Wide, for so many lanes.
    fn widen_loop(
        &self,
        module: &Module,
        name: &str,
        lanes: u32,
    ) -> Result<(Module, Vec<Diagnostic>), Diagnostic> {
        let mut wide = module.clone();
        let options = VectorizeOptions { params: Some(DeclaredShape::Varying), ..self.options.clone() };
        let mut context = PassContext::verifying(self.verify);
        run(&mut wide, &vectorization(&BrushExtents::new(&[lanes])?, &options), &mut context)?;
        let told = context.remarks.into_iter().map(|remark| remark.diagnostic.in_module(&wide));
        let is_of_access =
            |told: &Diagnostic| !matches!(told.code, Code::Fusion | Code::Scalars | Code::Nest);
        let told =
            told.filter(|told| told.place.func.as_deref() == Some(name)).filter(is_of_access).collect();
        Ok((wide, told))
    }
}

/// Whether lanes ask each other in some functions, of which those of a module are looked at by themselves.
fn asks_lanes(functions: &[Function], callees: &Module) -> bool {
    let defined = callees.functions.iter().map(|func| &*func.name).collect();
    functions.iter().any(|func| find_brush_observer(func, true, &defined).is_some())
}

/// Whether functions call others than each other for floats. Vector code has functions of its own in their place, which may differ in
/// the last bit, so results would tell which code has run.
fn takes_floats_of_others(module: &Module) -> bool {
    let gives_floats = |signature: &Signature| signature.results.iter().any(|it| it.ty.scalar().is_float());
    let callees = module.functions.iter().flat_map(|func| func.callees.values());
    callees.filter(|callee| module.function(&callee.name).is_none()).any(|it| gives_floats(&it.signature))
}

/// Whether wide code gathers or scatters in a loop that has none in it.
fn gathers_in_innermost_loop(wide: &Function) -> bool {
    let cycles = CycleForest::new(&Cfg::new(wide));
    let is_scattered = |inst| matches!(wide.inst(inst).op, Op::Gather | Op::Scatter);
    let deepest = wide.blocks().map(|block| cycles.depth_of_block(block)).max().unwrap_or(0);
    let is_innermost = |block| cycles.depth_of_block(block) > usize::from(deepest > 1);
    wide.blocks().any(|block| is_innermost(block) && wide.block_insts(block).any(is_scattered))
}

/// As many lanes as the widest numbers that differ between lanes, computed or accessed, fit a register.
fn lanes_in_register(func: &Function, bits: u32) -> u32 {
    let control = ControlTables::new(func);
    let facts = divergence(func, &control, &InitialShapes::declared(func, Geometry::unknown()));
    let widest = func.blocks().flat_map(|block| func.block_insts(block)).filter_map(|inst| {
        let data = func.inst(inst);
        let value = match data.op {
            Op::Load => func.result(inst)?,
            Op::Store => *data.args.first()?,
            _ => func.result(inst).filter(|&value| func.value_type(value).scalar().is_float())?,
        };
        let scalar = func.value_type(value).scalar();
        let is_wide = !scalar.is_ptr() && !facts.fact(value).is_uniform();
        is_wide.then(|| scalar.bytes())
    });
    let widest = widest.max().unwrap_or(4).clamp(1, 8);
    (bits / 8 / widest).clamp(2, 64)
}
