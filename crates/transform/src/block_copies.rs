//! Copies blocks within a function.

use heddle_ir::inst::Detail;
use heddle_ir::{Block, Function, Inst, Type, Value};
use rustc_hash::FxHashMap;

/// Maps from original blocks, instructions and values to their copies.
pub(crate) struct BlockCopies {
    blocks: FxHashMap<Block, Block>,
    values: FxHashMap<Value, Value>,
    insts: FxHashMap<Inst, Inst>,
}

impl BlockCopies {
    /// Returns the copy of a block, or the block itself if it was not copied.
    pub(crate) fn block(&self, block: Block) -> Block {
        self.blocks.get(&block).copied().unwrap_or(block)
    }

    /// Returns the copy of an instruction, or the instruction itself if it was not copied.
    pub(crate) fn inst(&self, inst: Inst) -> Inst {
        self.insts.get(&inst).copied().unwrap_or(inst)
    }

    /// Returns the copy of a value, or the value itself if it was not copied.
    pub(crate) fn value(&self, value: Value) -> Value {
        self.values.get(&value).copied().unwrap_or(value)
    }
}

/// Appends copies of blocks to the function. Edges among them lead to copies, edges out of them to the original targets.
pub(crate) fn copy_blocks(func: &mut Function, blocks: &[Block]) -> BlockCopies {
    let mut copy = BlockCopies {
        blocks: FxHashMap::default(),
        values: FxHashMap::default(),
        insts: FxHashMap::default(),
    };
    let mut inside: Vec<Block> = Vec::new();
    for &block in blocks {
        let new = func.append_block();
        copy.blocks.insert(block, new);
        inside.push(new);
    }
    let mut made: Vec<Inst> = Vec::new();
    for (&block, &new) in blocks.iter().zip(&inside) {
        let insts: Vec<Inst> = func.block_insts(block).collect();
        for inst in insts {
            let data = func.inst(inst).clone();
            let types: Vec<Type> = func.results(inst).iter().map(|&value| func.value_type(value)).collect();
            let copy_inst = func.make_inst(data, &types);
            func.layout.append_inst(copy_inst, new);
            copy.insts.insert(inst, copy_inst);
            let pairs: Vec<(Value, Value)> =
                func.results(inst).iter().copied().zip(func.results(copy_inst).iter().copied()).collect();
            copy.values.extend(pairs);
            made.push(copy_inst);
        }
    }
    for inst in made {
        let data = func.inst_mut(inst);
        data.map_values(|value| copy.value(value));
        if let Detail::Phi(sources) = &mut data.detail {
            for source in sources.iter_mut() {
                *source = copy.block(*source);
            }
        }
        for target in data.targets_mut() {
            *target = copy.block(*target);
        }
    }
    copy
}
