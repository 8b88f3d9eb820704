//! Facts that came in as metadata go out as such.

use super::assembler::{Assembler, Metadata, Node};
use heddle_ir::Module;
use heddle_ir::entity::PrimaryMap;
use heddle_ir::function::{OriginData, Tag};
use heddle_ir::module::{Fact, FactPart};
use heddle_ir::ops::Op;

/// What the facts of a module became; nothing of those that LLVM has no numbers for.
#[derive(Default, Debug)]
pub(super) struct Facts(PrimaryMap<Fact, Option<Metadata>>);

impl Facts {
    pub(super) fn new(asm: &Assembler, module: &Module) -> Facts {
        let mut facts = Facts::default();
        for parts in module.facts.values() {
            let parts: Option<Vec<Metadata>> = parts.iter().map(|part| facts.part(asm, part)).collect();
            facts.0.push(parts.map(|parts| asm.node_of(&parts)));
        }
        facts
    }

    fn part(&self, asm: &Assembler, part: &FactPart) -> Option<Metadata> {
        match part {
            FactPart::Text(text) => Some(asm.text_of(text)),
            &FactPart::Fact(fact) => *self.0.get(fact)?,
            FactPart::Number(scalar, _) if scalar.is_ptr() => None,
            &FactPart::Number(scalar, bits) => Some(asm.number_of(asm.scalar(scalar, bits))),
        }
    }

    /// Says of what an op became what is said of its origin.
    pub(super) fn attach(&self, asm: &Assembler, node: Node, op: Op, origin: &OriginData) {
        for &(tag, fact) in origin.tags.iter().filter(|(tag, _)| tag.is_said_of(op)) {
            let Some(&Some(fact)) = self.0.get(fact) else { continue };
            match tag {
                Tag::Tbaa => asm.attach_node(node, "tbaa", fact),
                Tag::Fpmath => asm.attach_node(node, "fpmath", fact),
                // Two loops are two nodes, whatever is said of them.
                Tag::Loop => asm.attach_node(node, "llvm.loop", asm.distinct_node_of(fact)),
            }
        }
    }
}
