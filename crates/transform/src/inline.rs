//! Inlines calls.
//!
//! Requires: Stage::Source.  Ensures: Stage::Source.
//! Invariant: blocks keep their names; a block with an inlined call is split after it, and the rest gets a new name.
//!
//! ```text
//!     block1:                       block1:  …;  br block7
//!       …                           block7:  br v9, block8, block9      the callee's blocks, under new names
//!       v5 = call @f(v4)            block8:  br block10                 each return
//!       …                           block9:  br block10
//!                                   block10: v5 = phi …                 the rest of block1
//! ```
//!
//! Lanes that call together join again where the callee's returns join, as after the call. A callee with a single block is
//! copied in place, without a split. Blocks of the callee may now be scheduled between blocks of the caller that neither reach
//! the call nor are reached from it: for racing lanes, that is one more legal schedule.
//!
//! The callee's private objects move to the entry of the caller, so a call in a loop allocates only once. They then start with
//! the content that the last call left, which refines poison.

use heddle_analysis::divergence::callees_first;
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::function::{MetadataKind, Origin, OriginData};
use heddle_ir::module::{DeclaredShape, Signature};
use heddle_ir::{Block, Function, Inst, Module, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::block_copier::BlockCopier;
use crate::edges::{append_jump, replace_predecessors};
use crate::specialize::{roots, sequential_functions};

/// Maximum cost of a callee that is inlined at every call.
const MAX_SMALL_COST: usize = 16;
/// Maximum cost of a callee with a single call.
const MAX_SINGLE_CALL_COST: usize = 64;
/// Maximum cost of a callee that is passed the address of a private array: the array is in per-lane memory unless the callee
/// is inlined.
const MAX_ARRAY_CALL_COST: usize = 256;
/// Maximum cost of such a callee if it has no other call, so that no code is copied, or if the caller stays below
/// [`MAX_ARRAY_CALLER_SIZE`].
const MAX_LONG_ARRAY_CALL_COST: usize = 4_000;
/// Maximum cost of a caller after inlining callees of a cost above [`MAX_ARRAY_CALL_COST`]. A PBKDF2 loop fits, which calls SHA-1 four times.
const MAX_ARRAY_CALLER_SIZE: usize = 6_000;
/// Maximum number of instructions between such an address and its array.
const MAX_STEPS: usize = 8;
/// Maximum cost of a caller after inlining.
const MAX_CALLER_SIZE: usize = 20_000;

/// Candidate call site.
#[derive(Clone, Copy, Debug)]
pub struct CallSite<'a> {
    /// Calling function.
    pub caller: &'a Function,
    /// The call.
    pub call: Inst,
    /// Called function, after inlining into it.
    pub callee: &'a Function,
    /// Number of calls of the callee in the original module.
    pub calls: usize,
    /// Cost of the callee, about its number of instructions.
    pub cost: usize,
    /// Cost of the caller, after inlining into it.
    pub size: usize,
}

/// Inlines small functions, and larger ones with a single call, into lock-step code. Removes functions without callers.
pub fn inline_small(module: &mut Module) -> usize {
    let sequential = sequential_functions(module);
    let roots = roots(module, &sequential);
    let max_array_cost =
        |site: &CallSite<'_>| match site.calls == 1 || site.size + site.cost <= MAX_ARRAY_CALLER_SIZE {
            true => MAX_LONG_ARRAY_CALL_COST,
            false => MAX_ARRAY_CALL_COST,
        };
    let count = inline_calls(module, |site| {
        let matches_callee = site.cost <= MAX_SMALL_COST
            || site.calls == 1 && site.cost <= MAX_SINGLE_CALL_COST
            || site.cost <= max_array_cost(site) && passes_array(site);
        matches_callee && site.size + site.cost <= MAX_CALLER_SIZE && !sequential.contains(&site.caller.name)
    });
    if count > 0 {
        let kept = sequential.into_iter().chain(roots);
        remove_unreached(module, kept);
    }
    count
}

