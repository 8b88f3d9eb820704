//! Verifier: checks a function or module against the rules of a stage and reports every violation.
//!
//! It trusts nothing that this crate's public interface can build: undefined values, incomplete blocks, results of
//! wrong types. Work is near-linear in the function's size and nothing recurses. It has its own block index,
//! dominators and loops, so that it can contradict the analyses that passes use.
//!
//! **At every stage**
//!
//! * Head: each parameter has a value of the signature's type. Alignments are powers of two. Only pointers have
//!   `noalias`, `readonly` or dereferenceable bytes; only integers and pointers have strides, at most four. A kernel
//!   returns nothing, and its work-group, if fixed, is not empty.
//! * Blocks: there is an entry without predecessors and φs. Each block ends in its only terminator. Targets are in
//!   the layout. Cases of a switch differ. `ret` returns what the signature declares.
//! * φs are at the start of their block, with exactly one value for each predecessor, reachable or not and however
//!   many edges come from it, and none for another block.
//! * Values: each operand is a parameter, a constant or a result of an instruction in the layout. Constants fit their
//!   type, and vectors have a legal number of lanes.
//! * Typing: detail, operands and results follow the ops table ([`crate::typing`]).
//! * Flags: only those of the op's row, fast-math flags only with a float among operands and results, and `total`,
//!   which φs, terminators and `mask` do not take (nor does a `launch`: see one thread).
//! * Memory: alignments are powers of two. A base is an alloca, a pointer parameter or the address of a global, and
//!   its definition dominates. Only `load` and `store` may be atomic, `atomic_rmw` and `cmpxchg` must be. An atomic
//!   access is to a naturally aligned scalar of whole bytes. A load does not release, a store does not acquire. The
//!   failure ordering neither releases nor is unordered. Read-modify-writes are at least relaxed. A fence orders
//!   something. A barrier has brush or group scope. The constant space and `invariant` memory are not written. An
//!   alloca has at most 2^32 bytes. Branch weights belong to two targets and are not both 0.
//! * SSA: definitions dominate uses. A φ uses its incoming values at the end of the incoming blocks and its shadow at
//!   the start of its own block. A use in an unreachable block only needs a definition somewhere.
//! * Predicates (thesis Def. 11.1): a predicate is an `i1` whose definition dominates the block. If the block itself
//!   defines it, everything up to the definition is total, except φs, which are not subject to the predicate. An
//!   unreachable block's predicate only needs a definition somewhere.
//! * A launched function has neither parameters nor results of vector type. Kernels do not launch.
//! * One thread: a function that launches is sequential code, executed by one thread. It has no predicates, `total`
//!   or shadows, none of `lane`, `width`, `mask`, `broadcast`, `first`, and none of `any`, `all`, `ballot`,
//!   `popcount`, `shuffle`, `reduce`, `scan` on scalars. It may use vectors, as arguments and results of launches.
//!
//! **Source**: no vectors, except in functions that launch. A function that queries its lane's index or other lanes, or
//! calls one that does, is `convergent`. (Later stages allow it elsewhere: passes insert queries whose answer does not
//! matter.) No other restrictions.
//!
//! **Canonical**: in addition, no predicates. Every block is reachable. Control flow is reducible: retreating edges of a
//! depth-first search lead to dominators. There is at most one `ret` (none if the function never returns). No `switch`.
//! Each loop has one preheader (the only predecessor of the header outside the loop, with the header as its only
//! successor), one latch, and dedicated exits, whose predecessors are all inside. LCSSA: outside of a loop, only φs
//! use its values, on edges from inside; base hints are exempt.
//!
//! **Uniform**: as Canonical, without LCSSA: all lanes leave a loop together, so no value diverges temporally.
//! Divergence of loops depends on shapes, which this crate does not compute; the divergence analysis checks it.
//!
//! **Linear**: no vectors, except in functions that launch. Every block is reachable, control flow is reducible, at
//! most one `ret`, no `switch`. Any block may have a predicate. Loops need no particular form. The analysis and the
//! interpreter check that no branch diverges and that an active use has an active definition (Def. 11.3).
//!
//! **Wide**: vectors everywhere. All code runs in one thread, and nothing launches. Control flow is as in Source.
//!
//! **Modules**: functions, declarations and globals have distinct names. Callees are defined or declared in the module,
//! with matching declarations in their callers (Def. 11.2). Addresses refer to globals of that space. Globals have
//! powers of two as alignment, at most 2^40 bytes, and values that fit. Files of source locations exist. Lock-step code
//! (a kernel or a launched function) reaches no launch through calls.

