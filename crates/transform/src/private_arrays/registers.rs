//! Promotes private arrays that are accessed at constant offsets only to a value for each element.
//!
//! SSA construction by dominance frontiers, pruned by liveness: a φ stands where several definitions of an element meet and a
//! load may follow. What is loaded before anything is stored is poison, as in memory.

use super::elements::{is_whole_fill, replace_values};
use super::transfers;
use super::uses::{ArrayInfo, ArrayOffset, ArrayUses, accessed_bytes};
use crate::edges::{add_incoming, prepend_phi};
use heddle_analysis::{Cfg, DominanceFrontier, DominatorTree};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::function::RegisterArray;
use heddle_ir::{Block, Function, Inst, InstData, Op, Scalar, Type, Value};

/// Maximum number of elements of a promoted array.
const MAX_ELEMENTS: u64 = 64;
/// Maximum number of promoted elements of all arrays, times the number of blocks.
const MAX_WORK: usize = 1 << 22;

/// Promoted elements of a function.
#[derive(Default)]
struct PromotedElements {
    /// Type of each element's value.
    types: Vec<Type>,
    /// Loads and stores, with their element.
    element_of: SecondaryMap<Inst, Option<u32>>,
    /// Fills and `alloca`s, which make a new object, with their first element and the number of elements.
    fills: SecondaryMap<Inst, Option<(u32, u32)>>,
}

/// Promotes all arrays that can be; returns their number.
pub(super) fn promote_arrays(func: &mut Function) -> usize {
    let uses = ArrayUses::new(func);
    let cfg = Cfg::new(func);
    // No φ can stand in the entry.
    if !cfg.preds(func.entry()).is_empty() {
        return 0;
    }
    let mut elements = PromotedElements::default();
    let (mut promoted, mut arrays) = (0, Vec::new());
    for array in &uses.arrays {
        let room = MAX_WORK / func.block_count().max(1);
        if let Some(types) = element_types(func, &cfg, &uses, array)
            && elements.types.len() + types.len() <= room
        {
            elements.add(func, &uses, array, types);
            promoted += 1;
            arrays.extend(func.name_of(array.address).map(|name| RegisterArray {
                name: name.into(),
                loc: func.loc(array.alloca),
                bytes: array.bytes,
            }));
        }
    }
    func.register_arrays.extend(arrays);
    if promoted > 0 {
        rename(func, &cfg, &elements);
    }
    promoted
}

/// Types of an array's elements; none if it cannot be promoted.
fn element_types(func: &Function, cfg: &Cfg, uses: &ArrayUses, array: &ArrayInfo) -> Option<Vec<Type>> {
    let element = array.element.filter(|_| array.is_tracked)?;
    let count = array.bytes / u64::from(element);
    if count > MAX_ELEMENTS {
        return None;
    }
    let is_reached = |inst: Inst| {
        func.layout
            .block_of(inst)
            .is_some_and(|block| cfg.is_reachable(block) && func.predicate(block).is_none())
    };
    let mut types: Vec<Option<Type>> = vec![None; count as usize];
    for &inst in &array.accesses {
        let index = element_index(func, uses, inst, element)?;
        let data = func.inst(inst);
        let accessed = if data.op == Op::Load { func.result(inst)? } else { data.args[0] };
        let (ty, slot) = (func.value_type(accessed), types.get_mut(index)?);
        let merged = match *slot {
            None => ty,
            Some(other) if other == ty => ty,
            Some(other) => common_type(other, ty)?,
        };
        *slot = Some(merged);
        if accessed_bytes(func, inst) != Some(element) || !is_reached(inst) {
            return None;
        }
    }
    let is_fill = |&inst: &Inst| is_whole_fill(func, array, inst) && is_reached(inst);
    if !array.transfers.iter().all(is_fill) {
        return None;
    }
    let unused = Type::Scalar(Scalar::int(8 * element)?);
    // Booleans and pointers are no repeated bytes.
    let has_fills = !array.transfers.is_empty();
    let types: Vec<Type> = types.into_iter().map(|ty| ty.unwrap_or(unused)).collect();
    let is_number = |ty: &Type| ty.scalar() != Scalar::I1 && !ty.scalar().is_ptr();
    (!has_fills || types.iter().all(is_number)).then_some(types)
}

/// Integer type that has the bits of both types.
fn common_type(a: Type, b: Type) -> Option<Type> {
    let is_number = |ty: Type| ty.scalar() != Scalar::I1 && !ty.scalar().is_ptr();
    let scalar = Scalar::int(8 * a.bytes()).filter(|_| is_number(a) && is_number(b))?;
    Some(scalar.into())
}

/// Number of the element that a load or store accesses at a constant offset.
fn element_index(func: &Function, uses: &ArrayUses, inst: Inst, element: u32) -> Option<usize> {
    let data = func.inst(inst);
    let address = data.args[usize::from(data.op == Op::Store)];
    let (_, _, ArrayOffset::Constant(at)) = uses.element_array(address)? else { return None };
    let at = u64::try_from(at).ok()?;
    at.is_multiple_of(element.into()).then_some((at / u64::from(element)) as usize)
}

impl PromotedElements {
    fn add(&mut self, func: &Function, uses: &ArrayUses, array: &ArrayInfo, types: Vec<Type>) {
        let first = self.types.len() as u32;
        let element = array.element.unwrap_or(1);
        for &inst in &array.accesses {
            self.element_of[inst] =
                element_index(func, uses, inst, element).map(|index| first + index as u32);
        }
        for &inst in array.transfers.iter().chain([&array.alloca]) {
            self.fills[inst] = Some((first, types.len() as u32));
        }
        self.types.extend(types);
    }
}