/// True if an argument of the call is an address in a private array of the caller.
fn passes_array(site: &CallSite<'_>) -> bool {
    let is_in_array = |&arg: &Value| {
        let mut at = arg;
        for _ in 0..MAX_STEPS {
            let Some(inst) = site.caller.def_inst(at) else { return false };
            let data = site.caller.inst(inst);
            match data.op {
                Op::Alloca => return true,
                Op::PtrAdd | Op::SpaceCast | Op::Freeze => at = data.args[0],
                _ => return false,
            }
        }
        false
    };
    site.caller.inst(site.call).args.iter().any(is_in_array)
}

/// Facts about a function that inlining needs.
struct FunctionSummary {
    /// Calls, in layout order.
    calls: Vec<Inst>,
    /// Cost: about the number of instructions; blocks and calls count more than one.
    cost: usize,
    /// True if the body can be copied into a caller.
    is_copyable: bool,
}

impl FunctionSummary {
    /// Collects all facts in one traversal: the function may exceed the cache.
    fn new(func: &Function) -> FunctionSummary {
        let is_open = |shape: &Option<DeclaredShape>| matches!(shape, None | Some(DeclaredShape::Varying));
        let promises_nothing = func.signature.params.iter().all(|param| is_open(&param.shape))
            && func.signature.results.iter().all(|result| is_open(&result.shape));
        let (mut calls, mut cost) = (Vec::new(), 0);
        let (mut returns, mut launches, mut has_predicate) = (false, false, false);
        for (number, block) in func.blocks().enumerate() {
            has_predicate |= func.predicate(block).is_some();
            cost += if number == 0 { 0 } else { 2 };
            for inst in func.block_insts(block) {
                let op = func.inst(inst).op;
                returns |= op == Op::Ret;
                launches |= op == Op::Launch;
                if op == Op::Call {
                    calls.push(inst);
                }
                cost += match op {
                    Op::Br | Op::Ret => 0,
                    Op::Call | Op::Switch => 4,
                    _ => 1,
                };
            }
        }
        let is_copyable = promises_nothing && returns && !launches && !has_predicate;
        FunctionSummary { calls, cost, is_copyable }
    }
}

