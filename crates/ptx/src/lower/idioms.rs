//! Idiom recognition: replaces instruction sequences of compilers by single IR instructions.
//!
//! The IR form is more precise: a global index does not wrap around, a kernel that reads no group index does not depend on
//! groups, and `ptradd` names the base pointer of an address.
//!
//! ```text
//!     group_id * local_size + local_id     global_id
//!     num_groups * local_size              global_size
//!     inttoptr (ptrtoint p + x)            ptradd p, x
//!     inttoptr (a + x)                     ptradd (inttoptr a), x       where x is scaled or extended, and a is not
//!     br (a >= b), p, q                    br (a < b), q, p             for equal comparisons to be the same
//! ```
//!
//! Ensures: removes queries that become dead.

use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::words::{FloatPredicate, IntPredicate};
use heddle_ir::{Function, Inst, Op, Type, Value};

/// Maximum number of sums that are split off an address.
const MAX_SUMS: usize = 8;

/// Rewrites a lowered function.
pub(super) fn recognize(func: &mut Function) {
    let insts: Vec<Inst> = func.blocks().flat_map(|block| func.block_insts(block)).collect();
    for &inst in &insts {
        match func.inst(inst).op {
            Op::Mul => {
                if let Some(dimension) = product(func, inst, Op::NumGroups) {
                    replace_by_query(func, inst, Op::GlobalSize, dimension);
                }
            }
            Op::Add => {
                if let Some(dimension) = index(func, inst) {
                    replace_by_query(func, inst, Op::GlobalId, dimension);
                }
            }
            Op::Inttoptr => address(func, inst),
            _ => {}
        }
    }
    sweep(func, &insts);
    canonicalize_branches(func);
}

/// Returns the dimension of a 32-bit query, or of one that is extended to 64 bits.
fn query(func: &Function, value: Value, op: Op) -> Option<u8> {
    let data = func.inst(func.def_inst(value)?);
    match data.detail {
        Detail::Dimension(dimension) if data.op == op && func.value_type(value) == Type::I32 => dimension,
        // No query is negative.
        _ if matches!(data.op, Op::Zext | Op::Sext) && func.value_type(value) == Type::I64 => {
            query(func, data.args[0], op)
        }
        _ => None,
    }
}

/// Returns the dimension in which an instruction multiplies a query by the group size.
fn product(func: &Function, inst: Inst, op: Op) -> Option<u8> {
    let data = func.inst(inst);
    let [a, b] = data.args[..] else { return None };
    let of = |a, b| query(func, a, op).filter(|&dimension| query(func, b, Op::LocalSize) == Some(dimension));
    if data.op == Op::Mul { of(a, b).or_else(|| of(b, a)) } else { None }
}

/// Returns the dimension in which an instruction computes the global index of a thread.
fn index(func: &Function, inst: Inst) -> Option<u8> {
    let [a, b] = func.inst(inst).args[..] else { return None };
    let of = |a, b| {
        let dimension = product(func, func.def_inst(a)?, Op::GroupId)?;
        (query(func, b, Op::LocalId) == Some(dimension)).then_some(dimension)
    };
    of(a, b).or_else(|| of(b, a))
}

/// Replaces an instruction by a query.
fn replace_by_query(func: &mut Function, inst: Inst, op: Op, dimension: u8) {
    replace(func, inst, InstData::new(op, [], Detail::Dimension(Some(dimension))));
}

fn replace(func: &mut Function, inst: Inst, data: InstData) {
    let origin = func.inst(inst).origin;
    *func.inst_mut(inst) = InstData { origin, ..data };
}

/// True if a value looks like an offset, by its definition.
fn is_offset(func: &Function, value: Value) -> bool {
    match func.def_inst(value) {
        Some(inst) => matches!(func.inst(inst).op, Op::Mul | Op::Shl | Op::Zext | Op::Sext),
        None => func.constant(value).is_some(),
    }
}

