//! The pipeline: the only place that knows the passes and their order.

use crate::vector_abi::{define_outgoing, known_forms};
use heddle_analysis::divergence::Divergence;
use heddle_analysis::shape::{Activation, Geometry};
use heddle_analysis::{AccessGroups, ControlTables, InitialShapes, divergence};
use heddle_ir::entity::EntitySet;
use heddle_ir::module::{DeclaredShape, Kind};
use heddle_ir::types::MAX_LANES;
use heddle_ir::verify::{Stage, Violations, verify_module};
use heddle_ir::{Block, Function, Inst, Module, Op};
use heddle_math::{Accuracy, provide};
use heddle_transform::specialize::entered_functions;
use heddle_transform::widen::{Form, wide_name};
use heddle_transform::{
    Around, Fold, KernelOptions, LoopFacts, LoopsError, Remark, Target, Versions, WidenOptions, boscc,
    canonicalize, choose_brushes, geometry_of, guard_regions, linearize, lock_step_functions, lower_kernels,
    make_loops_uniform, replace_launches, sees_brush, simplify, specialize, tidy, widen,
};
use thiserror::Error;

/// A pass by its name.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub doc: &'static str,
    /// The stage that it needs.
    pub requires: Stage,
    /// The stage that it ensures; none leaves the stage as it was.
    pub ensures: Option<Stage>,
    /// What it does, given what its name was followed by, behind a colon.
    run: fn(&mut Module, &str, &mut Notes) -> Result<(), String>,
}

/// What a pass finds beside the module that it makes.
#[derive(Default)]
struct Notes {
    remarks: Vec<Remark>,
    /// For each function, which branches diverge, if the pass before has left it for this one.
    known: Vec<Option<EntitySet<Block>>>,
    /// The same, for the pass behind.
    found: Vec<Option<EntitySet<Block>>>,
}

impl Notes {
    /// The branches of the function of this number that may diverge.
    fn divergent_branches(&mut self, number: usize, func: &Function) -> Result<EntitySet<Block>, String> {
        match self.known.get_mut(number).and_then(Option::take) {
            Some(known) => Ok(known),
            None => divergent_branches(func),
        }
    }
}

