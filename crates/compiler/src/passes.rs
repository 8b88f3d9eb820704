//! Table of passes: name, argument, required and ensured stage, and how to run each on a module.

use crate::context::PassContext;
use crate::divergence::make_all_loops_uniform;
use crate::flattening::{flatten_module, parse_flatten_options};
use crate::options::{
    BrushCount, BrushExtents, IfConversion, invalid_option, parse_accuracy, parse_branches,
    parse_default_shape, parse_races, parse_target, parse_versions, parse_work_item_layout,
};
use crate::scalar_replacement::{parse_replacement_options, replace_scalars_in_module};
use crate::vector_abi::{declared_variants, define_call_adapters};
use heddle_analysis::shape::Activation;
use heddle_analysis::{AccessGroups, ControlTables, InitialShapes, divergence};
use heddle_ir::diagnostic::DiagnosticLocation;
use heddle_ir::entity::EntitySet;
use heddle_ir::module::{DeclaredShape, FunctionKind};
use heddle_ir::verify::Stage;
use heddle_ir::{Block, Code, Diagnostic, Function, Inst, Module, Op};
use heddle_math::{Accuracy, provide};
use heddle_transform::fuse::MachineModel;
use heddle_transform::specialize::root_functions;
use heddle_transform::widen::RemarkKind;
use heddle_transform::{
    AxisOrder, BranchFusion, FuseOptions, GroupExecution, KernelOptions, LoopPromises, Remark, TargetInfo,
    VersioningPolicy, WidenContext, WidenOptions, boscc, canonicalize, find_brush_observer, flatten,
    fuse_profiled, geometry_of, guard_regions, inline_small, invert_roots, keep_progress, linearize,
    lock_step_functions, lower_kernels, lower_private_arrays, refill_lanes, replace_launches,
    scalar_replacement, simplify, specialize, spread_loop, stream_stores, thread_jumps, tidy, widen,
};
use std::collections::BTreeMap;

/// A pass with its options.
#[derive(Clone, Debug)]
pub enum Pass {
    /// Checks that several brushes may run side by side.
    Brushes(BrushCount),
    /// Defines the mathematical functions that are called.
    Math(Accuracy),
    /// Default shape for parameters without a declared shape.
    Params(DeclaredShape),
    /// Lowers kernels to sequential code for one work-group.
    Kernels(KernelOptions),
    /// Constant folding, dead code elimination, common subexpression elimination.
    Simplify,
    /// Inlines small functions.
    Inline,
    /// Lowers private arrays to registers, or to elements of one size.
    PrivateArrays,
    /// Makes stores of whole vectors non-temporal.
    Stream,
    /// Turns quotients by approximate square roots into products with inverse roots.
    Roots,
    /// Jump threading past blocks whose branch is already decided.
    Thread,
    /// Schedules one block a round where lanes wait for each other.
    Progress,
    /// Canonicalizes control flow.
    Canonicalize,
    /// Distributes the iterations of a loop over lanes.
    Spread(LoopPromises),
    /// Distributes iterations with lane refill ([`refill_lanes`]); like `Spread` where no lane would wait.
    Refill,
    /// Specializes functions by the shapes of their arguments.
    Specialize(BrushExtents),
    /// Scalar replacement of loads and redundant computations.
    Scalars(scalar_replacement::ReplacementOptions),
    /// Branch fusion: merges code that both sides of a divergent branch have.
    Fuse(FuseOptions),
    /// Flattens nests of divergent loops.
    Flatten(flatten::FlattenOptions),
    /// Makes divergent loops uniform; selects the branches that linearization if-converts.
    Loops(IfConversion),
    /// Inserts guards: branches past regions without active lanes.
    Boscc(boscc::GuardOptions),
    /// Linearizes divergent branches; if blocks are named, only theirs.
    Linearize(EntitySet<Block>),
    /// Simplifies masks and blends.
    Tidy,
    /// Widens lock-step code to vector code.
    Widen(BrushExtents, WidenOptions),
}