/// Reassociates the sum of an address, from its last term on.
fn address(func: &mut Function, inst: Inst) {
    let mut inst = inst;
    for _ in 0..MAX_SUMS {
        let Some(result) = func.result(inst) else { return };
        let ty = func.value_type(result);
        let Some(sum) = func.def_inst(func.inst(inst).args[0]).map(|sum| func.inst(sum)) else { return };
        let [a, b] = sum.args[..] else { return };
        if sum.op != Op::Add {
            return;
        }
        let (base, offset) = match [a, b].map(|term| is_offset(func, term)) {
            [false, true] => (a, b),
            [true, false] => (b, a),
            _ => return,
        };
        let known = func.def_inst(base).map(|base| func.inst(base)).filter(|base| base.op == Op::Ptrtoint);
        if let Some(pointer) = known.map(|base| base.args[0]).filter(|&from| func.value_type(from) == ty) {
            return replace(func, inst, InstData::plain(Op::PtrAdd, [pointer, offset]));
        }
        let data = InstData { origin: func.inst(inst).origin, ..InstData::plain(Op::Inttoptr, [base]) };
        let Ok(made) = Builder::new(func, InsertPoint::Before(inst)).try_inst(data, Some(ty)) else { return };
        let Some(pointer) = func.result(made) else { return };
        replace(func, inst, InstData::plain(Op::PtrAdd, [pointer, offset]));
        inst = made;
    }
}

/// Counts the uses of each value.
fn count_uses(func: &Function) -> SecondaryMap<Value, u32> {
    let mut uses: SecondaryMap<Value, u32> = SecondaryMap::with_len(func.value_count());
    for inst in func.blocks().flat_map(|block| func.block_insts(block)) {
        func.inst(inst).args.iter().for_each(|&arg| uses[arg] += 1);
    }
    uses
}

/// Canonicalizes branches on single-use comparisons: of two opposite predicates only one remains. clang leaves a loop through
/// a block that tests the negation of a dominating condition; in canonical form the second test is redundant.
fn canonicalize_branches(func: &mut Function) {
    let uses = count_uses(func);
    let branches: Vec<Inst> = func.blocks().filter_map(|block| func.terminator(block)).collect();
    for branch in branches {
        let data = func.inst(branch);
        if data.op != Op::Br || data.targets().len() != 2 {
            continue;
        }
        let Some(question) = data
            .args
            .first()
            .filter(|&&requested| uses[requested] == 1)
            .and_then(|&requested| func.def_inst(requested))
        else {
            continue;
        };
        let opposite = match func.inst(question).detail {
            Detail::IntCompare(predicate) => opposite_of_numbers(predicate).map(Detail::IntCompare),
            Detail::FloatCompare(predicate) => opposite_of_floats(predicate).map(Detail::FloatCompare),
            _ => None,
        };
        if let Some(opposite) = opposite {
            func.inst_mut(question).detail = opposite;
            func.inst_mut(branch).targets_mut().swap(0, 1);
        }
    }
}

/// Returns the canonical predicate to use negated; none if the predicate is canonical.
fn opposite_of_numbers(predicate: IntPredicate) -> Option<IntPredicate> {
    use IntPredicate::{Ne, Sge, Sle, Uge, Ule};
    matches!(predicate, Ne | Sge | Sle | Uge | Ule).then(|| predicate.negated())
}

/// Returns the canonical predicate of floats to use negated: the ordered one.
fn opposite_of_floats(predicate: FloatPredicate) -> Option<FloatPredicate> {
    Some(match predicate {
        FloatPredicate::Ueq => FloatPredicate::One,
        FloatPredicate::Une => FloatPredicate::Oeq,
        FloatPredicate::Ult => FloatPredicate::Oge,
        FloatPredicate::Ule => FloatPredicate::Ogt,
        FloatPredicate::Ugt => FloatPredicate::Ole,
        FloatPredicate::Uge => FloatPredicate::Olt,
        _ => return None,
    })
}

/// Removes dead queries, and arithmetic on them that becomes dead.
fn sweep(func: &mut Function, insts: &[Inst]) {
    let mut uses = count_uses(func);
    // Definitions precede uses, except for φs of loops, which are not removed.
    for &inst in insts.iter().rev() {
        let data = func.inst(inst);
        let is_query = matches!(data.op, Op::LocalId | Op::LocalSize | Op::GroupId | Op::NumGroups);
        let is_simple = is_query || matches!(data.op, Op::Mul | Op::Zext | Op::Sext);
        if is_simple && func.result(inst).is_some_and(|result| uses[result] == 0) {
            data.args.iter().for_each(|&arg| uses[arg] -= 1);
            func.remove_inst(inst);
        }
    }
}
