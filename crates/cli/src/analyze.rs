//! `heddle analyze`: what is uniform, what diverges, and why.

use crate::CliError;
use crate::report::{error, note, read_module, tell, title};
use clap::{Args, ValueEnum};
use heddle_compiler::analysis::baselines::{BaselineResult, UniformityAnalysis};
use heddle_compiler::analysis::shape::{Geometry, Shape, TransferContext, declared_fact};
use heddle_compiler::analysis::{
    AccessGroups, Activation, CauseChain, ControlTables, Cycle, Divergence, DivergenceExplanations,
    GroupedAccess, InitialShapes, ResultSummaries, StrideCondition, UniformityLevel, divergence,
};
use heddle_compiler::ir::module::DeclaredShape;
use heddle_compiler::ir::text::{AnnotatedLine, print_function_with};
use heddle_compiler::ir::verify::{Stage, verify_module};
use heddle_compiler::ir::{Block, Code, Diagnostic, Function, Inst, Module, Op, Value};
use heddle_compiler::transform::canonicalize;
use heddle_runs::line::parse_brush;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

const SHAPES: &str = "\
Shapes of parameters (--param NAME=SHAPE, NAME as in the source, or v0, v1, … as in the text):
  uniform          all lanes hold the same
  varying          anything
  linear:4         lane 0's value plus 4 for each lane
  linear:4:16      the same, and lane 0's value is a multiple of 16
Parameters that are neither named here nor declared in the text are uniform.

Analyses:
  heddle           shapes, divergence, loops and private objects, as docs/analysis.md explains them
  coutinho         Coutinho et al., PACT 2011: gated SSA. The published ones say uniform or varying,
  karrenberg       Karrenberg and Hack, CC 2012: disjoint paths.    and docs/analysis.md says where
  stratton         Stratton et al., CGO 2010: data dependence.      they are wrong

Example:
  heddle analyze tests/ir/steps-source.hed --lanes 4 --why v12";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The function with comments
    Text,
    /// JSON, as docs/analysis.md describes it
    Json,
}

fn analysis(word: &str) -> Result<UniformityAnalysis, String> {
    UniformityAnalysis::from_name(word).ok_or_else(|| {
        let names: Vec<&str> = UniformityAnalysis::ALL.iter().map(|analysis| analysis.name()).collect();
        format!("the analyses are {}", names.join(", "))
    })
}

/// A shape given on the command line, and an alignment.
#[derive(Clone, Debug)]
struct ParamShapeArg {
    param: String,
    shape: DeclaredShape,
    align: u32,
}

fn given(word: &str) -> Result<ParamShapeArg, String> {
    let usage =
        || "write NAME=uniform, NAME=varying, NAME=linear:STRIDE or NAME=linear:STRIDE:ALIGN".to_string();
    let (name, shape) = word.split_once('=').ok_or_else(usage)?;
    let param = name.trim_start_matches('%').to_string();
    let mut words = shape.split(':');
    let kind = words.next().unwrap_or("");
    let numbers: Vec<&str> = words.collect();
    let (shape, align) = match (kind, &numbers[..]) {
        ("uniform", []) => (DeclaredShape::Uniform, 1),
        ("varying", []) => (DeclaredShape::Varying, 1),
        ("linear", [stride, align @ ..]) if align.len() <= 1 => {
            let stride: i64 = stride.parse().map_err(|_| format!("`{stride}` is not a stride"))?;
            let align = match align {
                [align] => align.parse::<u32>().ok().filter(|align| align.is_power_of_two()),
                _ => Some(1),
            };
            let align = align.ok_or("an alignment is a power of two")?;
            (DeclaredShape::Linear([stride].into_iter().collect()), align)
        }
        _ => return Err(usage()),
    };
    Ok(ParamShapeArg { param, shape, align })
}