/// Description of a pass, apart from its options.
#[derive(Clone, Copy, Debug)]
pub struct PassInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// Help text of one sentence.
    pub doc: &'static str,
    /// Stage that the pass requires.
    pub requires: Stage,
    /// Stage that the pass ensures; none keeps the stage.
    pub ensures: Option<Stage>,
    /// Parser of the argument after the name's colon.
    parse: fn(&str) -> Result<Pass, Diagnostic>,
}

/// All passes, in the order of the pipeline.
pub const PASSES: &[PassInfo] = &[
    PassInfo {
        name: "brushes",
        doc: "check that several brushes may run next to each other in one call (`brushes:2`, `brushes:auto`: as many as the cost model prefers): no function may observe the lanes of its brush",
        requires: Stage::Source,
        ensures: None,
        parse: |count| Ok(Pass::Brushes(count.parse()?)),
    },
    PassInfo {
        name: "math",
        doc: "bodies of the mathematical functions that are called: `math:exact`, `math:fast`; `math:libm` adds none",
        requires: Stage::Source,
        ensures: None,
        parse: |word| Ok(Pass::Math(if word.is_empty() { Accuracy::Exact } else { parse_accuracy(word)? })),
    },
    PassInfo {
        name: "params",
        doc: "default shape for parameters without a declared shape: `params:uniform` or `params:varying`",
        requires: Stage::Source,
        ensures: None,
        parse: |word| Ok(Pass::Params(parse_default_shape(word)?)),
    },
    PassInfo {
        name: "kernels",
        doc: "sequential code for one work-group in place of each kernel (`kernels:8`: brushes of 8 lanes along the rows of the group; `kernels:8+linear`: along its linear order; `+small`: all numbers of a launch are below 2^31; `+versions=force`, `none`: region versions wherever possible, or nowhere; `+mixed`: scattered code between barriers runs one work-item after the other; `+refill`: lane refill; `+single`: groups of one work-item, several of which run as one)",
        requires: Stage::Source,
        ensures: None,
        parse: |words| Ok(Pass::Kernels(parse_kernel_options(words)?)),
    },
    PassInfo {
        name: "simplify",
        doc: "constant folding, dead code, trivial φs, common subexpressions",
        requires: Stage::Source,
        ensures: None,
        parse: |_| Ok(Pass::Simplify),
    },
    PassInfo {
        name: "inline",
        doc: "inline small functions, and larger ones that are called once",
        requires: Stage::Source,
        ensures: None,
        parse: |_| Ok(Pass::Inline),
    },
    PassInfo {
        name: "arrays",
        doc: "private arrays: copies and fills split by element, bytes of words by shifts, arrays with constant indices in registers",
        requires: Stage::Source,
        ensures: None,
        parse: |_| Ok(Pass::PrivateArrays),
    },
    PassInfo {
        name: "roots",
        doc: "quotients by square roots become products by inverse roots, where the source permits the error (`fpmath`)",
        requires: Stage::Source,
        ensures: None,
        parse: |_| Ok(Pass::Roots),
    },
    PassInfo {
        name: "thread",
        doc: "jump threading past blocks whose branch is already decided, as clang leaves at a loop's `break`",
        requires: Stage::Source,
        ensures: None,
        parse: |_| Ok(Pass::Thread),
    },
    PassInfo {
        name: "progress",
        doc: "loops that wait for another lane advance one block a round",
        requires: Stage::Source,
        ensures: None,
        parse: |_| Ok(Pass::Progress),
    },
    PassInfo {
        name: "canonicalize",
        doc: "reducible control flow, one return, simple loops, LCSSA, no switch",
        requires: Stage::Source,
        ensures: Some(Stage::Canonical),
        parse: |_| Ok(Pass::Canonicalize),
    },
    PassInfo {
        name: "spread",
        doc: "distribute the iterations of each function's one outermost loop over lanes, which all enter with the same arguments (`spread:parallel`: iterations are independent; `spread:refill`: also, with lane refill)",
        requires: Stage::Canonical,
        ensures: Some(Stage::Source),
        parse: |word| match word {
            "" => Ok(Pass::Spread(LoopPromises::default())),
            "parallel" => Ok(Pass::Spread(LoopPromises { is_parallel: true })),
            "refill" => Ok(Pass::Refill),
            _ => Err(invalid_option(word, "write `spread`, `spread:parallel` or `spread:refill`")),
        },
    },
    PassInfo {
        name: "specialize",
        doc: "one specialization of a function for each combination of argument shapes and masks (`specialize:8`: for brushes of 8 lanes)",
        requires: Stage::Canonical,
        ensures: Some(Stage::Canonical),
        parse: |brush| Ok(Pass::Specialize(brush.parse()?)),
    },
    PassInfo {
        name: "ssrqp",
        doc: "scalar replacement: keep values that lanes have loaded, stored or computed, also across iterations (`ssrqp:srqp`, `esrqp`, `ssrqp_s`, `ssrqp`, `cost`: where values may be inserted and hoisted; `cost+8`, `cost+target=warps`: for a machine; `races=excluded`: lanes do not race)",
        requires: Stage::Canonical,
        ensures: None,
        parse: |words| Ok(Pass::Scalars(parse_replacement_options(words)?)),
    },
    PassInfo {
        name: "fuse",
        doc: "branch fusion: run code that both sides of a divergent branch share once, where the cost model predicts a gain (`fuse:8`: for 8 lanes; `fuse:8+target=avx512`, `target=warps`: for a machine; `races=excluded`: lanes do not race; `force`: wherever possible; `explain`: matrices in the remarks)",
        requires: Stage::Canonical,
        ensures: None,
        parse: |words| Ok(Pass::Fuse(parse_fuse_options(words)?)),
    },
    PassInfo {
        name: "flatten",
        doc: "flatten nests of divergent loops, where the cost model predicts a gain (`flatten:force`, `none`, `races=excluded`, `lanes=32`; `block1` for one nest, `block2=1x31/64x1` for the frequency of trip counts; several joined by +)",
        requires: Stage::Canonical,
        ensures: Some(Stage::Canonical),
        parse: |words| Ok(Pass::Flatten(parse_flatten_options(words)?)),
    },
    PassInfo {
        name: "loops",
        doc: "make divergent loops uniform: lanes that have left wait in the loop, and their live-outs and exits are tracked (`loops:fold`: later passes if-convert uniform branches, too)",
        requires: Stage::Canonical,
        ensures: Some(Stage::Uniform),
        parse: |word| {
            Ok(Pass::Loops(if word.is_empty() { IfConversion::default() } else { parse_branches(word)? }))
        },
    },
    PassInfo {
        name: "boscc",
        doc: "insert guards around regions without active lanes, where the cost model predicts a gain (`boscc:force`, `boscc:needed`, `boscc:block3=none`; also `block3`, `block3=all-true`; several joined by +)",
        requires: Stage::Uniform,
        ensures: Some(Stage::Uniform),
        parse: |words| Ok(Pass::Boscc(parse_guards(words)?)),
    },
    PassInfo {
        name: "linearize",
        doc: "linearize divergent branches into predicated code (`linearize:block1+block2`: only these)",
        requires: Stage::Uniform,
        ensures: Some(Stage::Linear),
        parse: |blocks| Ok(Pass::Linearize(parse_blocks(blocks)?)),
    },
    PassInfo {
        name: "tidy",
        doc: "simplify masks and blends, hoist masks, remove dead φs and empty regions",
        requires: Stage::Linear,
        ensures: None,
        parse: |_| Ok(Pass::Tidy),
    },
    PassInfo {
        name: "widen",
        doc: "vector code for one thread (`widen:8`, `widen:8x2`: lanes of the brush; `widen:8+target=avx512`: for a machine; `versions=force|none`: run-time versions of accesses wherever possible, or nowhere)",
        requires: Stage::Linear,
        ensures: Some(Stage::Wide),
        parse: |words| {
            let (brush, options) = words.split_once('+').unwrap_or((words, ""));
            Ok(Pass::Widen(brush.parse()?, parse_widen_options(options)?))
        },
    },
    PassInfo {
        name: "stream",
        doc: "stores of whole vectors to global memory bypass the caches",
        requires: Stage::Wide,
        ensures: None,
        parse: |_| Ok(Pass::Stream),
    },
];

