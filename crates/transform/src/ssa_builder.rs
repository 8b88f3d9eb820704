//! Constructs SSA form for variables with several definitions.
//!
//! After: Braun et al., Simple and Efficient Construction of Static Single Assignment Form (CC 2013). A use takes the last definition of
//! its block, or walks to the predecessors. A φ stands where they may differ. A block whose predecessors lack definitions is not
//! sealed: a use in it gets a φ at once, whose operands follow when it is sealed. φs with one operand but themselves are removed.
//!
//! For passes that know the definitions of a variable but have no value to rename: contents of memory, or values that new control flow
//! merges. It needs no dominators, and takes a step for each block that a value passes through. [`crate::ssa_repair`] is for existing
//! values whose definitions lost some uses: its steps are uses and φs, however far apart, and it places φs at blocks of the caller's choice.

use heddle_analysis::Cfg;
use heddle_ir::entity::{PrimaryMap, SecondaryMap};
use heddle_ir::inst::InstData;
use heddle_ir::{Block, Function, Inst, Type, Value};
use rustc_hash::FxHashMap;

use crate::edges::{prepend_phi, set_incoming};

heddle_ir::entity! {
    /// Variable of a function under construction.
    pub(crate) SsaVariable, "variable"
}

/// SSA form under construction, on a complete graph whose entry has no predecessors.
pub(crate) struct SsaBuilder<'a> {
    cfg: &'a Cfg,
    types: PrimaryMap<SsaVariable, Type>,
    /// Last value of a variable in a block.
    values: FxHashMap<(SsaVariable, Block), Value>,
    /// Number of edges into each block from blocks whose definitions are incomplete. Without any, the block is sealed.
    open_edges: SecondaryMap<Block, usize>,
    /// φs of blocks that are not sealed.
    incomplete: SecondaryMap<Block, Vec<(SsaVariable, Value)>>,
    /// φs of sealed blocks that have no operands yet.
    pending: Vec<(SsaVariable, Block, Value)>,
    /// All φs, in order of creation.
    phis: Vec<(SsaVariable, Inst)>,
    /// φs that each value is an operand of.
    users: FxHashMap<Value, Vec<Value>>,
    replaced: FxHashMap<Value, Value>,
}