/// Inlines the calls that `wanted` selects, callees first; returns their number. Keeps all functions. Calls that cannot be inlined
/// are not offered: callees that are only declared, are recursive through the caller, never return, launch, or declare shapes.
pub fn inline_calls(module: &mut Module, mut wanted: impl FnMut(&CallSite<'_>) -> bool) -> usize {
    let summaries: Vec<FunctionSummary> = module.functions.iter().map(FunctionSummary::new).collect();
    let mut call_counts: FxHashMap<String, usize> = FxHashMap::default();
    for (func, summary) in module.functions.iter().zip(&summaries) {
        for &inst in &summary.calls {
            if let Some(callee) = func.callee_of(func.inst(inst)) {
                *call_counts.entry(callee.name.clone()).or_default() += 1;
            }
        }
    }
    // Index and cost of functions that may be inlined.
    let mut inlinable: FxHashMap<String, (usize, usize)> = FxHashMap::default();
    let mut count = 0;
    for number in callees_first(module) {
        let nothing = Function::new("", Signature::new(&[], &[]));
        let mut func = std::mem::replace(&mut module.functions[number], nothing);
        let summary = &summaries[number];
        let mut size = summary.cost;
        let mut chosen: Vec<(Inst, &Function)> = Vec::new();
        for &call in &summary.calls {
            let Some(declared) = func.callee_of(func.inst(call)) else { continue };
            let Some(&(number, cost)) = inlinable.get(&declared.name) else { continue };
            let (callee, calls) = (&module.functions[number], call_counts[&declared.name]);
            let site = CallSite { caller: &func, call, callee, calls, cost, size };
            if matches_callee(&func, call, callee) && wanted(&site) {
                size = size.saturating_add(cost);
                chosen.push((call, callee));
            }
        }
        count += chosen.len();
        inline_chosen(&mut func, &chosen);
        let inlined = (!chosen.is_empty()).then(|| FunctionSummary::new(&func));
        let summary = inlined.as_ref().unwrap_or(summary);
        if summary.is_copyable {
            inlinable.insert(func.name.clone(), (number, summary.cost));
        }
        module.functions[number] = func;
    }
    count
}

/// Removes functions that are unreachable from the named ones.
pub fn remove_unreached(module: &mut Module, named: impl IntoIterator<Item = String>) {
    let mut reached: FxHashSet<String> = FxHashSet::default();
    let mut work: Vec<String> = named.into_iter().collect();
    while let Some(name) = work.pop() {
        if let Some(func) = module.function(&name)
            && reached.insert(name)
        {
            work.extend(func.callees.values().map(|callee| callee.name.clone()));
        }
    }
    module.functions.retain(|func| reached.contains(&func.name));
}

/// True if a call matches its callee.
fn matches_callee(caller: &Function, call: Inst, callee: &Function) -> bool {
    let data = caller.inst(call);
    let block = caller.layout.block_of(call);
    !data.is_total()
        && block.is_some_and(|block| caller.predicate(block).is_none())
        && callee.params().len() == data.args.len()
        && callee.signature.results.len() == caller.results(call).len()
}

/// Replaces calls, given in layout order, by bodies. Returns the calls in bodies, each with the index of the call that it came with.
pub(crate) fn inline_chosen(func: &mut Function, chosen: &[(Inst, &Function)]) -> FxHashMap<Inst, usize> {
    let mut calls = FxHashMap::default();
    if chosen.is_empty() {
        return calls;
    }
    let mut replaced: FxHashMap<Value, Value> = FxHashMap::default();
    // Last call of a block first, so that each instruction after a call moves only once.
    let mut ends: FxHashMap<Block, SmallVec<[Block; 2]>> = FxHashMap::default();
    let mut joined: Vec<Block> = Vec::new();
    for (number, &(call, callee)) in chosen.iter().enumerate().rev() {
        let block = func.layout.block_of(call).expect("a call stands in a block");
        let mut copy = BodyCopier {
            func,
            callee,
            call,
            copier: BlockCopier::new(callee),
            origins: FxHashMap::default(),
            calls: Vec::new(),
        };
        let rest = copy.inline(block, &mut replaced);
        calls.extend(copy.calls.into_iter().map(|call| (call, number)));
        match rest {
            Some(rest) if !ends.contains_key(&block) => {
                joined.extend_from_slice(func.successors(rest));
                ends.insert(block, SmallVec::from_slice(&[rest]));
            }
            _ => {}
        }
    }
    joined.sort_unstable();
    joined.dedup();
    for target in joined {
        replace_predecessors(func, target, &ends);
    }
    resolve_chains(func, &mut replaced);
    func.map_values(|value| replaced.get(&value).copied().unwrap_or(value));
    for &(call, _) in chosen {
        func.remove_inst(call);
    }
    let insts: Vec<Inst> = func.blocks().flat_map(|block| func.block_insts(block)).collect();
    for inst in insts {
        // Arguments may be addresses within objects.
        func.retain_bases(inst, Function::is_object);
    }
    func.remove_unused_callees();
    calls
}

/// Resolves chains of replacements. In unreachable code they may form a cycle, which becomes poison.
fn resolve_chains(func: &mut Function, replaced: &mut FxHashMap<Value, Value>) {
    let mut values: Vec<Value> = replaced.keys().copied().collect();
    values.sort_unstable();
    let mut passed: Vec<Value> = Vec::new();
    for value in values {
        let mut last = value;
        while let Some(by) = replaced.remove(&last) {
            passed.push(last);
            last = by;
        }
        if passed.contains(&last) {
            last = func.make_poison(func.value_type(last));
        }
        replaced.extend(passed.drain(..).map(|value| (value, last)));
    }
}

/// Copy of a callee's body at a call.
struct BodyCopier<'a> {
    func: &'a mut Function,
    callee: &'a Function,
    call: Inst,
    copier: BlockCopier<'a>,
    origins: FxHashMap<Origin, Origin>,
    /// Copied calls.
    calls: Vec<Inst>,
}