/// All passes, in the order in which the pipeline runs them.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "canonicalize",
        doc: "reducible control flow, one return, simple loops, LCSSA, no switch",
        requires: Stage::Source,
        ensures: Some(Stage::Canonical),
        run: |module, _, _| {
            for func in &mut module.functions {
                if let Some(block) = func.blocks().find(|&block| func.predicate(block).is_some()) {
                    return Err(format!(
                        "{block} of @{} has a predicate, which no code has before `linearize`: write a branch around it",
                        func.name
                    ));
                }
                canonicalize(func);
            }
            Ok(())
        },
    },
    Pass {
        name: "simplify",
        doc: "constant folding, dead code, trivial φs, common subexpressions",
        requires: Stage::Source,
        ensures: None,
        run: |module, _, _| {
            for func in &mut module.functions {
                simplify(func);
            }
            Ok(())
        },
    },
    Pass {
        name: "loops",
        doc: "no divergent loop: lanes that have left wait inside, their live-outs and exits tracked",
        requires: Stage::Canonical,
        ensures: Some(Stage::Uniform),
        run: |module, _, notes| {
            for func in &mut module.functions {
                let left = uniform_loops_and_branches(func);
                notes.found.push(left.map_err(|reason| format!("@{}: {reason}", func.name))?);
            }
            Ok(())
        },
    },
    Pass {
        name: "boscc",
        doc: "regions skipped where no lane is, if that pays (`boscc:force`, `boscc:needed`, `boscc:block3=none`; also \
              `block3`, `block3=all-true`, and several with + in between)",
        requires: Stage::Uniform,
        ensures: Some(Stage::Uniform),
        run: |module, words, notes| {
            let options = parse_guards(words)?;
            for (number, func) in module.functions.iter_mut().enumerate() {
                let divergent = notes.divergent_branches(number, func)?;
                let guarded =
                    guard_regions(func, &divergent, &options).map_err(|impossible| impossible.to_string())?;
                notes.found.push(guarded.is_empty().then_some(divergent));
            }
            Ok(())
        },
    },
    Pass {
        name: "linearize",
        doc: "divergent branches folded into predicated code (`linearize:block1+block2`: these diverge, no others)",
        requires: Stage::Uniform,
        ensures: Some(Stage::Linear),
        run: |module, blocks, notes| {
            let named = parse_blocks(blocks)?;
            for (number, func) in module.functions.iter_mut().enumerate() {
                let divergent = match named.is_empty() {
                    true => notes.divergent_branches(number, func)?,
                    false => named.clone(),
                };
                linearize(func, &divergent).map_err(|refusal| refusal.to_string())?;
            }
            Ok(())
        },
    },
    Pass {
        name: "tidy",
        doc: "simpler masks and blends, masks hoisted, dead φs, empty regions",
        requires: Stage::Linear,
        ensures: None,
        run: |module, _, _| {
            for func in &mut module.functions {
                tidy(func);
            }
            Ok(())
        },
    },
    Pass {
        name: "math",
        doc: "bodies for the mathematical functions that are called: `math:exact`, `math:fast`; `math:libm` gives none",
        requires: Stage::Source,
        ensures: None,
        run: |module, word, _| {
            let accuracy = match word {
                "" => Accuracy::Exact,
                _ => Accuracy::named(word).ok_or("write `math:exact`, `math:fast` or `math:libm`")?,
            };
            provide(module, accuracy).map_err(|broken| broken.to_string())
        },
    },
    Pass {
        name: "params",
        doc: "what is not said of parameters of entered functions: `params:uniform` or `params:varying`",
        requires: Stage::Source,
        ensures: None,
        run: |module, word, _| {
            let shape = match word {
                "uniform" => DeclaredShape::Uniform,
                "varying" => DeclaredShape::Varying,
                _ => return Err("write `params:uniform` or `params:varying`".into()),
            };
            let entered = entered_functions(module);
            for func in module.functions.iter_mut().filter(|func| entered.contains(&func.name)) {
                for param in &mut func.signature.params {
                    param.shape.get_or_insert_with(|| shape.clone());
                }
            }
            Ok(())
        },
    },
    Pass {
        name: "kernels",
        doc: "sequential code that runs one work-group, in the place of each kernel (`kernels:8`: in brushes of 8 lanes along the \
              rows of the group, `kernels:8+linear`: along its linear order, `+small`: no number of a launch reaches 2^31)",
        requires: Stage::Source,
        ensures: None,
        run: |module, words, _| {
            let options = parse_kernel_options(words)?;
            lower_kernels(module, &options).map(drop).map_err(|refusal| refusal.to_string())
        },
    },
    Pass {
        name: "brushes",
        doc: "nothing but a look whether several brushes may run side by side in one call (`brushes:2`): no program may see who else \
              is in its brush",
        requires: Stage::Source,
        ensures: None,
        run: |module, count, _| {
            let Some((func, inst)) = seen_brush(module) else { return Ok(()) };
            Err(format!(
                "@{}: `{}`{} depends on who is in its brush, and would see {count} brushes as one: let one run at a time, or \
                 write all lanes as one brush if that is meant",
                func.name,
                func.inst(inst).op,
                func.loc(inst).map_or(String::new(), |loc| format!(" at line {}", loc.line))
            ))
        },
    },
    Pass {
        name: "specialize",
        doc: "a form of each function for each way in which lanes enter it (`specialize:8`: in brushes of 8 lanes)",
        requires: Stage::Canonical,
        ensures: Some(Stage::Canonical),
        run: |module, brush, _| {
            specialize(module, &parse_brush(brush)?);
            Ok(())
        },
    },
    Pass {
        name: "widen",
        doc: "vector code for one thread (`widen:8`, `widen:8x2`: for brushes of so many lanes; `widen:8+target=avx512`: \
              for a machine; `versions=force|none`: accesses get run-time versions wherever they can, or nowhere)",
        requires: Stage::Linear,
        ensures: Some(Stage::Wide),
        run: |module, words, notes| {
            let (brush, options) = words.split_once('+').unwrap_or((words, ""));
            let options = parse_widen_options(options)?;
            notes.remarks.extend(widen_module(module, &parse_brush(brush)?, &options)?);
            Ok(())
        },
    },
];