/// Replaces loads by the values of elements, and removes stores and fills.
fn rename(func: &mut Function, cfg: &Cfg, elements: &PromotedElements) {
    let dominators = DominatorTree::new(cfg);
    let frontier = DominanceFrontier::new(cfg, &dominators);
    let count = elements.types.len();
    // Blocks that define each element, and blocks that load it first.
    let mut defined: Vec<EntitySet<Block>> = vec![EntitySet::new(); count];
    let mut read: Vec<Vec<Block>> = vec![Vec::new(); count];
    for &block in dominators.pre_order() {
        for inst in func.block_insts(block) {
            if let Some((first, fills)) = elements.fills[inst] {
                (first..first + fills).for_each(|element| _ = defined[element as usize].insert(block));
            }
            let Some(element) = elements.element_of[inst] else { continue };
            let element = element as usize;
            if func.inst(inst).op == Op::Store {
                defined[element].insert(block);
            } else if !defined[element].contains(block) && read[element].last() != Some(&block) {
                read[element].push(block);
            }
        }
    }
    let mut phis: SecondaryMap<Block, Vec<(u32, Value)>> = SecondaryMap::with_len(func.block_count());
    for element in 0..count {
        let live = live_in(cfg, &defined[element], &read[element]);
        for block in frontier.iterated(defined[element].iter()) {
            if live.contains(block) {
                let value = prepend_phi(func, block, InstData::phi([], None), elements.types[element]);
                phis[block].push((element as u32, value));
            }
        }
    }
    enum ArrayVisit {
        Enter(Block),
        Leave(usize),
    }
    let mut current: Vec<Option<Value>> = vec![None; count];
    let mut changes: Vec<(usize, Option<Value>)> = Vec::new();
    let mut replaced: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    let mut work = vec![ArrayVisit::Enter(func.entry())];
    while let Some(visit) = work.pop() {
        let block = match visit {
            ArrayVisit::Enter(block) => block,
            ArrayVisit::Leave(mark) => {
                for (element, value) in changes.drain(mark..).rev() {
                    current[element] = value;
                }
                continue;
            }
        };
        work.push(ArrayVisit::Leave(changes.len()));
        for &(element, value) in &phis[block] {
            let element = element as usize;
            changes.push((element, current[element].replace(value)));
        }
        let insts: Vec<Inst> = func.block_insts(block).collect();
        for inst in insts {
            if let Some((first, fills)) = elements.fills[inst] {
                if func.inst(inst).op == Op::Alloca {
                    for element in (first..first + fills).map(|element| element as usize) {
                        changes.push((element, current[element].take()));
                    }
                    continue;
                }
                let byte = func.inst(inst).args[1];
                let mut last: Option<(Type, Value)> = None;
                for element in (first..first + fills).map(|element| element as usize) {
                    let ty = elements.types[element];
                    let value = match last {
                        Some((other, value)) if other == ty => value,
                        _ => fill_value(func, inst, byte, ty),
                    };
                    last = Some((ty, value));
                    changes.push((element, current[element].replace(value)));
                }
                func.remove_inst(inst);
                continue;
            }
            let Some(element) = elements.element_of[inst] else { continue };
            let element = element as usize;
            let ty = elements.types[element];
            let data = func.inst(inst).clone();
            if data.op == Op::Store {
                let value = cast(func, inst, data.args[0], ty);
                changes.push((element, current[element].replace(value)));
                func.remove_inst(inst);
            } else if let Some(result) = func.result(inst) {
                let value = current[element].unwrap_or_else(|| func.make_poison(ty));
                let value = cast(func, inst, value, func.value_type(result));
                replaced[result] = Some(value);
                func.remove_inst(inst);
            }
        }
        let mut successors = cfg.succs(block).to_vec();
        successors.sort_unstable();
        successors.dedup();
        for next in successors {
            for &(element, value) in &phis[next] {
                let ty = elements.types[element as usize];
                let incoming = current[element as usize].unwrap_or_else(|| func.make_poison(ty));
                if let Some(phi) = func.def_inst(value) {
                    add_incoming(func, phi, block, incoming);
                }
            }
        }
        work.extend(dominators.children(block).iter().copied().map(ArrayVisit::Enter));
    }
    replace_values(func, &replaced);
}

/// Blocks at whose start an element may still be loaded.
fn live_in(cfg: &Cfg, defined: &EntitySet<Block>, read: &[Block]) -> EntitySet<Block> {
    let mut live = EntitySet::new();
    let mut work = read.to_vec();
    while let Some(block) = work.pop() {
        if live.insert(block) {
            work.extend(cfg.preds(block).iter().copied().filter(|&pred| !defined.contains(pred)));
        }
    }
    live
}

/// Value of an element whose bytes are all the same.
fn fill_value(func: &mut Function, inst: Inst, byte: Value, ty: Type) -> Value {
    let mut builder = Builder::new(func, InsertPoint::Before(inst));
    let bits = transfers::repeated_byte(&mut builder, byte, ty.bytes());
    cast(func, inst, bits, ty)
}

/// Value with the same bits in another type, computed before an instruction.
fn cast(func: &mut Function, before: Inst, value: Value, ty: Type) -> Value {
    if func.value_type(value) == ty {
        return value;
    }
    Builder::new(func, InsertPoint::Before(before)).op_to(Op::Bitcast, ty, &[value])
}
