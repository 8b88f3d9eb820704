//! Facts proved about functions.

use crate::programs::Program;
use crate::{Column, Figures, kind_of_message};
use heddle_analysis::baselines::UniformityAnalysis;
use heddle_analysis::shape::{Fact, Geometry, GroupExtent, Poison};
use heddle_analysis::{
    AccessGroups, Activation, Agreement, ControlDependence, ControlTables, Divergence,
    DivergenceExplanations, DominanceFrontier, Edge, InitialShapes, Liveness, PostDominatorTree,
    ResultSummaries, Shape, SyncDependence, UniformityLevel, divergence,
};
use heddle_ir::ops::Op;
use heddle_ir::verify::Stage;
use heddle_ir::{Function, Module};
use heddle_testing::divergence_property::initial_shapes;
use heddle_testing::properties::brush_of;
use heddle_transform::canonicalize;
use std::sync::Arc;

/// Assumptions about generated programs, in the order of the choices of [`initial_shapes`].
const ASSUMED: [&str; 3] = ["unknown", "lanes known", "groups too"];

pub(crate) fn claims(figures: &mut Figures, kind: &str, program: &Program) {
    for func in &program.module.functions {
        graph(&mut figures.column("graphs", kind), func);
    }
    let mut module = program.module.clone();
    let is_reducible = |func: &Function| ControlTables::new(func).cycles.is_graph_reducible();
    if program.stage == Stage::Source
        && (program.case.is_some() || !module.functions.iter().all(is_reducible))
    {
        module.functions.iter_mut().for_each(canonicalize);
    }
    let table = format!("proved of {kind} programs");
    let functions = module.functions.iter().filter(|func| !launches(func) && is_reducible(func));
    for func in functions.clone() {
        published(&mut figures.column("published analyses", kind), func);
        let Some(case) = &program.case else { continue };
        let Some(input) = case.inputs.first() else { continue };
        let Some(brush) = brush_of(&module, func, input) else { continue };
        for (choice, name) in (0..).zip(ASSUMED) {
            let initial = initial_shapes(case, func, input, &brush, choice);
            proved(&mut figures.column(&table, name), &module, func, &initial);
        }
    }
    if program.case.is_none() {
        for (name, geometry, entry) in geometries() {
            let summaries = ResultSummaries::infer(&module, &geometry);
            for func in functions.clone() {
                let initial = match name {
                    "4 lanes" => InitialShapes::declared(func, geometry.clone()),
                    _ => InitialShapes::uniform(func, geometry.clone()),
                };
                let initial = initial.with_summaries(&summaries).with_entry(entry);
                let mut column = figures.column(&table, name);
                summary(&mut column, &summaries, func);
                proved(&mut column, &module, func, &initial);
            }
        }
    }
}

