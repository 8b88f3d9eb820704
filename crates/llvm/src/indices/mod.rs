//! Restores 32-bit indices and counted loops in what LLVM's optimizer and its SPIR-V back end make of them.
//!
//! Clang's SPIR-V comes out of loop strength reduction, and 64-bit integers are its target's fastest. So indices are
//! 64 bits wide, loops count down, and pointers step along:
//!
//! ```text
//!   for (at = s; at < e; at++)         T = sext e - sext s; p = a + 4 * sext s       at = phi i32 [s], [at + 1]
//!     sum += a[at];                    sum += *p; p += 4; T -= 1; until T == 0       sum += a[sext at]; until at + 1 == e
//!
//!   for (i = id; i < n; i += size)     i: 64 bits; sum += a[(i << 32) >> 32]         i = phi i32 [trunc id], [i + trunc size]
//!     sum += a[i];                     i = (i << 32 >> 32) + size
//! ```
//!
//! Lanes whose indices are 32 bits wide fill half as many registers, and the access patterns of shape analysis and of
//! run-time versions are those of the source. Runs before LLVM's passes, which tidy up; for `spir64`, they keep 32 bits.

mod rewriter;
mod flow;
mod counters;
mod ranges;
mod paired_counters;
mod truncated;

use crate::view::{LlvmModule, Val};
use counters::{RestoredIndex, restore_counter};
use flow::Flow;
use llvm_sys::LLVMOpcode;
use paired_counters::merge_with_index;
use ranges::{narrow_counter, narrow_descending};
use rewriter::Rewriter;
use truncated::narrow_phis;

/// Restores the indices and loops of all functions.
pub fn restore_indices(module: &LlvmModule) {
    let rewriter = Rewriter::new(module);
    for func in module.functions().filter(|func| !func.is_declaration()) {
        restore(func, &rewriter);
    }
}

fn restore<'m>(func: Val<'m>, rewriter: &Rewriter<'m>) {
    remove_empty_casts(func, rewriter);
    let flow = Flow::new(func);
    for found in flow.loops() {
        match restore_counter(&flow, &found, rewriter) {
            Some(RestoredIndex::Counter(counter)) => {
                let is_narrow = narrow_counter(&flow, &found, &counter, rewriter);
                if !is_narrow {
                    merge_with_index(&flow, &found, &counter, rewriter);
                }
            }
            Some(RestoredIndex::Index(index, step)) => {
                narrow_descending(&flow, &found, &index, step, rewriter);
            }
            None => {}
        }
    }
    narrow_phis(&flow, rewriter);
}

/// Removes casts of pointers to their own type, which SPIR-V's typed pointers need.
fn remove_empty_casts<'m>(func: Val<'m>, rewriter: &Rewriter<'m>) {
    let insts = func.blocks().into_iter().flat_map(|block| block.insts().collect::<Vec<_>>());
    let casts: Vec<Val<'m>> = insts.filter(|inst| inst.opcode() == LLVMOpcode::LLVMBitCast).collect();
    for cast in casts.into_iter().filter(|cast| cast.ty() == cast.operand(0).ty()) {
        rewriter.replace(cast, cast.operand(0));
    }
}
