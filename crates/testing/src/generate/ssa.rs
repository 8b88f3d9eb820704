//! SSA construction for mutable variables during generation.
//!
//! After: Braun et al., Simple and Efficient Construction of Static Single Assignment Form (CC'13). Trivial φs are
//! removed at the end, in [`prune`], and only where the generator requests it: the rest tests whether passes handle
//! them.

use heddle_ir::entity::{Entity as _, EntitySet};
use heddle_ir::{Block, Detail, Function, Inst, InstData, Op, Type, Value};
use smallvec::SmallVec;

/// A mutable variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct GeneratedVariable(u32);

#[derive(Clone, Default, Debug)]
struct SsaBlock {
    predecessors: SmallVec<[Block; 4]>,
    /// The value of each variable at the end of the block, as far as known.
    current: Vec<Option<Value>>,
    /// φs that wait for the last predecessor.
    waiting: Vec<(GeneratedVariable, Inst)>,
    sealed: bool,
}

/// SSA construction state: the variables' values in the blocks written so far.
#[derive(Default, Debug)]
pub(super) struct GeneratedSsa {
    types: Vec<Type>,
    nodes: Vec<SsaBlock>,
}

impl GeneratedSsa {
    /// A new variable of this type.
    pub(super) fn declare(&mut self, ty: Type) -> GeneratedVariable {
        self.types.push(ty);
        GeneratedVariable(self.types.len() as u32 - 1)
    }

    fn node(&mut self, block: Block) -> &mut SsaBlock {
        if self.nodes.len() <= block.index() {
            self.nodes.resize_with(block.index() + 1, SsaBlock::default);
        }
        &mut self.nodes[block.index()]
    }

    /// Says that control may go from one block to the other.
    pub(super) fn add_edge(&mut self, from: Block, to: Block) {
        let node = self.node(to);
        assert!(!node.sealed, "{to} gets a predecessor after it was sealed");
        if !node.predecessors.contains(&from) {
            node.predecessors.push(from);
        }
    }

    /// The number of predecessors known so far.
    pub(super) fn predecessors(&mut self, block: Block) -> usize {
        self.node(block).predecessors.len()
    }

    /// Sets a variable at the current end of the block.
    pub(super) fn write(&mut self, variable: GeneratedVariable, block: Block, value: Value) {
        let current = &mut self.node(block).current;
        let index = variable.0 as usize;
        if current.len() <= index {
            current.resize(index + 1, None);
        }
        current[index] = Some(value);
    }

    /// Reads a variable at the current end of the block.
    pub(super) fn read(&mut self, func: &mut Function, variable: GeneratedVariable, block: Block) -> Value {
        let node = self.node(block);
        if let Some(&Some(value)) = node.current.get(variable.0 as usize) {
            return value;
        }
        let value = if !node.sealed {
            let (phi, value) = self.new_phi(func, variable, block);
            self.node(block).waiting.push((variable, phi));
            value
        } else {
            match *node.predecessors {
                [] => func.make_poison(self.types[variable.0 as usize]),
                [only] => self.read(func, variable, only),
                _ => {
                    let (phi, value) = self.new_phi(func, variable, block);
                    self.write(variable, block, value);
                    self.complete(func, variable, block, phi);
                    value
                }
            }
        };
        self.write(variable, block, value);
        value
    }

    /// Says that all predecessors of the block are known.
    pub(super) fn seal(&mut self, func: &mut Function, block: Block) {
        let node = self.node(block);
        if node.sealed {
            return;
        }
        node.sealed = true;
        for (variable, phi) in std::mem::take(&mut node.waiting) {
            self.complete(func, variable, block, phi);
        }
    }

    /// Seals every block of the function.
    pub(super) fn seal_all(&mut self, func: &mut Function) {
        for block in func.blocks().collect::<Vec<_>>() {
            self.seal(func, block);
        }
    }

    fn new_phi(&mut self, func: &mut Function, variable: GeneratedVariable, block: Block) -> (Inst, Value) {
        let ty = self.types[variable.0 as usize];
        let phi = func.make_inst(InstData::phi([], None), &[ty]);
        func.layout.prepend_inst(phi, block);
        let value = func.result(phi).expect("a φ gives one value");
        (phi, value)
    }

    fn complete(&mut self, func: &mut Function, variable: GeneratedVariable, block: Block, phi: Inst) {
        let predecessors = self.node(block).predecessors.clone();
        let incoming: SmallVec<[(Block, Value); 4]> = predecessors
            .into_iter()
            .map(|predecessor| (predecessor, self.read(func, variable, predecessor)))
            .collect();
        *func.inst_mut(phi) = InstData::phi(incoming, None);
    }
}

/// Removes φs that join one value with nothing but themselves, and φs that nothing reads.
pub(super) fn prune(func: &mut Function) {
    let mut stands_for: Vec<Option<Value>> = vec![None; func.value_count()];
    let find = |stands_for: &[Option<Value>], mut value: Value| {
        while let Some(Some(next)) = stands_for.get(value.index()) {
            value = *next;
        }
        value
    };
    let phis: Vec<Inst> = func.blocks().flat_map(|block| func.phis(block).collect::<Vec<_>>()).collect();
    let mut trivial = Vec::new();
    loop {
        let before = trivial.len();
        for &phi in &phis {
            let Some(result) = func.result(phi) else { continue };
            if stands_for[result.index()].is_some() || func.inst(phi).args.is_empty() {
                continue;
            }
            let mut joined =
                func.inst(phi).args.iter().map(|&arg| find(&stands_for, arg)).filter(|&arg| arg != result);
            let Some(first) = joined.next() else { continue };
            if joined.all(|arg| arg == first) {
                stands_for[result.index()] = Some(first);
                trivial.push(phi);
            }
        }
        if trivial.len() == before {
            break;
        }
    }
    func.map_values(|value| find(&stands_for, value));
    for phi in trivial {
        func.remove_inst(phi);
    }
    remove_unread_phis(func);
}

fn remove_unread_phis(func: &mut Function) {
    let mut read: EntitySet<Value> = EntitySet::new();
    let mut work: Vec<Value> = Vec::new();
    for block in func.blocks() {
        for inst in func.block_insts(block) {
            let data = func.inst(inst);
            if data.op != Op::Phi {
                work.extend(data.args.iter().copied().filter(|&arg| read.insert(arg)));
            }
        }
    }
    while let Some(value) = work.pop() {
        let Some(inst) = func.def_inst(value) else { continue };
        let data = func.inst(inst);
        if matches!(data.detail, Detail::Phi(_)) {
            work.extend(data.args.iter().copied().filter(|&arg| read.insert(arg)));
        }
    }
    let unread: Vec<Inst> = func
        .blocks()
        .flat_map(|block| func.phis(block).collect::<Vec<_>>())
        .filter(|&phi| func.result(phi).is_some_and(|result| !read.contains(result)))
        .collect();
    for phi in unread {
        func.remove_inst(phi);
    }
}
