//! Whether programs become linear and still mean what they did: the property behind the topic `linearize`.

use crate::differential::{BOTH, differential_in};
use crate::execution::{observe, options};
use crate::generate::{Case, Class, Random};
use crate::uniformity::Uniformity;
use heddle_analysis::{Cfg, CycleForest};
use heddle_ir::entity::EntitySet;
use heddle_ir::verify::{Stage, verify};
use heddle_ir::{Block, Function, Module, Op};
use heddle_transform::{LoopFacts, canonicalize, linearize, make_loops_uniform};

/// What linearization did to a program.
#[derive(Clone, Copy, Default, Debug)]
pub struct Linearized {
    /// The functions that became linear, and those that may have a divergent loop and stayed.
    pub functions: [usize; 2],
    /// The branches folded, and those kept.
    pub branches: [usize; 2],
    /// The loops of linear functions.
    pub loops: usize,
    /// The instructions that choose, in linear functions, beyond those that were there.
    pub selects: usize,
    /// Questions whether anyone is in a loop.
    pub guards: usize,
    /// Blocks that a greedy run executes without active lanes.
    pub empty_steps: u64,
}

impl Linearized {
    /// Adds up.
    pub fn add(&mut self, other: &Linearized) {
        for at in 0..2 {
            self.functions[at] += other.functions[at];
            self.branches[at] += other.branches[at];
        }
        self.loops += other.loops;
        self.selects += other.selects;
        self.guards += other.guards;
        self.empty_steps += other.empty_steps;
    }
}

/// Checks that functions become linear, by way of uniform loops where some may diverge, and that the program refines
/// its source. Some uniform branches are folded too.
pub fn linearizes(case: &Case) -> Result<Linearized, String> {
    linearizes_by(case, linearize)
}

/// The same, with any pass.
pub fn linearizes_by(case: &Case, pass: fn(&mut Function, &EntitySet<Block>)) -> Result<Linearized, String> {
    let (module, mut done) = linear_module(case, pass)?;
    for input in &case.inputs {
        let ran = observe(case, &module, input, &options(input)).map_err(|fault| fault.to_string())?;
        done.empty_steps += ran.counters.empty_steps;
        if done.functions[1] == 0 && case.traits.class != Class::Launch && ran.counters.divergent_branches > 0
        {
            return Err("a branch diverges".into());
        }
    }
    // Functions that stayed as they were may have temporal divergence.
    let semantics = if done.functions[1] == 0 { &BOTH[..] } else { &BOTH[..1] };
    differential_in(case, &case.module, &module, semantics)?;
    Ok(done)
}

fn linear_module(
    case: &Case,
    pass: fn(&mut Function, &EntitySet<Block>),
) -> Result<(Module, Linearized), String> {
    let mut random = Random::new(case.seed ^ 0x11ed);
    let mut module = case.module.clone();
    let mut done = Linearized::default();
    for func in &mut module.functions {
        canonicalize(func);
        if func.blocks().any(|block| func.block_insts(block).any(|inst| func.inst(inst).op == Op::Launch)) {
            continue;
        }
        let mut uniformity = Uniformity::new(func);
        if uniformity.is_none() {
            make_loops_uniform(func, &LoopFacts::obvious(func)).map_err(|reason| reason.to_string())?;
            uniformity = Uniformity::new(func);
        }
        let Some(Uniformity { mut divergent, free }) = uniformity else {
            done.functions[1] += 1;
            continue;
        };
        // Barriers must be met by all lanes, which folding a branch around them does not grant.
        if !case.traits.barriers {
            let share = [0, 30, 100][random.below(3)];
            free.iter().filter(|_| random.chance(share)).for_each(|block| _ = divergent.insert(block));
        }
        let branches =
            |func: &Function| func.blocks().filter(|&block| func.successors(block).len() > 1).count();
        let count = |func: &Function, op: Op| {
            func.blocks()
                .flat_map(|block| func.block_insts(block))
                .filter(|&inst| func.inst(inst).op == op)
                .count()
        };
        let blocks = func.blocks().count();
        let before = branches(func);
        let (selects, questions) = (count(func, Op::Select), count(func, Op::Any));
        pass(func, &divergent);
        done.selects += count(func, Op::Select).saturating_sub(selects);
        done.guards += count(func, Op::Any).saturating_sub(questions);
        done.loops += CycleForest::new(&Cfg::new(func)).num_cycles();
        if func.blocks().count() > blocks || branches(func) > before {
            return Err(format!("@{} has got blocks or branches", func.name));
        }
        if let Err(violations) = verify(func, Stage::Linear) {
            return Err(violations.to_string());
        }
        done.functions[0] += 1;
        done.branches[1] += branches(func);
        done.branches[0] += before - branches(func);
    }
    Ok((module, done))
}
