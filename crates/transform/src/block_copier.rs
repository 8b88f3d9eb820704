//! Copies blocks and instructions of one function into another, or within a function.

use heddle_ir::entity::SecondaryMap;
use heddle_ir::function::Origin;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::{Block, Function, Inst, Type, Value};
use smallvec::SmallVec;

/// Copies blocks between functions, with a map from source values and blocks to their copies.
pub(crate) struct BlockCopier<'a> {
    from: &'a Function,
    values: SecondaryMap<Value, Option<Value>>,
    blocks: SecondaryMap<Block, Option<Block>>,
    insts: SecondaryMap<Inst, Option<Inst>>,
    /// True if the destination is the function itself: what is not copied stands for itself.
    is_within: bool,
}

impl<'a> BlockCopier<'a> {
    /// Returns a copier with empty maps.
    pub(crate) fn new(from: &'a Function) -> BlockCopier<'a> {
        BlockCopier {
            from,
            values: SecondaryMap::with_len(from.value_count()),
            blocks: SecondaryMap::with_len(from.block_count()),
            insts: SecondaryMap::new(),
            is_within: false,
        }
    }

    /// Appends copies of blocks to the function. Edges among them lead to copies, edges out of them to the original targets. `from` is
    /// the function as it is before.
    pub(crate) fn within(from: &'a Function, into: &mut Function, blocks: &[Block]) -> BlockCopier<'a> {
        let mut copier = BlockCopier { is_within: true, ..BlockCopier::new(from) };
        copier.copy_blocks(into, blocks);
        copier
    }

    /// Maps a source value to a value of the destination, which takes over its source name.
    pub(crate) fn set(&mut self, into: &mut Function, value: Value, copy: Value) {
        into.copy_name(copy, self.from, value);
        self.values[value] = Some(copy);
    }

    /// Maps a source value to a value of the destination, which keeps its name.
    pub(crate) fn bind(&mut self, value: Value, copy: Value) {
        self.values[value] = Some(copy);
    }

    /// Maps a source block to a block of the destination.
    pub(crate) fn bind_block(&mut self, block: Block, copy: Block) {
        self.blocks[block] = Some(copy);
    }

    /// Returns the copy of a block.
    pub(crate) fn block(&self, block: Block) -> Option<Block> {
        self.blocks[block]
    }

    /// Returns the copy of a block, or the block itself if it was not copied.
    pub(crate) fn block_or_self(&self, block: Block) -> Block {
        self.blocks[block].unwrap_or(block)
    }

    /// Returns the copy of an instruction, or the instruction itself if it was not copied.
    pub(crate) fn inst_or_self(&self, inst: Inst) -> Inst {
        self.insts[inst].unwrap_or(inst)
    }

    /// Returns the copy of a value, or the value itself if it was not copied.
    pub(crate) fn value_or_self(&self, value: Value) -> Value {
        self.values[value].unwrap_or(value)
    }

    /// Returns the copy of a value. A value that was neither copied nor set is never read, so it becomes poison.
    pub(crate) fn value(&mut self, into: &mut Function, value: Value) -> Value {
        if self.is_within || self.values[value].is_some() {
            return self.value_or_self(value);
        }
        let copy = match self.from.constant(value) {
            Some(constant) => into.make_const(constant.clone()),
            None => into.make_poison(self.from.value_type(value)),
        };
        self.values[value] = Some(copy);
        copy
    }

    /// Appends copies of blocks to a function, in this order. φs keep only the edges from copied blocks. Targets outside of the
    /// copied blocks keep their numbers: the caller replaces terminators that have any.
    pub(crate) fn copy_blocks(&mut self, into: &mut Function, blocks: &[Block]) {
        for &block in blocks {
            self.blocks[block] = Some(into.append_block());
        }
        let mut copies: Vec<Inst> = Vec::new();
        for &block in blocks {
            let place = self.blocks[block].expect("the block was appended");
            for inst in self.from.block_insts(block) {
                let copy = self.make(into, inst);
                into.layout.append_inst(copy, place);
                copies.push(copy);
            }
        }
        for copy in copies {
            self.translate(into, copy);
        }
    }

    /// Replaces the source's operands, targets and predecessors of a copied instruction by their copies.
    pub(crate) fn translate(&mut self, into: &mut Function, copy: Inst) {
        let mut data = into.inst(copy).clone();
        if let Detail::Phi(_) = data.detail {
            let kept = data.incoming().filter_map(|(pred, value)| Some((self.blocks[pred]?, value)));
            data = InstData { flags: data.flags, origin: data.origin, ..InstData::phi(kept, data.shadow()) };
        }
        for target in data.targets_mut() {
            *target = self.block_or_self(*target);
        }
        data.map_values(|value| self.value(into, value));
        *into.inst_mut(copy) = data;
    }

    /// Appends copies of instructions to a block. Their operands were copied or set before.
    pub(crate) fn copy_insts(&mut self, into: &mut Function, insts: &[Inst], block: Block) {
        for &inst in insts {
            let copy = self.make(into, inst);
            let mut data = into.inst(copy).clone();
            data.map_values(|value| self.value(into, value));
            *into.inst_mut(copy) = data;
            into.layout.append_inst(copy, block);
        }
    }

    /// Copies an instruction with its original operands, targets and predecessors.
    fn make(&mut self, into: &mut Function, inst: Inst) -> Inst {
        let origin = match self.from.inst(inst).origin {
            Origin::NONE => Origin::NONE,
            origin => into.make_origin(self.from.origin(origin).clone()),
        };
        self.make_with_origin(into, inst, origin)
    }

    /// As `make`, with an origin of the destination.
    pub(crate) fn make_with_origin(&mut self, into: &mut Function, inst: Inst, origin: Origin) -> Inst {
        let mut data = InstData { origin, ..self.from.inst(inst).clone() };
        match &mut data.detail {
            Detail::Call(callee) => *callee = into.make_callee(&self.from.callees[*callee]),
            Detail::Launch(launch) => launch.callee = into.make_callee(&self.from.callees[launch.callee]),
            _ => {}
        }
        let results = self.from.results(inst);
        let types: SmallVec<[Type; 2]> = results.iter().map(|&value| self.from.value_type(value)).collect();
        let copy = into.make_inst(data, &types);
        self.insts[inst] = Some(copy);
        for (index, &old) in results.iter().enumerate() {
            let new = into.results(copy)[index];
            self.set(into, old, new);
        }
        copy
    }
}
