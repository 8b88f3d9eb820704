//! Plan of the mask rewrite: masks to rewrite, and the element width that they guard.
//!
//! Masks computed from each other form a *web*, which has one width: the most frequent element width that its masks
//! are compared from, blend, load and store. A web is rewritten if one of its masks is live across blocks. In vector registers it is
//! rewritten, too, if it computes masks from masks that fill several registers: LLVM would pack both operands, and extend the result.

use super::MaskRepresentation;
use crate::view::{Bb, Val};
use llvm_sys::{LLVMOpcode as Code, LLVMTypeKind as Kind};
use rustc_hash::FxHashMap;

/// Minimum size in bits of a rewritten mask.
const MIN_BITS: u32 = 64;

/// Rewrite plan for the masks of a function.
#[derive(Debug)]
pub(super) struct MaskPlan<'m> {
    /// Reachable blocks in reverse postorder.
    pub(super) order: Vec<Bb<'m>>,
    /// Guarded element width of each rewritten mask.
    widths: FxHashMap<Val<'m>, u32>,
}

/// True for a mask of several lanes.
pub(super) fn is_mask(value: Val<'_>) -> bool {
    let ty = value.ty();
    ty.is_vector()
        && ty.count() > 1
        && ty.element().kind() == Kind::LLVMIntegerTypeKind
        && ty.element().int_bits() == 1
}

/// True for instructions that compute masks from masks.
pub(super) fn is_inside(inst: Val<'_>) -> bool {
    let is_known = matches!(
        inst.opcode(),
        Code::LLVMPHI
            | Code::LLVMAnd
            | Code::LLVMOr
            | Code::LLVMXor
            | Code::LLVMSelect
            | Code::LLVMFreeze
            | Code::LLVMInsertElement
            | Code::LLVMShuffleVector
    );
    is_known && is_mask(inst)
}

impl<'m> MaskPlan<'m> {
    /// Plans a function; none if there is nothing to rewrite.
    pub(super) fn new(func: Val<'m>, representation: MaskRepresentation) -> Option<MaskPlan<'m>> {
        let least_bits = match representation {
            MaskRepresentation::Any => return None,
            MaskRepresentation::Bits { register } => register + 1,
            MaskRepresentation::Elements { .. } => MIN_BITS,
        };
        let order = func.reverse_postorder();
        let mut webs = MaskWebs::default();
        let mut block_of_inst: FxHashMap<Val<'m>, Bb<'m>> = FxHashMap::default();
        for &block in &order {
            for inst in block.insts().filter(|&inst| is_mask(inst)) {
                webs.add(inst);
                block_of_inst.insert(inst, block);
            }
        }
        for &block in &order {
            for inst in block.insts() {
                let inside = is_inside(inst);
                for operand in inst.operands().filter(|operand| block_of_inst.contains_key(operand)) {
                    let web = webs.of(operand);
                    let lives_on = inst.opcode() == Code::LLVMPHI || block_of_inst[&operand] != block;
                    webs.all[web].crosses |= lives_on;
                    if inside {
                        webs.all[web].combines |= inst.opcode() != Code::LLVMPHI;
                        webs.join(inst, operand);
                    }
                }
            }
        }
        for &block in &order {
            block.insts().for_each(|inst| webs.vote(inst));
        }
        let widths: FxHashMap<Val<'m>, u32> = block_of_inst
            .keys()
            .filter_map(|&mask| {
                let web = webs.of(mask);
                let (web, lanes) = (webs.all[web], mask.ty().count() as u32);
                let is_packed = |width: u32| match representation {
                    MaskRepresentation::Elements { register } => web.combines && width * lanes > register,
                    _ => false,
                };
                let width = web.width(representation).filter(|&width| web.crosses || is_packed(width))?;
                (width * lanes >= least_bits).then_some((mask, width))
            })
            .collect();
        (!widths.is_empty()).then_some(MaskPlan { order, widths })
    }

    /// Returns the guarded element width of a rewritten mask.
    pub(super) fn width(&self, mask: Val<'m>) -> Option<u32> {
        self.widths.get(&mask).copied()
    }
}

/// Web of masks computed from each other.
#[derive(Clone, Copy, Default, Debug)]
struct MaskWeb {
    crosses: bool,
    /// True if masks are computed from masks.
    combines: bool,
    /// Number of uses with elements of 8, 16, 32 and 64 bits.
    votes: [u32; 4],
}

impl MaskWeb {
    /// Returns the most frequent width. Ties go to fewer mask registers, which take fewer operations, and to wider elements of
    /// vector registers.
    fn width(&self, representation: MaskRepresentation) -> Option<u32> {
        let most = self.votes.iter().copied().max().filter(|&most| most > 0)?;
        let log = match representation {
            MaskRepresentation::Bits { .. } => self.votes.iter().position(|&count| count == most)?,
            _ => self.votes.iter().rposition(|&count| count == most)?,
        };
        Some(8 << log)
    }
}

#[derive(Default, Debug)]
struct MaskWebs<'m> {
    numbers: FxHashMap<Val<'m>, usize>,
    /// Union-find over mask numbers.
    parents: Vec<usize>,
    all: Vec<MaskWeb>,
}

impl<'m> MaskWebs<'m> {
    fn add(&mut self, mask: Val<'m>) {
        self.numbers.insert(mask, self.parents.len());
        self.parents.push(self.parents.len());
        self.all.push(MaskWeb::default());
    }

    fn of(&mut self, mask: Val<'m>) -> usize {
        let mut at = self.numbers[&mask];
        while self.parents[at] != at {
            self.parents[at] = self.parents[self.parents[at]];
            at = self.parents[at];
        }
        at
    }

    fn join(&mut self, a: Val<'m>, b: Val<'m>) {
        let (a, b) = (self.of(a), self.of(b));
        let (lower, upper) = (a.min(b), a.max(b));
        if lower != upper {
            self.parents[upper] = lower;
            self.all[lower].crosses |= self.all[upper].crosses;
            self.all[lower].combines |= self.all[upper].combines;
        }
    }

    /// Counts the element width that an instruction compares or guards.
    fn vote(&mut self, inst: Val<'m>) {
        if is_inside(inst) {
            return;
        }
        let masks: Vec<Val<'m>> = std::iter::once(inst)
            .filter(|_| matches!(inst.opcode(), Code::LLVMICmp | Code::LLVMFCmp))
            .chain(inst.operands())
            .filter(|mask| self.numbers.contains_key(mask))
            .collect();
        if masks.is_empty() {
            return;
        }
        let guarded = std::iter::once(inst).chain(inst.operands()).find(|&value| {
            let ty = value.ty();
            ty.is_vector() && !is_mask(value) && ty.element().kind() != Kind::LLVMPointerTypeKind
        });
        let Some(log) = guarded.and_then(|value| width_class(value)) else { return };
        for mask in masks {
            let web = self.of(mask);
            self.all[web].votes[log] += 1;
        }
    }
}

/// Returns 0 for 8-bit elements, up to 3 for 64-bit ones.
fn width_class(vector: Val<'_>) -> Option<usize> {
    let element = vector.ty().element();
    match element.kind() {
        Kind::LLVMIntegerTypeKind => [8, 16, 32, 64].iter().position(|&bits| bits == element.int_bits()),
        Kind::LLVMHalfTypeKind | Kind::LLVMBFloatTypeKind => Some(1),
        Kind::LLVMFloatTypeKind => Some(2),
        Kind::LLVMDoubleTypeKind => Some(3),
        _ => None,
    }
}