impl PassInfo {
    /// Returns the pass of a name.
    pub fn named(name: &str) -> Option<&'static PassInfo> {
        PASSES.iter().find(|info| info.name == name)
    }

    /// Parses the pass's argument, the text after the name's colon.
    pub fn parse(&self, argument: &str) -> Result<Pass, Diagnostic> {
        (self.parse)(argument)
    }
}

impl Pass {
    /// Returns the pass's description.
    pub fn info(&self) -> &'static PassInfo {
        let name = match self {
            Pass::Brushes(_) => "brushes",
            Pass::Math(_) => "math",
            Pass::Params(_) => "params",
            Pass::Kernels(_) => "kernels",
            Pass::Simplify => "simplify",
            Pass::Inline => "inline",
            Pass::PrivateArrays => "arrays",
            Pass::Roots => "roots",
            Pass::Stream => "stream",
            Pass::Thread => "thread",
            Pass::Progress => "progress",
            Pass::Canonicalize => "canonicalize",
            Pass::Spread(_) | Pass::Refill => "spread",
            Pass::Specialize(_) => "specialize",
            Pass::Scalars(_) => "ssrqp",
            Pass::Fuse(_) => "fuse",
            Pass::Flatten(_) => "flatten",
            Pass::Loops(_) => "loops",
            Pass::Boscc(_) => "boscc",
            Pass::Linearize(_) => "linearize",
            Pass::Tidy => "tidy",
            Pass::Widen(..) => "widen",
        };
        PassInfo::named(name).expect("each pass is in the table")
    }

    /// Runs the pass on a module at the required stage.
    pub(crate) fn run(&self, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), Diagnostic> {
        match self {
            Pass::Brushes(count) => return check_brushes(module, *count),
            Pass::Math(accuracy) => {
                return provide(module, *accuracy)
                    .map_err(|broken| Diagnostic::error(Code::Internal, broken.to_string()));
            }
            Pass::Params(shape) => declare_default_shapes(module, shape),
            Pass::Simplify => module.functions.iter_mut().for_each(|func| _ = simplify(func)),
            Pass::Kernels(options) => {
                let diagnostics = lower_kernels(module, options)?.into_iter().flat_map(|group| group.remarks);
                let remark = |diagnostic: Diagnostic| Remark {
                    kind: RemarkKind::Versioned,
                    accesses: 1,
                    diagnostic: diagnostic.in_module(module),
                };
                context.remarks.extend(diagnostics.map(remark));
            }
            Pass::Inline => _ = inline_small(module),
            Pass::PrivateArrays => {
                module.functions.iter_mut().for_each(|func| _ = lower_private_arrays(func));
            }
            Pass::Roots => _ = invert_roots(module),
            Pass::Stream => _ = stream_stores(module),
            Pass::Thread => {
                // Threading turns conditions into constants.
                for func in &mut module.functions {
                    if thread_jumps(func) > 0 {
                        simplify(func);
                    }
                }
            }
            Pass::Progress => {
                let remarks = keep_progress(module)?;
                let in_module =
                    |remark: Remark| Remark { diagnostic: remark.diagnostic.in_module(module), ..remark };
                context.remarks.extend(remarks.into_iter().map(in_module));
            }
            Pass::Canonicalize => {
                for func in &mut module.functions {
                    refuse_predicates(func)?;
                    canonicalize(func);
                }
            }
            Pass::Spread(promises) => {
                for func in &mut module.functions {
                    spread_loop(func, *promises)?;
                }
            }
            Pass::Refill => {
                let promises = LoopPromises { is_parallel: true };
                for func in &mut module.functions {
                    if !refill_lanes(func, promises)? {
                        spread_loop(func, promises)?;
                    }
                }
            }
            Pass::Specialize(brush) => specialize(module, context.all_lanes(brush)?.extents()),
            Pass::Scalars(options) => context.remarks.extend(replace_scalars_in_module(module, options)),
            Pass::Fuse(options) => {
                for func in &mut module.functions {
                    let parted = context.divergence_rates(func);
                    let branches = fuse_profiled(func, options, &parted).branches;
                    // Refusals are remarks on request only.
                    let is_reported = |branch: &BranchFusion| branch.refused.is_none() || options.explain;
                    for branch in branches.into_iter().filter(is_reported) {
                        let form =
                            if branch.refused.is_some() { RemarkKind::KeptBranch } else { RemarkKind::Fused };
                        let place = DiagnosticLocation::of_func(&func.name).at(branch.loc);
                        let diagnostic = Diagnostic::remark(Code::Fusion, branch.text).at(place);
                        context.remarks.push(Remark { kind: form, accesses: 0, diagnostic });
                    }
                }
            }
            Pass::Flatten(options) => {
                let remarks = flatten_module(module, options, context)?;
                context.remarks.extend(remarks);
            }
            Pass::Loops(branches) => {
                context.analyses.converts_uniform_branches = *branches == IfConversion::AllPossible;
                for func in &mut module.functions {
                    let found = make_all_loops_uniform(func)?;
                    if let Some(branches) = found.filter(|_| !context.analyses.converts_uniform_branches) {
                        context.analyses.preserve_divergent_branches(func, branches);
                    }
                }
            }
            Pass::Boscc(options) => {
                for func in &mut module.functions {
                    let divergent = context.analyses.divergent_branches(func)?;
                    let untaken = context.untaken_rates(func);
                    let options = boscc::GuardOptions { untaken, ..options.clone() };
                    if guard_regions(func, &divergent, &options)?.is_empty() {
                        context.analyses.preserve_divergent_branches(func, divergent);
                    }
                }
            }
            Pass::Linearize(named) => {
                for func in &mut module.functions {
                    let divergent = match named.is_empty() {
                        true => context.analyses.divergent_branches(func)?,
                        false => named.clone(),
                    };
                    linearize(func, &divergent)?;
                }
            }
            Pass::Tidy => module.functions.iter_mut().for_each(|func| _ = tidy(func)),
            Pass::Widen(brush, options) => {
                let brush = context.all_lanes(brush)?;
                context.remarks.extend(widen_module(module, brush.extents(), options)?);
            }
        }
        Ok(())
    }
}

