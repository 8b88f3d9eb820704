//! Liveness against the data-flow equations, solved by iteration to a fixpoint.

use std::collections::BTreeSet;

use heddle_analysis::{Cfg, Liveness};
use heddle_ir::inst::InstData;
use heddle_ir::module::Signature;
use heddle_ir::{Block, Builder, Function, InsertPoint, Inst, Op, Type, Value, ValueDef};

use crate::graphs::{Graph, Random, block, for_all_graphs, members};

type Live = Vec<BTreeSet<Value>>;

/// Builds a function with this graph that defines and reads values at random legal positions.
fn function(graph: &Graph, random: &mut Random) -> Function {
    let mut func = Function::new("f", Signature::new(&[Type::I1, Type::I1], &[]));
    for _ in 0..graph.len() {
        func.new_block();
    }
    let others = (0..graph.len()).filter(|&at| at != graph.entry);
    std::iter::once(graph.entry).chain(others).for_each(|at| func.layout.append_block(block(at)));
    let dominance = graph.dominance();
    let params = func.params().to_vec();
    let mut defined: Vec<Vec<Value>> = vec![Vec::new(); graph.len()];
    let mut phis: Vec<(usize, Inst)> = Vec::new();
    for (at, defined) in defined.iter_mut().enumerate() {
        if at != graph.entry && random.chance(60) {
            let phi = func.make_inst(InstData::phi([], None), &[Type::I1]);
            func.layout.append_inst(phi, block(at));
            defined.push(func.results(phi)[0]);
            phis.push((at, phi));
        }
    }
    // Operands are filled in when all readable values exist.
    let placeholder = params[0];
    let mut later: Vec<(usize, Inst)> = Vec::new();
    for (at, defined) in defined.iter_mut().enumerate() {
        for _ in 0..random.below(3) {
            let mut builder = Builder::new(&mut func, InsertPoint::End(block(at)));
            let inst = builder.inst(InstData::plain(Op::Xor, [placeholder, placeholder]), None);
            defined.push(func.results(inst)[0]);
            later.push((at, inst));
        }
        let targets: Vec<Block> = graph.succs[at].iter().map(|&to| block(to)).collect();
        let mut builder = Builder::new(&mut func, InsertPoint::End(block(at)));
        match targets[..] {
            [] => _ = builder.ret(&[]),
            [to] => _ = builder.jump(to),
            [then, otherwise] => later.push((at, builder.branch(placeholder, then, otherwise))),
            _ => {
                let switch =
                    heddle_ir::inst::SwitchDetail { cases: (1..targets.len() as u128).collect(), targets };
                let wide = builder.inst(InstData::plain(Op::Zext, [placeholder]), Some(Type::I32));
                let number = builder.func.results(wide)[0];
                let detail = heddle_ir::Detail::Switch(Box::new(switch));
                builder.inst(InstData::new(Op::Switch, [number], detail), None);
                later.push((at, wide));
            }
        }
    }
    let readable = |at: usize| -> Vec<Value> {
        let above = (0..graph.len()).filter(|&above| above != at && dominance[above] >> at & 1 == 1);
        above.flat_map(|above| defined[above].iter().copied()).chain(params.iter().copied()).collect()
    };
    for (at, inst) in later {
        let mut pool = readable(at);
        let own = |value: &&Value| func.def_inst(**value).is_some_and(|other| other < inst);
        pool.extend(defined[at].iter().filter(own));
        for index in 0..func.inst(inst).args.len() {
            func.inst_mut(inst).args[index] = pool[random.below(pool.len())];
        }
    }
    for (at, phi) in phis {
        let preds: BTreeSet<usize> =
            (0..graph.len()).filter(|&pred| graph.succs[pred].contains(&at)).collect();
        let incoming: Vec<(Block, Value)> = preds
            .into_iter()
            .map(|pred| {
                let mut pool = readable(pred);
                pool.extend(&defined[pred]);
                (block(pred), pool[random.below(pool.len())])
            })
            .collect();
        let shadow = random.chance(20).then(|| readable(at)).map(|pool| pool[random.below(pool.len())]);
        *func.inst_mut(phi) = InstData::phi(incoming, shadow);
    }
    for at in 0..graph.len() {
        if random.chance(15) {
            let pool = readable(at);
            func.set_predicate(block(at), Some(pool[random.below(pool.len())]));
        }
    }
    func
}

/// Live-in and live-out sets by definition.
fn solve(func: &Function, graph: &Graph) -> (Live, Live) {
    let reachable: Vec<usize> = members(graph.reachable()).collect();
    let (mut live_in, mut live_out) =
        (vec![BTreeSet::new(); graph.len()], vec![BTreeSet::new(); graph.len()]);
    loop {
        let before = (live_in.clone(), live_out.clone());
        for &at in &reachable {
            for &to in &graph.succs[at] {
                let incoming = live_in[to].clone();
                live_out[at].extend(incoming);
                for phi in func.phis(block(to)) {
                    live_out[at].extend(
                        func.inst(phi)
                            .incoming()
                            .filter(|&(pred, _)| pred == block(at))
                            .map(|(_, value)| value),
                    );
                }
            }
            let mut live: BTreeSet<Value> = live_out[at].clone();
            for inst in func.block_insts(block(at)).collect::<Vec<_>>().into_iter().rev() {
                let data = func.inst(inst);
                func.results(inst).iter().for_each(|result| _ = live.remove(result));
                match data.op {
                    Op::Phi => {}
                    _ => live.extend(&data.args),
                }
            }
            live.extend(func.phis(block(at)).filter_map(|phi| func.inst(phi).shadow()));
            live.extend(func.predicate(block(at)));
            live_in[at] = live;
        }
        for live in live_in.iter_mut().chain(&mut live_out) {
            live.retain(|&value| func.value_def(value) != ValueDef::Const);
        }
        if before == (live_in.clone(), live_out.clone()) {
            return (live_in, live_out);
        }
    }
}

#[test]
fn live_sets_solve_the_equations() {
    let mut random = Random(2);
    let mut round = 0;
    for_all_graphs(|graph| {
        round += 1;
        if graph.len() <= 4 && round % 7 != 0 {
            return;
        }
        let func = function(graph, &mut random);
        let cfg = Cfg::new(&func);
        let liveness = Liveness::new(&func, &cfg);
        let sets = liveness.sets();
        let (live_in, live_out) = solve(&func, graph);
        for at in 0..graph.len() {
            assert!(sets.live_in(block(at)).iter().eq(&live_in[at]), "live into block{at}");
            assert!(sets.live_out(block(at)).iter().eq(&live_out[at]), "live out of block{at}");
        }
        let values: Vec<Value> = live_in.iter().flatten().copied().collect();
        for _ in 0..values.len().min(4) {
            let value = values[random.below(values.len())];
            let range = liveness.range(value);
            let is_in = |live: &Live| -> Vec<Block> {
                (0..graph.len()).filter(|&at| live[at].contains(&value)).map(block).collect()
            };
            assert_eq!((&range.live_in, &range.live_out), (&is_in(&live_in), &is_in(&live_out)), "{value}");
            let at = random.below(graph.len());
            assert_eq!(liveness.is_live_in(value, block(at)), live_in[at].contains(&value));
            assert_eq!(liveness.is_live_out(value, block(at)), live_out[at].contains(&value));
        }
    });
}