/// Say what is uniform, what diverges, and why
#[derive(Args)]
#[command(after_help = SHAPES)]
pub(crate) struct Analyze {
    /// The file: `.hed` (`-` reads it from standard input), `.ll`, `.bc`, `.c`, `.cpp`, `.cl`, `.spv` or `.ptx`
    file: PathBuf,
    /// The function; all of them if it is left out
    #[arg(long)]
    func: Option<String>,
    /// Lanes of the brush, if they are known: `8`, `4x2`
    #[arg(long, value_parser = parse_brush, value_name = "W")]
    lanes: Option<std::vec::Vec<u32>>,
    /// Shapes of parameters
    #[arg(long = "param", value_delimiter = ',', value_parser = given, value_name = "NAME=SHAPE")]
    params: Vec<ParamShapeArg>,
    /// Analysis to run
    #[arg(long, default_value = "heddle", value_parser = analysis, value_name = "NAME")]
    analysis: UniformityAnalysis,
    /// Why a value varies or a branch diverges: a name of the source (`xx`), a line (`14`), `v12` or `block2`; may be given
    /// several times
    #[arg(long, value_name = "VALUE")]
    why: Vec<String>,
    /// Output form
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    format: Format,
    /// The stage that the file is at
    #[arg(long, default_value = "source", value_parser = crate::report::parse_stage)]
    stage: Stage,
}

/// Analysis results of a function.
struct FunctionAnalysis<'m> {
    module: &'m Module,
    func: &'m Function,
    control: ControlTables,
    verdict: ShapeAnalysis,
}

enum ShapeAnalysis {
    Ours(Box<Divergence>, AccessGroups),
    Published(BaselineResult),
}

impl Analyze {
    pub(crate) fn run(self) -> Result<(), CliError> {
        let mut module = read_module(&self.file, self.stage)?;
        if self.stage == Stage::Source && verify_module(&module, Stage::Canonical).is_err() {
            module.functions.iter_mut().for_each(canonicalize);
            note(
                "the file is not at stage Canonical; the output describes its canonical form (`heddle opt -p canonicalize`)",
            );
        }
        let funcs: Vec<&Function> = match &self.func {
            None => module.functions.iter().collect(),
            Some(name) => {
                let name = name.trim_start_matches('@');
                let names =
                    || module.functions.iter().map(|func| format!("@{}", func.name)).collect::<Vec<_>>();
                let missing = || {
                    CliError::Usage(format!("no function @{name}; the functions are {}", names().join(", ")))
                };
                vec![module.function(name).ok_or_else(missing)?]
            }
        };
        let mut founds = Vec::new();
        let callees = ResultSummaries::infer(&module, &self.geometry());
        for func in funcs {
            match self.analyze(&module, func, &callees)? {
                Some(found) => founds.push(found),
                None => {
                    error(&format!("@{} has an irreducible cycle", func.name));
                    return Err(CliError::Program);
                }
            }
        }
        if self.analysis != UniformityAnalysis::Heddle && !self.why.is_empty() {
            return Err(CliError::Usage(format!(
                "analysis `{}` gives no explanations: leave out --why",
                self.analysis.name()
            )));
        }
        let chains = self.explain(&founds)?;
        match self.format {
            Format::Json => {
                let module = ModuleJson { functions: founds.iter().map(FunctionAnalysis::json).collect() };
                let text = serde_json::to_string_pretty(&module);
                say_line!("{}", text.map_err(|reason| CliError::Usage(reason.to_string()))?);
            }
            Format::Text => {
                for (index, found) in founds.iter().enumerate() {
                    say!("{}{}", if index > 0 { "\n" } else { "" }, found.text());
                }
            }
        }
        for chain in chains {
            match self.format {
                Format::Text => say_line!("\n{chain}"),
                Format::Json => note(&chain),
            }
        }
        Ok(())
    }

    fn geometry(&self) -> Geometry {
        self.lanes.as_deref().map_or_else(Geometry::unknown, Geometry::brush)
    }

