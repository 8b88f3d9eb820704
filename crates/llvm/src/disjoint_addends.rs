//! Pairs addends without common bits, after LLVM's passes.
//!
//! A choice by bits, `(a & b) | (~a & c)`, is one instruction of machines with ternary logic. Added to other numbers, LLVM's reassociation takes it
//! apart, since `|` is `+` where no bit is common to both:
//!
//! ```text
//!   k + (a & b) + (~a & c) + r        k + ((a & b) | (~a & c)) + r
//! ```
//!
//! clang does so before it writes SPIR-V, and programs write such sums themselves. The addends become one again.
//!
//! Decision: the disjunction does not say `disjoint`; LLVM takes only those apart that do.

use crate::view::{LlvmModule, Val};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMValueKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// Addend: the addition that has it, and the number of its operand.
type Addend<'m> = (Val<'m>, u32);

/// Joins addends that have no common bit by `or`, in sums within a block.
pub(crate) fn pair_disjoint_addends(module: &LlvmModule) {
    for func in module.functions().filter(|func| !func.is_declaration()) {
        for block in func.blocks() {
            let additions: Vec<Val<'_>> = block.insts().filter(|&inst| is_addition(inst)).collect();
            let positions: FxHashMap<LLVMValueRef, usize> =
                additions.iter().enumerate().map(|(at, inst)| (inst.0, at)).collect();
            let mut seen = FxHashSet::default();
            // The last addition of a sum comes first.
            for &root in additions.iter().rev() {
                if !seen.contains(&root.0) {
                    pair_addends(module, root, &positions, &mut seen);
                }
            }
        }
    }
}

fn is_addition(inst: Val<'_>) -> bool {
    inst.kind() == LLVMValueKind::LLVMInstructionValueKind && inst.opcode() == LLVMOpcode::LLVMAdd
}

/// Joins disjoint addends of the sum that ends with an addition.
fn pair_addends<'m>(
    module: &LlvmModule,
    root: Val<'m>,
    positions: &FxHashMap<LLVMValueRef, usize>,
    seen: &mut FxHashSet<LLVMValueRef>,
) {
    let is_inner =
        |value: Val<'_>| is_addition(value) && positions.contains_key(&value.0) && value.users(2).len() == 1;
    let (mut sum, mut open) = (Vec::new(), vec![root]);
    // Addends by each value that is one of their factors, and by whether that is inverted.
    let mut by_factor: FxHashMap<(LLVMValueRef, bool), Vec<Addend<'m>>> = FxHashMap::default();
    let mut pairs: Vec<(Addend<'m>, Addend<'m>)> = Vec::new();
    let mut taken: FxHashSet<(LLVMValueRef, u32)> = FxHashSet::default();
    while let Some(addition) = open.pop() {
        seen.insert(addition.0);
        sum.push(addition);
        for index in 0..2 {
            let operand = addition.operand(index);
            if is_inner(operand) {
                open.push(operand);
                continue;
            }
            let factors = factors(operand);
            let is_free = |it: &Addend<'_>| !taken.contains(&(it.0.0, it.1));
            let other = factors.iter().find_map(|&(value, is_inverted)| {
                let others = by_factor.get_mut(&(value, !is_inverted))?;
                std::iter::from_fn(|| others.pop()).find(is_free)
            });
            if let Some(other) = other {
                taken.insert((other.0.0, other.1));
                pairs.push((other, (addition, index)));
            } else {
                for factor in factors {
                    by_factor.entry(factor).or_default().push((addition, index));
                }
            }
        }
    }
    if pairs.is_empty() {
        return;
    }
    for &(one, other) in &pairs {
        let is_first = positions[&one.0.0] <= positions[&other.0.0];
        let (first, last) = if is_first { (one, other) } else { (other, one) };
        // SAFETY: live additions of one block and type; the addends of both are defined before the last one.
        unsafe { join(module, first, last) };
    }
    // Operands come first.
    for addition in sum.into_iter().rev() {
        // SAFETY: a live addition of which nothing but these pairs keeps a part; partial sums are others than before.
        unsafe {
            LLVMSetNSW(addition.0, 0);
            LLVMSetNUW(addition.0, 0);
            let zero = LLVMConstNull(addition.ty().0);
            let is_zero = |index: u32| addition.operand(index).0 == zero;
            if let Some(index) = (0..2).find(|&index| is_zero(index)) {
                LLVMReplaceAllUsesWith(addition.0, addition.operand(1 - index).0);
                LLVMInstructionEraseFromParent(addition.0);
            }
        }
    }
}

