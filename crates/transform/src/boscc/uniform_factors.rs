//! Guards without a vote: uniform factors of divergent conditions.
//!
//! Lanes along a row agree on the row's number, so `row < height && column < width` diverges by its second factor only. A branch
//! on the first one skips the arm for all lanes, and costs less than a vote:
//!
//! ```text
//!     A: v5 = select v3, v4, false           v3 is uniform
//!        br v5, B, C                         A: br v3, N, C
//!                                            N: br v4, B, C
//! ```
//!
//! For the arm of the other target, factors are those of a disjunction (`select v3, true, v4`), and a true one skips the arm.
//!
//! A factor behind a divergent one may be poison where that one is false in all lanes; it is frozen.

use super::gadget::{GuardEditor, append};
use super::model::GuardCostModel;
use super::{GuardOptions, arm_of};
use heddle_analysis::ControlTables;
use heddle_analysis::divergence::Divergence;
use heddle_analysis::shape::Poison;
use heddle_ir::entity::EntitySet;
use heddle_ir::{Block, Constant, Function, InstData, Op, Value};

/// Cost of a region that is worth a branch which lanes agree on, in plain vector operations.
const MIN_COST: f64 = 8.0;
/// Maximum depth of a condition.
const MAX_DEPTH: u32 = 8;

/// Operation that combines the factors of a condition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Junction {
    And,
    Or,
}

impl Junction {
    /// Junction whose factors decide that an arm is skipped.
    fn of_slot(slot: usize) -> Junction {
        if slot == 0 { Junction::And } else { Junction::Or }
    }

    /// Operands of a value that this operation makes.
    fn operands(self, func: &Function, value: Value) -> Option<[Value; 2]> {
        let data = func.inst(func.def_inst(value)?);
        let is_bool = |value: Value, wanted: bool| func.constant(value) == Some(&Constant::bool(wanted));
        match (data.op, self, &data.args[..]) {
            (Op::And, Junction::And, &[one, other]) | (Op::Or, Junction::Or, &[one, other]) => {
                Some([one, other])
            }
            (Op::Select, Junction::And, &[one, other, last]) if is_bool(last, false) => Some([one, other]),
            (Op::Select, Junction::Or, &[one, last, other]) if is_bool(last, true) => Some([one, other]),
            _ => None,
        }
    }

    /// Makes the operation; its second operand counts only where the first one does not decide.
    fn combine(self, func: &mut Function, one: Value, other: Value) -> InstData {
        match self {
            Junction::And => {
                let otherwise = func.make_bool(false);
                InstData::plain(Op::Select, [one, other, otherwise])
            }
            Junction::Or => {
                let otherwise = func.make_bool(true);
                InstData::plain(Op::Select, [one, otherwise, other])
            }
        }
    }
}

/// Uniform factor, and whether it is to be frozen.
struct UniformFactor {
    value: Value,
    is_frozen: bool,
}

/// Guards arms of divergent branches by the uniform factors of their conditions, and keeps `divergent`, the blocks with such
/// branches, up to date.
pub fn guard_by_uniform_factors(
    func: &mut Function,
    (control, facts): (&ControlTables, &Divergence),
    divergent: &mut EntitySet<Block>,
    options: &GuardOptions,
) {
    let model = GuardCostModel::new(func, control, options);
    let mut found = Vec::new();
    for &arm in control.index.order() {
        let Some((from, slot)) = arm_of(control, divergent, arm) else { continue };
        // Uniform branches may be treated as divergent ones.
        if !facts.is_divergent_branch(from) {
            continue;
        }
        if options.requests.contains_key(&arm) || model.region_cost(arm) < MIN_COST {
            continue;
        }
        let junction = Junction::of_slot(slot);
        let Some(condition) = model.condition(from) else { continue };
        let search = FactorSearch { func, control, facts, block: from, junction };
        let mut factors = Vec::new();
        search.find(condition, &mut factors, &mut false, MAX_DEPTH);
        if !factors.is_empty() {
            found.push((arm, (from, slot), condition, factors));
        }
    }
    let mut editor = GuardEditor::new(&control.cfg);
    for (arm, (from, slot), condition, factors) in found {
        let junction = Junction::of_slot(slot);
        let uniform: Vec<Value> = factors.iter().map(|it| it.value).collect();
        // The guard is a branch of the source: estimates take branches without a location for choices of versions.
        let origin = func.inst(func.terminator(from).expect("a complete block has a terminator")).origin;
        let located = |data: InstData| InstData { origin, ..data };
        let rest = editor.split_branch(func, (from, slot), arm, |func| {
            let mut all = None;
            for UniformFactor { value, is_frozen } in factors {
                let value = if is_frozen {
                    append(func, from, located(InstData::plain(Op::Freeze, [value])))
                } else {
                    value
                };
                all = Some(match all {
                    None => value,
                    Some(all) => {
                        let both = junction.combine(func, all, value);
                        append(func, from, located(both))
                    }
                });
            }
            all.unwrap_or(condition)
        });
        let guard = func.terminator(from).expect("the guard is here");
        func.inst_mut(guard).origin = origin;
        let branch = func.terminator(rest).expect("the branch was moved here");
        func.layout.remove_inst(branch);
        let remaining = remaining(func, rest, junction, condition, &uniform, MAX_DEPTH);
        func.inst_mut(branch).args[0] = remaining.unwrap_or(condition);
        func.layout.append_inst(branch, rest);
        divergent.remove(from);
        divergent.insert(rest);
    }
    editor.finish_arms(func);
}

/// True if a divergent branch has a condition of several factors.
pub fn has_factors(func: &Function, divergent: &EntitySet<Block>) -> bool {
    let is_joined = |value| [Junction::And, Junction::Or].iter().any(|it| it.operands(func, value).is_some());
    let condition = |block| func.inst(func.terminator(block)?).args.first().copied();
    divergent.iter().any(|block| condition(block).is_some_and(is_joined))
}

struct FactorSearch<'a> {
    func: &'a Function,
    control: &'a ControlTables,
    facts: &'a Divergence,
    block: Block,
    junction: Junction,
}

impl FactorSearch<'_> {
    /// Adds the uniform factors of a condition in their order. `is_behind` is true behind a divergent factor.
    fn find(&self, value: Value, found: &mut Vec<UniformFactor>, is_behind: &mut bool, depth: u32) {
        let fact = self.facts.fact_at(self.func, self.control, value, self.block);
        if fact.shape.is_uniform() && fact.poison != Poison::Any {
            found.push(UniformFactor { value, is_frozen: *is_behind && fact.poison != Poison::Never });
            return;
        }
        match self.junction.operands(self.func, value).filter(|_| depth > 0) {
            Some(operands) => operands.into_iter().for_each(|it| self.find(it, found, is_behind, depth - 1)),
            None => *is_behind = true,
        }
    }
}

/// Makes a condition without its uniform factors, in a block; none if nothing is left.
fn remaining(
    func: &mut Function,
    block: Block,
    junction: Junction,
    value: Value,
    uniform: &[Value],
    depth: u32,
) -> Option<Value> {
    if uniform.contains(&value) {
        return None;
    }
    let Some(operands) = junction.operands(func, value).filter(|_| depth > 0) else { return Some(value) };
    let parts = operands.map(|it| remaining(func, block, junction, it, uniform, depth - 1));
    match parts {
        [Some(one), Some(other)] if [one, other] == operands => Some(value),
        [Some(one), Some(other)] => {
            let both = junction.combine(func, one, other);
            Some(append(func, block, both))
        }
        [one, other] => one.or(other),
    }
}