    fn analyze<'m>(
        &self,
        module: &'m Module,
        func: &'m Function,
        callees: &Arc<ResultSummaries>,
    ) -> Result<Option<FunctionAnalysis<'m>>, CliError> {
        let geometry = self.geometry();
        let mut initial = InitialShapes::uniform(func, geometry.clone()).with_summaries(callees);
        let context = TransferContext::new(geometry);
        for given in &self.params {
            // A parameter that is taken apart gives its name to all that it consists of.
            let is_meant =
                |value: Value| func.name_of(value) == Some(&given.param) || value.to_string() == given.param;
            let params = func.params().iter().enumerate();
            let meant: Vec<usize> =
                params.filter(|(_, param)| is_meant(**param)).map(|(index, _)| index).collect();
            if meant.is_empty() {
                if self.func.is_none() && module.functions.len() > 1 {
                    continue;
                }
                let params: Vec<String> = func.params().iter().map(|&param| func.describe(param)).collect();
                let names = if params.is_empty() { "none".into() } else { params.join(", ") };
                let text = format!("no parameter `{}`", given.param);
                let diagnostic = Diagnostic::error(Code::ParameterShapes, text).of_func(&func.name);
                tell(&diagnostic.help(format!("the parameters are {names}")));
                return Err(CliError::Misused);
            }
            for index in meant {
                let param = &func.signature.params[index];
                initial.params[index] =
                    declared_fact(param.ty, Some(&given.shape), given.align.max(param.align), &context);
            }
        }
        let control = ControlTables::new(func);
        if !control.cycles.is_graph_reducible() {
            return Ok(None);
        }
        let verdict = match self.analysis {
            UniformityAnalysis::Heddle => ours(func, &control, &initial),
            published => ShapeAnalysis::Published(published.run(func, &control, &initial)),
        };
        Ok(Some(FunctionAnalysis { module, func, control, verdict }))
    }

    /// The requested chains.
    fn explain(&self, founds: &[FunctionAnalysis<'_>]) -> Result<Vec<String>, CliError> {
        let mut chains = Vec::new();
        for name in &self.why {
            let mut is_anywhere = false;
            for found in founds {
                let ShapeAnalysis::Ours(divergence, _) = &found.verdict else { continue };
                let requested = found.requested(name);
                is_anywhere |= !requested.is_empty();
                let all = DivergenceExplanations::new(found.func, &found.control, divergence);
                let mut varying: Vec<(CauseChain, Option<Block>)> = requested
                    .iter()
                    .filter_map(|requested| match *requested {
                        WhyQuery::Value(value) => Some((all.of_value(value)?, None)),
                        WhyQuery::Branch(block) => Some((all.of_branch(block)?, Some(block))),
                    })
                    .collect();
                // A name may stand for several values: the shortest chain says most.
                if requested.iter().all(|requested| matches!(requested, WhyQuery::Value(_))) {
                    varying.sort_by_key(|(chain, _)| chain.links.len());
                    varying.truncate(1);
                }
                for (chain, block) in &varying {
                    let mut text = all.display(chain, Some(found.module)).to_string();
                    let cost = block.and_then(|block| all.cost(block));
                    cost.into_iter().for_each(|cost| text.push_str(&format!("\n  cost: {cost}")));
                    all.help(chain).into_iter().for_each(|way| text.push_str(&format!("\n  {way}")));
                    chains.push(text);
                }
                if let (true, Some(first)) = (varying.is_empty(), requested.first()) {
                    chains.push(match first {
                        WhyQuery::Value(value) => {
                            format!("{} is {}", found.func.describe(*value), found.shape(*value))
                        }
                        WhyQuery::Branch(block) => format!("the branch of {block} is uniform"),
                    });
                }
            }
            if !is_anywhere {
                return Err(CliError::Usage(format!(
                    "nothing named `{name}`: --why takes a source name, a line, a value (v12) or a block (block2)"
                )));
            }
        }
        Ok(chains)
    }
}

/// Subject of a `--why` query.
enum WhyQuery {
    Value(Value),
    Branch(Block),
}