impl BodyCopier<'_> {
    /// Copies the body and records the replacements of the call's results. Returns the block with the instructions after the call, if
    /// the block was split.
    fn inline(&mut self, block: Block, replaced: &mut FxHashMap<Value, Value>) -> Option<Block> {
        self.func.register_arrays.extend(self.callee.register_arrays.iter().cloned());
        let args = self.func.inst(self.call).args.clone();
        for (&param, &arg) in self.callee.params().iter().zip(&args) {
            self.copier.bind(param, arg);
        }
        let blocks: Vec<Block> = self.callee.blocks().collect();
        let returns = |&block: &Block| {
            self.callee.terminator(block).is_some_and(|it| self.callee.inst(it).op == Op::Ret)
        };
        let is_straight = blocks.len() == 1 && returns(&blocks[0]);
        let rest = (!is_straight).then(|| move_rest(self.func, self.call));
        let mut last = block;
        let mut copies: Vec<Inst> = Vec::new();
        for &source in blocks.iter().filter(|_| !is_straight) {
            let copy = self.func.insert_block_after(last);
            self.copier.bind_block(source, copy);
            last = copy;
        }
        // Operands are filled in after all copies exist: uses may precede definitions in loops.
        let mut returned: Vec<(Block, SmallVec<[Value; 2]>)> = Vec::new();
        for &source in &blocks {
            for inst in self.callee.block_insts(source) {
                let data = self.callee.inst(inst);
                if data.op == Op::Ret {
                    let here = self.copier.block(source).unwrap_or(block);
                    returned.push((here, data.args.iter().copied().collect()));
                    continue;
                }
                copies.push(self.copy(inst, self.copier.block(source)));
            }
        }
        for inst in copies {
            self.copier.translate(self.func, inst);
        }
        for (_, values) in &mut returned {
            for value in values {
                *value = self.copier.value(self.func, *value);
            }
        }
        let results = self.func.results(self.call).to_vec();
        if let Some(rest) = rest {
            let entry = self.copier.block(self.callee.entry()).expect("all blocks were copied");
            append_jump(self.func, block, entry);
            for (from, _) in &returned {
                append_jump(self.func, *from, rest);
            }
        }
        for (index, &result) in results.iter().enumerate() {
            let value = match (&returned[..], rest) {
                ([_, _, ..], Some(rest)) => {
                    let incoming: Vec<(Block, Value)> =
                        returned.iter().map(|(from, values)| (*from, values[index])).collect();
                    let ty = self.func.value_type(result);
                    Builder::new(self.func, InsertPoint::Start(rest)).phi(ty, &incoming, None)
                }
                _ => match returned.first() {
                    Some((_, values)) => values[index],
                    None => self.func.make_poison(self.func.value_type(result)),
                },
            };
            replaced.insert(result, value);
        }
        rest
    }

    /// Copies an instruction to the end of a block, or before the call. Its operands are still the callee's.
    fn copy(&mut self, inst: Inst, to: Option<Block>) -> Inst {
        let data = self.callee.inst(inst);
        let (is_object, origin) = (data.op == Op::Alloca, self.origin(data.origin));
        let copy = self.copier.make_with_origin(self.func, inst, origin);
        self.calls.extend((data.op == Op::Call).then_some(copy));
        match to {
            _ if is_object => {
                let entry = self.func.entry();
                self.func.layout.prepend_inst(copy, entry);
            }
            Some(block) => self.func.layout.append_inst(copy, block),
            None => self.func.layout.insert_inst_before(copy, self.call),
        }
        copy
    }

    /// Translates the origin of a callee's instruction. Alias scopes hold within a single call and are dropped; access groups of the
    /// call extend to its body.
    fn origin(&mut self, origin: Origin) -> Origin {
        if let Some(&known) = self.origins.get(&origin) {
            return known;
        }
        let around = self.func.origin(self.func.inst(self.call).origin).clone();
        let inner = self.callee.origin(origin);
        let of_callee = inner
            .tags
            .iter()
            .filter(|(tag, _)| !matches!(tag, MetadataKind::AliasScope | MetadataKind::NoAlias));
        let of_call = around.tags.iter().filter(|(tag, _)| *tag == MetadataKind::AccessGroup);
        let mut data =
            OriginData { loc: inner.loc.or(around.loc), tags: of_callee.chain(of_call).copied().collect() };
        data.tags.sort_unstable();
        data.tags.dedup();
        let known = self.func.make_origin(data);
        self.origins.insert(origin, known);
        known
    }
}

