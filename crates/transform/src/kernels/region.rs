//! The lock-step function of a state.

use super::copy::Copier;
use super::states::States;
use heddle_ir::entity::EntitySet;
use heddle_ir::inst::InstData;
use heddle_ir::module::{DeclaredShape, Kind, Returned, Signature};
use heddle_ir::{Block, Function, Op, Type, Value, ValueDef};

/// What a state became.
pub(super) struct Region {
    /// The function.
    pub(super) func: Function,
    /// Which values of the kernel it takes, in order.
    pub(super) takes: Vec<Value>,
    /// Whether its first result says which state is next.
    pub(super) gives_next: bool,
}

/// What says that no state is next.
pub(super) const END: u32 = u32::MAX;

/// The lock-step function of a state. Parameters of the kernel of which nothing is said are uniform.
pub(super) fn make_region(kernel: &Function, states: &States, number: usize) -> Region {
    let state = &states.all[number];
    let is_open = |value: &Value| matches!(kernel.value_def(*value), ValueDef::Param(_));
    let mut read: EntitySet<Value> = EntitySet::new();
    for &block in &state.blocks {
        for inst in kernel.block_insts(block) {
            kernel.inst(inst).args.iter().for_each(|&arg| _ = read.insert(arg));
        }
    }
    let takes: Vec<Value> = read.iter().filter(is_open).collect();
    let params = takes.iter().map(|&value| {
        let ValueDef::Param(index) = kernel.value_def(value) else { unreachable!("{value} is a parameter") };
        let mut param = kernel.signature.params[index as usize].clone();
        param.shape.get_or_insert(DeclaredShape::Uniform);
        param
    });
    let gives_next = state.next.len() + usize::from(state.ends) > 1;
    let next = Returned { ty: Type::I32, shape: Some(DeclaredShape::Uniform) };
    let signature = Signature {
        params: params.collect(),
        results: gives_next.then_some(next).into_iter().collect(),
        effects: kernel.signature.effects,
    };
    let mut func = Function::new(format!("{}.region{number}", kernel.name), signature);
    func.kind = Kind::Function;
    let entry = func.append_block();
    let mut copier = Copier::new(kernel);
    for (&value, &param) in takes.iter().zip(&func.params().to_vec()) {
        copier.set(value, param);
    }
    copier.copy_blocks(&mut func, &state.blocks);
    let copy = |block: Block| copier.block(block).expect("blocks of the state were copied");
    let jump = func.make_inst(InstData::jump(copy(state.start)), &[]);
    func.layout.append_inst(jump, entry);
    for &block in &state.blocks {
        let end = kernel.terminator(block).filter(|&inst| kernel.inst(inst).op == Op::Ret);
        let next = match (states.behind[block], end) {
            (Some(next), _) => next as u32,
            (None, Some(_)) => END,
            (None, None) => continue,
        };
        let results: Option<Value> = gives_next.then(|| func.make_int(heddle_ir::Scalar::I32, next.into()));
        let terminator = func.terminator(copy(block)).expect("a copied block has a terminator");
        let origin = func.inst(terminator).origin;
        *func.inst_mut(terminator) = InstData { origin, ..InstData::plain(Op::Ret, results) };
    }
    Region { func, takes, gives_next }
}
