//! Amount, kinds and layout of code.

use crate::Column;
use heddle_analysis::{Cfg, CycleForest};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::inst::Detail;
use heddle_ir::module::DeclaredShape;
use heddle_ir::{Block, Constant, Function, Inst, InstData, Module, Value, ValueDef};

/// Adds what a module has.
pub(crate) fn code(column: &mut Column<'_>, module: &Module) {
    column.sign(module);
    for func in &module.functions {
        column.add("functions", 1);
        column.add("letters of names", func.name.len());
        for param in &func.signature.params {
            column.add(format!("parameters {}", declared(param.shape.as_ref())), 1);
        }
        for result in &func.signature.results {
            column.add(format!("results {}", declared(result.shape.as_ref())), 1);
        }
        blocks(column, func);
        for inst in func.blocks().flat_map(|block| func.block_insts(block)) {
            instruction(column, func, inst);
        }
        places(column, func);
    }
}

fn declared(shape: Option<&DeclaredShape>) -> &'static str {
    match shape {
        None => "without a declared shape",
        Some(DeclaredShape::Uniform) => "uniform",
        Some(DeclaredShape::Linear(_)) => "linear",
        Some(DeclaredShape::Varying) => "varying",
    }
}

fn blocks(column: &mut Column<'_>, func: &Function) {
    let cfg = Cfg::new(func);
    let cycles = CycleForest::new(&cfg);
    column.add("loops", cycles.num_cycles());
    for block in func.blocks() {
        column.add("blocks", 1);
        column.add("branches", usize::from(func.successors(block).len() > 1));
        column.add("predicates", usize::from(func.predicate(block).is_some()));
        if cfg.is_reachable(block) {
            let count = func.block_insts(block).count();
            column.add("instructions times their loops", count * cycles.depth_of_block(block));
        } else {
            column.add("blocks out of reach", 1);
        }
    }
}

fn instruction(column: &mut Column<'_>, func: &Function, inst: Inst) {
    let data = func.inst(inst);
    let of_vectors =
        func.results(inst).iter().chain(&data.args).any(|&value| func.value_type(value).is_vector());
    column.add("instructions", 1);
    column.add("operands", data.args.len());
    column.add(format!("{}{}{}", data.op.name(), detail(data), if of_vectors { ", wide" } else { "" }), 1);
    data.flags.iter().for_each(|flag| column.add(format!("flag {}", flag.name()), 1));
    column.add("shadows", usize::from(data.shadow().is_some()));
    for &value in func.results(inst) {
        column.add("bits of results", func.value_type(value).bytes() * 8);
    }
    for &arg in &data.args {
        match func.constant(arg) {
            Some(Constant::Poison(_)) => column.add("operands poison", 1),
            Some(_) => column.add("constant operands", 1),
            None => {}
        }
    }
    if let Some(access) = data.access() {
        column.add("accesses: powers of two aligned", access.align.trailing_zeros());
        column.add("accesses: bytes dereferenceable", access.dereferenceable);
        column.add("accesses: known bases", usize::from(access.base.is_some()));
        column.add("accesses: atomic", usize::from(access.atomic.is_some()));
    }
    match &data.detail {
        Detail::Permute(indices) => {
            let moved = (0..).zip(indices.iter()).filter(|(to, from)| to != *from);
            column.add("lanes moved by permutes", moved.count());
        }
        Detail::Alloca { bytes, .. } => column.add("private bytes", *bytes),
        Detail::Branch(_, Some(_)) => column.add("branches with weights", 1),
        Detail::Branch(targets, None) => {
            column.add("branches without weights", usize::from(targets.len() > 1))
        }
        _ => {}
    }
    let origin = func.origin(data.origin);
    column.add("with a place in the source", usize::from(origin.loc.is_some()));
    column.add("without a place in the source", usize::from(origin.loc.is_none()));
    column.add("tags", origin.tags.len());
}

/// Returns an op's detail as a word.
fn detail(data: &InstData) -> String {
    match &data.detail {
        Detail::IntCompare(predicate) => format!(" {predicate}"),
        Detail::FloatCompare(predicate) => format!(" {predicate}"),
        Detail::Rmw(rmw, _) => format!(" {rmw}"),
        Detail::Reduce(reduction) | Detail::Scan { by: reduction, .. } => format!(" {reduction}"),
        Detail::Dimension(Some(along)) => format!(" {along}"),
        _ => String::new(),
    }
}

/// Measures distances in lines of text: from values to their users, and along edges.
fn places(column: &mut Column<'_>, func: &Function) {
    let mut lines: SecondaryMap<Value, u64> = SecondaryMap::new();
    let mut starts: SecondaryMap<Block, u64> = SecondaryMap::new();
    let mut line = 0u64;
    for block in func.blocks() {
        starts[block] = line;
        for inst in func.block_insts(block) {
            line += 1;
            func.results(inst).iter().for_each(|&value| lines[value] = line);
        }
    }
    let mut line = 0u64;
    for block in func.blocks() {
        for inst in func.block_insts(block) {
            line += 1;
            let data = func.inst(inst);
            for &arg in &data.args {
                if matches!(func.value_def(arg), ValueDef::Result(..)) {
                    column.add("lines from values to users", line.abs_diff(lines[arg]));
                }
            }
            let ways = data.targets().iter().map(|&to| line.abs_diff(starts[to])).sum::<u64>();
            column.add("lines along edges", ways);
            for (number, &to) in data.targets().iter().enumerate() {
                column.add(
                    format!("edges to the next block, number {number}"),
                    usize::from(starts[to] == line),
                );
            }
        }
    }
}