fn geometries() -> [(&'static str, Geometry, Activation); 4] {
    let group = [GroupExtent::Known(64), GroupExtent::Known(2), GroupExtent::Unknown];
    let tile =
        Geometry { local: [GroupExtent::MultipleOfWidth; 3], global_bits: 32, ..Geometry::brush(&[4, 2]) };
    [
        ("4 lanes", Geometry::lanes(4), Activation::Varying),
        (
            "8 of 64",
            Geometry { local: group, offset_align: [0, 8, 1], ..Geometry::lanes(8) },
            Activation::Full,
        ),
        ("4x2", tile, Activation::Full),
        ("unknown", Geometry { global_bits: 31, ..Geometry::unknown() }, Activation::Uniform),
    ]
}

pub(crate) fn launches(func: &Function) -> bool {
    func.blocks().any(|block| func.block_insts(block).any(|inst| func.inst(inst).op == Op::Launch))
}

/// Counts the control-flow facts of a function.
fn graph(column: &mut Column<'_>, func: &Function) {
    let control = ControlTables::new(func);
    let ControlTables { cfg, dominators, cycles, index } = &control;
    column.add("loops", cycles.num_cycles());
    column.add("loops, irreducible", cycles.cycles().filter(|&it| !cycles.is_reducible(it)).count());
    for cycle in cycles.cycles() {
        column.add("their depths", cycles.depth(cycle));
        column.add("their latches", cycles.latches(cfg, cycle).len());
        column.add("their exits", cycles.exits(cfg, cycle).len());
        column.add("their entries", cycles.entries(cfg, cycle).len());
        column.add("their preheaders", usize::from(cycles.preheader(cfg, cycle).is_some()));
    }
    column.add("edges back", cycles.retreating_edges(cfg).count());
    let position = |block| index.number(block).unwrap_or_default();
    let length = |edge: Edge| position(edge.from).abs_diff(position(edge.to));
    column.add("edges' lengths in the block index", cfg.edges().map(length).sum::<usize>());
    column.sign(format_args!("{:?}", index.order()));
    let post = PostDominatorTree::new(cfg);
    column.add("ends that are none", post.pseudo_exits().len());
    column.add("roots of post-dominators", post.roots().len());
    let frontier = DominanceFrontier::new(cfg, dominators);
    let dependence = ControlDependence::new(&post);
    for &block in index.order() {
        column.sign(format_args!("{block} {:?} {:?}", dominators.idom(block), post.ipdom(block)));
        column.sign(format_args!("{block} {:?} {:?}", frontier.of(block), dependence.edges(block)));
        column.add("depths in the dominator tree", dominators.depth(block).unwrap_or_default());
        column.add("depths in the post-dominator tree", post.depth(block).unwrap_or_default());
        column.add("frontiers", frontier.of(block).len());
        column.add("frontiers, iterated", frontier.iterated([block]).len());
        column.add("control dependences", dependence.edges(block).len());
        column.add("control dependences, iterated", dependence.iterated([block]).len());
    }
    let liveness = Liveness::new(func, cfg);
    let sets = liveness.sets();
    for block in func.blocks() {
        column.sign(format_args!("{block} {:?} {:?}", sets.live_in(block), sets.live_out(block)));
        column.add("live at starts", sets.live_in(block).len());
        column.add("live at ends", sets.live_out(block).len());
    }
    if !cycles.is_graph_reducible() {
        return;
    }
    let mut sync = SyncDependence::new(cfg, dominators, cycles, index);
    for &block in index.order().iter().filter(|&&block| cfg.succs(block).len() > 1) {
        let region = sync.branch_region(block);
        column.sign(format_args!("{block} {region:?}"));
        column.add("influence regions: joins", region.joins.len());
        column.add(
            "influence regions: edges into joins",
            region.joins.iter().map(|join| join.from.len()).sum::<usize>(),
        );
        column.add("influence regions: exits", region.divergent_exits.len());
        column.add("influence regions: blocks apart", region.blocks.len());
        column.add("influence regions: go on", usize::from(region.continues_at.is_some()));
        let all = sync.control_divergence(block);
        column.add("all influence regions: joins", all.joins.len());
        column.add("all influence regions: exits", all.divergent_exits.len());
        column.add("all influence regions: apart", all.partial_blocks.iter().count());
    }
    for cycle in cycles.cycles() {
        for take in 1..=2 {
            let region = sync.loop_region(cycle, |exit| exit % take == 0);
            column.sign(format_args!("{take} {region:?}"));
            column.add("regions after loops: joins", region.joins.len());
            column.add("regions after loops: exits", region.divergent_exits.len());
            column.add("regions after loops: apart", region.blocks.len());
            column.add("regions after loops: go on", usize::from(region.continues_at.is_some()));
        }
    }
    column.add("influence regions: steps", sync.steps());
}

/// Counts the facts claimed of a function.
fn proved(column: &mut Column<'_>, module: &Module, func: &Function, initial: &InitialShapes) {
    let control = ControlTables::new(func);
    let found = divergence(func, &control, initial);
    for &block in control.index.order() {
        for inst in func.block_insts(block) {
            for &value in func.results(inst) {
                fact(column, "values", found.fact(value));
            }
        }
        if func.successors(block).len() > 1 {
            column.add(format!("branches together in the {}", level(found.branch_agreement(block))), 1);
        }
        column.sign(format_args!(
            "{block} {:?} {:?}",
            found.branch_agreement(block),
            found.activation(block)
        ));
        column.add(format!("blocks {}", activation(found.activation(block))), 1);
        for &to in func.successors(block) {
            let of_edge = found.edge_activation(func, Edge { from: block, to });
            column.add(format!("edges {}", activation(of_edge)), 1);
        }
    }
    for cycle in control.cycles.cycles() {
        for &(edge, agreement) in found.exits(cycle) {
            column.add(format!("exits together in the {}", level(agreement)), 1);
            for &block in control.cycles.blocks(cycle) {
                for value in func.block_insts(block).filter_map(|inst| func.result(inst)) {
                    let left = found.fact_at(func, &control, value, edge.to);
                    column.add(format!("values after loops {}", shape(left.shape)), 1);
                }
            }
        }
    }
    column.add("blocks without divergence", found.region_of_nondivergence(&control).iter().count());
    memory(column, func, &control, &found);
    groups(column, func, &AccessGroups::new(func, &control, &found, &initial.geometry));
    explanations(column, module, func, &control, &found);
}

fn level(level: Agreement) -> &'static str {
    level.map_or("nowhere", UniformityLevel::name)
}

fn activation(activation: Activation) -> &'static str {
    match activation {
        Activation::Full => "full",
        Activation::Uniform => "uniform",
        Activation::Varying => "varying",
    }
}

fn shape(shape: Shape) -> &'static str {
    match shape {
        Shape::Undefined => "undefined",
        shape if shape.is_uniform() => "uniform",
        Shape::Strided { .. } => "strided",
        Shape::Varying { .. } => "varying",
    }
}

