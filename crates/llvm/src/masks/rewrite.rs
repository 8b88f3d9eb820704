//! Rewrites planned masks into the target representation.
//!
//! New instructions are inserted next to the old ones in reverse postorder. At the end only comparisons and other
//! mask producers outside the webs remain in use.

use super::MaskRepresentation;
use super::plan::{MaskPlan, is_inside, is_mask};
use crate::view::{Bb, LlvmModule, Val, shuffle};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode as Code};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

const NO_NAME: *const std::ffi::c_char = c"".as_ptr();

/// State of the mask rewrite.
struct MaskRewriter<'p, 'm> {
    builder: LLVMBuilderRef,
    plan: &'p MaskPlan<'m>,
    representation: MaskRepresentation,
    /// New vectors of each rewritten mask.
    parts: FxHashMap<Val<'m>, MaskVectors>,
    /// Dead instructions other than masks.
    dead: Vec<Val<'m>>,
}

impl Drop for MaskRewriter<'_, '_> {
    fn drop(&mut self) {
        // SAFETY: the builder is owned here.
        unsafe { LLVMDisposeBuilder(self.builder) };
    }
}

/// Rewrites the planned masks of a function. In everything called from here, values, types and blocks are the
/// module's, and none is freed before the end.
pub(super) fn rewrite(
    module: &LlvmModule,
    func: Val<'_>,
    plan: &MaskPlan<'_>,
    representation: MaskRepresentation,
) {
    debug_assert!(!func.is_declaration());
    // SAFETY: the context is live.
    let builder = unsafe { LLVMCreateBuilderInContext(module.context()) };
    let mut rewriter =
        MaskRewriter { builder, plan, representation, parts: FxHashMap::default(), dead: Vec::new() };
    let insts: Vec<(Bb<'_>, Val<'_>)> =
        plan.order.iter().flat_map(|&block| block.insts().map(move |inst| (block, inst))).collect();
    let block_of_inst: FxHashMap<Val<'_>, Bb<'_>> =
        insts.iter().map(|&(block, inst)| (inst, block)).collect();
    let is_phi = |inst: Val<'_>| inst.opcode() == Code::LLVMPHI;
    let written = |inst: Val<'_>| is_inside(inst) && plan.width(inst).is_some();
    for &(_, phi) in insts.iter().filter(|&&(_, inst)| is_phi(inst) && written(inst)) {
        rewriter.begin_phi(phi);
    }
    for &(block, inst) in insts.iter().filter(|&&(_, inst)| !is_phi(inst)) {
        if written(inst) {
            rewriter.write(inst);
            continue;
        }
        for index in 0..inst.operand_count() {
            let mask = inst.operand(index);
            let is_at_hand =
                !is_inside_mask(mask, &block_of_inst) && block_of_inst.get(&mask) == Some(&block);
            if plan.width(mask).is_some() && !is_at_hand {
                rewriter.replace_operand(inst, index, mask);
            }
        }
        if plan.width(inst).is_some() {
            rewriter.extend(inst);
        }
    }
    for &(_, phi) in insts.iter().filter(|&&(_, inst)| is_phi(inst) && written(inst)) {
        rewriter.complete_phi(phi);
    }
    let old: Vec<Val<'_>> = insts.iter().map(|&(_, inst)| inst).filter(|&inst| written(inst)).collect();
    for mask in &old {
        // SAFETY: live; poison is of the same type. Remaining users are rewritten too, and erased below.
        unsafe { LLVMReplaceAllUsesWith(mask.0, LLVMGetPoison(LLVMTypeOf(mask.0))) };
    }
    for inst in rewriter.dead.drain(..).chain(old) {
        // SAFETY: live, and nothing uses it.
        unsafe { LLVMInstructionEraseFromParent(inst.0) };
    }
}

fn is_inside_mask(mask: Val<'_>, block_of_inst: &FxHashMap<Val<'_>, Bb<'_>>) -> bool {
    block_of_inst.contains_key(&mask) && is_inside(mask)
}

/// Layout of a mask's lanes in vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct MaskLayout {
    /// Bits of each lane.
    bits: u32,
    /// Lanes of each vector.
    lanes: u32,
    vectors: u32,
}

/// Vectors of a rewritten mask.
type MaskVectors = SmallVec<[LLVMValueRef; 1]>;

