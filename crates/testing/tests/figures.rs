//! What analyses and passes make of the first generated programs, in figures: `tests/figures.txt`.
//!
//! That nothing claimed is wrong, the other tests tell. An analysis that claims nothing at all would pass them, and so
//! would a pass that leaves more code than it must: here less proved, or more left, is another figure.
//! `HEDDLE_BLESS=1` rewrites the file; review the diff.
#![forbid(unsafe_code)]

use heddle::pipeline::run_passes;
use heddle_analysis::baselines::Analysis;
use heddle_analysis::shape::{Geometry, Poison};
use heddle_analysis::{
    AccessGroups, Activation, ControlTables, Explanations, InitialShapes, Level, Shape, divergence,
};
use heddle_ir::ops::Op;
use heddle_ir::{Function, Module};
use heddle_testing::generate::{Case, Class, Profile, generate};
use heddle_testing::properties::{brush_of, initial_shapes};
use heddle_transform::canonicalize;
use std::collections::BTreeMap;
use std::path::Path;

const SEEDS: u64 = 200;

/// Figures by name, in sections.
#[derive(Default)]
struct Figures(BTreeMap<&'static str, BTreeMap<String, u64>>);

impl Figures {
    fn add(&mut self, section: &'static str, name: impl Into<String>, count: impl TryInto<u64>) {
        let count = count.try_into().unwrap_or_default();
        *self.0.entry(section).or_default().entry(name.into()).or_default() += count;
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (section, figures) in &self.0 {
            text += &format!("{section}\n");
            for (name, count) in figures {
                text += &format!("  {name}: {count}\n");
            }
        }
        text
    }
}

fn launches(func: &Function) -> bool {
    func.blocks().any(|block| func.block_insts(block).any(|inst| func.inst(inst).op == Op::Launch))
}

/// What is claimed of a function.
fn analyses(figures: &mut Figures, section: &'static str, func: &Function, initial: &InitialShapes) {
    let control = ControlTables::new(func);
    if launches(func) || !control.cycles.is_graph_reducible() {
        return;
    }
    let mut add = |name: String, count: usize| figures.add(section, name, count as u64);
    let found = divergence(func, &control, initial);
    for &block in control.index.order() {
        for inst in func.block_insts(block) {
            for &value in func.results(inst) {
                let fact = found.fact(value);
                let shape = match fact.shape {
                    Shape::Undefined => "undefined",
                    shape if shape.is_uniform() => "uniform",
                    Shape::Strided { .. } => "strided",
                    Shape::Varying { .. } => "varying",
                };
                add(format!("values {shape}"), 1);
                add("values known never ⊤".into(), usize::from(fact.poison == Poison::Never));
                add("values known evenly ⊤".into(), usize::from(fact.poison == Poison::Even));
                add(
                    "values straight".into(),
                    usize::from(fact.straight.signed) + usize::from(fact.straight.unsigned),
                );
                add(format!("values alike in the {}", fact.level.name()), 1);
                add("bits known".into(), fact.shape.base().bits() as usize);
                add("bits known to be zero".into(), fact.shape.base().zeros() as usize);
            }
        }
        let level = |level: Option<Level>| level.map_or("nowhere", Level::name);
        if func.successors(block).len() > 1 {
            add(format!("branches together in the {}", level(found.branch(block))), 1);
        }
        let activation = match found.activation(block) {
            Activation::Full => "full",
            Activation::Uniform => "uniform",
            Activation::Varying => "varying",
        };
        add(format!("blocks {activation}"), 1);
        for to in func.successors(block) {
            let edge = heddle_analysis::Edge { from: block, to: *to };
            add(
                "edges varying".into(),
                usize::from(found.edge_activation(func, edge) == Activation::Varying),
            );
        }
    }
    for cycle in control.cycles.cycles() {
        for &(_, agreement) in found.exits(cycle) {
            add(format!("exits together in the {}", agreement.map_or("nowhere", Level::name)), 1);
        }
    }
    add("blocks without divergence".into(), found.region_of_nondivergence(&control).iter().count());
    for slot in found.slots() {
        add(format!("slots shared in the {}", slot.shared.map_or("nowhere", Level::name)), 1);
    }
    let groups = AccessGroups::new(func, &control, &found, &initial.geometry);
    for group in groups.groups() {
        add(format!("accesses {}", group.kind.name()), group.accesses.len());
        add(format!("groups {}", group.kind.name()), 1);
        add("conditions".into(), group.conditions.len());
    }
    let why = Explanations::new(func, &control, &found);
    let values = control.index.order().iter().flat_map(|&block| func.block_insts(block));
    let values = values.flat_map(|inst| func.results(inst).iter().copied());
    let chains = values.filter_map(|value| why.of_value(value));
    let chains: Vec<_> = chains.chain(func.blocks().filter_map(|block| why.of_branch(block))).collect();
    add("explanations".into(), chains.len());
    add("their links".into(), chains.iter().map(|chain| chain.links.len()).sum());
    add(
        "their words".into(),
        chains.iter().map(|it| why.in_words(it, None).to_string().split(' ').count()).sum(),
    );
}

fn published(figures: &mut Figures, func: &Function) {
    let control = ControlTables::new(func);
    if launches(func) || !control.cycles.is_graph_reducible() {
        return;
    }
    for analysis in Analysis::ALL {
        let claims = analysis.run(func, &control, &InitialShapes::declared(func, Geometry::unknown()));
        figures.add(
            "published",
            format!("{} varying", analysis.name()),
            claims.varying.iter().count() as u64,
        );
        figures.add(
            "published",
            format!("{} divergent", analysis.name()),
            claims.divergent.iter().count() as u64,
        );
    }
}

/// What is there behind a pass.
fn code(figures: &mut Figures, section: &'static str, module: &Module) {
    for func in &module.functions {
        let mut add = |name: &str, count: usize| figures.add(section, name, count as u64);
        add("functions", 1);
        for block in func.blocks() {
            add("blocks", 1);
            add("branches", usize::from(func.successors(block).len() > 1));
            add("predicates", usize::from(func.predicate(block).is_some()));
            for inst in func.block_insts(block) {
                let data = func.inst(inst);
                add("instructions", 1);
                add("operands", data.args.len());
                add("total", usize::from(data.is_total()));
                add("shadows", usize::from(data.shadow().is_some()));
                let is_wide = func.results(inst).iter().any(|&value| func.value_type(value).is_vector());
                add("vectors", usize::from(is_wide));
                match data.op {
                    Op::Phi | Op::Select | Op::And | Op::Or | Op::Xor | Op::Any | Op::Load | Op::Store => {
                        add(data.op.info().name, 1);
                    }
                    Op::Call => add("calls", 1),
                    _ => {}
                }
            }
        }
    }
}

const STEPS: &[(&str, &str)] = &[
    ("pass 1 simplify", "simplify"),
    ("pass 2 canonicalize", "canonicalize"),
    ("pass 3 specialize", "specialize"),
    ("pass 4 loops", "loops"),
    ("pass 5 boscc", "boscc"),
    ("pass 6 linearize", "linearize"),
    ("pass 7 tidy", "tidy"),
    ("pass 8 widen", "widen"),
    ("pass 9 simplify", "simplify"),
];

fn passes(figures: &mut Figures, case: &Case) {
    let Some(input) = case.inputs.first() else { return };
    let brush: Vec<String> = input.brush.iter().map(u32::to_string).collect();
    let mut module = case.module.clone();
    for &(section, name) in STEPS {
        let name = match name {
            "specialize" | "widen" => format!("{name}:{}", brush.join("x")),
            _ => name.into(),
        };
        if let Err(error) = run_passes(&mut module, &[&name], false, |_, _| {}) {
            // What is refused is refused for a reason that is told; that it is stays a figure.
            let _ = error;
            figures.add(section, "refused", 1u64);
            return;
        }
        code(figures, section, &module);
    }
}

/// What is assumed, in the order of the choices of [`initial_shapes`].
const ASSUMED: [&str; 3] =
    ["analyses, lanes unknown", "analyses, lanes known", "analyses, lanes and work-groups known"];

fn all() -> String {
    let mut figures = Figures::default();
    for seed in 0..SEEDS {
        let mut case = generate(seed, &Profile::default());
        let is_predicated = case.traits.class == Class::Predicated;
        if !is_predicated {
            passes(&mut figures, &case);
            case.module.functions.iter_mut().for_each(canonicalize);
        }
        let Some(input) = case.inputs.first() else { continue };
        for func in &case.module.functions {
            let Some(brush) = brush_of(&case.module, func, input) else { continue };
            for (choice, section) in (0..).zip(ASSUMED) {
                analyses(&mut figures, section, func, &initial_shapes(&case, func, input, &brush, choice));
            }
            published(&mut figures, func);
        }
    }
    figures.text()
}

#[test]
fn nothing_is_proved_less_and_no_code_is_longer() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/figures.txt");
    let found = all();
    if std::env::var_os("HEDDLE_BLESS").is_some() {
        std::fs::write(&path, &found).expect("the file can be written");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let lines = expected.lines().zip(found.lines());
    let other: Vec<String> =
        lines.filter(|(a, b)| a != b).map(|(a, b)| format!("{a}, now {}", b.trim())).collect();
    assert!(expected == found, "other figures (HEDDLE_BLESS=1 rewrites them):\n{}", other.join("\n"));
}
