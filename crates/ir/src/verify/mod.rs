//! The verifier: whether a function or module is what its stage says, and if not, everything that is wrong with it.
//!
//! It trusts nothing that the public interface of this crate lets be built: names of nothing, half-built blocks,
//! results of another type. Work is near-linear in the size of the function; nothing recurses. It finds blocks,
//! dominators and loops on its own, so that it can contradict the analyses that passes use.
//!
//! **At every stage**
//!
//! * Head: each parameter is named and of the signature's type. Alignments are powers of two; `noalias`, `readonly`
//!   and dereferenceable bytes are said of pointers; strides are said of integers and pointers, for at most four
//!   dimensions. A kernel returns nothing, and its work-group, where fixed, is not empty.
//! * Blocks: there is an entry, which nothing goes to and which has no φ. Each block ends in its only terminator.
//!   Targets stand in the function. Cases of a switch differ. `ret` gives what the signature says.
//! * φs stand at the start of their block, with exactly one value for each predecessor, reachable or not, however
//!   many edges lead here from it, and none for another block.
//! * Values: what is used is a parameter, a constant, or a result of an instruction that stands in the function.
//!   Constants and types are what they can be: bits within the width, no more lanes than there may be.
//! * Typing: detail, operands and results are as the ops table says ([`crate::typing`]).
//! * Flags: those of the op's row, fast-math ones only where something is a float, and `total`, which φs, terminators
//!   and `mask` do not take (nor does a `launch`: see one thread).
//! * Memory: alignments are powers of two. A base is an alloca, a pointer parameter or the address of a global, and
//!   its definition dominates. Only `load` and `store` may be atomic, `atomic_rmw` and `cmpxchg` must be; what they
//!   access is a scalar of whole bytes, naturally aligned. A load does not release, a store does not acquire; the
//!   ordering on failure does neither release nor is it unordered; what reads and writes is at least relaxed; a fence
//!   orders something. A barrier is for a brush or a group. The constant space is not written, nor is `invariant`
//!   memory. An alloca has at most 2^32 bytes. Branch weights are for two targets and not both 0.
//! * SSA: definitions dominate uses; a φ's use counts at the end of the incoming block, its shadow's at the start of
//!   the φ's own block. Uses in unreachable blocks need a definition somewhere, no more.
//! * Predicates (thesis Def. 11.1): a predicate is an `i1` whose definition dominates the block. If it is defined in
//!   the block itself, everything before and including the definition is total, but for φs, which are not subject to
//!   the predicate. An unreachable block's predicate needs a definition somewhere.
//! * A launched function takes and gives no vectors. Kernels do not launch.
//! * One thread: a function that launches is sequential code, executed by one thread. It has no predicates, no
//!   `total`, no shadows, none of `lane`, `width`, `mask`, `broadcast`, `first`, and none of `any`, `all`, `ballot`,
//!   `popcount`, `shuffle`, `reduce`, `scan` on scalars. It may use vectors: they are what a launch takes and gives.
//!
//! **Source**: no vectors, except in functions that launch. A function that asks which lane it is, or what others do, or calls one that
//! does, is `convergent`: later, passes ask too, so that nothing depends on the answer. Anything else goes.
//!
//! **Canonical**: moreover no predicates. Every block is reachable. Control flow is reducible: what goes back in a
//! depth-first search goes to a dominator. There is at most one `ret` (what never returns has none). No `switch`.
//! Each loop has one preheader (the one block outside that goes to the header, and goes nowhere else), one latch, and
//! exits of its own: a block that it leaves to has all its predecessors inside. LCSSA: a value that is defined in a
//! loop is not used outside, but by φs as what comes from a block inside; hints of bases are exempt.
//!
//! **Uniform**: as Canonical, but for LCSSA: all lanes leave a loop together, so a value is outside what it was inside.
//! That no loop diverges is a question about shapes, which this crate cannot ask; the divergence analysis answers it.
//!
//! **Linear**: no vectors, except in functions that launch. Every block is reachable, control flow is reducible, at
//! most one `ret`, no `switch`. Predicates may stand on any block. Loops need no particular form, and values may leave them.
//! That no branch diverges, and that an active use has an active definition (Def. 11.3), are for the analysis and the
//! interpreter.
//!
//! **Wide**: vectors everywhere. All code is one thread's, and nothing launches. Control flow is as free as in Source.
//!
//! **Modules**: functions, declarations and globals have names, all different. Callees are defined or declared in the
//! module, and callers know them as they are (Def. 11.2). Addresses are those of globals of that space. Globals have
//! powers of two as alignment, at most 2^40 bytes, and values that fit. Files of locations exist. Lock-step code (a
//! kernel, or what is launched) comes to no launch, however many calls are between.

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
use module::{Names, References};
use stages::Rules;
use structure::{Body, Structure};
use types::Constants;
use violation::Report;

words! {
    /// How far a function has come on its way from lanes to vectors.
    Stage {
        /// Any control flow, divergent branches and loops.
        Source = "source",
        /// Reducible, one return, loops in simple form, LCSSA.
        Canonical = "canonical",
        /// No loop diverges.
        Uniform = "uniform",
        /// No branch diverges; predicates on blocks.
        Linear = "linear",
        /// Vectors and masks are explicit; one thread.
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

/// Checks each function of a module, and what they and the globals say of one another.
pub fn verify_module(module: &Module, stage: Stage) -> Result<(), Violations> {
    let names = Names::new(module);
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

/// Checks a function, perhaps as one of a module. All that is to be asked of an instruction is asked at once: a large
/// function is larger than a cache, and comes by only once.
fn check(func: &Function, stage: Stage, module: Option<(&Names<'_>, usize)>) -> Vec<Violation> {
    let mut report = Report::new(&func.name);
    types::check_head(func, &mut report);
    let body = Body::new(func, &mut report);
    let mut structure = Structure::new(&body);
    let mut constants = Constants::new(func);
    let mut rules = Rules::new(&body, stage);
    let mut references = module.map(|(names, _)| References::new(names, func, stage));
    structure::check_entry(&body, &mut report);
    rules.check_function(&mut report);
    if let Some((names, index)) = module {
        names.check_function(index, func, &mut report);
    }
    for number in 0..body.count() {
        let place = ViolationLocation::Block(body.block(number));
        structure.check_block(number, &mut report);
        predicates::check(&body, number, &mut report);
        rules.check_block(number, &mut report);
        for site in body.sites(number) {
            structure.check(&site, &mut report);
            constants.check(structure::used(site.data), site.place, &mut report);
            types::check(func, &site, &mut report);
            ssa::check(&body, &site, &mut report);
            rules.check(&site, &mut report);
            if let Some(references) = &mut references {
                references.check(&body, &site, &mut report);
            }
        }
        constants.check(func.predicate(body.block(number)).into_iter(), place, &mut report);
    }
    report.list.sort_by_key(|violation| body.order(violation.place));
    report.list
}