/// All that is known of a value.
pub(crate) fn fact(column: &mut Column<'_>, what: &str, fact: Fact) {
    column.sign(format_args!("{fact:?}"));
    column.add(format!("{what} {}", shape(fact.shape)), 1);
    column.add(format!("{what} known never poison"), usize::from(fact.poison == Poison::Never));
    column.add(format!("{what} known evenly poison"), usize::from(fact.poison == Poison::Uniform));
    column.add(format!("{what} straight, signed"), usize::from(fact.no_wrap.signed));
    column.add(format!("{what} straight, unsigned"), usize::from(fact.no_wrap.unsigned));
    column.add(format!("{what} alike in the {}", fact.level.name()), 1);
    column.add(format!("{what}: bits known"), fact.shape.base().bits());
    column.add(format!("{what}: bits known to be zero"), fact.shape.base().zeros());
    column.add(format!("{what}: powers of two aligned"), fact.shape.align().trailing_zeros());
}

/// Counts the facts about private objects and pointers to them.
fn memory(column: &mut Column<'_>, func: &Function, control: &ControlTables, found: &Divergence) {
    for slot in found.slots() {
        column.sign(format_args!("{slot:?}"));
        column.add(format!("slots shared in the {}", level(slot.shared)), 1);
        column.add("bytes of slots", slot.bytes.end - slot.bytes.start);
    }
    for &block in control.index.order() {
        for inst in func.block_insts(block) {
            let data = func.inst(inst);
            if data.op == Op::Alloca {
                column.add(format!("objects shared in the {}", level(found.object_agreement(inst))), 1);
            }
            if let Some(address) = data.address() {
                column.add("addresses into one object", usize::from(found.unique_object(address).is_some()));
                column.add(
                    format!(
                        "addresses into memory shared in the {}",
                        level(found.pointee_agreement(address))
                    ),
                    1,
                );
            }
        }
    }
}

fn groups(column: &mut Column<'_>, func: &Function, groups: &AccessGroups) {
    for group in groups.groups() {
        let kind = group.kind.name();
        column.add(format!("accesses {kind}"), group.accesses.len());
        column.add(format!("groups {kind}"), 1);
        column.add(format!("groups {kind}: conditions"), group.conditions.len());
        column.add(format!("groups {kind}: stride"), group.stride.unsigned_abs().min(1 << 20));
        let offsets: Vec<i64> = group.accesses.iter().map(|access| access.offset).collect();
        let (least, greatest) = (offsets.iter().min(), offsets.iter().max());
        let span = greatest.zip(least).map_or(0, |(greatest, least)| greatest.abs_diff(*least));
        column.add("groups: bytes from first to last", span.min(1 << 20));
        for condition in &group.conditions {
            let bound =
                |is_there: bool, bound: i128| if is_there { bound.unsigned_abs().min(1 << 20) } else { 0 };
            column.add("conditions: least", bound(condition.has_lower_bound(), condition.min));
            column.add("conditions: greatest", bound(condition.has_upper_bound(), condition.max));
            column.add("conditions: stride", condition.stride.unsigned_abs().min(1 << 20));
            column.add("conditions: bits looked at", condition.width);
            column.add(format!("condition {}", kind_of_message(&condition.describe(func))), 1);
        }
        column.sign(group.display(func));
        column.add("words about groups", words(&group.display(func).to_string()));
    }
}

fn explanations(
    column: &mut Column<'_>,
    module: &Module,
    func: &Function,
    control: &ControlTables,
    found: &Divergence,
) {
    let why = DivergenceExplanations::new(func, control, found);
    let values = control.index.order().iter().flat_map(|&block| func.block_insts(block));
    let values = values.flat_map(|inst| func.results(inst).iter().copied());
    let chains = values.filter_map(|value| why.of_value(value));
    for chain in chains.chain(func.blocks().filter_map(|block| why.of_branch(block))) {
        column.add("explanations", 1);
        column.add("explanations: links", chain.links.len());
        let message = why.display(&chain, Some(module)).to_string();
        column.sign(&message);
        column.add("explanations: words", words(&message));
    }
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Counts the facts about a function's results.
fn summary(column: &mut Column<'_>, summaries: &Arc<ResultSummaries>, func: &Function) {
    for &result in summaries.of(&func.name).unwrap_or_default() {
        fact(column, "results of functions", result);
    }
}

fn published(column: &mut Column<'_>, func: &Function) {
    let control = ControlTables::new(func);
    for analysis in UniformityAnalysis::ALL {
        let claims = analysis.run(func, &control, &InitialShapes::declared(func, Geometry::unknown()));
        let (varying, divergent) = (&claims.varying, &claims.divergent);
        column.sign(format_args!(
            "{} Baseline {{ varying: {varying:?}, divergent: {divergent:?} }}",
            analysis.name()
        ));
        column.add(format!("{} varying", analysis.name()), claims.varying.iter().count());
        column.add(format!("{} divergent", analysis.name()), claims.divergent.iter().count());
    }
}