/// Names of passes, where short names stand for the passes that they are made of: `vectorize`, followed by its options
/// (`W=8`, `params=uniform`, `math=exact`), is all that makes vector code. `brushes=2` is for two brushes side by side: twice as
/// many lanes, along the last dimension.
pub fn expand(words: &[&str]) -> Result<Vec<String>, PassError> {
    let mut names = Vec::new();
    let mut rest = words.iter().copied().peekable();
    while let Some(word) = rest.next() {
        if word != "vectorize" {
            names.push(word.to_string());
            continue;
        }
        let (mut brush, mut params, mut math, mut brushes, mut chosen) =
            (None, None, None, None, String::new());
        let mut kernels = None;
        while let Some((key, value)) = rest.peek().and_then(|word| word.split_once('=')) {
            match key {
                "W" => brush = Some(value.to_string()),
                "params" => params = Some(value.to_string()),
                "kernels" => kernels = Some(value),
                "math" => math = Some(value.to_string()),
                "brushes" => brushes = Some(value),
                "target" | "versions" => chosen += &format!("+{key}={value}"),
                _ => {
                    let reason = "its options are `W=8` (or `W=8x2`), `params=uniform|varying`, \
                                  `math=exact|fast|libm`, `target=avx512`, `versions=force|none`, `kernels=rows|linear` and `brushes=2` (or `auto`)"
                        .into();
                    return Err(PassError::Argument { name: format!("{key}={value}"), reason });
                }
            }
            rest.next();
        }
        let Some(mut brush) = brush else {
            let reason = "say for how many lanes: `vectorize,W=8`".into();
            return Err(PassError::Argument { name: word.into(), reason });
        };
        if let Some(count) = brushes.filter(|&count| count != "1") {
            brush = side_by_side(&brush, count)
                .map_err(|reason| PassError::Argument { name: format!("brushes={count}"), reason })?;
            names.push(format!("brushes:{count}"));
        }
        names.extend(math.map(|math| format!("math:{math}")));
        names.extend(params.map(|params| format!("params:{params}")));
        names.extend(kernels.map(|options| format!("kernels:{brush}+{options}")));
        names.extend(["simplify", "canonicalize"].map(String::from));
        names.push(format!("specialize:{brush}"));
        names.extend(["loops", "boscc", "linearize", "tidy"].map(String::from));
        names.push(format!("widen:{brush}{chosen}"));
        names.push("simplify".into());
    }
    Ok(names)
}

/// A brush that several are, side by side along the last dimension.
fn side_by_side(brush: &str, count: &str) -> Result<String, String> {
    let mut extents = parse_brush(brush)?;
    let number: Option<u32> = count.parse().ok().filter(|&number| number > 0);
    let number =
        number.ok_or("write how many brushes run side by side, as in `brushes=2`, or `brushes=auto`")?;
    if let Some(last) = extents.last_mut() {
        *last = last.saturating_mul(number);
    }
    let text: Vec<String> = extents.iter().map(u32::to_string).collect();
    let text = text.join("x");
    parse_brush(&text).map(|_| text)
}

/// Where lock-step code sees who else is in its brush, if it does.
fn seen_brush(module: &Module) -> Option<(&Function, Inst)> {
    let launches = |func: &Function| {
        let mut insts = func.blocks().flat_map(|block| func.block_insts(block));
        insts.any(|inst| func.inst(inst).op == Op::Launch)
    };
    let is_launched = module.functions.iter().any(|func| matches!(func.kind, Kind::Kernel(_)));
    let mut functions = module.functions.iter().filter(|func| !launches(func));
    functions.find_map(|func| Some((func, sees_brush(func, is_launched)?)))
}

