//! Emission of metadata nodes.

use super::assembler::{Assembler, MetadataHandle, ValueHandle};
use heddle_ir::Module;
use heddle_ir::entity::PrimaryMap;
use heddle_ir::function::{MetadataKind, OriginData};
use heddle_ir::module::{MetadataNode, MetadataOperand};
use heddle_ir::ops::Op;

/// Maximum nesting depth of emitted metadata; LLVM recurses into metadata without a limit.
const MAX_DEPTH: u32 = 256;

/// Metadata node and nesting depth of each node; none for nodes with pointers.
#[derive(Default, Debug)]
pub(super) struct MetadataTable(PrimaryMap<MetadataNode, Option<(MetadataHandle, u32)>>);

impl MetadataTable {
    pub(super) fn new(asm: &Assembler, module: &Module) -> MetadataTable {
        let mut facts = MetadataTable::default();
        for parts in module.facts.values() {
            let parts: Option<Vec<(MetadataHandle, u32)>> =
                parts.iter().map(|part| facts.part(asm, part)).collect();
            let node = parts.map(|parts| {
                let (parts, depths): (Vec<MetadataHandle>, Vec<u32>) = parts.into_iter().unzip();
                (asm.node_of(&parts), 1 + depths.into_iter().max().unwrap_or(0))
            });
            facts.0.push(node.filter(|&(_, depth)| depth <= MAX_DEPTH));
        }
        facts
    }

    fn part(&self, asm: &Assembler, part: &MetadataOperand) -> Option<(MetadataHandle, u32)> {
        match part {
            MetadataOperand::Text(text) => Some((asm.text_of(text), 0)),
            &MetadataOperand::Node(fact) => *self.0.get(fact)?,
            MetadataOperand::Number(scalar, _) if scalar.is_ptr() => None,
            &MetadataOperand::Number(scalar, bits) => Some((asm.number_of(asm.scalar(scalar, bits)), 0)),
        }
    }

    /// Attaches the metadata of an op's origin to an LLVM instruction.
    pub(super) fn attach(&self, asm: &Assembler, node: ValueHandle, op: Op, origin: &OriginData) {
        for &(tag, fact) in origin.tags.iter().filter(|(tag, _)| tag.applies_to(op)) {
            let Some(&Some((fact, _))) = self.0.get(fact) else { continue };
            match tag {
                MetadataKind::Tbaa => asm.attach_node(node, "tbaa", fact),
                MetadataKind::Fpmath => asm.attach_node(node, "fpmath", fact),
                // Each loop needs a distinct node.
                MetadataKind::Loop => asm.attach_node(node, "llvm.loop", asm.distinct_node_of(fact)),
                MetadataKind::Range => asm.attach_node(node, "range", fact),
                // Heddle's passes have used these properties, and transformed code does not keep them.
                MetadataKind::AliasScope
                | MetadataKind::NoAlias
                | MetadataKind::AccessGroup
                | MetadataKind::Iterations => {}
            }
        }
    }
}
