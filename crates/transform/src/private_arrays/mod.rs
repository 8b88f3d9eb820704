//! Lowers private arrays to registers, or to memory with elements of one size, which widening interleaves.
//!
//! Requires: Stage::Source.  Ensures: Stage::Source.
//! Invariant: blocks and calls keep their numbers. Accesses to memory other than private arrays are neither added nor removed,
//! except that copies become element accesses.
//!
//! ```text
//!     memcpy a, b, 20          split       v1 = load i32, b; v2 = load i32, b+4; …; store v1, a; store v2, a+4; …
//!     load i8, a+i             extracted   v1 = load i32, a+(i & -4); lshr v1, (i & 3)*8; trunc
//!     store v9, a+4            promoted    v9 is the value of slot 1 of a; φs at joins
//! ```
//!
//! The phases, in order:
//!
//! * `uses` finds the arrays whose addresses have no other use than accesses, and chooses an element size for each.
//! * `transfers` splits copies and fills of constant size into element accesses.
//! * `elements` rewrites accesses of other sizes: smaller ones select bits of an element, larger ones join elements.
//! * `registers` promotes arrays that are accessed at constant offsets only.
//!
//! Decision: after clang, and not by LLVM's passes. Copies arise from loops and structures, in PTX as well, and LLVM promotes no
//! array whose copies or masked stores remain. Arrays of bytes and words (unions) keep the larger element, since computations on
//! words (hashes, ciphers) outnumber accesses to their bytes.

mod uses;
mod transfers;
mod elements;
mod registers;

use heddle_ir::{Function, Op};

/// Lowers the private arrays of a function. Returns the number of arrays that are in registers now.
pub fn lower_private_arrays(func: &mut Function) -> usize {
    let has_arrays =
        func.blocks().flat_map(|block| func.block_insts(block)).any(|inst| func.inst(inst).op == Op::Alloca);
    if !has_arrays {
        return 0;
    }
    let mut changed = transfers::split_transfers(func, &uses::ArrayUses::new(func));
    changed |= elements::rewrite_accesses(func, &uses::ArrayUses::new(func));
    let promoted = registers::promote_arrays(func);
    if changed || promoted > 0 {
        crate::simplify(func);
    }
    promoted
}