fn ours(func: &Function, control: &ControlTables, initial: &InitialShapes) -> ShapeAnalysis {
    let divergence = divergence(func, control, initial);
    let accesses = AccessGroups::new(func, control, &divergence, &initial.geometry);
    ShapeAnalysis::Ours(Box::new(divergence), accesses)
}

/// A function with a shape next to each definition and a verdict next to each branch, and the chain of each branch that
/// diverges.
pub(crate) fn annotated(module: &Module, func: &Function, brush: &[u32]) -> (String, Vec<String>) {
    let initial = InitialShapes::uniform(func, Geometry::brush(brush));
    let control = ControlTables::new(func);
    let verdict = ours(func, &control, &initial);
    let found = FunctionAnalysis { module, func, control, verdict };
    let ShapeAnalysis::Ours(divergence, _) = &found.verdict else { return (found.text(), Vec::new()) };
    let all = DivergenceExplanations::new(func, &found.control, divergence);
    let chains = func.blocks().filter_map(|block| all.of_branch(block));
    let chains = chains.map(|chain| all.display(&chain, Some(module)).to_string()).collect();
    (found.text(), chains)
}

/// A module with what is known of its lock-step functions at this stage: shapes, activation, branches that diverge. Wide code
/// says all that itself.
pub(crate) fn with_facts(module: &Module, stage: Stage) -> String {
    if stage == Stage::Wide {
        return module.to_string();
    }
    let geometry = Geometry::unknown();
    let callees = ResultSummaries::infer(module, &geometry);
    let around = Module { functions: Vec::new(), ..module.clone() };
    let mut text = around.to_string();
    for func in &module.functions {
        if !text.is_empty() {
            text.push('\n');
        }
        let control = ControlTables::new(func);
        if !control.cycles.is_graph_reducible() {
            text.push_str(&func.to_string());
            continue;
        }
        let initial = InitialShapes::declared(func, geometry.clone()).with_summaries(&callees);
        let verdict = ours(func, &control, &initial);
        text.push_str(&FunctionAnalysis { module, func, control, verdict }.text());
    }
    text
}