impl<'m> MaskRewriter<'_, 'm> {
    /// Returns the layout of a mask for an element width.
    fn layout(&self, mask: Val<'m>, bits: u32) -> MaskLayout {
        let all = mask.ty().count() as u32;
        let whole = MaskLayout { bits, lanes: all, vectors: 1 };
        let MaskRepresentation::Bits { register } = self.representation else { return whole };
        let lanes = (register / bits).clamp(1, all);
        let vectors = all / lanes;
        match lanes * vectors == all && vectors.is_power_of_two() {
            true => MaskLayout { bits: 1, lanes, vectors },
            false => MaskLayout { bits: 1, ..whole },
        }
    }

    fn width(&self, mask: Val<'m>) -> u32 {
        self.plan.width(mask).unwrap_or(32)
    }

    fn position_before(&self, inst: Val<'m>) {
        // SAFETY: live; an instruction.
        unsafe { LLVMPositionBuilderBefore(self.builder, inst.0) }
    }

    fn ty(&self, mask: Val<'m>, layout: MaskLayout) -> LLVMTypeRef {
        // SAFETY: live; a vector.
        unsafe { LLVMVectorType(mask.ty().element().same_bits_int(layout.bits).0, layout.lanes) }
    }

    /// Returns the vectors of a mask; builds them here for a constant or a mask outside the plan.
    fn parts(&self, mask: Val<'m>, width: u32) -> MaskVectors {
        match self.parts.get(&mask) {
            Some(parts) => parts.clone(),
            None => {
                let layout = self.layout(mask, width);
                let wide = match layout.bits {
                    1 => mask.0,
                    // SAFETY: live; more bits.
                    _ => unsafe { LLVMBuildSExt(self.builder, mask.0, self.ty(mask, layout), NO_NAME) },
                };
                self.split(wide, layout)
            }
        }
    }

    fn split(&self, whole: LLVMValueRef, layout: MaskLayout) -> MaskVectors {
        let MaskLayout { lanes, vectors, .. } = layout;
        match vectors {
            1 => [whole].into_iter().collect(),
            _ => (0..vectors).map(|part| self.lanes_of(whole, part * lanes, lanes)).collect(),
        }
    }

    /// Extracts consecutive lanes of a vector.
    fn lanes_of(&self, whole: LLVMValueRef, from: u32, count: u32) -> LLVMValueRef {
        self.shuffle(whole, whole, &(from..from + count).map(Some).collect::<Vec<_>>())
    }

    /// Concatenates the vectors.
    fn joined(&self, mut parts: MaskVectors, layout: MaskLayout) -> LLVMValueRef {
        let mut lanes = layout.lanes;
        while parts.len() > 1 {
            lanes *= 2;
            let all: Vec<Option<u32>> = (0..lanes).map(Some).collect();
            parts = parts.chunks(2).map(|pair| self.shuffle(pair[0], pair[pair.len() - 1], &all)).collect();
        }
        parts[0]
    }

    /// Converts lanes back to `i1`.
    fn bits_of(&self, wide: LLVMValueRef, layout: MaskLayout) -> LLVMValueRef {
        if layout.bits == 1 {
            return wide;
        }
        // SAFETY: live; both of one type.
        unsafe {
            let zero = LLVMConstNull(LLVMTypeOf(wide));
            LLVMBuildICmp(self.builder, LLVMIntPredicate::LLVMIntSLT, wide, zero, NO_NAME)
        }
    }

    fn begin_phi(&mut self, phi: Val<'m>) {
        self.position_before(phi);
        let layout = self.layout(phi, self.width(phi));
        let ty = self.ty(phi, layout);
        // SAFETY: live.
        let phis = (0..layout.vectors).map(|_| unsafe { LLVMBuildPhi(self.builder, ty, NO_NAME) });
        self.parts.insert(phi, phis.collect());
    }

    fn complete_phi(&mut self, phi: Val<'m>) {
        let bits = self.width(phi);
        let mut made: FxHashMap<(Val<'m>, Bb<'m>), MaskVectors> = FxHashMap::default();
        for (value, block) in phi.incoming() {
            let parts = made.entry((value, block)).or_insert_with(|| {
                if let Some(end) = block.terminator() {
                    self.position_before(end);
                }
                self.parts(value, bits)
            });
            for (&phi, &part) in self.parts[&phi].iter().zip(parts.iter()) {
                let (mut part, mut from) = (part, block.0);
                // SAFETY: live; one operand each, of the type of the φ.
                unsafe { LLVMAddIncoming(phi, &mut part, &mut from, 1) };
            }
        }
    }

    /// Builds the vectors of a mask producer (a comparison, a load), right after it.
    fn extend(&mut self, inst: Val<'m>) {
        // SAFETY: live; what gives a mask does not end its block, since no calls are made that do.
        unsafe {
            let next = LLVMGetNextInstruction(inst.0);
            if next.is_null() {
                return;
            }
            LLVMPositionBuilderBefore(self.builder, next);
        }
        let parts = self.parts(inst, self.width(inst));
        self.parts.insert(inst, parts);
    }

    /// Rewrites an instruction that computes a mask from masks.
    fn write(&mut self, inst: Val<'m>) {
        self.position_before(inst);
        let width = self.width(inst);
        let layout = self.layout(inst, width);
        let operand = |index| inst.operand(index);
        let parts = |index| self.parts(inst.operand(index), width);
        let builder = self.builder;
        type Build = unsafe extern "C" fn(
            LLVMBuilderRef,
            LLVMValueRef,
            LLVMValueRef,
            *const std::ffi::c_char,
        ) -> LLVMValueRef;
        let pairs = |build: Build, a: MaskVectors, b: MaskVectors| -> MaskVectors {
            // SAFETY: live; both of one type, since those of the old instruction were.
            a.iter().zip(&b).map(|(&a, &b)| unsafe { build(builder, a, b, NO_NAME) }).collect()
        };
        // A select blocks poison of lanes that the condition excludes; `and` and `or` would not.
        let frozen = |index| -> MaskVectors {
            // SAFETY: live.
            parts(index).iter().map(|&part| unsafe { LLVMBuildFreeze(builder, part, NO_NAME) }).collect()
        };
        // SAFETY: live.
        let (is_null, ones) =
            unsafe { (|value: Val<'m>| LLVMIsNull(value.0) != 0, LLVMConstAllOnes(LLVMTypeOf(inst.0))) };
        let new = match inst.opcode() {
            Code::LLVMAnd => pairs(LLVMBuildAnd, parts(0), parts(1)),
            Code::LLVMOr => pairs(LLVMBuildOr, parts(0), parts(1)),
            Code::LLVMXor => pairs(LLVMBuildXor, parts(0), parts(1)),
            Code::LLVMFreeze => frozen(0),
            Code::LLVMSelect if is_mask(operand(0)) && is_null(operand(2)) => {
                pairs(LLVMBuildAnd, parts(0), frozen(1))
            }
            Code::LLVMSelect if is_mask(operand(0)) && operand(1).0 == ones => {
                pairs(LLVMBuildOr, parts(0), frozen(2))
            }
            Code::LLVMSelect => {
                let conditions: MaskVectors = match is_mask(operand(0)) {
                    true => parts(0).iter().map(|&part| self.bits_of(part, layout)).collect(),
                    false => (0..layout.vectors).map(|_| operand(0).0).collect(),
                };
                let arms = parts(1).into_iter().zip(parts(2));
                let select = |(condition, (one, other))| {
                    // SAFETY: live; the arms are of one type, and the condition has as many lanes, or one.
                    unsafe { LLVMBuildSelect(builder, condition, one, other, NO_NAME) }
                };
                conditions.into_iter().zip(arms).map(select).collect()
            }
            Code::LLVMInsertElement => self.insert(inst, width, layout),
            _ => {
                let lanes = inst.shuffle_mask();
                let from = self.layout(operand(0), width);
                if lanes.iter().all(|lane| matches!(lane, None | Some(0))) {
                    let one = parts(0)[0];
                    let part = self.shuffle(one, one, &vec![Some(0); layout.lanes as usize]);
                    (0..layout.vectors).map(|_| part).collect()
                } else {
                    let [a, b] = [0, 1].map(|index| self.joined(parts(index), from));
                    self.split(self.shuffle(a, b, &lanes), layout)
                }
            }
        };
        self.parts.insert(inst, new);
    }

    /// Inserts a lane into a mask.
    fn insert(&self, inst: Val<'m>, width: u32, layout: MaskLayout) -> MaskVectors {
        let mut parts = self.parts(inst.operand(0), width);
        let (lane, index) = (inst.operand(1), inst.operand(2));
        let builder = self.builder;
        // SAFETY: live; the lane gets the type of the elements, and indices are below the number of lanes.
        unsafe {
            let lane = match layout.bits {
                1 => lane.0,
                bits => LLVMBuildSExt(builder, lane.0, inst.ty().element().same_bits_int(bits).0, NO_NAME),
            };
            match index.bits().and_then(|bits| u32::try_from(bits).ok()) {
                Some(at) if (at / layout.lanes) < layout.vectors => {
                    let part = (at / layout.lanes) as usize;
                    let place = LLVMConstInt(index.ty().0, (at % layout.lanes).into(), 0);
                    parts[part] = LLVMBuildInsertElement(builder, parts[part], lane, place, NO_NAME);
                    parts
                }
                _ => {
                    let all = self.joined(parts, layout);
                    self.split(LLVMBuildInsertElement(builder, all, lane, index.0, NO_NAME), layout)
                }
            }
        }
    }

    fn shuffle(&self, a: LLVMValueRef, b: LLVMValueRef, lanes: &[Option<u32>]) -> LLVMValueRef {
        // SAFETY: live; callers name existing lanes.
        unsafe { shuffle(self.builder, a, b, lanes) }
    }

    /// Gives a mask's user its `i1` vector.
    fn replace_operand(&mut self, user: Val<'m>, index: u32, mask: Val<'m>) {
        self.position_before(user);
        let width = self.width(mask);
        let layout = self.layout(mask, width);
        let parts = self.parts(mask, width);
        if user.opcode() == Code::LLVMBitCast
            && let Some(vote) = vote(user)
        {
            self.ask(user, vote, parts, layout);
            return self.dead.push(user);
        }
        if user.opcode() == Code::LLVMSelect && parts.len() > 1 {
            self.blend(user, parts, layout);
            return self.dead.push(user);
        }
        let set = self.bits_of(self.joined(parts, layout), layout);
        // SAFETY: live; of the type of the operand that it replaces.
        unsafe { LLVMSetOperand(user.0, index, set) }
    }

    /// Selects vector by vector: LLVM would join the masks first.
    fn blend(&self, select: Val<'m>, parts: MaskVectors, layout: MaskLayout) {
        let arms = [1, 2].map(|index| self.split(select.operand(index).0, layout));
        let chosen: MaskVectors = (parts.iter().zip(arms[0].iter().zip(&arms[1])))
            // SAFETY: live; both arms of one type, with as many lanes as the mask.
            .map(|(&mask, (&one, &other))| unsafe {
                LLVMBuildSelect(self.builder, mask, one, other, NO_NAME)
            })
            .collect();
        let all = self.joined(chosen, layout);
        // SAFETY: live; of the type of the old one.
        unsafe { LLVMReplaceAllUsesWith(select.0, all) };
    }

    /// Rewrites an any/all test: combines the registers before extracting bits.
    fn ask(&self, bits_of_all: Val<'m>, vote: MaskVote, parts: MaskVectors, layout: MaskLayout) {
        // SAFETY: live; both of one type.
        let join = |a, b| unsafe {
            match vote {
                MaskVote::Any => LLVMBuildOr(self.builder, a, b, NO_NAME),
                MaskVote::All => LLVMBuildAnd(self.builder, a, b, NO_NAME),
            }
        };
        let Some(mut some) = parts.into_iter().reduce(join) else { return };
        let mut lanes = layout.lanes;
        if let MaskRepresentation::Elements { register } = self.representation {
            while lanes * layout.bits > register && lanes.is_multiple_of(2) {
                lanes /= 2;
                some = join(self.lanes_of(some, 0, lanes), self.lanes_of(some, lanes, lanes));
            }
        }
        let set = self.bits_of(some, layout);
        let (builder, all) = (self.builder, bits_of_all.ty());
        // SAFETY: live; as many bits as lanes, and no more than the old ones. All uses only test for all zeros, or all ones.
        unsafe {
            let few = LLVMBuildBitCast(builder, set, all.same_bits_int(lanes).0, NO_NAME);
            let bits = match vote {
                MaskVote::Any => LLVMBuildZExt(builder, few, all.0, NO_NAME),
                MaskVote::All => LLVMBuildSExt(builder, few, all.0, NO_NAME),
            };
            LLVMReplaceAllUsesWith(bits_of_all.0, bits);
        }
    }
}

/// Test of a mask's bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MaskVote {
    Any,
    All,
}

/// Returns the test that all uses of a mask's bits perform, if they agree.
fn vote(bits: Val<'_>) -> Option<MaskVote> {
    // SAFETY: live; uses follow each other until null, and are of live users.
    unsafe {
        let ones = LLVMConstAllOnes(LLVMTypeOf(bits.0));
        let mut found = None;
        let mut at = LLVMGetFirstUse(bits.0);
        while !at.is_null() {
            let user = LLVMGetUser(at);
            let is_equality = LLVMGetInstructionOpcode(user) == Code::LLVMICmp
                && matches!(
                    LLVMGetICmpPredicate(user),
                    LLVMIntPredicate::LLVMIntEQ | LLVMIntPredicate::LLVMIntNE
                );
            let with = if is_equality { LLVMGetOperand(user, 1) } else { bits.0 };
            let vote = match (LLVMIsNull(with) != 0, with == ones) {
                (true, _) => MaskVote::Any,
                (_, true) => MaskVote::All,
                _ => return None,
            };
            if *found.get_or_insert(vote) != vote {
                return None;
            }
            at = LLVMGetNextUse(at);
        }
        found
    }
}