impl PassContext<'_> {
    /// Returns the profiled fraction of divergent executions by branch.
    fn divergence_rates(&self, func: &Function) -> BTreeMap<Block, f64> {
        self.profile.as_ref().map(|profile| profile.divergence_rates(func)).unwrap_or_default()
    }

    /// Returns the profiled fraction of visits with no active lane on each edge, unless passes have changed the order of lanes.
    fn untaken_rates(&self, func: &Function) -> BTreeMap<Block, [f64; 2]> {
        let mut forms =
            std::iter::successors(Some(&*func.name), |name| name.rsplit_once('.').map(|(of, _)| of));
        let is_rearranged = forms.any(|name| self.reordered_functions.contains(name));
        let profile = self.profile.as_ref().filter(|_| !is_rearranged);
        profile.map(|profile| profile.untaken_rates(func)).unwrap_or_default()
    }

    /// Returns the extents of all brushes side by side.
    fn all_lanes(&self, brush: &BrushExtents) -> Result<BrushExtents, Diagnostic> {
        brush.times(self.side_by_side.unwrap_or(1))
    }
}

fn refuse_predicates(func: &Function) -> Result<(), Diagnostic> {
    let Some(block) = func.blocks().find(|&block| func.predicate(block).is_some()) else { return Ok(()) };
    let text = format!("{block} has a predicate before `linearize`");
    Err(Diagnostic::error(Code::EarlyPredicate, text).of_func(&func.name).help("write a branch around it"))
}