impl<'a> SsaBuilder<'a> {
    /// Returns a builder with a graph of which only the entry is sealed.
    pub(crate) fn new(cfg: &'a Cfg) -> SsaBuilder<'a> {
        debug_assert!(cfg.preds(cfg.entry()).is_empty(), "no φ can stand in the entry");
        let mut open_edges = SecondaryMap::with_len(cfg.num_blocks());
        cfg.blocks().for_each(|block| open_edges[block] = cfg.preds(block).len());
        SsaBuilder {
            cfg,
            types: PrimaryMap::new(),
            values: FxHashMap::default(),
            open_edges,
            incomplete: SecondaryMap::new(),
            pending: Vec::new(),
            phis: Vec::new(),
            users: FxHashMap::default(),
            replaced: FxHashMap::default(),
        }
    }

    /// Adds a variable. It is poison before its first definition.
    pub(crate) fn declare_var(&mut self, ty: Type) -> SsaVariable {
        self.types.push(ty)
    }

    /// Defines a variable from this point of a block on.
    pub(crate) fn def_var(&mut self, block: Block, var: SsaVariable, value: Value) {
        self.values.insert((var, block), value);
    }

    /// Returns the value of a variable after the definitions that a block has so far.
    pub(crate) fn use_var(&mut self, func: &mut Function, block: Block, var: SsaVariable) -> Value {
        let value = self.read(func, block, var);
        self.complete(func);
        self.resolve(value)
    }

    /// Declares that a block has all of its definitions, which seals successors.
    pub(crate) fn fill_block(&mut self, func: &mut Function, block: Block) {
        for &next in self.cfg.succs(block) {
            self.open_edges[next] -= 1;
            if self.open_edges[next] == 0 {
                self.seal_block(func, next);
            }
        }
    }

    /// Replaces all uses of a value once the construction is finished.
    pub(crate) fn replace(&mut self, value: Value, by: Value) {
        self.replaced.insert(value, by);
    }

    /// Rewrites the uses of replaced values and of removed φs, and puts the φs of a block in the order of their variables, last first.
    pub(crate) fn finish(mut self, func: &mut Function) {
        self.phis.sort_by_key(|&(var, _)| var);
        for &(_, phi) in &self.phis {
            if let Some(block) = func.layout.block_of(phi) {
                func.layout.remove_inst(phi);
                func.layout.prepend_inst(phi, block);
            }
        }
        if !self.replaced.is_empty() {
            func.map_values(|value| self.resolve(value));
        }
    }

    fn seal_block(&mut self, func: &mut Function, block: Block) {
        let incomplete = std::mem::take(&mut self.incomplete[block]);
        self.pending.extend(incomplete.into_iter().map(|(var, phi)| (var, block, phi)));
        self.complete(func);
    }

    fn resolve(&self, mut value: Value) -> Value {
        while let Some(&next) = self.replaced.get(&value) {
            value = next;
        }
        value
    }

    /// Returns the nearest value up the graph: a definition, or a φ, perhaps without operands yet.
    fn read(&mut self, func: &mut Function, block: Block, var: SsaVariable) -> Value {
        let (mut here, mut passed) = (block, Vec::new());
        let value = loop {
            if let Some(&value) = self.values.get(&(var, here)) {
                break value;
            }
            passed.push(here);
            let is_sealed = self.open_edges[here] == 0;
            match self.cfg.preds(here) {
                [] => break func.make_poison(self.types[var]),
                [first, others @ ..] if is_sealed && others.iter().all(|pred| pred == first) => here = *first,
                _ => {
                    let phi = prepend_phi(func, here, InstData::phi([], None), self.types[var]);
                    self.phis.extend(func.def_inst(phi).map(|inst| (var, inst)));
                    match is_sealed {
                        true => self.pending.push((var, here, phi)),
                        false => self.incomplete[here].push((var, phi)),
                    }
                    break phi;
                }
            }
        };
        let value = self.resolve(value);
        self.values.extend(passed.into_iter().map(|block| ((var, block), value)));
        value
    }

    /// Gives pending φs their operands, then removes trivial ones.
    fn complete(&mut self, func: &mut Function) {
        let mut filled = Vec::new();
        while let Some((var, block, phi)) = self.pending.pop() {
            let mut preds = self.cfg.preds(block).to_vec();
            preds.sort_unstable();
            preds.dedup();
            let incoming: Vec<_> = preds.into_iter().map(|pred| (pred, self.read(func, pred, var))).collect();
            for &(_, value) in &incoming {
                self.users.entry(value).or_default().push(phi);
            }
            set_incoming(func, func.def_inst(phi).expect("a φ defines its result"), incoming);
            filled.push(phi);
        }
        while let Some(phi) = filled.pop() {
            if self.replaced.contains_key(&phi) {
                continue;
            }
            let inst = func.def_inst(phi).expect("a φ defines its result");
            let operands = func.inst(inst).args.iter().map(|&value| self.resolve(value));
            let mut others = operands.filter(|&value| value != phi);
            let Some(first) = others.next() else { continue };
            if others.all(|other| other == first) {
                self.replaced.insert(phi, first);
                func.remove_inst(inst);
                let users = self.users.remove(&phi).unwrap_or_default();
                self.users.entry(first).or_default().extend(&users);
                filled.extend(users);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_ir::text::parse_module;

    const LOOP: &str = "\
func @f(v0: i32, v1: i32) {
block0:
  br block1
block1:
  v2 = icmp ult v0, v1
  br v2, block2, block3
block2:
  br block1
block3:
  ret
}
";

    fn parse(text: &str) -> Function {
        parse_module(text).expect("it parses").functions.remove(0)
    }

    fn block(number: u32) -> Block {
        Block::from_u32(number)
    }

    fn phis(func: &Function) -> usize {
        func.blocks().map(|block| func.phis(block).count()).sum()
    }

    #[test]
    fn a_definition_in_a_loop_makes_one_phi() {
        let mut func = parse(LOOP);
        let (cfg, [first, next]) = (Cfg::new(&func), [0, 1].map(|at| func.params()[at]));
        let mut ssa = SsaBuilder::new(&cfg);
        let var = ssa.declare_var(Type::I32);
        ssa.def_var(block(0), var, first);
        ssa.fill_block(&mut func, block(0));
        let before = ssa.use_var(&mut func, block(1), var);
        ssa.fill_block(&mut func, block(1));
        ssa.def_var(block(2), var, next);
        assert_eq!(ssa.use_var(&mut func, block(2), var), next);
        ssa.fill_block(&mut func, block(2));
        assert_eq!(ssa.use_var(&mut func, block(3), var), before);
        ssa.finish(&mut func);
        let phi = func.inst(func.def_inst(before).expect("a φ"));
        let incoming: Vec<_> = phi.incoming().collect();
        assert_eq!(incoming, [(block(0), first), (block(2), next)]);
        assert_eq!(phis(&func), 1);
    }

    #[test]
    fn phis_of_one_value_are_removed_and_their_uses_replaced() {
        let mut func = parse(LOOP);
        let (cfg, first) = (Cfg::new(&func), func.params()[0]);
        let mut ssa = SsaBuilder::new(&cfg);
        let var = ssa.declare_var(Type::I32);
        ssa.def_var(block(0), var, first);
        ssa.fill_block(&mut func, block(0));
        let used = ssa.use_var(&mut func, block(1), var);
        assert_ne!(used, first, "the loop may still define it");
        let compare = func.block_insts(block(1)).find(|&inst| func.inst(inst).op == heddle_ir::Op::Icmp);
        func.inst_mut(compare.expect("it compares")).args[1] = used;
        [1, 2].iter().for_each(|&at| ssa.fill_block(&mut func, block(at)));
        assert_eq!(ssa.use_var(&mut func, block(3), var), first);
        ssa.finish(&mut func);
        assert_eq!(func.inst(compare.expect("it compares")).args[1], first);
        assert_eq!(phis(&func), 0);
    }

    #[test]
    fn a_variable_without_definition_is_poison() {
        let mut func = parse(LOOP);
        let cfg = Cfg::new(&func);
        let mut ssa = SsaBuilder::new(&cfg);
        let var = ssa.declare_var(Type::I32);
        (0..3).for_each(|at| ssa.fill_block(&mut func, block(at)));
        let value = ssa.use_var(&mut func, block(3), var);
        assert_eq!(value, func.make_poison(Type::I32));
        assert_eq!(phis(&func), 0);
    }
}
