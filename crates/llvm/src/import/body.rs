//! Import of function bodies: blocks in reverse postorder, values decomposed into scalars.

use super::ModuleImporter;
use super::refusal::{ImportRefusal, ImportResult};
use crate::debug_names::named_values;
use crate::private_arrays::ARRAYS;
use crate::view::{Bb, Val};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::entity::Entity;
use heddle_ir::function::{MetadataKind, Origin, OriginData, RegisterArray, SourceLoc};
use heddle_ir::inst::InstData;
use heddle_ir::module::{Declaration, MetadataNode};
use heddle_ir::words::Flags;
use heddle_ir::{Block, Constant, Diagnostic, Function, Inst, Op, Scalar, Type, Value};
use llvm_sys::{LLVMOpcode, LLVMValueKind};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Scalars of a decomposed LLVM value.
pub(super) type Leaves = SmallVec<[Value; 2]>;

/// Importer of one function body.
pub(super) struct BodyImporter<'i, 'm> {
    pub(super) module: &'i ModuleImporter<'m>,
    pub(super) func: Function,
    /// Scalars of each imported LLVM value.
    pub(super) values: FxHashMap<Val<'m>, Leaves>,
    pub(super) blocks: FxHashMap<Bb<'m>, Block>,
    /// Last Heddle block of each LLVM block that was split.
    ends: FxHashMap<Bb<'m>, Block>,
    source_block: Option<Bb<'m>>,
    /// True while instructions go to the prologue, which computes constants once.
    pub(super) in_prologue: bool,
    /// Shared frozen poison value of each type, for `undef`.
    pub(super) undefined: FxHashMap<Scalar, Value>,
    /// Casts of globals' addresses, by address and space.
    casts: FxHashMap<(Value, Scalar), Value>,
    prologue_end: Option<Inst>,
    block: Block,
    /// Source location of new instructions.
    loc: Option<SourceLoc>,
    /// Metadata facts of the current instruction.
    tags: SmallVec<[(MetadataKind, MetadataNode); 2]>,
}

/// Imports the body of a defined function.
pub(super) fn import_body<'m>(
    module: &ModuleImporter<'m>,
    source: Val<'m>,
    declaration: &Declaration,
) -> Result<Function, Diagnostic> {
    let mut func = Function::new(declaration.name.clone(), declaration.signature.clone());
    func.kind = declaration.kind;
    let order = source.reverse_postorder();
    let reachable: FxHashSet<Bb<'m>> = order.iter().copied().collect();
    let mut blocks = FxHashMap::default();
    for block in source.blocks().into_iter().filter(|block| reachable.contains(block)) {
        blocks.insert(block, func.append_block());
    }
    let mut body = BodyImporter {
        module,
        func,
        values: FxHashMap::default(),
        blocks,
        ends: FxHashMap::default(),
        source_block: None,
        in_prologue: false,
        undefined: FxHashMap::default(),
        casts: FxHashMap::default(),
        prologue_end: None,
        block: Block::new(0),
        loc: None,
        tags: SmallVec::new(),
    };
    let mut params = body.func.params().to_vec().into_iter();
    for param in source.params() {
        let count = module.types.leaves(param.ty()).map_or(0, |leaves| leaves.len());
        body.values.insert(param, params.by_ref().take(count).collect());
    }
    let mut phis = Vec::new();
    for block in order {
        body.block = body.blocks[&block];
        body.source_block = Some(block);
        for inst in block.insts() {
            let taken = match inst.opcode() {
                LLVMOpcode::LLVMPHI => body.open_phi(inst).map(|opened| phis.push((inst, opened))),
                _ => body.import_inst(inst),
            };
            taken.map_err(|why| body.refusal(source, inst, why))?;
        }
    }
    for (inst, opened) in phis {
        body.close_phi(inst, &opened).map_err(|why| body.refusal(source, inst, why))?;
    }
    body.name_values(source);
    body.note_register_arrays(source);
    Ok(body.func)
}

