//! The pass pipeline. No other module knows the order of passes.

use crate::context::PassContext;
use crate::options::{BrushCount, BrushExtents, PassPolicy, RootPrecision, StorePolicy, VectorizeOptions};
use crate::passes::{BrushWidening, PASSES, Pass, PassInfo, find_module_brush_observer, strip_options};
use heddle_ir::diagnostic::DiagnosticLocation;
use heddle_ir::entity::EntitySet;
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Code, Diagnostic, Module};
use heddle_transform::fuse::MachineModel;
use heddle_transform::specialize::root_functions;
use heddle_transform::widen::{RemarkKind, wide_name};
use heddle_transform::{
    FuseOptions, GroupExecution, KernelOptions, Remark, WidenOptions, boscc, choose_brushes, flatten,
    scalar_replacement,
};
use std::time::Instant;

/// Returns the passes that vectorize lock-step code for a brush.
pub(crate) fn vectorization_passes(brush: &BrushExtents, options: &VectorizeOptions) -> Vec<Pass> {
    let &VectorizeOptions {
        target,
        math,
        ref params,
        brushes,
        versions,
        kernels,
        guards,
        branches,
        roots,
        refill,
        strips,
        races,
        stores,
        ..
    } = options;
    let mut passes = Vec::new();
    passes.extend((brushes != BrushCount::Count(1)).then_some(Pass::Brushes(brushes)));
    passes.extend(math.map(Pass::Math));
    passes.extend(params.clone().map(Pass::Params));
    passes.extend(kernels.map(|fold| {
        let brush = brush.extents().into();
        let running =
            if refill == PassPolicy::Always { GroupExecution::LaneRefill } else { GroupExecution::Brushes };
        Pass::Kernels(KernelOptions {
            layout: fold,
            is_small: false,
            versions,
            execution: running,
            ..KernelOptions::rows(brush)
        })
    }));
    passes.extend([Pass::Simplify, Pass::Inline, Pass::PrivateArrays]);
    let is_estimated = roots == RootPrecision::Estimated && target.estimates_roots();
    passes.extend(is_estimated.then_some(Pass::Roots));
    passes.extend([Pass::Thread, Pass::Progress, Pass::Canonicalize]);
    let divergence = divergence_reducing_passes(brush, options);
    if !divergence.is_empty() {
        passes.extend(divergence.into_iter().chain([Pass::Simplify]));
    }
    passes.extend(strip_options(brush, strips, target, races).map(Pass::Strips));
    passes.extend([
        Pass::Specialize(brush.clone()),
        Pass::Loops(branches),
        Pass::Boscc(boscc::GuardOptions {
            policy: guards,
            registers: (brush.lanes() * 32).div_ceil(target.vector_bits),
            ..boscc::GuardOptions::default()
        }),
        Pass::Linearize(EntitySet::new()),
        Pass::Tidy,
        Pass::Widen(BrushWidening {
            brush: brush.clone(),
            options: WidenOptions { target, versions, races },
        }),
        Pass::Simplify,
    ]);
    passes.extend((stores == StorePolicy::Streamed).then_some(Pass::Stream));
    passes
}

/// Returns the passes at stage Canonical that reduce divergence and redundant work.
fn divergence_reducing_passes(brush: &BrushExtents, options: &VectorizeOptions) -> Vec<Pass> {
    let &VectorizeOptions { target, scalars, fuse, flatten, races, .. } = options;
    let machine = MachineModel::Vectors(target, brush.lanes());
    let mut passes = Vec::new();
    passes
        .extend(scalars.map(|variant| {
            Pass::Scalars(scalar_replacement::ReplacementOptions { variant, races, machine })
        }));
    if flatten != PassPolicy::Never {
        let policy = if flatten == PassPolicy::Always {
            flatten::FlattenPolicy::Force
        } else {
            flatten::FlattenPolicy::Model
        };
        let options =
            flatten::FlattenOptions { policy, races, machine, lanes: brush.lanes(), ..Default::default() };
        passes.push(Pass::Flatten(options));
    }
    if fuse != PassPolicy::Never {
        let force = fuse == PassPolicy::Always;
        passes.push(Pass::Fuse(FuseOptions { machine, races, force, ..FuseOptions::default() }));
    }
    passes
}