mod graph;
mod module;
mod predicates;
mod print;
mod ssa;
mod stages;
mod structure;
mod types;
mod violation;

pub use violation::{
    DeclarationMismatch, GlobalViolationKind, LaneConstruct, MAX_ALLOCA_BYTES, MAX_GLOBAL_BYTES, Violation,
    ViolationKind, ViolationLocation, Violations,
};

use crate::words::words;
use crate::{Function, Module};
use module::{ModuleReferences, ModuleSymbols};
use stages::StageRules;
use structure::{LayoutIndex, StructureRules};
use types::ConstantRules;
use violation::ViolationSink;

words! {
    /// Compilation stage of a function, from source to vector code.
    Stage {
        /// Arbitrary control flow, divergent branches and loops.
        Source = "source",
        /// Reducible, one return, loops in simple form, LCSSA.
        Canonical = "canonical",
        /// No loop diverges.
        Uniform = "uniform",
        /// No branch diverges; predicates on blocks.
        Linear = "linear",
        /// Vectors and masks are explicit; one thread executes the code.
        Wide = "wide",
    }
}

/// Checks a function against the rules of a stage.
pub fn verify(func: &Function, stage: Stage) -> Result<(), Violations> {
    let list = check(func, stage, None);
    match list.is_empty() {
        true => Ok(()),
        false => {
            let text = print::in_function(func, &list);
            Err(Violations::new(stage, list, &text))
        }
    }
}

/// Checks each function of a module, the globals and the references between them.
pub fn verify_module(module: &Module, stage: Stage) -> Result<(), Violations> {
    let names = ModuleSymbols::new(module);
    let mut list = names.check();
    let mut text = print::as_list(&list);
    for (index, func) in module.functions.iter().enumerate() {
        let found = check(func, stage, Some((&names, index)));
        if !found.is_empty() {
            text.push_str(&print::in_function(func, &found));
            list.extend(found);
        }
    }
    if list.is_empty() { Ok(()) } else { Err(Violations::new(stage, list, &text)) }
}

/// Checks a function, alone or as part of a module. All rules run in a single pass over the instructions, since a
/// large function exceeds the cache.
fn check(func: &Function, stage: Stage, module: Option<(&ModuleSymbols<'_>, usize)>) -> Vec<Violation> {
    let mut report = ViolationSink::new(&func.name);
    types::check_head(func, &mut report);
    let body = LayoutIndex::new(func, &mut report);
    let mut structure = StructureRules::new(&body);
    let mut constants = ConstantRules::new(func);
    let mut rules = StageRules::new(&body, stage);
    let mut references = module.map(|(names, _)| ModuleReferences::new(names, func, stage));
    structure::check_entry(&body, &mut report);
    rules.check_function(&mut report);
    if let Some((names, index)) = module {
        names.check_function(index, func, &mut report);
    }
    for number in 0..body.count() {
        let location = ViolationLocation::Block(body.block(number));
        structure.check_block(number, &mut report);
        predicates::check(&body, number, &mut report);
        rules.check_block(number, &mut report);
        for site in body.sites(number) {
            structure.check(&site, &mut report);
            constants.check(structure::used(site.data), site.location, &mut report);
            types::check(func, &site, &mut report);
            ssa::check(&body, &site, &mut report);
            rules.check(&site, &mut report);
            if let Some(references) = &mut references {
                references.check(&body, &site, &mut report);
            }
        }
        constants.check(func.predicate(body.block(number)).into_iter(), location, &mut report);
    }
    report.list.sort_by_key(|violation| body.order(violation.location));
    report.list
}
