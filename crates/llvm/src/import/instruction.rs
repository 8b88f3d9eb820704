//! Import of instructions by opcode, with the table that `./x coverage llvm` prints.

use super::body::{BodyImporter, Leaves};
use super::odd_width::is_signed;
use super::refusal::{ImportRefusal, ImportResult};
use super::types::Leaf;
use crate::view::Val;
use heddle_ir::inst::{Detail, InstData, SwitchDetail};
use heddle_ir::words::{Flag, Flags, FloatPredicate, IntPredicate};
use heddle_ir::{Op, Scalar, Type, Value};
use llvm_sys::{LLVMIntPredicate, LLVMOpcode as Code};

/// Every opcode of LLVM 22: its number, mnemonic, and reason for refusal, if any.
pub(crate) const OPCODES: &[(Code, &str, Option<&str>)] = {
    use Code::*;
    const EXCEPTIONS: Option<&str> = Some("exceptions: compile with -fno-exceptions, or -C panic=abort");
    &[
        (LLVMRet, "ret", None),
        (LLVMBr, "br", None),
        (LLVMSwitch, "switch", None),
        (LLVMIndirectBr, "indirectbr", Some("a computed goto: use a switch")),
        (LLVMInvoke, "invoke", EXCEPTIONS),
        (LLVMUnreachable, "unreachable", None),
        (LLVMCallBr, "callbr", Some("inline assembly that jumps: write it in C")),
        (LLVMFNeg, "fneg", None),
        (LLVMAdd, "add", None),
        (LLVMFAdd, "fadd", None),
        (LLVMSub, "sub", None),
        (LLVMFSub, "fsub", None),
        (LLVMMul, "mul", None),
        (LLVMFMul, "fmul", None),
        (LLVMUDiv, "udiv", None),
        (LLVMSDiv, "sdiv", None),
        (LLVMFDiv, "fdiv", None),
        (LLVMURem, "urem", None),
        (LLVMSRem, "srem", None),
        (LLVMFRem, "frem", None),
        (LLVMShl, "shl", None),
        (LLVMLShr, "lshr", None),
        (LLVMAShr, "ashr", None),
        (LLVMAnd, "and", None),
        (LLVMOr, "or", None),
        (LLVMXor, "xor", None),
        (LLVMAlloca, "alloca", None),
        (LLVMLoad, "load", None),
        (LLVMStore, "store", None),
        (LLVMGetElementPtr, "getelementptr", None),
        (LLVMTrunc, "trunc", None),
        (LLVMZExt, "zext", None),
        (LLVMSExt, "sext", None),
        (LLVMFPToUI, "fptoui", None),
        (LLVMFPToSI, "fptosi", None),
        (LLVMUIToFP, "uitofp", None),
        (LLVMSIToFP, "sitofp", None),
        (LLVMFPTrunc, "fptrunc", None),
        (LLVMFPExt, "fpext", None),
        (LLVMPtrToInt, "ptrtoint", None),
        (LLVMPtrToAddr, "ptrtoaddr", None),
        (LLVMIntToPtr, "inttoptr", None),
        (LLVMBitCast, "bitcast", None),
        (LLVMAddrSpaceCast, "addrspacecast", None),
        (LLVMICmp, "icmp", None),
        (LLVMFCmp, "fcmp", None),
        (LLVMPHI, "phi", None),
        (LLVMCall, "call", None),
        (LLVMSelect, "select", None),
        (LLVMUserOp1, "userop1", Some("internal to LLVM: it is never written to a file")),
        (LLVMUserOp2, "userop2", Some("internal to LLVM: it is never written to a file")),
        (LLVMVAArg, "va_arg", Some("variable number of arguments: give it a fixed number")),
        (LLVMExtractElement, "extractelement", None),
        (LLVMInsertElement, "insertelement", None),
        (LLVMShuffleVector, "shufflevector", None),
        (LLVMExtractValue, "extractvalue", None),
        (LLVMInsertValue, "insertvalue", None),
        (LLVMFreeze, "freeze", None),
        (LLVMFence, "fence", None),
        (LLVMAtomicCmpXchg, "cmpxchg", None),
        (LLVMAtomicRMW, "atomicrmw", None),
        (LLVMResume, "resume", EXCEPTIONS),
        (LLVMLandingPad, "landingpad", EXCEPTIONS),
        (LLVMCleanupRet, "cleanupret", EXCEPTIONS),
        (LLVMCatchRet, "catchret", EXCEPTIONS),
        (LLVMCatchPad, "catchpad", EXCEPTIONS),
        (LLVMCleanupPad, "cleanuppad", EXCEPTIONS),
        (LLVMCatchSwitch, "catchswitch", EXCEPTIONS),
    ]
};

