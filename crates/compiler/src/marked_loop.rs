//! Vectorization of marked loops: a function that holds one loop becomes one that runs the loop's iterations in lanes and has
//! the same parameters.

use crate::context::PassContext;
use crate::divergence_statistics::DivergenceStatistics;
use crate::options::{BrushExtents, VectorizeOptions};
use crate::passes::{Pass, SpreadOptions};
use crate::pipeline::{run, vectorization_passes};
use crate::report::merge_access_remarks;
use crate::session::{DiagnosticError, Session, SourceModule, retain_reachable};
use crate::vector_abi::{VectorIsa, declare_variants};
use heddle_analysis::shape::Geometry;
use heddle_analysis::{Cfg, ControlTables, CycleForest, InitialShapes, divergence};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::entity::EntitySet;
use heddle_ir::module::{DeclaredShape, Signature};
use heddle_ir::types::{MAX_DEFAULT_LANES, MAX_LANES};
use heddle_ir::{Block, Code, Constant, Diagnostic, Function, Inst, Module, Op, Type, Value};
use heddle_llvm::{
    EmitOptions, LlvmModule, OptimizeOptions, emit, internalize_except, optimize, share_globals,
    vector_variant_names,
};
use heddle_transform::target::TargetInfo;
use heddle_transform::widen::wide_name;
use heddle_transform::{LoopPromises, RaceSemantics, choose_brushes, find_brush_observer, refill_lanes};
use std::fmt;

/// Request to vectorize a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopRequest {
    /// Function that holds the loop and nothing else.
    pub func: String,
    /// Number of iterations in one vector.
    pub lanes: LoopLanes,
    /// Interleave factor: number of vectors side by side; none lets the cost model choose.
    pub interleaved: Option<u32>,
    /// Properties that the programmer promises.
    pub promises: LoopPromises,
    /// Number of the parameter with the first iteration. Calls begin at multiples of [`slice_length`].
    pub first: Option<usize>,
}

/// Numbers of vectors and of iterations that a slice of a loop has at most: iterations that are timed by themselves.
const VECTORS_IN_SLICE: u32 = 4;
const MOST_IN_SLICE: u32 = 256;

/// Number of iterations of a slice of a loop: calls of code with this many lanes begin at multiples of it.
pub fn slice_length(lanes: u32) -> u32 {
    (lanes * VECTORS_IN_SLICE).min(MOST_IN_SLICE)
}

/// A loop of up to `lanes / LANES_PER_SCALAR_ITERATION` iterations runs faster as scalar code, which has less setup and no masks; one that gathers
/// or loads rows of lanes, which needs all of them, up to half of the lanes.
const LANES_PER_SCALAR_ITERATION: u32 = 8;
const LANES_PER_GATHERING_ITERATION: u32 = 2;

/// Number of iterations in one vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopLanes {
    /// Chosen by the cost model.
    Auto,
    /// Chosen by the cost model, up to a maximum.
    AtMost(u32),
    /// Fixed number.
    Exactly(u32),
}

/// One version of a loop's vector code.
#[derive(Debug)]
pub struct LoopCode {
    /// Optimized LLVM module. Only the wide function is visible from outside; globals are declarations of the source's.
    pub code: LlvmModule,
    /// Name of the wide function.
    pub wide: String,
}

/// Vector code of a loop.
#[derive(Debug)]
pub struct VectorLoop {
    /// Version whose lanes run consecutive iterations.
    pub vector: LoopCode,
    /// Version with lane refill, where lanes may wait for each other in an inner loop. It computes the same bits; which version
    /// is faster depends on the data.
    pub refilled: Option<LoopCode>,
    /// Version of one vector, for iterations that fill no group of interleaved ones; none without such groups.
    pub rest: Option<LoopCode>,
    /// Number of iterations that run together.
    pub lanes: u32,
    /// Number of vectors that these iterations fill.
    pub interleaved: u32,
    /// True if the data decide whether scalar code is faster: lanes observe each other, an innermost loop gathers, or
    /// something runs lane by lane.
    pub is_doubtful: bool,
    /// Maximum trip count at which scalar code is faster, since a vector takes as long for one iteration as for all.
    pub few: u32,
    /// True if the iterations that fill no vector run faster as scalar code than under a mask.
    pub has_scalar_rest: bool,
    /// Statistics of the loop's divergence.
    pub statistics: DivergenceStatistics,
    /// Remarks on how loads and stores were lowered.
    pub remarks: Vec<Diagnostic>,
}