fn declare_default_shapes(module: &mut Module, shape: &DeclaredShape) {
    let entered = root_functions(module);
    for func in module.functions.iter_mut().filter(|func| entered.contains(&func.name)) {
        for param in &mut func.signature.params {
            param.shape.get_or_insert_with(|| shape.clone());
        }
    }
}

/// Refuses several brushes side by side in a program that observes its lanes.
fn check_brushes(module: &Module, count: BrushCount) -> Result<(), Diagnostic> {
    let Some((func, inst)) = find_module_brush_observer(module).filter(|_| count != BrushCount::Count(1))
    else {
        return Ok(());
    };
    let text =
        format!("the result depends on the lanes of the brush, and {count} brushes would be observed as one");
    Err(Diagnostic::error(Code::SeesBrush, text)
        .at(DiagnosticLocation::of_inst(func, inst))
        .help("run one brush at a time, or write one wide brush"))
}

/// Returns the first instruction of lock-step code that observes the lanes of its brush.
pub(crate) fn find_module_brush_observer(module: &Module) -> Option<(&Function, Inst)> {
    let launches = |func: &Function| {
        let mut insts = func.blocks().flat_map(|block| func.block_insts(block));
        insts.any(|inst| func.inst(inst).op == Op::Launch)
    };
    let is_launched = module.functions.iter().any(|func| matches!(func.kind, FunctionKind::Kernel(_)));
    let defined = module.functions.iter().map(|func| &*func.name).collect();
    let mut functions = module.functions.iter().filter(|func| !launches(func));
    functions.find_map(|func| Some((func, find_brush_observer(func, is_launched, &defined)?)))
}