impl FunctionAnalysis<'_> {
    /// The parameters and results of the function.
    fn values(&self) -> impl Iterator<Item = Value> {
        let insts = self.func.blocks().flat_map(|block| self.func.block_insts(block));
        let results = insts.flat_map(|inst| self.func.results(inst).iter().copied());
        self.func.params().iter().copied().chain(results)
    }

    /// Resolves a word of `--why`: a value by name, a branch by line, either by number.
    fn requested(&self, name: &str) -> Vec<WhyQuery> {
        let number = |prefix: &str| name.strip_prefix(prefix)?.parse::<u32>().ok();
        let is_meant = |value: &Value| {
            self.func.name_of(*value) == Some(name)
                || number("v").is_some_and(|v| *value == Value::from_u32(v))
        };
        let values: Vec<WhyQuery> = self.values().filter(is_meant).map(WhyQuery::Value).collect();
        if !values.is_empty() {
            return values;
        }
        let is_here = |&block: &Block| {
            let line = self.func.terminator(block).and_then(|inst| self.func.loc(inst)).map(|loc| loc.line);
            number("block").is_some_and(|number| block == Block::from_u32(number))
                || self.has_choice(block) && number("").is_some_and(|number| line == Some(number))
        };
        self.func.blocks().filter(is_here).map(WhyQuery::Branch).collect()
    }

    fn is_divergent(&self, block: Block) -> bool {
        match &self.verdict {
            ShapeAnalysis::Ours(divergence, _) => divergence.is_divergent_branch(block),
            ShapeAnalysis::Published(baseline) => baseline.divergent.contains(block),
        }
    }

    fn shape(&self, value: Value) -> String {
        match &self.verdict {
            ShapeAnalysis::Ours(divergence, _) => divergence.shape(value).to_string(),
            ShapeAnalysis::Published(baseline) => {
                (if baseline.varying.contains(value) { "varying" } else { "uniform" }).into()
            }
        }
    }

    /// The name of a value in the source, after a space, if it has one.
    fn called(&self, value: Value) -> String {
        self.func.name_of(value).map_or(String::new(), |name| format!(" `{name}`"))
    }

    /// True if a terminator can diverge.
    fn has_choice(&self, block: Block) -> bool {
        matches!(self.func.successors(block), [first, others @ ..] if others.iter().any(|other| other != first))
    }

    fn text(&self) -> String {
        let mut text = print_function_with(self.func, &mut |place, out| match place {
            AnnotatedLine::Head => {
                let params = self.func.params().iter();
                let shapes: Vec<String> = params
                    .map(|&param| format!("{param}{} {}", self.called(param), self.shape(param)))
                    .collect();
                out.push_str(&shapes.join(", "));
            }
            AnnotatedLine::Block(block) => self.note_block(block, out),
            AnnotatedLine::Inst(inst) => self.note_inst(inst, out),
        });
        if let ShapeAnalysis::Ours(_, accesses) = &self.verdict {
            let _ = writeln!(text, "; control-uniform: {}", self.region().join(", "));
            for group in accesses.groups() {
                let _ = writeln!(text, "; {}", group.display(self.func));
            }
        }
        text
    }

    /// The blocks that depend on uniform branches only.
    fn region(&self) -> Vec<String> {
        let ShapeAnalysis::Ours(divergence, _) = &self.verdict else { return Vec::new() };
        let region = divergence.region_of_nondivergence(&self.control);
        self.func.blocks().filter(|&block| region.contains(block)).map(|block| block.to_string()).collect()
    }

    fn accesses_json(&self) -> Vec<AccessGroupJson> {
        let ShapeAnalysis::Ours(_, accesses) = &self.verdict else { return Vec::new() };
        let one = |access: &GroupedAccess| AccessJson {
            op: if access.writes { "store" } else { "load" },
            name: self.func.result(access.inst).map(|value| value.to_string()),
            block: self.func.layout.block_of(access.inst).map(|block| block.to_string()),
            offset: access.offset,
            bytes: access.bytes,
            loc: self.loc(Some(access.inst)),
        };
        let all = accesses.groups().iter().map(|group| AccessGroupJson {
            base: group.base.to_string(),
            kind: group.kind.name(),
            stride: group.stride,
            conditions: group.conditions.iter().map(condition_json).collect(),
            accesses: group.accesses.iter().map(one).collect(),
        });
        all.collect()
    }

    fn note_block(&self, block: Block, out: &mut String) {
        let ShapeAnalysis::Ours(divergence, _) = &self.verdict else { return };
        if !self.control.cfg.is_reachable(block) {
            out.push_str("unreachable");
            return;
        }
        out.push_str(lanes_here(divergence.activation(block)));
        if let Some(cycle) = self.control.cycles.headed_by(block) {
            let verdict = verdict_on(divergence.is_divergent_loop(cycle));
            let _ = write!(out, "; a {verdict} loop");
        }
    }

    fn note_inst(&self, inst: Inst, out: &mut String) {
        let data = self.func.inst(inst);
        let block = self.func.layout.block_of(inst);
        if let Some(block) = block.filter(|&block| data.op.is_terminator() && self.has_choice(block)) {
            out.push_str(verdict_on(self.is_divergent(block)));
            return;
        }
        let results = self.func.results(inst).iter();
        let called = results.clone().next().map_or(String::new(), |&result| self.called(result));
        let shapes: Vec<String> = results.map(|&result| self.shape(result)).collect();
        if !called.is_empty() {
            let _ = write!(out, "{} ", called.trim());
        }
        out.push_str(&shapes.join(", "));
        if let (Op::Alloca, ShapeAnalysis::Ours(divergence, _)) = (data.op, &self.verdict) {
            out.push_str(if divergence.object_agreement(inst).is_some() {
                ", one for all lanes"
            } else {
                ", one per lane"
            });
        }
    }

    fn loc(&self, inst: Option<Inst>) -> Option<LocJson> {
        let loc = self.func.loc(inst?)?;
        let file = self.module.files.get(loc.file).cloned().unwrap_or_default();
        Some(LocJson { file, line: loc.line, column: loc.column })
    }

    fn json(&self) -> FunctionJson {
        let reachable = |block: &Block| self.control.cfg.is_reachable(*block);
        let values = self.values();
        let all = match &self.verdict {
            ShapeAnalysis::Ours(divergence, _) => {
                Some(DivergenceExplanations::new(self.func, &self.control, divergence))
            }
            ShapeAnalysis::Published(_) => None,
        };
        let blocks = self.func.blocks().filter(reachable).filter(|&block| self.has_choice(block));
        FunctionJson {
            name: self.func.name.clone(),
            values: values.map(|value| self.value_json(value)).collect(),
            branches: blocks.map(|block| self.branch_json(block, all.as_ref())).collect(),
            loops: self.loops_json(),
            slots: self.slots_json(),
            region: self.region(),
            accesses: self.accesses_json(),
        }
    }

    fn value_json(&self, value: Value) -> ValueJson {
        let shape = match &self.verdict {
            ShapeAnalysis::Ours(divergence, _) => shape_json(divergence.shape(value)),
            ShapeAnalysis::Published(baseline) if baseline.varying.contains(value) => {
                shape_json(Shape::VARYING)
            }
            ShapeAnalysis::Published(_) => shape_json(Shape::UNIFORM),
        };
        ValueJson {
            name: value.to_string(),
            ty: self.func.value_type(value).to_string(),
            shape,
            loc: self.loc(self.func.def_inst(value)),
        }
    }

    fn branch_json(&self, block: Block, all: Option<&DivergenceExplanations<'_>>) -> BranchJson {
        let chain = all.and_then(|all| Some((all, all.of_branch(block)?)));
        let words = chain.map(|(all, chain)| all.display(&chain, Some(self.module)).to_string());
        BranchJson {
            block: block.to_string(),
            verdict: verdict_on(self.is_divergent(block)),
            why: words.unwrap_or_default().lines().map(|line| line.trim().to_string()).collect(),
            loc: self.loc(self.func.terminator(block)),
        }
    }

    fn loops_json(&self) -> Vec<LoopJson> {
        let ShapeAnalysis::Ours(divergence, _) = &self.verdict else { return Vec::new() };
        let one = |cycle: Cycle| {
            let exits = divergence.exits(cycle).iter().map(|(edge, agreement)| ExitJson {
                from: edge.from.to_string(),
                to: edge.to.to_string(),
                verdict: verdict_on(agreement.is_none()),
                level: agreement.map(UniformityLevel::name),
            });
            LoopJson {
                header: self.control.cycles.header(cycle).to_string(),
                verdict: verdict_on(divergence.is_divergent_loop(cycle)),
                exits: exits.collect(),
            }
        };
        self.control.cycles.cycles().map(one).collect()
    }

    fn slots_json(&self) -> Vec<SlotJson> {
        let ShapeAnalysis::Ours(divergence, _) = &self.verdict else { return Vec::new() };
        let slots = divergence.slots().iter().map(|slot| SlotJson {
            object: self.func.result(slot.alloca).map(|value| value.to_string()),
            from: slot.bytes.start,
            to: slot.bytes.end,
            verdict: if slot.shared.is_some() { "shared" } else { "per lane" },
            level: slot.shared.map(UniformityLevel::name),
            loc: self.loc(Some(slot.alloca)),
        });
        slots.collect()
    }
}