/// Maximum length of a use chain from an index to an address.
const MAX_STEPS_TO_ADDRESS: usize = 4;
const MAX_USERS: usize = 8;

/// Translates LLVM's fast-math flags.
pub(super) fn fast_math(bits: u32) -> Flags {
    const BITS: [Flag; 7] =
        [Flag::Reassoc, Flag::Nnan, Flag::Ninf, Flag::Nsz, Flag::Arcp, Flag::Contract, Flag::Afn];
    let set = BITS.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
    set.fold(Flags::NONE, |flags, (_, &flag)| flags.with(flag))
}

fn int_predicate(predicate: LLVMIntPredicate) -> IntPredicate {
    use LLVMIntPredicate::*;
    match predicate {
        LLVMIntEQ => IntPredicate::Eq,
        LLVMIntNE => IntPredicate::Ne,
        LLVMIntUGT => IntPredicate::Ugt,
        LLVMIntUGE => IntPredicate::Uge,
        LLVMIntULT => IntPredicate::Ult,
        LLVMIntULE => IntPredicate::Ule,
        LLVMIntSGT => IntPredicate::Sgt,
        LLVMIntSGE => IntPredicate::Sge,
        LLVMIntSLT => IntPredicate::Slt,
        LLVMIntSLE => IntPredicate::Sle,
    }
}