/// Replaces lock-step functions by their wide functions. Returns remarks on how accesses were lowered.
pub fn widen_module(
    module: &mut Module,
    brush: &[u32],
    options: &WidenOptions,
) -> Result<Vec<Remark>, Diagnostic> {
    let functions =
        lock_step_functions(module, brush).map_err(|reason| Diagnostic::error(Code::NoVectorForm, reason))?;
    let defined = module.functions.iter().map(|func| &*func.name).collect();
    let mut around =
        WidenContext { defined, is_region: false, vector_variants: declared_variants(module, brush) };
    let (mut wide, mut remarks) = (Vec::new(), Vec::new());
    for form in &functions {
        let Some(func) = module.function(&form.name) else { continue };
        let control = ControlTables::new(func);
        let geometry = geometry_of(func, &form.brush, form.is_region);
        let initial = InitialShapes::declared(func, geometry).with_entry(Activation::Full);
        let facts = divergence(func, &control, &initial);
        let accesses = AccessGroups::new(func, &control, &facts, &initial.geometry);
        around.is_region = form.is_region;
        let made = widen(func, &facts, &accesses, &form.brush, &around, options)?;
        wide.push(made.func);
        remarks.extend(made.remarks);
    }
    drop(around);
    for (form, new) in functions.iter().zip(wide) {
        if let Some(func) = module.function_mut(&form.name) {
            *func = new;
        }
    }
    define_call_adapters(module);
    module.functions.iter_mut().try_for_each(replace_launches)?;
    Ok(remarks)
}

/// Parses the options of widening after the brush, separated by `+`.
fn parse_widen_options(words: &str) -> Result<WidenOptions, Diagnostic> {
    let mut options = WidenOptions::default();
    for word in words.split('+').filter(|word| !word.is_empty()) {
        match word.split_once('=') {
            Some(("target", name)) => options.target = parse_target(name)?,
            Some(("versions", word)) => options.versions = parse_versions(word)?,
            _ => return Err(invalid_option(word, "write `target=avx512` or `versions=force|none`")),
        }
    }
    Ok(options)
}