const fn verdict_on(is_divergent: bool) -> &'static str {
    if is_divergent { "divergent" } else { "uniform" }
}

const fn lanes_here(activation: Activation) -> &'static str {
    match activation {
        Activation::Full => "all lanes",
        Activation::Uniform => "all lanes or none",
        Activation::Varying => "some lanes",
    }
}

fn shape_json(shape: Shape) -> ShapeJson {
    let kind = match shape.kind() {
        // No lane ever holds a value: all that do hold the same.
        "undefined" => "uniform",
        kind => kind,
    };
    ShapeJson { kind, strides: shape.strides().map(|strides| strides.shown().to_vec()), align: shape.align() }
}

fn condition_json(condition: &StrideCondition) -> ConditionJson {
    ConditionJson {
        value: condition.value.to_string(),
        stride: condition.stride,
        bits: condition.width,
        signed: condition.is_signed,
        // Beyond what many readers of JSON take for a number.
        least: condition.min.to_string(),
        greatest: condition.max.to_string(),
        bound: condition.bound.map(|bound| BoundJson {
            value: bound.value.to_string(),
            is_greatest: bound.is_upper,
            reach: bound.reach,
        }),
    }
}

// The JSON: docs/analysis.md tells users what each field means.

#[derive(Serialize)]
struct ModuleJson {
    functions: Vec<FunctionJson>,
}