impl<'m> BodyImporter<'_, 'm> {
    /// Imports an instruction other than a φ; returns the scalars of its result.
    pub(super) fn instruction(&mut self, inst: Val<'m>) -> ImportResult<Leaves> {
        let code = inst.opcode();
        if let Some((_, word, Some(reason))) = OPCODES.iter().find(|(known, ..)| *known == code) {
            let (reason, help) = reason.split_once(": ").unwrap_or((reason, ""));
            return Err(ImportRefusal::new(format!("unsupported instruction `{word}`: {reason}"), help));
        }
        use Code::*;
        match code {
            LLVMAdd => self.arithmetic(Op::Add, inst, wrap(inst)),
            LLVMSub => self.arithmetic(Op::Sub, inst, wrap(inst)),
            LLVMMul => self.arithmetic(Op::Mul, inst, wrap(inst)),
            LLVMShl => self.arithmetic(Op::Shl, inst, wrap(inst)),
            LLVMUDiv => self.arithmetic(Op::Udiv, inst, exact(inst)),
            LLVMSDiv => self.arithmetic(Op::Sdiv, inst, exact(inst)),
            LLVMLShr | LLVMAShr => {
                if let Some(extended) = self.extension(inst)? {
                    return Ok(extended);
                }
                let op = if code == LLVMLShr { Op::Lshr } else { Op::Ashr };
                self.arithmetic(op, inst, exact(inst))
            }
            LLVMURem => self.arithmetic(Op::Urem, inst, Flags::NONE),
            LLVMSRem => self.arithmetic(Op::Srem, inst, Flags::NONE),
            LLVMAnd => self.arithmetic(Op::And, inst, Flags::NONE),
            LLVMXor => self.arithmetic(Op::Xor, inst, Flags::NONE),
            LLVMOr if inst.is_disjoint() => self.sum_without_carry(inst),
            LLVMOr => self.arithmetic(Op::Or, inst, Flags::NONE),
            LLVMFAdd => self.arithmetic(Op::Fadd, inst, fast_math(inst.fast_math())),
            LLVMFSub => self.arithmetic(Op::Fsub, inst, fast_math(inst.fast_math())),
            LLVMFMul => self.arithmetic(Op::Fmul, inst, fast_math(inst.fast_math())),
            LLVMFDiv => self.arithmetic(Op::Fdiv, inst, fast_math(inst.fast_math())),
            LLVMFRem => self.arithmetic(Op::Frem, inst, fast_math(inst.fast_math())),
            LLVMFNeg => self.arithmetic(Op::Fneg, inst, fast_math(inst.fast_math())),
            LLVMFreeze => {
                let operand = self.leaves(inst.operand(0))?;
                let leaves = self.module.types.leaves(inst.ty())?;
                let frozen = |(&value, leaf): (&Value, &Leaf)| {
                    let frozen = self.op(Op::Freeze, &[value])?;
                    self.clear_upper_bits(frozen, leaf.bits)
                };
                operand.iter().zip(leaves.iter()).map(frozen).collect()
            }
            LLVMICmp => {
                let detail = Detail::IntCompare(int_predicate(inst.int_predicate()));
                self.compare(Op::Icmp, inst, &detail, Flags::NONE)
            }
            LLVMFCmp => {
                let predicate = FloatPredicate::ALL[inst.float_predicate() as usize];
                self.compare(Op::Fcmp, inst, &Detail::FloatCompare(predicate), fast_math(inst.fast_math()))
            }
            LLVMTrunc | LLVMZExt | LLVMSExt | LLVMFPToUI | LLVMFPToSI | LLVMUIToFP | LLVMSIToFP
            | LLVMFPTrunc | LLVMFPExt | LLVMPtrToInt | LLVMPtrToAddr | LLVMIntToPtr | LLVMBitCast
            | LLVMAddrSpaceCast => {
                let operand = self.leaves(inst.operand(0))?;
                self.cast(code, inst, &operand)
            }
            LLVMSelect => self.select(inst),
            LLVMGetElementPtr => {
                let operands = self.operands(inst)?;
                self.gep(inst, &operands)
            }
            LLVMAlloca => self.alloca(inst),
            LLVMLoad => self.load(inst),
            LLVMStore => self.store(inst),
            LLVMFence => self.fence(inst),
            LLVMAtomicRMW => self.atomic_rmw(inst),
            LLVMAtomicCmpXchg => self.compare_exchange(inst),
            LLVMExtractElement => self.extract_element(inst),
            LLVMInsertElement => self.insert_element(inst),
            LLVMShuffleVector => self.shuffle_vector(inst),
            LLVMExtractValue => self.extract_value(inst),
            LLVMInsertValue => self.insert_value(inst),
            LLVMCall => self.call(inst),
            LLVMBr => self.branch(inst),
            LLVMSwitch => self.switch(inst),
            LLVMRet => {
                let values = match inst.operand_count() {
                    0 => Leaves::new(),
                    _ => self.leaves(inst.operand(0))?,
                };
                self.emit_inst(InstData::plain(Op::Ret, values), None)?;
                Ok(Leaves::new())
            }
            LLVMUnreachable => {
                self.emit_inst(InstData::plain(Op::Unreachable, []), None)?;
                Ok(Leaves::new())
            }
            _ => Err(ImportRefusal::new("unknown instruction", "please report it, with this file")),
        }
    }

    /// Imports an elementwise operation.
    fn arithmetic(&mut self, op: Op, inst: Val<'m>, flags: Flags) -> ImportResult<Leaves> {
        if let Some(bits) = self.module.types.odd_bits(inst.ty()) {
            return self.odd_arithmetic(op, inst, bits);
        }
        let operands = self.operands(inst)?;
        self.lanewise_with(op, &operands, flags)
    }

    /// Imports `or disjoint` as an addition where it feeds an address: shape analysis tracks strides through sums.
    fn sum_without_carry(&mut self, inst: Val<'m>) -> ImportResult<Leaves> {
        let leaves = self.module.types.leaves(inst.ty())?;
        let is_number = leaves.iter().all(|leaf| !leaf.has_odd_width() && leaf.scalar != Scalar::I1);
        match is_number && leads_to_address(inst) {
            true => self.arithmetic(Op::Add, inst, Flags::of(&[Flag::Nuw, Flag::Nsw])),
            false => self.arithmetic(Op::Or, inst, Flags::NONE.with(Flag::Disjoint)),
        }
    }

    /// Emits an op lane by lane.
    pub(super) fn lanewise(&mut self, op: Op, operands: &[Leaves]) -> ImportResult<Leaves> {
        self.lanewise_with(op, operands, Flags::NONE)
    }

    /// Emits an op with flags lane by lane.
    pub(super) fn lanewise_with(
        &mut self,
        op: Op,
        operands: &[Leaves],
        flags: Flags,
    ) -> ImportResult<Leaves> {
        let lanes = operands.first().map_or(0, |first| first.len());
        (0..lanes)
            .map(|lane| {
                let args: Vec<Value> = operands.iter().map(|operand| operand[lane]).collect();
                self.op_with(op, &args, flags)
            })
            .collect()
    }

    fn compare(&mut self, op: Op, inst: Val<'m>, detail: &Detail, flags: Flags) -> ImportResult<Leaves> {
        let (mut a, mut b) = (self.leaves(inst.operand(0))?, self.leaves(inst.operand(1))?);
        if let (Some(bits), Detail::IntCompare(predicate)) =
            (self.module.types.odd_bits(inst.operand(0).ty()), detail)
            && is_signed(*predicate)
        {
            a = a.into_iter().map(|value| self.sign_extend(value, bits)).collect::<ImportResult<_>>()?;
            b = b.into_iter().map(|value| self.sign_extend(value, bits)).collect::<ImportResult<_>>()?;
        }
        let pairs = a.into_iter().zip(b);
        pairs
            .map(|(a, b)| {
                let [a, b] = match (self.before_extensions(a, b), detail) {
                    (Some(sources), _) => sources,
                    (None, Detail::IntCompare(IntPredicate::Eq | IntPredicate::Ne)) => {
                        self.lower_halves(a, b)?.unwrap_or([a, b])
                    }
                    _ => [a, b],
                };
                self.emit(InstData { flags, ..InstData::new(op, [a, b], detail.clone()) }, None)
            })
            .collect()
    }

    /// Emits an integer comparison.
    pub(super) fn icmp(&mut self, predicate: IntPredicate, a: Value, b: Value) -> ImportResult<Value> {
        self.emit(InstData::new(Op::Icmp, [a, b], Detail::IntCompare(predicate)), None)
    }

    /// Emits a float comparison.
    pub(super) fn fcmp(&mut self, predicate: FloatPredicate, a: Value, b: Value) -> ImportResult<Value> {
        self.emit(InstData::new(Op::Fcmp, [a, b], Detail::FloatCompare(predicate)), None)
    }

    /// Imports a cast, instruction or constant expression; flags come from the instruction.
    pub(super) fn cast(&mut self, code: Code, value: Val<'m>, operand: &Leaves) -> ImportResult<Leaves> {
        let leaves = self.module.types.leaves(value.ty())?;
        let from_bits = self.module.types.odd_bits(value.operand(0).ty());
        if from_bits.is_some() || leaves.iter().any(Leaf::has_odd_width) {
            return self.odd_cast(code, operand, from_bits, &leaves);
        }
        let is_instruction = value.kind() == llvm_sys::LLVMValueKind::LLVMInstructionValueKind;
        let flags = match code {
            Code::LLVMTrunc if is_instruction => wrap(value),
            Code::LLVMZExt | Code::LLVMUIToFP if value.has_nneg() => Flags::NONE.with(Flag::Nneg),
            Code::LLVMFPTrunc | Code::LLVMFPExt => fast_math(value.fast_math()),
            _ => Flags::NONE,
        };
        let op = match code {
            Code::LLVMTrunc => Op::Trunc,
            Code::LLVMZExt => Op::Zext,
            Code::LLVMSExt => Op::Sext,
            Code::LLVMFPToUI => Op::Fptoui,
            Code::LLVMFPToSI => Op::Fptosi,
            Code::LLVMUIToFP => Op::Uitofp,
            Code::LLVMSIToFP => Op::Sitofp,
            Code::LLVMFPTrunc => Op::Fptrunc,
            Code::LLVMFPExt => Op::Fpext,
            Code::LLVMPtrToInt | Code::LLVMPtrToAddr => Op::Ptrtoint,
            Code::LLVMIntToPtr => Op::Inttoptr,
            Code::LLVMAddrSpaceCast => Op::SpaceCast,
            _ => return self.regroup(operand, &leaves.iter().map(|leaf| leaf.scalar).collect::<Vec<_>>()),
        };
        let pairs = operand.iter().zip(leaves.iter());
        pairs
            .map(|(&from, leaf)| match (op, self.scalar(from) == leaf.scalar) {
                (Op::SpaceCast, true) => Ok(from),
                _ => {
                    let data = InstData { flags, ..InstData::plain(op, [from]) };
                    self.emit(data, Some(Type::Scalar(leaf.scalar)))
                }
            })
            .collect()
    }

    fn select(&mut self, inst: Val<'m>) -> ImportResult<Leaves> {
        let operands = self.operands(inst)?;
        let flags = fast_math(inst.fast_math());
        let [conditions, thens, otherwises] = &operands[..] else { return Ok(Leaves::new()) };
        let is_lanewise = inst.operand(0).ty().is_vector();
        (0..thens.len())
            .map(|lane| {
                let condition = conditions[if is_lanewise { lane } else { 0 }];
                let flags = if self.scalar(thens[lane]).is_float() { flags } else { Flags::NONE };
                self.op_with(Op::Select, &[condition, thens[lane], otherwises[lane]], flags)
            })
            .collect()
    }

    /// Emits a select.
    pub(super) fn choose(&mut self, condition: Value, then: Value, otherwise: Value) -> ImportResult<Value> {
        self.op(Op::Select, &[condition, then, otherwise])
    }

    fn branch(&mut self, inst: Val<'m>) -> ImportResult<Leaves> {
        let mut targets = Vec::new();
        for block in inst.successors() {
            targets.push(self.target(block)?);
        }
        let data = match (inst.condition(), &targets[..]) {
            (Some(condition), &[then, otherwise]) => {
                let condition = self.leaf(condition)?;
                let mut data = InstData::branch(condition, then, otherwise);
                if let Detail::Branch(_, weights) = &mut data.detail {
                    *weights = branch_weights(inst.metadata_numbers(self.module.kinds.prof)).map(Box::new);
                }
                data
            }
            _ => InstData::jump(targets[0]),
        };
        self.emit_inst(data, None)?;
        Ok(Leaves::new())
    }

    fn switch(&mut self, inst: Val<'m>) -> ImportResult<Leaves> {
        let value = self.operand(inst, 0)?;
        let (mut cases, mut targets) = (Vec::new(), Vec::new());
        for (index, block) in inst.successors().into_iter().enumerate() {
            targets.push(self.target(block)?);
            if index > 0 {
                let case = inst.case_value(index as u32);
                let unknown = || ImportRefusal::new(format!("case `{}` is not a number", case.text()), "");
                cases.push(case.bits().ok_or_else(unknown)?);
            }
        }
        let detail = Detail::Switch(Box::new(SwitchDetail { cases, targets }));
        self.emit_inst(InstData::new(Op::Switch, [value], detail), None)?;
        Ok(Leaves::new())
    }

    /// Bitcasts scalars to scalars of another size, low bits first.
    fn regroup(&mut self, parts: &[Value], to: &[Scalar]) -> ImportResult<Leaves> {
        let (Some(&first), Some(&wanted)) = (parts.first(), to.first()) else { return Ok(Leaves::new()) };
        let from = self.scalar(first);
        if from == wanted {
            return Ok(parts.iter().copied().collect());
        }
        if from.bits() == wanted.bits() {
            return parts.iter().map(|&part| self.same_bits(part, wanted)).collect();
        }
        let (Some(from_int), Some(to_int)) = (Scalar::int(from.bits()), Scalar::int(wanted.bits())) else {
            return Err(ImportRefusal::new("no integer type for the parts", "cast element by element"));
        };
        let mut ints = Leaves::new();
        for &part in parts {
            ints.push(self.same_bits(part, from_int)?);
        }
        let mut result = Leaves::new();
        if from.bits() > wanted.bits() && from.bits().is_multiple_of(wanted.bits()) {
            for int in ints {
                for piece in 0..from.bits() / wanted.bits() {
                    let amount = self.int(from_int, (piece * wanted.bits()).into());
                    let shifted = if piece == 0 { int } else { self.op(Op::Lshr, &[int, amount])? };
                    let cut = self.op_to(Op::Trunc, to_int, &[shifted])?;
                    result.push(self.same_bits(cut, wanted)?);
                }
            }
        } else if wanted.bits().is_multiple_of(from.bits()) {
            for group in ints.chunks((wanted.bits() / from.bits()) as usize) {
                let mut whole = None;
                for (piece, &int) in group.iter().enumerate() {
                    let wide = self.op_to(Op::Zext, to_int, &[int])?;
                    let amount = self.int(to_int, piece as i128 * i128::from(from.bits()));
                    whole = Some(match whole {
                        None => wide,
                        Some(lower) => {
                            let shifted = self.op_with(Op::Shl, &[wide, amount], Flags::of(&[Flag::Nuw]))?;
                            self.op_with(Op::Or, &[lower, shifted], Flags::of(&[Flag::Disjoint]))?
                        }
                    });
                }
                if let Some(whole) = whole {
                    result.push(self.same_bits(whole, wanted)?);
                }
            }
        } else {
            return Err(ImportRefusal::new(
                "the elements of the two vectors do not divide each other",
                "cast element by element",
            ));
        }
        Ok(result)
    }

    /// Bitcasts a value to a type of the same size.
    pub(super) fn same_bits(&mut self, value: Value, to: Scalar) -> ImportResult<Value> {
        match (self.scalar(value), to) {
            (from, to) if from == to => Ok(value),
            (Scalar::Ptr(_), Scalar::Ptr(_)) => self.op_to(Op::SpaceCast, to, &[value]),
            (Scalar::Ptr(_), _) => {
                let int = self.op_to(Op::Ptrtoint, Scalar::I64, &[value])?;
                self.same_bits(int, to)
            }
            (_, Scalar::Ptr(_)) => {
                let int = self.same_bits(value, Scalar::I64)?;
                self.op_to(Op::Inttoptr, to, &[int])
            }
            _ => self.op_to(Op::Bitcast, to, &[value]),
        }
    }
}

