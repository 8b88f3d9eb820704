//! Facts that came in as metadata go out as such.

use super::assembler::{Assembler, MetadataHandle, ValueHandle};
use heddle_ir::Module;
use heddle_ir::entity::PrimaryMap;
use heddle_ir::function::{MetadataKind, OriginData};
use heddle_ir::module::{MetadataNode, MetadataOperand};
use heddle_ir::ops::Op;

/// Facts in facts that go out: LLVM goes down into them without looking how deep it is.
const MAX_DEPTH: u32 = 256;

/// What the facts of a module became, and how deep they are; nothing of those that LLVM has no numbers for.
#[derive(Default, Debug)]
pub(super) struct FactMetadata(PrimaryMap<MetadataNode, Option<(MetadataHandle, u32)>>);

impl FactMetadata {
    pub(super) fn new(asm: &Assembler, module: &Module) -> FactMetadata {
        let mut facts = FactMetadata::default();
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

    /// Says of what an op became what is said of its origin.
    pub(super) fn attach(&self, asm: &Assembler, node: ValueHandle, op: Op, origin: &OriginData) {
        for &(tag, fact) in origin.tags.iter().filter(|(tag, _)| tag.is_said_of(op)) {
            let Some(&Some((fact, _))) = self.0.get(fact) else { continue };
            match tag {
                MetadataKind::Tbaa => asm.attach_node(node, "tbaa", fact),
                MetadataKind::Fpmath => asm.attach_node(node, "fpmath", fact),
                // Two loops are two nodes, whatever is said of them.
                MetadataKind::Loop => asm.attach_node(node, "llvm.loop", asm.distinct_node_of(fact)),
                MetadataKind::Range => asm.attach_node(node, "range", fact),
                // Passes have used these promises; code that has become another keeps none of them.
                MetadataKind::AliasScope
                | MetadataKind::NoAlias
                | MetadataKind::AccessGroup
                | MetadataKind::Iterations => {}
            }
        }
    }
}