/// Puts a number in the place of `brushes=auto`.
fn settle_brushes(
    module: &Module,
    words: &[&str],
    remarks: &mut Vec<Remark>,
) -> Result<Vec<String>, PassError> {
    let mut settled: Vec<String> = words.iter().map(|&word| word.into()).collect();
    if let Some(at) = words.iter().position(|&word| word == "brushes=auto") {
        let one: Vec<&str> = words.iter().copied().filter(|&word| word != "brushes=auto").collect();
        settled[at] = format!("brushes={}", brushes_that_pay(module, &one, remarks)?);
    }
    Ok(settled)
}

/// How many brushes pay, by what these passes make of one; with the figures in a remark.
pub(crate) fn brushes_that_pay(
    module: &Module,
    words: &[&str],
    remarks: &mut Vec<Remark>,
) -> Result<u32, PassError> {
    let value = |key: &str| words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    let wrong = |reason| PassError::Argument { name: "brushes=auto".into(), reason };
    let brush = parse_brush(value("W").unwrap_or_default()).map_err(wrong)?;
    let target = match value("target") {
        Some(name) => parse_widen_options(&format!("target={name}")).map_err(wrong)?.target,
        None => Target::default(),
    };
    let remark =
        |func: &str, loc, text| Remark { func: func.into(), loc, form: Form::Brushes, accesses: 0, text };
    if let Some((func, inst)) = seen_brush(module) {
        let text = format!("1 brush: `{}` depends on who is in it", func.inst(inst).op);
        remarks.push(remark(&func.name, func.loc(inst), text));
        return Ok(1);
    }
    let mut trial = module.clone();
    run_passes(&mut trial, words, false, |_, _| {})?;
    let mut least = None;
    for name in entered_functions(module) {
        let Some(wide) = trial.function(&wide_name(&name, &brush)) else { continue };
        let choice = choose_brushes(&trial, wide, brush.iter().product(), &target);
        let loc = choice.figures.and_then(|figures| figures.loc);
        remarks.push(remark(&name, loc, format!("{choice}, on {}", target.name)));
        least = Some(least.map_or(choice.brushes, |least: u32| least.min(choice.brushes)));
    }
    Ok(least.unwrap_or(1))
}

/// The lanes of a brush along each dimension: `8`, `8x2`.
fn parse_brush(text: &str) -> Result<Vec<u32>, String> {
    let brush: Option<Vec<u32>> = text.split('x').map(|extent| extent.parse().ok()).collect();
    let lanes = |brush: &[u32]| brush.iter().fold(1u32, |lanes, &extent| lanes.saturating_mul(extent));
    brush.filter(|brush| brush.len() <= 3 && (1..=MAX_LANES).contains(&lanes(brush))).ok_or_else(|| {
        format!("`{text}` is no brush: write its lanes, as in `8` or, along two dimensions, `8x2`; at most {MAX_LANES} in all")
    })
}

/// What is said of widening behind its brush, with + in between.
fn parse_widen_options(words: &str) -> Result<WidenOptions, String> {
    let mut options = WidenOptions::default();
    for word in words.split('+').filter(|word| !word.is_empty()) {
        match word.split_once('=') {
            Some(("target", name)) => {
                options.target = Target::named(name).ok_or_else(|| {
                    let known: Vec<&str> = Target::ALL.iter().map(|target| target.name).collect();
                    format!("`{name}` is no target; there are {}", known.join(", "))
                })?;
            }
            Some(("versions", "force")) => options.versions = Versions::Force,
            Some(("versions", "none")) => options.versions = Versions::None,
            _ => {
                return Err(format!(
                    "`{word}` means nothing here; write `target=avx512` or `versions=force|none`"
                ));
            }
        }
    }
    Ok(options)
}

