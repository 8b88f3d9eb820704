//! Faults planted into linearization, one for each of its rules: the harness catches every one.
//!
//! Faults of masks and values are planted into the pass's output, at all sites of a kind simultaneously. Faults of the
//! new edges are planted into the listing itself: transform/linearize_graphs.rs.

use heddle_ir::Diagnostic;
use heddle_ir::entity::EntitySet;
use heddle_ir::words::{Flag, Flags};
use heddle_ir::{Block, Constant, Function, Inst, Op, Value};
use heddle_testing::generate::{GeneratorProfile, generate};
use heddle_testing::linear::{LinearizePass, linearizes_by};
use heddle_transform::linearize;

const FAULTS: &[(&str, LinearizePass)] = &[
    ("wrong polarity", |func, divergent| {
        change(func, divergent, |func, inst| {
            if func.inst(inst).op == Op::Xor {
                let (result, operand) = (func.results(inst)[0], func.inst(inst).args[0]);
                func.map_values(|value| if value == result { operand } else { value });
            }
        })
    }),
    ("`and` for the select of an edge mask", |func, divergent| {
        change(func, divergent, |func, inst| {
            if is_mask(func, inst) {
                let data = func.inst_mut(inst);
                data.op = Op::And;
                data.args.truncate(2);
            }
        })
    }),
    ("edge mask without its parent", |func, divergent| {
        change(func, divergent, |func, inst| {
            if is_mask(func, inst) {
                let (result, operand) = (func.results(inst)[0], func.inst(inst).args[1]);
                func.map_values(|value| if value == result { operand } else { value });
            }
        })
    }),
    ("edge mask without its condition", |func, divergent| {
        change(func, divergent, |func, inst| {
            if is_mask(func, inst) {
                let (result, operand) = (func.results(inst)[0], func.inst(inst).args[0]);
                func.map_values(|value| if value == result { operand } else { value });
            }
        })
    }),
    ("one incoming edge left out of a predicate", |func, divergent| {
        change(func, divergent, |func, inst| {
            if func.inst(inst).op == Op::Or {
                let (result, operand) = (func.results(inst)[0], func.inst(inst).args[0]);
                func.map_values(|value| if value == result { operand } else { value });
            }
        })
    }),
    ("predicate left out", |func, divergent| {
        linearize(func, divergent)?;
        let blocks: Vec<Block> = func.blocks().collect();
        blocks.into_iter().for_each(|block| func.set_predicate(block, None));
        Ok(())
    }),
    ("total left out", |func, divergent| {
        change(func, divergent, |func, inst| {
            let data = func.inst_mut(inst);
            data.flags = data.flags.without(Flags::NONE.with(Flag::Total));
        })
    }),
    ("total where a condition is undefined", |func, divergent| {
        change(func, divergent, |func, inst| {
            if is_mask(func, inst) && func.inst(inst).is_total() {
                let condition = func.inst(inst).args[1];
                func.inst_mut(inst).args[0] = condition;
            }
        })
    }),
    ("arms of a value swapped", |func, divergent| {
        change(func, divergent, |func, inst| {
            if is_blend(func, inst) {
                func.inst_mut(inst).args.swap(1, 2);
            }
        })
    }),
    ("default arm dropped", |func, divergent| {
        change(func, divergent, |func, inst| {
            if is_blend(func, inst) {
                let poison = func.make_poison(func.value_type(func.results(inst)[0]));
                func.inst_mut(inst).args[2] = poison;
            }
        })
    }),
    ("value taken from one edge for all", |func, divergent| {
        change(func, divergent, |func, inst| {
            if is_blend(func, inst) {
                let (result, operand) = (func.results(inst)[0], func.inst(inst).args[1]);
                func.map_values(|value| if value == result { operand } else { value });
            }
        })
    }),
    ("no guard at a loop without lanes", |func, divergent| {
        guards(func, divergent, |func, select| func.inst(select).args[1])
    }),
    ("guard that leads in", |func, divergent| {
        guards(func, divergent, |func, select| {
            let [any, condition, out] = func.inst(select).args[..] else { return func.results(select)[0] };
            let back = func.constant(out) != Some(&Constant::bool(true));
            let back = func.make_bool(back);
            func.inst_mut(select).args.copy_from_slice(&[any, condition, back]);
            func.results(select)[0]
        })
    }),
    ("guard votes over active lanes only", |func, divergent| {
        change(func, divergent, |func, inst| {
            if func.inst(inst).op == Op::Any {
                let data = func.inst_mut(inst);
                data.flags = data.flags.without(Flags::NONE.with(Flag::Total));
            }
        })
    }),
    ("divergent branch kept", |func, divergent| {
        let all: Vec<Block> = divergent.iter().collect();
        linearize(func, &all.into_iter().skip(1).collect())
    }),
];

/// Linearizes, and changes what instructions it made.
fn change(
    func: &mut Function,
    divergent: &EntitySet<Block>,
    change: fn(&mut Function, Inst),
) -> Result<(), Diagnostic> {
    let before: EntitySet<Inst> = insts(func).into_iter().collect();
    linearize(func, divergent)?;
    for inst in insts(func) {
        if !before.contains(inst) && func.inst(inst).op != Op::Br {
            change(func, inst);
        }
    }
    Ok(())
}

/// Linearizes, and replaces the conditions that are led out of loops.
fn guards(
    func: &mut Function,
    divergent: &EntitySet<Block>,
    by: fn(&mut Function, Inst) -> Value,
) -> Result<(), Diagnostic> {
    linearize(func, divergent)?;
    let terminators: Vec<Inst> = func.blocks().filter_map(|block| func.terminator(block)).collect();
    for inst in terminators {
        let Some(&condition) = func.inst(inst).args.first().filter(|_| func.inst(inst).op == Op::Br) else {
            continue;
        };
        let Some(select) = func.def_inst(condition) else { continue };
        let requested = func.inst(select).args.first().and_then(|&any| func.def_inst(any));
        if func.inst(select).op == Op::Select && requested.is_some_and(|any| func.inst(any).op == Op::Any) {
            let condition = by(func, select);
            func.inst_mut(inst).args[0] = condition;
        }
    }
    Ok(())
}

fn insts(func: &Function) -> Vec<Inst> {
    func.blocks().flat_map(|block| func.block_insts(block)).collect()
}

fn is_mask(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    data.op == Op::Select && func.constant(data.args[2]) == Some(&Constant::bool(false))
}

fn is_blend(func: &Function, inst: Inst) -> bool {
    func.inst(inst).op == Op::Select
        && !is_mask(func, inst)
        && func.value_type(func.results(inst)[0]) != heddle_ir::Type::I1
}

#[test]
fn every_fault_is_caught() {
    let mut missed = Vec::new();
    for (name, pass) in FAULTS {
        let is_caught = (0..1500).any(|seed| {
            let case = generate(seed, &GeneratorProfile::uniform());
            linearizes_by(&case, *pass).is_err()
        });
        if !is_caught {
            missed.push(name);
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:?}");
}