pub(crate) fn error(code: Code, reason: &dyn fmt::Display) -> Diagnostic {
    Diagnostic::error(code, reason.to_string())
}

impl Session {
    /// Vectorizes the only loop of a function whose arguments are all uniform.
    pub fn vectorize_loop(
        &self,
        source: &SourceModule,
        request: &LoopRequest,
    ) -> Result<VectorLoop, DiagnosticError> {
        let LoopRequest { func: name, lanes, interleaved: interleave, promises, first } = request;
        let (mut module, mut alone) = self.isolate(source, name)?;
        let callees_observe_lanes = observe_lanes(&module.functions, &module);
        let observes_lanes = callees_observe_lanes || observe_lanes(&alone.functions, &module);
        let mut context = PassContext::verifying(self.verify);
        run(&mut alone, &[Pass::Simplify, Pass::Canonicalize], &mut context)?;
        let canonical = alone.functions.clone();
        let own_blocks: EntitySet<Block> = alone.functions.iter().flat_map(Function::blocks).collect();
        run(
            &mut alone,
            &[
                Pass::Canonicalize,
                Pass::Spread(SpreadOptions { promises: *promises, ..SpreadOptions::default() }),
                Pass::Simplify,
            ],
            &mut context,
        )?;
        let Some(mut func) = alone.functions.pop() else {
            return Err(error(Code::Internal, &"internal error: a loop is missing").into());
        };
        for param in &mut func.signature.params {
            param.shape = Some(DeclaredShape::Uniform);
        }
        let statistics = DivergenceStatistics::of_blocks(&func, |block| own_blocks.contains(block));
        let masks_are_slow = masks_are_slow(&func, &self.options.target);
        let bits = self.cpu.vector_bits();
        let (register_lanes, most) = match *lanes {
            LoopLanes::Exactly(lanes) => {
                let lanes = lanes.clamp(1, MAX_LANES);
                (lanes, lanes * interleave.unwrap_or(1).clamp(1, MAX_LANES / lanes))
            }
            LoopLanes::Auto => (lanes_in_register(&func, bits), MAX_DEFAULT_LANES),
            LoopLanes::AtMost(most) => {
                let most = 1 << most.clamp(1, MAX_DEFAULT_LANES).ilog2();
                (lanes_in_register(&func, bits).min(most), most)
            }
        };
        let is_free = interleave.is_none() && request.lanes == LoopLanes::Auto;
        let refilled = match canonical.first().filter(|_| is_free && !observes_lanes) {
            Some(func) => self.refilled(source, &module, func, *promises, register_lanes)?,
            None => None,
        };
        module.functions.push(func);
        let has_own_floats = calls_external_float_function(&module);
        let from = |multiple: u32| begun_at_multiples(&module, name, *first, multiple);
        let (mut wide, mut remarks) =
            self.widen_loop(&from(slice_length(register_lanes)), name, &[register_lanes])?;
        let mut interleaved = 1;
        if let Some(func) = wide.function(&wide_name(name, &[register_lanes])) {
            // Results do not depend on the number of lanes, so one wider vector replaces several brushes.
            let paying = || choose_brushes(&wide, func, register_lanes, &self.options.target).brushes;
            // Lanes that vote do so together: more of them run a branch that only some of them take.
            let unasked = || if observes_lanes { 1 } else { paying() };
            interleaved = interleave.unwrap_or_else(unasked).min(most / register_lanes).max(1);
        }
        let mut rest = None;
        let lanes = register_lanes * interleaved;
        if interleaved > 1 {
            if !observes_lanes {
                // Code for the rest begins where a group ends.
                (wide, _) = self.widen_loop(&from(lanes), name, &[register_lanes])?;
                rest = Some(self.loop_code(source, &wide, wide_name(name, &[register_lanes]))?);
            }
            (wide, remarks) = self.widen_loop(&from(slice_length(lanes)), name, &[lanes])?;
        }
        let wide_func = wide_name(name, &[lanes]);
        let gathers = || wide.function(&wide_func).is_some_and(gathers_in_innermost_loop);
        let is_serialized = || remarks.iter().any(|remark| remark.code == Code::LaneByLane);
        let may_lose = match observes_lanes {
            true => !callees_observe_lanes,
            false => is_serialized() || gathers(),
        };
        let is_doubtful = is_free && !has_own_floats && may_lose;
        let few = if is_free && !has_own_floats && !observes_lanes {
            let least = if rest.is_some() { register_lanes } else { lanes };
            least / if is_doubtful { LANES_PER_GATHERING_ITERATION } else { LANES_PER_SCALAR_ITERATION }
        } else {
            0
        };
        let has_scalar_rest = is_free && !has_own_floats && !observes_lanes && masks_are_slow;
        let vector = self.loop_code(source, &wide, wide_func)?;
        Ok(VectorLoop {
            vector,
            refilled,
            rest,
            lanes,
            interleaved,
            is_doubtful,
            few,
            has_scalar_rest,
            statistics,
            remarks: merge_access_remarks(&remarks),
        })
    }

