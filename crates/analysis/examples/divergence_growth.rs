//! Growth of the divergence analysis' time with the function: times at six sizes up to 2^16 and the exponent of a
//! least-squares fit on their logarithms, per family. Every second branch diverges; each block has φs and arithmetic.

use std::hint::black_box;
use std::time::Instant;

use heddle_analysis::shape::Geometry;
use heddle_analysis::{Cfg, ControlTables, InitialShapes, divergence};
use heddle_ir::entity::Entity;
use heddle_ir::module::{DeclaredShape, Param, ReturnValue, Signature};
use heddle_ir::{Block, Function, InstData, Op, Scalar, Type, Value};

mod families;

fn main() {
    let early_outs = families::GraphFamily {
        name: "early outs",
        is_reducible: true,
        edges: |size| (size, (0..size - 1).flat_map(|at| [(at, at + 1), (at, size - 1)]).collect()),
    };
    let breaks = families::GraphFamily {
        name: "breaks out of one loop",
        is_reducible: true,
        edges: |size| {
            let last = size - 2;
            let body = (1..last).flat_map(move |at| [(at, at + 1), (at, size - 1)]);
            (size, body.chain([(0, 1), (last, 1), (last, size - 1)]).collect())
        },
    };
    let mut worst = (0.0, "");
    for family in families::FAMILIES.iter().chain([&early_outs, &breaks]).filter(|family| family.is_reducible)
    {
        let mut points = Vec::new();
        print!("{:>30}", family.name);
        // Regions are not shared here (see `sync_dependence`).
        let last = 16;
        for log in last - 5..=last {
            let func = function(family, 1 << log);
            let start = Instant::now();
            let mut rounds = 0;
            while rounds < 3 || start.elapsed().as_millis() < 60 {
                let control = ControlTables::new(&func);
                let initial = InitialShapes::declared(&func, Geometry::lanes(8));
                black_box(divergence(&func, &control, &initial));
                rounds += 1;
            }
            let seconds = start.elapsed().as_secs_f64() / f64::from(rounds);
            print!("{:>10.2} ms", seconds * 1e3);
            points.push(((func.inst_count() as f64).ln(), seconds.ln()));
        }
        let exponent = slope(&points);
        println!("   exponent {exponent:.2}");
        if exponent > worst.0 && last == 16 {
            worst = (exponent, family.name);
        }
    }
    println!("greatest exponent: {:.2}, {}", worst.0, worst.1);
}

/// Builds a function with these blocks: φs of incoming values, a sum, and a branch on a varying or a uniform condition.
fn function(family: &families::GraphFamily, size: usize) -> Function {
    let (count, edges) = (family.edges)(size);
    let mut signature = Signature::new(&[Type::I1, Type::I1, Type::I32, Type::I32], &[Type::I32]);
    for (index, param) in signature.params.iter_mut().enumerate() {
        let shape = if index % 2 == 0 { DeclaredShape::Uniform } else { DeclaredShape::Varying };
        *param = Param { shape: Some(shape), ..param.clone() };
    }
    signature.results = vec![ReturnValue { ty: Type::I32, shape: None }];
    let mut func = Function::new("f", signature);
    let blocks: Vec<Block> = (0..count).map(|_| func.append_block()).collect();
    let cfg = Cfg::from_edges(count, blocks[0], edges.iter().map(|&(from, to)| (blocks[from], blocks[to])));
    let one = func.make_int(Scalar::I32, 1);
    let params: Vec<Value> = func.params().to_vec();
    for &block in &blocks {
        let mut value = params[2];
        let mut preds = cfg.preds(block).to_vec();
        preds.sort_unstable();
        preds.dedup();
        if preds.len() > 1 {
            let incoming: Vec<(Block, Value)> = preds
                .iter()
                .map(|&pred| {
                    let number = func.make_int(Scalar::I32, (pred.index() % 7) as i128);
                    (pred, number)
                })
                .collect();
            let phi = func.make_inst(InstData::phi(incoming, None), &[Type::I32]);
            func.layout.append_inst(phi, block);
            value = func.results(phi)[0];
        }
        for _ in 0..4 {
            let sum = func.make_inst(InstData::plain(Op::Add, [value, one]), &[Type::I32]);
            func.layout.append_inst(sum, block);
            value = func.results(sum)[0];
        }
        let end = match cfg.succs(block) {
            [] => InstData::plain(Op::Ret, [value]),
            [to] => InstData::jump(*to),
            [then, otherwise, ..] => InstData::branch(params[block.index() % 2], *then, *otherwise),
        };
        let end = func.make_inst(end, &[]);
        func.layout.append_inst(end, block);
    }
    func
}

fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let above: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    above / points.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>()
}
