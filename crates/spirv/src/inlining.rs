//! Functions that LLVM inlines before the importer reads the module.
//!
//! SYCL's compilers leave a kernel's body in a function that takes the address of a private structure of its arguments. Address spaces of
//! pointers in that structure are known only once the body is in the kernel.
//!
//! Ensures: no function of a cycle of calls is chosen, and all copies together have at most [`BUDGET`] instructions.

use crate::module::SpirvModule;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{FunctionControl, Op};

/// Most instructions that all copies of inlined functions have.
const BUDGET: usize = 1 << 16;
/// Most instructions of an inlined function with several calls.
const SMALL: usize = 1000;

/// Returns the ids of the functions called by a function, once for each call.
fn callees(module: &SpirvModule<'_>, index: usize) -> impl Iterator<Item = u32> {
    let calls = module.functions[index].body.iter().filter(|inst| inst.op == Some(Op::FunctionCall));
    calls.filter_map(|inst| inst.words.get(2).copied())
}

/// Returns the ids of functions to inline.
pub(crate) fn inlined_functions(module: &SpirvModule<'_>) -> FxHashSet<u32> {
    let count = module.functions.len();
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut open = vec![0usize; count];
    for (caller, open) in open.iter_mut().enumerate() {
        for &callee in callees(module, caller).filter_map(|id| module.function_of.get(&id)) {
            callers[callee].push(caller);
            *open += 1;
        }
    }
    let (mut inlined, mut sizes) = (FxHashSet::default(), FxHashMap::default());
    let mut budget = BUDGET;
    // Callees come first; functions of cycles never come.
    let mut ready: Vec<usize> = (0..count).rev().filter(|&index| open[index] == 0).collect();
    while let Some(index) = ready.pop() {
        let function = &module.functions[index];
        let copies = callees(module, index).filter_map(|id| sizes.get(&id)).sum::<usize>();
        let size = function.body.len() + copies;
        let control = FunctionControl::from_bits_truncate(function.control);
        let growth = size.saturating_mul(callers[index].len().saturating_sub(1));
        let is_wanted = size <= SMALL || growth == 0 || control.contains(FunctionControl::INLINE);
        let may_be = !function.body.is_empty() && !control.contains(FunctionControl::DONT_INLINE);
        if may_be && is_wanted && growth <= budget {
            budget -= growth;
            inlined.insert(function.id);
            sizes.insert(function.id, size);
        }
        for &caller in &callers[index] {
            open[caller] -= 1;
            if open[caller] == 0 {
                ready.push(caller);
            }
        }
    }
    inlined
}
