//! φs of 64 bits of which only the lower 32 bits are used.

use super::counters::opcode_of;
use super::flow::Flow;
use super::rewriter::Rewriter;
use crate::view::Val;
use llvm_sys::LLVMOpcode;
use rustc_hash::{FxHashMap, FxHashSet};

const NARROW: u32 = 32;
const WIDE: u32 = 64;
/// Maximum number of instructions between a φ and the truncations of what is computed from it.
const MAX_USERS: usize = 32;

/// Replaces φs of 64 bits by φs of 32 bits, where only the lower bits are used.
pub(super) fn narrow_phis<'m>(flow: &Flow<'m>, rewriter: &Rewriter<'m>) {
    for &block in &flow.blocks {
        let phis: Vec<Val<'m>> = block
            .insts()
            .take_while(|inst| inst.opcode() == LLVMOpcode::LLVMPHI)
            .filter(|phi| is_wide(*phi))
            .collect();
        for phi in phis {
            if let Some(users) = users_of_lower_bits(phi) {
                users.into_iter().for_each(|user| rewriter.permit_wrapping(user));
                narrow(phi, rewriter);
            }
        }
    }
}

fn is_wide(value: Val<'_>) -> bool {
    value.ty().is_int(WIDE)
}

/// Returns the operations whose results depend on a φ's upper bits, if all results' upper bits are unused.
fn users_of_lower_bits(phi: Val<'_>) -> Option<Vec<Val<'_>>> {
    use LLVMOpcode::{LLVMAdd, LLVMAnd, LLVMMul, LLVMOr, LLVMShl, LLVMSub, LLVMTrunc, LLVMXor};
    let (mut seen, mut work, mut passed) = (FxHashSet::default(), vec![phi], Vec::new());
    while let Some(value) = work.pop() {
        for user in value.users(MAX_USERS + 1) {
            if user == phi || !seen.insert(user) {
                continue;
            }
            if seen.len() > MAX_USERS {
                return None;
            }
            let constant = || user.operand(1).bits();
            match opcode_of(user)? {
                LLVMTrunc if !user.has_nuw() && !user.has_nsw() && user.ty().int_bits() <= NARROW => {}
                LLVMAnd if constant().is_some_and(|mask| mask <= u128::from(u32::MAX)) => {}
                LLVMShl
                    if user.operand(0) == value
                        && constant().is_some_and(|shift| (32..64).contains(&shift)) =>
                {
                    passed.push(user);
                }
                LLVMShl if user.operand(0) == value && constant().is_some_and(|shift| shift < 32) => {
                    passed.push(user);
                    work.push(user);
                }
                LLVMOr if user.is_disjoint() => return None,
                LLVMAdd | LLVMSub | LLVMMul | LLVMAnd | LLVMOr | LLVMXor => {
                    passed.push(user);
                    work.push(user);
                }
                _ => return None,
            }
        }
    }
    (!seen.is_empty()).then_some(passed)
}

/// Replaces a φ by one of its lower 32 bits.
fn narrow<'m>(phi: Val<'m>, rewriter: &Rewriter<'m>) {
    let block = phi.block();
    let narrow = rewriter.phi(block, rewriter.int(NARROW), &[]);
    // Several edges from one block, as of a switch, bring one value.
    let mut lower_of = FxHashMap::default();
    for (value, from) in phi.incoming() {
        let lower =
            *lower_of.entry(from).or_insert_with(|| lower_bits(value, narrow, phi, rewriter.at_end(from)));
        rewriter.add_incoming(narrow, lower, from);
    }
    let wide = rewriter.after_phis(block).cast(LLVMOpcode::LLVMZExt, narrow, WIDE);
    rewriter.replace(phi, wide);
}

/// Emits the lower 32 bits of a value.
fn lower_bits<'m>(value: Val<'m>, narrow: Val<'m>, phi: Val<'m>, rewriter: &Rewriter<'m>) -> Val<'m> {
    if value == phi {
        return narrow;
    }
    match opcode_of(value) {
        Some(LLVMOpcode::LLVMZExt | LLVMOpcode::LLVMSExt) if value.operand(0).ty().int_bits() == NARROW => {
            value.operand(0)
        }
        _ => rewriter.cast(LLVMOpcode::LLVMTrunc, value, NARROW),
    }
}
