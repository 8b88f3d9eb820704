//! Import of instruction metadata as metadata nodes of the module.
//!
//! TBAA types, value ranges and float accuracy hold for each lane. Alias scopes, access groups and loop properties
//! hold within one lane only ([`MetadataKind::is_per_lane`]): passes over a lane's loops use them, and widening
//! drops them.
//!
//! A distinct node (scope, domain, access group) becomes a node with a unique number.

use super::ModuleImporter;
use super::types::TypeTable;
use crate::view::Val;
use heddle_ir::Scalar;
use heddle_ir::entity::PrimaryMap;
use heddle_ir::function::MetadataKind;
use heddle_ir::module::{MetadataNode, MetadataOperand};
use llvm_sys::{LLVMOpcode, LLVMValueKind};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Maximum nesting depth of imported metadata.
const MAX_DEPTH: u32 = 64;

/// Prefix of loop metadata kept for code generation; other hints concern vectorization and interleaving.
const LOOP_HINT: &str = "llvm.loop.unroll.";
/// Loop property that lists access groups independent across iterations.
const PARALLEL: &str = "llvm.loop.parallel_accesses";

/// Hash-consed metadata nodes of a module.
#[derive(Default)]
pub(super) struct MetadataInterner<'m> {
    pub(super) list: PrimaryMap<MetadataNode, Vec<MetadataOperand>>,
    interned: FxHashMap<Vec<MetadataOperand>, MetadataNode>,
    /// Imported node of each visited metadata node, if supported.
    nodes: FxHashMap<Val<'m>, Option<MetadataNode>>,
    /// Imported nodes of distinct metadata nodes.
    identities: FxHashMap<Val<'m>, MetadataNode>,
}

impl<'m> ModuleImporter<'m> {
    /// Returns the metadata of an instruction, sorted.
    pub(super) fn tags(&self, inst: Val<'m>) -> SmallVec<[(MetadataKind, MetadataNode); 2]> {
        let (facts, kinds, types) = (&mut *self.facts.borrow_mut(), &self.kinds, &self.types);
        let mut list = SmallVec::new();
        let code = inst.opcode();
        let accesses = matches!(
            code,
            LLVMOpcode::LLVMLoad
                | LLVMOpcode::LLVMStore
                | LLVMOpcode::LLVMAtomicRMW
                | LLVMOpcode::LLVMAtomicCmpXchg
        );
        let mut add = |tag, fact: Option<MetadataNode>| list.extend(fact.map(|fact| (tag, fact)));
        if accesses {
            add(MetadataKind::Tbaa, inst.metadata(kinds.tbaa).and_then(|node| facts.of_node(types, node, 0)));
        }
        if code == LLVMOpcode::LLVMBr
            && let Some(node) = inst.metadata(kinds.hints)
        {
            let (hints, promises) = facts.of_loop(types, node);
            add(MetadataKind::Loop, hints);
            add(MetadataKind::Iterations, promises);
        } else if !accesses {
            add(
                MetadataKind::Fpmath,
                inst.metadata(kinds.fpmath).and_then(|node| facts.of_node(types, node, 0)),
            );
        }
        if matches!(code, LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMCall)
            && let Some(node) = inst.metadata(kinds.range)
            && types.is_whole_int(inst.ty())
        {
            add(MetadataKind::Range, facts.of_node(types, node, 0));
        }
        if accesses || code == LLVMOpcode::LLVMCall {
            add(
                MetadataKind::AliasScope,
                inst.metadata(kinds.alias_scope).and_then(|node| facts.of_scopes(node)),
            );
            for scope in inst.metadata(kinds.noalias).into_iter().flat_map(Val::metadata_parts).flatten() {
                add(MetadataKind::NoAlias, facts.of_scope(scope));
            }
            for group in inst.metadata(kinds.access_group).into_iter().flat_map(groups) {
                add(MetadataKind::AccessGroup, Some(facts.of_identity("access group", group, None)));
            }
        }
        list.sort_unstable();
        list.dedup();
        list
    }
}