/// Splits a block after an instruction. Returns the new block, which holds the instructions after it.
pub(crate) fn split_after(func: &mut Function, inst: Inst) -> Block {
    let before = func.layout.block_of(inst).expect("the instruction stands in a block");
    let after = move_rest(func, inst);
    let mut successors = func.successors(after).to_vec();
    successors.sort_unstable();
    successors.dedup();
    let replacement = FxHashMap::from_iter([(before, SmallVec::from_slice(&[after]))]);
    successors.into_iter().for_each(|successor| replace_predecessors(func, successor, &replacement));
    after
}

/// Moves the instructions after this one to a new block. The caller updates the φs of its successors.
fn move_rest(func: &mut Function, inst: Inst) -> Block {
    let before = func.layout.block_of(inst).expect("the instruction stands in a block");
    let rest = func.insert_block_after(before);
    while let Some(next) = func.layout.next_inst(inst) {
        func.layout.remove_inst(next);
        func.layout.append_inst(next, rest);
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_ir::text::parse_module;
    use heddle_ir::verify::{Stage, verify_module};

    #[test]
    fn many_calls_in_one_block_take_linear_work() {
        let mut text = String::from(
            "func @f(v0: i32) -> i32 {\nblock0:\n  v1 = icmp slt v0, 5\n  br v1, block1, block2\nblock1:\n  ret v0\nblock2:\n  \
             v2 = mul v0, 3\n  ret v2\n}\n\nfunc @g(v0: i32) -> i32 {\nblock0:\n",
        );
        for at in 0..20_000 {
            text += &format!("  v{} = call @f(v{at})\n", at + 1);
        }
        text += "  ret v20000\n}\n";
        let mut module = parse_module(&text).expect("it is read");
        let mut requested = 0;
        let count = inline_calls(&mut module, |_| {
            requested += 1;
            true
        });
        assert_eq!((count, requested), (20_000, 20_000));
        verify_module(&module, Stage::Source).unwrap_or_else(|violations| panic!("{violations}"));
    }
    /// Number of inlined calls of a function with an array's address and this many instructions.
    fn inlined_calls(instructions: usize, calls: usize) -> usize {
        let mut text = String::from("func @long(v0: ptr(private)) {\nblock0:\n  v1 = load i32, v0\n");
        for at in 1..instructions - 1 {
            text += &format!("  v{} = add v{at}, 3\n", at + 1);
        }
        text += &format!("  store v{}, v0\n  ret\n}}\n\n", instructions - 1);
        text += "func @k() -> i32 {\nblock0:\n  v0 = alloca 4 align 4\n  store i32 7, v0\n";
        for _ in 0..calls {
            text += "  call @long(v0)\n";
        }
        text += "  v1 = load i32, v0\n  ret v1\n}\n";
        let mut module = parse_module(&text).unwrap_or_else(|reason| panic!("{reason:?}"));
        let count = inline_small(&mut module);
        verify_module(&module, Stage::Source).unwrap_or_else(|violations| panic!("{violations}"));
        count
    }

    #[test]
    fn long_functions_with_arrays_are_inlined_into_callers_below_a_size() {
        assert_eq!(inlined_calls(3_000, 1), 1);
        assert_eq!(inlined_calls(5_000, 1), 0, "too long");
        assert_eq!(inlined_calls(2_000, 2), 2, "the caller stays short");
        assert_eq!(inlined_calls(2_000, 4), 2, "two more would make it long");
        assert_eq!(inlined_calls(200, 20), 20, "shorter ones have no such bound");
    }
}