/// True if the value reaches an address through a short chain of integer arithmetic.
fn leads_to_address(inst: Val<'_>) -> bool {
    let mut found = vec![inst];
    for _ in 0..MAX_STEPS_TO_ADDRESS {
        found = found.iter().flat_map(|value| value.users(MAX_USERS)).collect();
        if found.iter().any(|user| user.opcode() == Code::LLVMGetElementPtr) {
            return true;
        }
        use Code::*;
        let goes_on = |user: &Val<'_>| {
            matches!(user.opcode(), LLVMAdd | LLVMSub | LLVMMul | LLVMShl | LLVMOr | LLVMSExt | LLVMZExt)
        };
        found.retain(goes_on);
        found.truncate(MAX_USERS);
    }
    false
}

fn wrap(inst: Val<'_>) -> Flags {
    let mut flags = Flags::NONE;
    if inst.has_nuw() {
        flags = flags.with(Flag::Nuw);
    }
    if inst.has_nsw() {
        flags = flags.with(Flag::Nsw);
    }
    flags
}

fn exact(inst: Val<'_>) -> Flags {
    if inst.is_exact() { Flags::NONE.with(Flag::Exact) } else { Flags::NONE }
}

/// Returns the two branch weights of a `prof` node, scaled to 32 bits.
fn branch_weights(numbers: Option<Vec<Option<u64>>>) -> Option<[u32; 2]> {
    let numbers: Vec<u64> = numbers?.into_iter().flatten().collect();
    let &[a, b] = &numbers[..] else { return None };
    let shift = 64u32.saturating_sub((a | b).leading_zeros()).saturating_sub(32);
    let weights = [(a >> shift) as u32, (b >> shift) as u32];
    (weights != [0, 0]).then_some(weights)
}