impl<'m> BodyImporter<'_, 'm> {
    fn refusal(&self, func: Val<'m>, inst: Val<'m>, why: ImportRefusal) -> Diagnostic {
        let at = inst.debug_loc().map(|loc| (loc.file, loc.line, loc.column));
        why.of_inst(&func.name(), inst.text(), at)
    }

    /// Names values after source variables; the first name found wins.
    fn name_values(&mut self, source: Val<'m>) {
        for inst in source.blocks().into_iter().flat_map(Bb::insts) {
            for (value, name) in named_values(self.module.llvm, inst) {
                let Some(leaves) = self.values.get(&value).filter(|_| !value.is_constant()) else { continue };
                for &leaf in leaves {
                    if self.func.name_of(leaf).is_none() && self.func.constant(leaf).is_none() {
                        self.func.set_name(leaf, &*name);
                    }
                }
            }
        }
    }

    /// Notes the source's private arrays that LLVM's passes have promoted.
    fn note_register_arrays(&mut self, source: Val<'m>) {
        let Some(listed) = source.text_attribute(ARRAYS) else { return };
        let func = &self.func;
        let insts = func.blocks().flat_map(|block| func.block_insts(block));
        let left: Vec<(Option<&str>, Option<SourceLoc>)> = insts
            .filter(|&inst| func.inst(inst).op == Op::Alloca)
            .map(|inst| (func.result(inst).and_then(|address| func.name_of(address)), func.loc(inst)))
            .collect();
        let mut promoted = Vec::new();
        for line in listed.lines() {
            let mut parts = line.split('\t');
            let mut next = || parts.next().unwrap_or_default();
            let (name, line, column, bytes, file) = (next(), next(), next(), next(), next());
            let number = |text: &str| text.parse().unwrap_or(0u32);
            let file = self.module.file(file.to_string());
            let loc = Some(SourceLoc { file, line: number(line), column: number(column) });
            if !left.contains(&(Some(name), loc)) {
                promoted.push(RegisterArray { name: name.into(), loc, bytes: number(bytes).into() });
            }
        }
        self.func.register_arrays = promoted;
    }

    /// Imports an instruction other than a φ.
    fn import_inst(&mut self, inst: Val<'m>) -> ImportResult<()> {
        self.loc = inst.debug_loc().map(|loc| {
            let file = self.module.file(loc.file);
            SourceLoc { file, line: loc.line, column: loc.column }
        });
        self.tags = self.module.tags(inst);
        let leaves = self.instruction(inst)?;
        let expected = self.module.types.leaves(inst.ty())?.len();
        if leaves.len() != expected {
            let reason = format!("internal error: {} parts instead of {expected}", leaves.len());
            return Err(ImportRefusal::new(reason, "please report it, with this file"));
        }
        self.values.insert(inst, leaves);
        Ok(())
    }

    /// Returns the scalars of an LLVM value.
    pub(super) fn leaves(&mut self, value: Val<'m>) -> ImportResult<Leaves> {
        if let Some(known) = self.values.get(&value) {
            return Ok(known.clone());
        }
        if value.kind() == LLVMValueKind::LLVMInlineAsmValueKind {
            return Err(ImportRefusal::new("inline assembly", "write it in C"));
        }
        if value.is_constant() {
            return self.constant(value, 0);
        }
        Err(ImportRefusal::new(
            format!("`{}` as a value", value.text()),
            "compile without the feature that needs it",
        ))
    }

    /// Returns the scalar of a single-scalar LLVM value.
    pub(super) fn leaf(&mut self, value: Val<'m>) -> ImportResult<Value> {
        match self.leaves(value)?[..] {
            [one] => Ok(one),
            _ => Err(ImportRefusal::new(
                format!("`{}` is not a scalar", value.text()),
                "split it in the source",
            )),
        }
    }

    /// Returns a single-scalar operand.
    pub(super) fn operand(&mut self, inst: Val<'m>, index: u32) -> ImportResult<Value> {
        self.leaf(inst.operand(index))
    }

    /// Returns the scalars of all operands.
    pub(super) fn operands(&mut self, inst: Val<'m>) -> ImportResult<Vec<Leaves>> {
        let mut all = Vec::new();
        for operand in inst.operands() {
            all.push(self.leaves(operand)?);
        }
        Ok(all)
    }

    // Instruction insertion.

    /// Appends an instruction to the current block or the prologue.
    pub(super) fn emit_inst(&mut self, mut data: InstData, written: Option<Type>) -> ImportResult<Inst> {
        let at = match (self.in_prologue, self.prologue_end) {
            (false, _) => InsertPoint::End(self.block),
            (true, Some(last)) => InsertPoint::After(last),
            (true, None) => InsertPoint::Start(self.func.entry()),
        };
        if !self.in_prologue {
            data.origin = self.origin(data.op);
        }
        let put = Builder::new(&mut self.func, at).try_inst(data, written);
        let inst = put.map_err(|error| {
            ImportRefusal::new(
                format!("internal error: type mismatch ({error})"),
                "please report it, with this file",
            )
        })?;
        if self.in_prologue {
            self.prologue_end = Some(inst);
        }
        Ok(inst)
    }

    /// Creates a block after the current one in layout.
    pub(super) fn new_block(&mut self) -> Block {
        self.func.insert_block_after(self.block)
    }

    /// Returns the current block.
    pub(super) fn here(&self) -> Block {
        self.block
    }

    /// Continues in another block.
    pub(super) fn switch_to(&mut self, block: Block) {
        self.block = block;
    }

    /// Continues in another block, which becomes the end of the current LLVM block.
    pub(super) fn end_in(&mut self, block: Block) {
        self.block = block;
        if let Some(source) = self.source_block {
            self.ends.insert(source, block);
        }
    }

    /// Returns the origin of a new instruction.
    fn origin(&mut self, op: Op) -> Origin {
        let tags: SmallVec<_> = self.tags.iter().copied().filter(|(tag, _)| tag.applies_to(op)).collect();
        match (self.loc, tags) {
            (None, tags) if tags.is_empty() => Origin::NONE,
            (loc, tags) => self.func.make_origin(OriginData { loc, tags }),
        }
    }

    /// Appends an instruction and returns its only result.
    pub(super) fn emit(&mut self, data: InstData, written: Option<Type>) -> ImportResult<Value> {
        let inst = self.emit_inst(data, written)?;
        self.func.result(inst).ok_or_else(|| ImportRefusal::new("internal error: no value", "report it"))
    }

    pub(super) fn op(&mut self, op: Op, args: &[Value]) -> ImportResult<Value> {
        self.emit(InstData::plain(op, args.iter().copied()), None)
    }

    pub(super) fn op_with(&mut self, op: Op, args: &[Value], flags: Flags) -> ImportResult<Value> {
        self.emit(InstData { flags, ..InstData::plain(op, args.iter().copied()) }, None)
    }

    pub(super) fn op_to(&mut self, op: Op, to: Scalar, args: &[Value]) -> ImportResult<Value> {
        self.emit(InstData::plain(op, args.iter().copied()), Some(Type::Scalar(to)))
    }

    pub(super) fn int(&mut self, scalar: Scalar, value: i128) -> Value {
        self.func.make_int(scalar, value)
    }

    /// Returns the constant of a type with the given bits.
    pub(super) fn bits(&mut self, scalar: Scalar, bits: u128) -> Value {
        self.func.make_const(Constant::Scalar(scalar, bits & scalar.bit_mask()))
    }

    /// Returns the type of a value, a scalar at this stage.
    pub(super) fn scalar(&self, value: Value) -> Scalar {
        self.func.value_type(value).scalar()
    }

    /// Sign-extends or truncates an integer to i64.
    pub(super) fn i64_of(&mut self, value: Value) -> ImportResult<Value> {
        let scalar = self.scalar(value);
        if let Some(bits) = self.constant_int(value) {
            return Ok(self.int(Scalar::I64, bits.into()));
        }
        match scalar.bits() {
            64 => Ok(value),
            65.. => self.op_to(Op::Trunc, Scalar::I64, &[value]),
            _ => self.op_to(Op::Sext, Scalar::I64, &[value]),
        }
    }

    /// Returns a constant integer, sign-extended or truncated to 64 bits.
    pub(super) fn constant_int(&self, value: Value) -> Option<i64> {
        match self.func.constant(value) {
            Some(Constant::Scalar(scalar, bits)) if scalar.is_int() => {
                let gap = 64u32.saturating_sub(scalar.bits());
                Some(((*bits as u64) << gap) as i64 >> gap)
            }
            _ => None,
        }
    }

    /// Casts an address to a pointer type; caches casts of constants in the prologue.
    pub(super) fn in_space(&mut self, address: Value, to: Scalar) -> ImportResult<Value> {
        if self.scalar(address) == to {
            return Ok(address);
        }
        if self.func.constant(address).is_none() {
            return self.op_to(Op::SpaceCast, to, &[address]);
        }
        if let Some(&known) = self.casts.get(&(address, to)) {
            return Ok(known);
        }
        let before = std::mem::replace(&mut self.in_prologue, true);
        let cast = self.op_to(Op::SpaceCast, to, &[address]);
        self.in_prologue = before;
        let cast = cast?;
        self.casts.insert((address, to), cast);
        Ok(cast)
    }

    /// Returns the Heddle block of an LLVM block.
    pub(super) fn target(&self, block: Bb<'m>) -> ImportResult<Block> {
        self.blocks
            .get(&block)
            .copied()
            .ok_or_else(|| ImportRefusal::new("internal error: unknown block", "report it"))
    }

    // φs.

    fn open_phi(&mut self, inst: Val<'m>) -> ImportResult<Vec<Inst>> {
        let leaves = self.module.types.leaves(inst.ty())?;
        let mut opened = Vec::new();
        let mut values = Leaves::new();
        for leaf in leaves.iter() {
            let phi = self.func.make_inst(InstData::phi([], None), &[Type::Scalar(leaf.scalar)]);
            self.func.layout.append_inst(phi, self.block);
            values.extend(self.func.result(phi));
            opened.push(phi);
        }
        self.values.insert(inst, values);
        Ok(opened)
    }

    /// Fills in the φ operands: one for each reachable predecessor, even with several edges.
    fn close_phi(&mut self, inst: Val<'m>, opened: &[Inst]) -> ImportResult<()> {
        let mut seen = FxHashSet::default();
        let mut incoming: Vec<(Block, Leaves)> = Vec::new();
        for (value, from) in inst.incoming() {
            if let Some(&block) = self.blocks.get(&from)
                && seen.insert(block)
            {
                let end = self.ends.get(&from).copied().unwrap_or(block);
                incoming.push((end, self.leaves(value)?));
            }
        }
        for (index, &phi) in opened.iter().enumerate() {
            let edges = incoming.iter().map(|(block, leaves)| (*block, leaves[index]));
            let data = InstData::phi(edges, None);
            let phi = self.func.inst_mut(phi);
            phi.args = data.args;
            phi.detail = data.detail;
        }
        Ok(())
    }
}