/// Returns the factors of a conjunction, without inversion, and whether each is inverted.
fn factors(value: Val<'_>) -> Vec<(LLVMValueRef, bool)> {
    let is_inst = |value: Val<'_>| value.kind() == LLVMValueKind::LLVMInstructionValueKind;
    if !is_inst(value) || value.opcode() != LLVMOpcode::LLVMAnd {
        return Vec::new();
    }
    let factor = |value: Val<'_>| {
        // SAFETY: a live type of integers.
        let ones = unsafe { LLVMConstAllOnes(value.ty().0) };
        let is_inverted =
            is_inst(value) && value.opcode() == LLVMOpcode::LLVMXor && value.operand(1).0 == ones;
        if is_inverted { (value.operand(0).0, true) } else { (value.0, false) }
    };
    value.operands().filter(|value| !value.is_constant()).map(factor).collect()
}

/// Makes a disjunction of two addends the addend of the last addition, and 0 that of the first one.
///
/// # Safety
/// Live additions of one block and type, in this order.
unsafe fn join(module: &LlvmModule, first: Addend<'_>, last: Addend<'_>) {
    // SAFETY: live; the disjunction precedes the last addition, which follows the definitions of both addends.
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.context());
        LLVMPositionBuilderBefore(builder, last.0.0);
        let (one, other) = (first.0.operand(first.1).0, last.0.operand(last.1).0);
        let both = LLVMBuildOr(builder, one, other, c"".as_ptr());
        LLVMSetOperand(first.0.0, first.1, LLVMConstNull(LLVMTypeOf(one)));
        LLVMSetOperand(last.0.0, last.1, both);
        LLVMDisposeBuilder(builder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::read_ir;

    /// Text of a function after its addends were paired, from its first line on.
    fn paired(body: &str) -> String {
        let text = format!("define i32 @f(i32 %a, i32 %b, i32 %c, i32 %d, i32 %k) {{\n{body}}}\n");
        let module = read_ir("f.ll", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        pair_disjoint_addends(&module);
        module.verify().unwrap_or_else(|error| panic!("{error}"));
        module.text()
    }

    fn count(text: &str, word: &str) -> usize {
        text.matches(word).count()
    }

    /// The first of two disjoint addends moves to the other one, and partial sums may wrap.
    #[test]
    fn choices_by_bits_are_one_addend() {
        let text = paired(
            "%m = and i32 %a, %b\n%s = add nsw i32 %k, %m\n%t = add nsw i32 %s, %d\n%n = xor i32 %a, -1\n\
%o = and i32 %c, %n\n%u = add nuw i32 %o, %t\n%v = add i32 %u, 7\nret i32 %v\n",
        );
        assert!(text.contains("or i32 %m, %o"), "{text}");
        assert!(text.contains("%t = add i32 %k, %d"), "{text}");
        assert_eq!((count(&text, "add "), count(&text, " nsw "), count(&text, " nuw ")), (3, 0, 0), "{text}");
    }

    /// Two choices of one condition are two pairs.
    #[test]
    fn each_addend_is_paired_once() {
        let text = paired(
            "%n = xor i32 %a, -1\n%m = and i32 %a, %b\n%o = and i32 %n, %c\n%p = and i32 %a, %d\n%q = and i32 %n, %k\n\
%s = add i32 %m, %p\n%t = add i32 %s, %q\n%u = add i32 %t, %o\nret i32 %u\n",
        );
        assert_eq!((count(&text, "or i32 %"), count(&text, "add ")), (2 + 1, 1), "{text}");
    }

    /// A partial sum that is used otherwise keeps its value, and so do sums across blocks.
    #[test]
    fn partial_sums_with_other_uses_stay() {
        let text = paired(
            "%m = and i32 %a, %b\n%s = add nsw i32 %k, %m\n%n = xor i32 %a, -1\n%o = and i32 %c, %n\n\
%u = add i32 %o, %s\n%v = mul i32 %u, %s\nret i32 %v\n",
        );
        assert_eq!(count(&text, " or i32"), 0, "{text}");
        assert!(text.contains("add nsw i32 %k, %m"), "{text}");
        let text = paired(
            "%m = and i32 %a, %b\n%s = add i32 %k, %m\nbr label %next\nnext:\n%n = xor i32 %a, -1\n%o = and i32 %c, %n\n\
%u = add i32 %o, %s\nret i32 %u\n",
        );
        assert_eq!(count(&text, " or i32"), 0, "{text}");
    }

    /// Addends that may have a common bit stay apart.
    #[test]
    fn other_conjunctions_stay() {
        let text = paired(
            "%m = and i32 %a, %b\n%s = add i32 %k, %m\n%n = xor i32 %d, -1\n%o = and i32 %c, %n\n\
%p = xor i32 %a, 255\n%q = and i32 %p, %c\n%t = add i32 %s, %o\n%u = add i32 %t, %q\nret i32 %u\n",
        );
        assert_eq!((count(&text, " or i32"), count(&text, "add ")), (0, 3), "{text}");
    }
}