    /// Returns the callees of a function, and the function alone: loops of callees are not vectorized.
    pub(crate) fn isolate(
        &self,
        source: &SourceModule,
        name: &str,
    ) -> Result<(Module, Module), DiagnosticError> {
        let is_of_func = |diagnostic: &&Diagnostic| diagnostic.place.func.as_deref() == Some(name);
        if let Some(refusal) = source.refused.iter().find(is_of_func) {
            return Err(refusal.clone().into());
        }
        let mut callees = source.module.clone();
        retain_reachable(&mut callees, name);
        if let Some(llvm) = source.llvm.as_ref().filter(|_| self.cpu.is_x86()) {
            let names = vector_variant_names(llvm);
            let isa = VectorIsa::of_bits(self.cpu.vector_bits());
            declare_variants(&mut callees, names.iter().map(String::as_str), isa);
        }
        let Some(at) = callees.functions.iter().position(|func| func.name == *name) else {
            return Err(error(Code::UnknownFunction, &format!("no function @{name}")).into());
        };
        let mut alone = Module { files: callees.files.clone(), ..Module::default() };
        alone.functions.push(callees.functions.remove(at));
        Ok((callees, alone))
    }

    /// Builds the version with lane refill; none if no lane would wait.
    fn refilled(
        &self,
        source: &SourceModule,
        callees: &Module,
        func: &Function,
        promises: LoopPromises,
        register_lanes: u32,
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
        let (mut wide, _) = self.widen_loop(&module, &name, &[register_lanes])?;
        let paying = |func| choose_brushes(&wide, func, register_lanes, &self.options.target).brushes;
        let interleaved = wide.function(&wide_name(&name, &[register_lanes])).map_or(1, paying);
        let lanes = register_lanes * interleaved.min(MAX_DEFAULT_LANES / register_lanes).max(1);
        if lanes > register_lanes {
            (wide, _) = self.widen_loop(&module, &name, &[lanes])?;
        }
        Ok(Some(self.loop_code(source, &wide, wide_name(&name, &[lanes]))?))
    }

    /// Generates optimized code of a wide function, still independent of the machine.
    pub(crate) fn loop_code(
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
        optimize(&code, &self.cpu, OptimizeOptions::default())?;
        code.verify().map_err(|reason| error(Code::Internal, &reason))?;
        Ok(LoopCode { code, wide })
    }

    /// Returns the module at stage Wide for a brush, and the remarks on its accesses.
    pub(crate) fn widen_loop(
        &self,
        module: &Module,
        name: &str,
        brush: &[u32],
    ) -> Result<(Module, Vec<Diagnostic>), Diagnostic> {
        let mut wide = module.clone();
        // A mark promises that no iteration accesses what another one writes.
        let races = RaceSemantics::Excluded;
        let options =
            VectorizeOptions { params: Some(DeclaredShape::Varying), races, ..self.options.clone() };
        let mut context = PassContext::verifying(self.verify);
        run(&mut wide, &vectorization_passes(&BrushExtents::new(brush)?, &options), &mut context)?;
        let diagnostics = context.remarks.into_iter().map(|remark| remark.diagnostic.in_module(&wide));
        let is_of_access =
            |diagnostic: &Diagnostic| !matches!(diagnostic.code, Code::Fusion | Code::Scalars | Code::Nest);
        let diagnostics = diagnostics
            .filter(|diagnostic| diagnostic.place.func.as_deref() == Some(name))
            .filter(is_of_access)
            .collect();
        Ok((wide, diagnostics))
    }
}