/// Replaces each lock-step function by its wide form. Gives what was chosen for accesses, and why.
pub fn widen_module(
    module: &mut Module,
    brush: &[u32],
    options: &WidenOptions,
) -> Result<Vec<Remark>, String> {
    let functions = lock_step_functions(module, brush)?;
    let defined = module.functions.iter().map(|func| &*func.name).collect();
    let mut around = Around { defined, is_region: false, forms: known_forms(module, brush) };
    let (mut wide, mut remarks) = (Vec::new(), Vec::new());
    for form in &functions {
        let Some(func) = module.function(&form.name) else { continue };
        let control = ControlTables::new(func);
        let geometry = geometry_of(func, &form.brush, form.is_region);
        let initial = InitialShapes::declared(func, geometry).entered_by(Activation::Full);
        let facts = divergence(func, &control, &initial);
        let accesses = AccessGroups::new(func, &control, &facts, &initial.geometry);
        around.is_region = form.is_region;
        let made = widen(func, &facts, &accesses, &form.brush, &around, options);
        let made = made.map_err(|refusal| refusal.to_string())?;
        wide.push(made.func);
        remarks.extend(made.remarks);
    }
    drop(around);
    for (form, new) in functions.iter().zip(wide) {
        if let Some(func) = module.function_mut(&form.name) {
            *func = new;
        }
    }
    define_outgoing(module);
    module.functions.iter_mut().try_for_each(replace_launches).map_err(|refusal| refusal.to_string())?;
    Ok(remarks)
}

/// What diverges, whatever the brush; none in sequential code, which one thread executes.
pub fn verdicts(func: &Function) -> Option<(ControlTables, Divergence)> {
    let launches = |block| func.block_insts(block).any(|inst| func.inst(inst).op == Op::Launch);
    if func.blocks().any(launches) {
        return None;
    }
    let control = ControlTables::new(func);
    let geometry = Geometry { dimensions: 3, ..Geometry::unknown() };
    let facts = divergence(func, &control, &InitialShapes::declared(func, geometry));
    Some((control, facts))
}

/// Which loops lanes leave apart, by the divergence analysis.
pub fn loop_facts(func: &Function) -> LoopFacts {
    match verdicts(func) {
        Some((control, facts)) => LoopFacts::by_divergence(&control, &facts),
        None => LoopFacts::none(),
    }
}

/// Makes divergent loops uniform, by the divergence analysis. Behind a loop that has several exits lanes tell by masks
/// which one they took; where all took the same, that is lost, and loops may turn out divergent that were not.
pub fn uniform_loops(func: &mut Function) -> Result<(), LoopsError> {
    uniform_loops_and_branches(func).map(drop)
}

/// The same; gives the branches that may diverge then, if the analysis has been asked.
fn uniform_loops_and_branches(func: &mut Function) -> Result<Option<EntitySet<Block>>, LoopsError> {
    loop {
        let Some((control, facts)) = verdicts(func) else { return Ok(None) };
        let loops = LoopFacts::by_divergence(&control, &facts);
        if loops.divergent_loops.is_empty() {
            return Ok(Some(branches_of(func, &facts)));
        }
        let blocks = func.block_count();
        make_loops_uniform(func, &loops)?;
        if func.block_count() == blocks {
            return Ok(None);
        }
    }
}

/// The blocks whose branches may diverge, by the divergence analysis.
pub fn divergent_branches(func: &Function) -> Result<EntitySet<Block>, String> {
    let Some((control, facts)) = verdicts(func) else { return Ok(EntitySet::new()) };
    if let Some(cycle) = control.cycles.cycles().find(|&cycle| facts.is_divergent_loop(cycle)) {
        return Err(format!(
            "the loop at {} of @{} may diverge: run `loops` before",
            control.cycles.header(cycle),
            func.name
        ));
    }
    Ok(branches_of(func, &facts))
}

fn branches_of(func: &Function, facts: &Divergence) -> EntitySet<Block> {
    func.blocks().filter(|&block| facts.is_divergent_branch(block)).collect()
}

/// How group functions are made: lanes, and what is said behind them, with + in between.
fn parse_kernel_options(words: &str) -> Result<KernelOptions, String> {
    let mut words = words.split('+');
    let brush = parse_brush(words.next().unwrap_or_default())?;
    let mut options = KernelOptions { lanes: brush.iter().product(), fold: Fold::Rows, is_small: false };
    for word in words {
        match word {
            "rows" => options.fold = Fold::Rows,
            "linear" => options.fold = Fold::Linear,
            "small" => options.is_small = true,
            _ => return Err(format!("`{word}` means nothing here; write `rows`, `linear` or `small`")),
        }
    }
    Ok(options)
}