/// Parses a list of passes: names, each with `:` and an argument where the pass takes one. `vectorize`, followed by its
/// options (`vectorize`, `W=8`, `params=uniform`), stands for the whole pipeline.
pub(crate) fn parse_passes(words: &[&str]) -> Result<Vec<Pass>, Diagnostic> {
    let mut passes = Vec::new();
    let mut rest = words.iter().copied().peekable();
    while let Some(word) = rest.next() {
        if word != "vectorize" {
            let variant = word.split_once('=').filter(|(name, _)| *name == "ssrqp");
            let (name, argument) = variant.or_else(|| word.split_once(':')).unwrap_or((word, ""));
            let info = PassInfo::named(name).ok_or_else(|| unknown_pass(name))?;
            let pass = info.parse(argument);
            passes.push(pass.map_err(|diagnostic| diagnostic.at(DiagnosticLocation::of_option(word)))?);
            continue;
        }
        let (mut brush, mut options) = (None, VectorizeOptions::default());
        while let Some((word, (key, value))) =
            rest.peek().and_then(|&word| Some((word, word.split_once('=')?)))
        {
            let known = match key {
                "W" => value.parse().map(|parsed| brush = Some(parsed)).map(|()| true),
                _ => options.set(key, value),
            };
            if !known.map_err(|diagnostic| diagnostic.at(DiagnosticLocation::of_option(word)))? {
                let text = format!("unknown option `{word}` of `vectorize`");
                let help =
                    format!("the options are `W=8` (or `W=8x2`), {}", VectorizeOptions::list_of_options());
                return Err(Diagnostic::error(Code::PassOption, text).help(help));
            }
            rest.next();
        }
        let missing = || Diagnostic::error(Code::PassOption, "`vectorize` without a number of lanes");
        let brush = brush.ok_or_else(|| missing().help("write the number of lanes: `vectorize,W=8`"))?;
        passes.extend(vectorization_passes(&brush, &options));
    }
    Ok(passes)
}

fn unknown_pass(name: &str) -> Diagnostic {
    let known: Vec<&str> = PASSES.iter().map(|pass| pass.name).collect();
    Diagnostic::error(Code::UnknownPass, format!("unknown pass `{name}`"))
        .help(format!("the passes are vectorize, {}", known.join(", ")))
}

/// Runs passes in order. Verifies a pass's required stage unless earlier passes ensured it.
pub(crate) fn run(
    module: &mut Module,
    passes: &[Pass],
    context: &mut PassContext<'_>,
) -> Result<(), Diagnostic> {
    let mut stage = Stage::Source;
    for (number, pass) in passes.iter().enumerate() {
        let info = pass.info();
        if context.is_cancelled() {
            return Err(Diagnostic::error(Code::Cancelled, format!("cancelled before `{}`", info.name)));
        }
        if context.verify || info.requires > stage {
            check_stage(module, info.requires.max(stage), "before", info)?;
        }
        context.begin_pass();
        let begin = Instant::now();
        let done = match pass {
            Pass::Brushes(BrushCount::Auto) => choose_brush_count(module, &passes[number + 1..], context)
                .map(|count| context.side_by_side = Some(count)),
            Pass::Brushes(BrushCount::Count(count)) => {
                context.side_by_side = Some(*count);
                pass.run(module, context)
            }
            _ => pass.run(module, context),
        };
        done.map_err(|diagnostic| diagnostic.in_module(module).note(format!("in pass `{}`", info.name)))?;
        let time = begin.elapsed();
        stage = info.ensures.unwrap_or(stage);
        if context.verify {
            check_stage(module, stage, "after", info)?;
        }
        context.end_pass(info, module, time);
    }
    Ok(())
}

fn check_stage(module: &Module, stage: Stage, when: &str, pass: &PassInfo) -> Result<(), Diagnostic> {
    verify_module(module, stage).map_err(|violations| {
        let text = format!("{when} `{}`: the module is not at stage {stage}\n{violations}", pass.name);
        Diagnostic::error(Code::InvalidIr, text)
    })
}

/// Returns the profitable number of brushes, estimated from the wide code of one, and adds a remark with the figures.
fn choose_brush_count(
    module: &Module,
    passes: &[Pass],
    context: &mut PassContext<'_>,
) -> Result<u32, Diagnostic> {
    let mut tell = |place: DiagnosticLocation, text: String| {
        let diagnostic = Diagnostic::remark(Code::BrushCount, text).at(place).in_module(module);
        context.remarks.push(Remark { kind: RemarkKind::Brushes, accesses: 0, diagnostic });
    };
    if let Some((func, inst)) = find_module_brush_observer(module) {
        tell(
            DiagnosticLocation::line_of(func, inst),
            format!("1 brush: `{}` depends on the lanes of the brush", func.inst(inst).op),
        );
        return Ok(1);
    }
    let widening = passes.iter().find_map(|pass| match pass {
        Pass::Widen(widening) => Some((&widening.brush, &widening.options)),
        _ => None,
    });
    let Some((brush, options)) = widening else { return Ok(1) };
    let mut trial = module.clone();
    run(&mut trial, passes, &mut PassContext::new())?;
    let mut least = None;
    for name in root_functions(module) {
        let Some(wide) = trial.function(&wide_name(&name, brush.extents())) else { continue };
        let choice = choose_brushes(&trial, wide, brush.lanes(), &options.target);
        let loc = choice.deciding_loop.and_then(|estimate| estimate.loc);
        tell(DiagnosticLocation::of_func(&name).at(loc), format!("{choice}, on {}", options.target.name));
        least = Some(least.map_or(choice.brushes, |least: u32| least.min(choice.brushes)));
    }
    Ok(least.unwrap_or(1))
}