/// Returns a module whose function `name` knows that its parameter `first` is a multiple of the largest power of two in `multiple`.
pub(crate) fn begun_at_multiples(module: &Module, name: &str, first: Option<usize>, multiple: u32) -> Module {
    let mut module = module.clone();
    let Some(func) = module.function_mut(name) else { return module };
    let Some(&param) = first.and_then(|first| func.params().get(first)) else { return module };
    let ty = func.value_type(param);
    if !matches!(ty, Type::Scalar(scalar) if scalar.is_int()) || multiple < 2 {
        return module;
    }
    let low = (1u64 << multiple.trailing_zeros()) - 1;
    let mask = func.make_const(Constant::int(ty.scalar(), i128::from(low) ^ -1));
    let entry = func.entry();
    let mut builder = Builder::new(func, InsertPoint::Start(entry));
    let aligned = builder.op(Op::And, &[param, mask]);
    let own = func.def_inst(aligned);
    let insts: Vec<Inst> = func.blocks().flat_map(|block| func.block_insts(block)).collect();
    for inst in insts.into_iter().filter(|&inst| Some(inst) != own) {
        for arg in &mut func.inst_mut(inst).args {
            if *arg == param {
                *arg = aligned;
            }
        }
    }
    module
}

/// True if some functions observe the lanes they run with. Callees that `callees` defines are not followed.
pub(crate) fn observe_lanes(functions: &[Function], callees: &Module) -> bool {
    let defined = callees.functions.iter().map(|func| &*func.name).collect();
    functions.iter().any(|func| find_brush_observer(func, true, &defined).is_some())
}

/// True if a function calls an external function that returns floats. Vector code calls its own implementations, which may
/// differ in the last bit, so results would reveal which version ran.
fn calls_external_float_function(module: &Module) -> bool {
    let gives_floats = |signature: &Signature| signature.results.iter().any(|it| it.ty.scalar().is_float());
    let callees = module.functions.iter().flat_map(|func| func.callees.values());
    callees.filter(|callee| module.function(&callee.name).is_none()).any(|it| gives_floats(&it.signature))
}

/// True if wide code gathers or scatters in an innermost loop.
fn gathers_in_innermost_loop(wide: &Function) -> bool {
    let cycles = CycleForest::new(&Cfg::new(wide));
    let is_scattered = |inst| matches!(wide.inst(inst).op, Op::Gather | Op::Scatter);
    let deepest = wide.blocks().map(|block| cycles.depth_of_block(block)).max().unwrap_or(0);
    let is_innermost = |block| cycles.depth_of_block(block) > usize::from(deepest > 1);
    wide.blocks().any(|block| is_innermost(block) && wide.block_insts(block).any(is_scattered))
}

/// Loops that compute more than this per narrow access gain more from lanes than a mask costs.
const OPS_PER_NARROW_ACCESS: usize = 8;

/// True if a spread loop accesses numbers for which the target has no masks, each of which it would test lane by lane, and computes little
/// besides.
fn masks_are_slow(func: &Function, target: &TargetInfo) -> bool {
    let control = ControlTables::new(func);
    let facts = divergence(func, &control, &InitialShapes::declared(func, Geometry::unknown()));
    let varying = |value: Value| !facts.fact(value).is_uniform();
    let is_narrow = |inst: Inst| {
        let data = func.inst(inst);
        let value = match data.op {
            Op::Load => func.result(inst),
            Op::Store => data.args.first().copied(),
            _ => None,
        };
        let address = data.args.last().copied();
        value.is_some_and(|value| func.value_type(value).scalar().bytes() < 4) && address.is_some_and(varying)
    };
    let insts: Vec<Inst> = func.blocks().flat_map(|block| func.block_insts(block)).collect();
    let narrow = insts.iter().filter(|&&inst| is_narrow(inst)).count();
    target.mask_registers == 0 && narrow > 0 && insts.len() <= narrow * OPS_PER_NARROW_ACCESS
}

/// Returns the number of lanes for which the widest varying values, computed or accessed, fill a register.
pub(crate) fn lanes_in_register(func: &Function, bits: u32) -> u32 {
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