/// Blocks by name, with `+` in between.
fn parse_blocks(names: &str) -> Result<EntitySet<Block>, String> {
    names.split('+').filter(|name| !name.is_empty()).map(parse_block).collect()
}

fn parse_block(name: &str) -> Result<Block, String> {
    let number = name.strip_prefix("block").and_then(|number| number.parse().ok());
    number.map(Block::from_u32).ok_or_else(|| format!("`{name}` is no block"))
}

/// Where guards are placed.
fn parse_guards(words: &str) -> Result<boscc::Options, String> {
    let mut options = boscc::Options::default();
    for word in words.split('+').filter(|word| !word.is_empty()) {
        let (name, asked) = word.split_once('=').unwrap_or((word, "all-false"));
        let asked = match asked {
            "all-false" => boscc::Asked::AllFalse,
            "all-true" => boscc::Asked::AllTrue,
            "none" => boscc::Asked::None,
            _ => return Err(format!("`{asked}` is none of all-false, all-true, none")),
        };
        match word {
            "force" => options.policy = boscc::Policy::Force,
            "needed" => options.policy = boscc::Policy::Needed,
            _ => _ = options.asked.insert(parse_block(name)?, asked),
        }
    }
    Ok(options)
}

/// Why passes did not run to their end.
#[derive(Debug, Error)]
pub enum PassError {
    /// There is no such pass.
    #[error("there is no pass `{name}`; there are vectorize, {}", PASSES.iter().map(|pass| pass.name).collect::<Vec<_>>().join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// What stands behind the pass's name means nothing to it.
    #[error("`{name}`: {reason}")]
    Argument {
        /// What was asked for.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The module is not at the stage that a pass needs, or is not at the one it should have ensured.
    #[error("{when} `{name}` the module is not at stage {stage}:\n{violations}")]
    Stage {
        /// `before` or `behind`.
        when: &'static str,
        /// The pass.
        name: &'static str,
        /// The stage.
        stage: Stage,
        /// What is wrong.
        violations: Violations,
    },
}

/// Runs passes by name, each after the other; `watch` sees the module behind each of them. What a pass needs is checked
/// unless a pass before has ensured it; with `verify`, everything that a pass needs and ensures.
pub fn run_passes(
    module: &mut Module,
    names: &[&str],
    verify: bool,
    watch: impl FnMut(&Pass, &Module),
) -> Result<(), PassError> {
    run_passes_with_remarks(module, names, verify, watch).map(drop)
}

/// The same; gives what passes have chosen, and why.
pub fn run_passes_with_remarks(
    module: &mut Module,
    names: &[&str],
    verify: bool,
    mut watch: impl FnMut(&Pass, &Module),
) -> Result<Vec<Remark>, PassError> {
    let mut notes = Notes::default();
    let mut stage = Stage::Source;
    let settled = settle_brushes(module, names, &mut notes.remarks)?;
    for full in &expand(&settled.iter().map(String::as_str).collect::<Vec<_>>())? {
        let (name, argument) = full.split_once(':').unwrap_or((full, ""));
        let pass = PASSES
            .iter()
            .find(|pass| pass.name == name)
            .ok_or_else(|| PassError::Unknown { name: name.into() })?;
        let wrong = |when, stage, violations| PassError::Stage { when, name: pass.name, stage, violations };
        if verify || pass.requires > stage {
            let needed = pass.requires.max(stage);
            verify_module(module, needed).map_err(|violations| wrong("before", needed, violations))?;
        }
        notes.known = std::mem::take(&mut notes.found);
        (pass.run)(module, argument, &mut notes)
            .map_err(|reason| PassError::Argument { name: full.clone(), reason })?;
        stage = pass.ensures.unwrap_or(stage);
        if verify {
            verify_module(module, stage).map_err(|violations| wrong("behind", stage, violations))?;
        }
        watch(pass, module);
    }
    Ok(notes.remarks)
}