/// Parses the options of fusion, separated by `+`: lanes, machine, races.
fn parse_fuse_options(words: &str) -> Result<FuseOptions, Diagnostic> {
    let mut options = FuseOptions::default();
    let (mut lanes, mut target) = (8, Some(TargetInfo::default()));
    for word in words.split('+').filter(|word| !word.is_empty()) {
        match word.split_once('=') {
            None if word == "force" => options.force = true,
            None if word == "explain" => options.explain = true,
            None => lanes = word.parse::<BrushExtents>()?.lanes(),
            Some(("races", races)) => options.races = parse_races(races)?,
            Some(("target", "warps")) => target = None,
            Some(("target", name)) => target = Some(parse_target(name)?),
            Some(_) => {
                let help =
                    "write lanes, `target=avx512` or `target=warps`, `races=excluded`, `force` or `explain`";
                return Err(invalid_option(word, help));
            }
        }
    }
    options.machine = target.map_or(MachineModel::Warps, |target| MachineModel::Vectors(target, lanes));
    Ok(options)
}

/// Parses the options of kernel lowering, separated by `+`; the first is the brush.
fn parse_kernel_options(words: &str) -> Result<KernelOptions, Diagnostic> {
    let (brush, words) = words.split_once('+').unwrap_or((words, ""));
    let brush = brush.parse::<BrushExtents>()?.extents().into();
    let versions = VersioningPolicy::Model;
    let mut options = KernelOptions { is_small: false, versions, ..KernelOptions::rows(brush) };
    for word in words.split('+').filter(|word| !word.is_empty()) {
        match word {
            "small" => options.is_small = true,
            "mixed" => options.execution = GroupExecution::Mixed,
            "refill" => options.execution = GroupExecution::LaneRefill,
            "single" => options.single_item_groups = true,
            "versions=force" => options.versions = VersioningPolicy::Force,
            "versions=none" => options.versions = VersioningPolicy::None,
            _ => match word.strip_prefix("axes=") {
                Some(dimensions) => options.axes = parse_axes(dimensions)?,
                None => options.layout = parse_work_item_layout(word)?,
            },
        }
    }
    Ok(options)
}

/// Work-item dimensions along the axes of a brush, innermost first.
fn parse_axes(dimensions: &str) -> Result<AxisOrder, Diagnostic> {
    let name = |axes: &AxisOrder| axes.to_axes(["0", "1", "2"]).concat();
    let found = AxisOrder::ALL.into_iter().find(|axes| name(axes) == dimensions);
    found.ok_or_else(|| invalid_option(dimensions, "write the three dimensions, innermost first: `axes=102`"))
}

/// Parses names of blocks, separated by `+`.
fn parse_blocks(names: &str) -> Result<EntitySet<Block>, Diagnostic> {
    names.split('+').filter(|name| !name.is_empty()).map(parse_block).collect()
}

fn parse_block(name: &str) -> Result<Block, Diagnostic> {
    let number = name.strip_prefix("block").and_then(|number| number.parse().ok());
    number.map(Block::from_u32).ok_or_else(|| invalid_option(name, "write a block, as in `block3`"))
}

/// Parses the options of guard insertion.
fn parse_guards(words: &str) -> Result<boscc::GuardOptions, Diagnostic> {
    let mut options = boscc::GuardOptions::default();
    for word in words.split('+').filter(|word| !word.is_empty()) {
        let (name, requested) = word.split_once('=').unwrap_or((word, "all-false"));
        let requested = match requested {
            "all-false" => boscc::GuardRequest::AllFalse,
            "all-true" => boscc::GuardRequest::AllTrue,
            "none" => boscc::GuardRequest::None,
            _ => return Err(invalid_option(requested, "write `all-false`, `all-true` or `none`")),
        };
        match word {
            "force" => options.policy = boscc::GuardPolicy::Force,
            "needed" => options.policy = boscc::GuardPolicy::Needed,
            _ => _ = options.requests.insert(parse_block(name)?, requested),
        }
    }
    Ok(options)
}