#[derive(Serialize)]
struct FunctionJson {
    name: String,
    values: Vec<ValueJson>,
    branches: Vec<BranchJson>,
    loops: Vec<LoopJson>,
    slots: Vec<SlotJson>,
    region: Vec<String>,
    accesses: Vec<AccessGroupJson>,
}

#[derive(Serialize)]
struct AccessGroupJson {
    base: String,
    kind: &'static str,
    stride: i64,
    conditions: Vec<ConditionJson>,
    accesses: Vec<AccessJson>,
}

#[derive(Serialize)]
struct ConditionJson {
    value: String,
    stride: i64,
    bits: u32,
    signed: bool,
    least: String,
    greatest: String,
    bound: Option<BoundJson>,
}

#[derive(Serialize)]
struct BoundJson {
    value: String,
    is_greatest: bool,
    reach: i64,
}

#[derive(Serialize)]
struct AccessJson {
    op: &'static str,
    name: Option<String>,
    block: Option<String>,
    offset: i64,
    bytes: u32,
    loc: Option<LocJson>,
}

#[derive(Serialize)]
struct ValueJson {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    shape: ShapeJson,
    loc: Option<LocJson>,
}

#[derive(Serialize)]
struct ShapeJson {
    kind: &'static str,
    strides: Option<Vec<i64>>,
    align: u64,
}

#[derive(Serialize)]
struct LocJson {
    file: String,
    line: u32,
    column: u32,
}

#[derive(Serialize)]
struct BranchJson {
    block: String,
    verdict: &'static str,
    why: Vec<String>,
    loc: Option<LocJson>,
}

#[derive(Serialize)]
struct LoopJson {
    header: String,
    verdict: &'static str,
    exits: Vec<ExitJson>,
}

#[derive(Serialize)]
struct ExitJson {
    from: String,
    to: String,
    verdict: &'static str,
    level: Option<&'static str>,
}

#[derive(Serialize)]
struct SlotJson {
    object: Option<String>,
    from: u64,
    to: u64,
    verdict: &'static str,
    level: Option<&'static str>,
    loc: Option<LocJson>,
}

/// Shows the example of the documentation: annotated, with the chains of its divergent branches.
pub(crate) fn show_example(text: &str, brush: &[u32], heading: &str) -> Result<(), String> {
    let module = heddle_compiler::ir::parse_module(text).map_err(|errors| errors[0].to_string())?;
    let mut module = module;
    module.functions.iter_mut().for_each(canonicalize);
    title(heading);
    for func in &module.functions {
        let (text, chains) = annotated(&module, func, brush);
        let indented: Vec<String> = text.trim_end().lines().map(|line| format!("    {line}")).collect();
        say_line!("\n{}\n", indented.join("\n"));
        for chain in chains {
            say_line!("  {}", chain.replace('\n', "\n  "));
        }
    }
    Ok(())
}
