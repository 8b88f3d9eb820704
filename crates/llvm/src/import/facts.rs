//! Facts: what instructions are said to be in metadata that code generators understand, as facts of the module.
//!
//! Only what still holds when lanes run side by side is taken. Types of accesses are those of memory, whoever accesses it;
//! the error that a result may have is that of each lane. Alias scopes and access groups speak of one lane, of one time
//! round a loop even: they are promises about what it does itself.

use super::Importing;
use super::types::Types;
use crate::view::Val;
use heddle_ir::entity::PrimaryMap;
use heddle_ir::function::Tag;
use heddle_ir::module::{Fact, FactPart};
use llvm_sys::{LLVMOpcode, LLVMValueKind};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Facts in facts that are followed.
const MAX_DEPTH: u32 = 64;

/// What the names of hints about loops begin with that are handed on: others speak of vectors, and of iterations side by
/// side.
const LOOP_HINT: &str = "llvm.loop.unroll.";

/// The facts of a module.
#[derive(Default)]
pub(super) struct Facts<'m> {
    pub(super) list: PrimaryMap<Fact, Vec<FactPart>>,
    known: FxHashMap<Vec<FactPart>, Fact>,
    /// What became of each node, if something did.
    nodes: FxHashMap<Val<'m>, Option<Fact>>,
}

impl<'m> Importing<'m> {
    /// What is said of an instruction.
    pub(super) fn tags(&self, inst: Val<'m>) -> SmallVec<[(Tag, Fact); 2]> {
        let (facts, kinds) = (&mut *self.facts.borrow_mut(), &self.kinds);
        let said = match inst.opcode() {
            LLVMOpcode::LLVMLoad
            | LLVMOpcode::LLVMStore
            | LLVMOpcode::LLVMAtomicRMW
            | LLVMOpcode::LLVMAtomicCmpXchg => {
                let node = inst.metadata(kinds.tbaa);
                node.and_then(|node| facts.of_node(&self.types, node, 0)).map(|fact| (Tag::Tbaa, fact))
            }
            LLVMOpcode::LLVMBr => {
                let node = inst.metadata(kinds.hints);
                node.and_then(|node| facts.of_loop(&self.types, node)).map(|fact| (Tag::Loop, fact))
            }
            _ => {
                let node = inst.metadata(kinds.fpmath);
                node.and_then(|node| facts.of_node(&self.types, node, 0)).map(|fact| (Tag::Fpmath, fact))
            }
        };
        said.into_iter().collect()
    }
}

impl<'m> Facts<'m> {
    fn fact(&mut self, parts: Vec<FactPart>) -> Fact {
        *self.known.entry(parts).or_insert_with_key(|parts| self.list.push(parts.clone()))
    }

    fn of_node(&mut self, types: &Types<'m>, node: Val<'m>, depth: u32) -> Option<Fact> {
        if depth == MAX_DEPTH {
            return None;
        }
        if let Some(&known) = self.nodes.get(&node) {
            return known;
        }
        // What is found within itself is no fact.
        self.nodes.insert(node, None);
        let parts: Option<Vec<FactPart>> =
            node.metadata_parts().into_iter().map(|part| self.part(types, part?, depth)).collect();
        let fact = self.fact(parts?);
        self.nodes.insert(node, Some(fact));
        Some(fact)
    }

    fn part(&mut self, types: &Types<'m>, part: Val<'m>, depth: u32) -> Option<FactPart> {
        if let Some(text) = part.metadata_text() {
            return Some(FactPart::Text(text));
        }
        if part.is_metadata() {
            return self.of_node(types, part, depth + 1).map(FactPart::Fact);
        }
        let is_number = matches!(
            part.kind(),
            LLVMValueKind::LLVMConstantIntValueKind | LLVMValueKind::LLVMConstantFPValueKind
        );
        let leaves = types.leaves(part.ty()).ok().filter(|_| is_number)?;
        match &leaves[..] {
            [leaf] if !leaf.is_odd() => Some(FactPart::Number(leaf.scalar, part.bits()?)),
            _ => None,
        }
    }

    /// The hints that are handed on of those in the node of a loop, whose first part is the node itself.
    fn of_loop(&mut self, types: &Types<'m>, node: Val<'m>) -> Option<Fact> {
        let is_hint = |hint: &Val<'m>| {
            let name = hint.metadata_parts().first().copied().flatten().and_then(Val::metadata_text);
            name.is_some_and(|name| name.starts_with(LOOP_HINT))
        };
        let parts = node.metadata_parts().into_iter().skip(1).flatten();
        let hints = parts.filter(Val::is_metadata).filter(is_hint);
        let hints: Vec<FactPart> =
            hints.filter_map(|hint| self.of_node(types, hint, 0)).map(FactPart::Fact).collect();
        (!hints.is_empty()).then(|| self.fact(hints))
    }
}
