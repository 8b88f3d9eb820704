//! Carries votes of loop-carried masks in vector code, where the vote of the back-edge value is already computed.
//!
//! ```text
//!     header:                                   header:
//!       v1 = phi mask<8> [P: splat true], [L: v2]     v1 = …
//!       v3 = any v1                                   v3 = phi i1 [P: true], [L: v4]
//!     …                                             …
//!       v4 = any v2;  br v4, …                        v4 = any v2;  br v4, …
//! ```
//!
//! A branch on v3 is then decided wherever L is reached by a branch on v4.

use heddle_analysis::DominatorTree;
use heddle_ir::inst::InstData;
use heddle_ir::{Constant, Function, Inst, Op, Type, Value};
use rustc_hash::FxHashMap;

use crate::cfg_analyses::CfgAnalyses;
use crate::edges::prepend_phi;

type Votes = FxHashMap<(Op, Value), Inst>;

/// Replaces votes of φs by φs of votes. Returns true if there were any.
pub(super) fn carry_votes(func: &mut Function, flow: &CfgAnalyses) -> bool {
    let is_vote = |inst: &Inst| {
        let data = func.inst(*inst);
        matches!(data.op, Op::Any | Op::All) && func.value_type(data.args[0]).is_vector()
    };
    let all: Vec<Inst> = func.blocks().flat_map(|block| func.block_insts(block)).filter(is_vote).collect();
    let votes: Votes =
        all.iter().map(|&inst| ((func.inst(inst).op, func.inst(inst).args[0]), inst)).collect();
    let mut carried: FxHashMap<Value, Value> = FxHashMap::default();
    for vote in all {
        let Some(incoming) = incoming_votes(func, flow.dominators(), &votes, vote) else { continue };
        let block = func.layout.block_of(vote).expect("a vote stands in a block");
        let phi = prepend_phi(func, block, InstData::phi(incoming, None), Type::I1);
        carried.insert(func.results(vote)[0], phi);
        func.remove_inst(vote);
    }
    if carried.is_empty() {
        return false;
    }
    func.map_values(|value| carried.get(&value).copied().unwrap_or(value));
    true
}

/// Returns the operands that replace a vote of a φ in its block, if all are known and one comes from a back edge.
fn incoming_votes(
    func: &mut Function,
    dominators: &DominatorTree,
    votes: &Votes,
    vote: Inst,
) -> Option<Vec<(heddle_ir::Block, Value)>> {
    let (op, block) = (func.inst(vote).op, func.layout.block_of(vote)?);
    let phi = func.def_inst(func.inst(vote).args[0])?;
    if func.inst(phi).op != Op::Phi || func.layout.block_of(phi) != Some(block) {
        return None;
    }
    let masks: Vec<_> = func.inst(phi).incoming().collect();
    let mut comes_round = false;
    let mut incoming = Vec::with_capacity(masks.len());
    for (from, mask) in masks {
        let known = match func.constant(mask).map(Constant::splat_bits) {
            Some(bits) => func.make_bool(bits? & 1 == 1),
            None => {
                let earlier = *votes.get(&(op, mask))?;
                let def_block = func.layout.block_of(earlier)?;
                comes_round |= dominators.dominates(block, from);
                dominators.dominates(def_block, from).then(|| func.results(earlier)[0])?
            }
        };
        incoming.push((from, known));
    }
    comes_round.then_some(incoming)
}