/// Returns the access groups that a node is or lists.
fn groups(node: Val<'_>) -> Vec<Val<'_>> {
    match node.metadata_parts() {
        none if none.is_empty() => vec![node],
        parts => parts.into_iter().flatten().collect(),
    }
}

impl<'m> MetadataInterner<'m> {
    fn fact(&mut self, parts: Vec<MetadataOperand>) -> MetadataNode {
        *self.interned.entry(parts).or_insert_with_key(|parts| self.list.push(parts.clone()))
    }

    fn of_node(&mut self, types: &TypeTable<'m>, node: Val<'m>, depth: u32) -> Option<MetadataNode> {
        if depth == MAX_DEPTH {
            return None;
        }
        if let Some(&interned) = self.nodes.get(&node) {
            return interned;
        }
        // A node that contains itself is not imported.
        self.nodes.insert(node, None);
        let parts: Option<Vec<MetadataOperand>> =
            node.metadata_parts().into_iter().map(|part| self.part(types, part?, depth)).collect();
        let fact = self.fact(parts?);
        self.nodes.insert(node, Some(fact));
        Some(fact)
    }

    fn part(&mut self, types: &TypeTable<'m>, part: Val<'m>, depth: u32) -> Option<MetadataOperand> {
        if let Some(text) = part.metadata_text() {
            return Some(MetadataOperand::Text(text));
        }
        if part.is_metadata() {
            return self.of_node(types, part, depth + 1).map(MetadataOperand::Node);
        }
        let is_number = matches!(
            part.kind(),
            LLVMValueKind::LLVMConstantIntValueKind | LLVMValueKind::LLVMConstantFPValueKind
        );
        let leaves = types.leaves(part.ty()).ok().filter(|_| is_number)?;
        match &leaves[..] {
            [leaf] if !leaf.has_odd_width() => Some(MetadataOperand::Number(leaf.scalar, part.bits()?)),
            _ => None,
        }
    }

    /// Returns the imported node of a distinct node.
    fn of_identity(&mut self, kind: &str, node: Val<'m>, within: Option<MetadataNode>) -> MetadataNode {
        if let Some(&interned) = self.identities.get(&node) {
            return interned;
        }
        let number = MetadataOperand::Number(Scalar::I32, self.identities.len() as u128);
        let parts =
            [MetadataOperand::Text(kind.into()), number].into_iter().chain(within.map(MetadataOperand::Node));
        let fact = self.fact(parts.collect());
        self.identities.insert(node, fact);
        fact
    }

    /// Returns the imported node of an alias scope, which refers to that of its domain.
    fn of_scope(&mut self, scope: Val<'m>) -> Option<MetadataNode> {
        let domain = scope.metadata_parts().get(1).copied().flatten().filter(Val::is_metadata)?;
        let domain = self.of_identity("alias domain", domain, None);
        Some(self.of_identity("alias scope", scope, Some(domain)))
    }

    /// Returns the imported node of a list of alias scopes; none if one is malformed.
    fn of_scopes(&mut self, list: Val<'m>) -> Option<MetadataNode> {
        let scopes = list.metadata_parts().into_iter();
        let scopes: Option<Vec<MetadataOperand>> =
            scopes.map(|scope| self.of_scope(scope?).map(MetadataOperand::Node)).collect();
        scopes.filter(|scopes| !scopes.is_empty()).map(|scopes| self.fact(scopes))
    }

    /// Splits loop metadata into code generation hints and other properties. The node's first operand is itself.
    fn of_loop(
        &mut self,
        types: &TypeTable<'m>,
        node: Val<'m>,
    ) -> (Option<MetadataNode>, Option<MetadataNode>) {
        let (mut hints, mut promises) = (Vec::new(), Vec::new());
        for part in node.metadata_parts().into_iter().skip(1).flatten().filter(Val::is_metadata) {
            let words = part.metadata_parts();
            let Some(name) = words.first().copied().flatten().and_then(Val::metadata_text) else { continue };
            if name == PARALLEL {
                let groups = words.into_iter().skip(1).flatten();
                let groups =
                    groups.map(|group| MetadataOperand::Node(self.of_identity("access group", group, None)));
                let parts = std::iter::once(MetadataOperand::Text(name)).chain(groups).collect();
                promises.push(MetadataOperand::Node(self.fact(parts)));
            } else if let Some(fact) = self.of_node(types, part, 0) {
                let properties = if name.starts_with(LOOP_HINT) { &mut hints } else { &mut promises };
                properties.push(MetadataOperand::Node(fact));
            }
        }
        let mut whole = |parts: Vec<MetadataOperand>| (!parts.is_empty()).then(|| self.fact(parts));
        (whole(hints), whole(promises))
    }
}
