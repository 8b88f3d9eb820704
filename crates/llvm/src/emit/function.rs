//! Emission of function bodies: blocks in reverse postorder, φ operands last.

use super::ModuleEmitter;
use super::assembler::{BlockHandle, ValueHandle};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::ops::Effect;
use heddle_ir::words::Flags;
use heddle_ir::{Block, Code, Constant, Diagnostic, Function, Inst, Op, Scalar, Space, Type, Value};
use rustc_hash::FxHashMap;

/// Emitter of one function body.
pub(super) struct BodyEmitter<'e, 'a> {
    pub(super) module: &'e ModuleEmitter<'a>,
    pub(super) func: &'e Function,
    values: FxHashMap<Value, ValueHandle>,
    labels: FxHashMap<Block, BlockHandle>,
    /// Position of each block in emission order.
    positions: FxHashMap<Block, usize>,
}

pub(super) fn emit_body(module: &ModuleEmitter<'_>, func: &Function) -> Result<(), Diagnostic> {
    let refuse =
        |text: &str, help: &str| Diagnostic::error(Code::NotEmitted, text).of_func(&func.name).help(help);
    if func.layout.entry().is_none() {
        return Err(refuse("function without blocks", "give the function a body, or declare it"));
    }
    let asm = &module.asm;
    let (_, node) = module.functions[&*func.name];
    let order = reverse_postorder(func);
    let positions: FxHashMap<Block, usize> = order.iter().copied().zip(0..).collect();
    let mut labels = FxHashMap::default();
    for block in func.blocks().filter(|block| positions.contains_key(block)) {
        if func.predicate(block).is_some() {
            return Err(refuse("predicated blocks in LLVM IR", "run `widen` first"));
        }
        labels.insert(block, asm.add_label(node));
    }
    let mut values = FxHashMap::default();
    for (index, &param) in (0..).zip(func.params()) {
        values.insert(param, asm.param(node, index));
    }
    let mut body = BodyEmitter { module, func, values, labels, positions };
    let scope = module.debug.as_ref().and_then(|debug| debug.enter(asm, node, func));
    for &block in &order {
        asm.position_at_end(body.labels[&block]);
        for inst in func.block_insts(block) {
            if let (Some(debug), Some(_)) = (&module.debug, scope) {
                debug.set_location(asm, scope, func.loc(inst));
            }
            body.emit(block, inst)?;
        }
    }
    if let Some(debug) = &module.debug {
        debug.set_location(asm, None, None);
    }
    for &block in &order {
        body.fill_phis(block);
    }
    Ok(())
}

/// Returns the reachable blocks in reverse postorder.
fn reverse_postorder(func: &Function) -> Vec<Block> {
    let mut order = Vec::new();
    let entry = func.entry();
    let mut seen = rustc_hash::FxHashSet::from_iter([entry]);
    let mut stack = vec![(entry, func.successors(entry).iter())];
    while let Some((block, rest)) = stack.last_mut() {
        match rest.next() {
            Some(&next) if seen.insert(next) => stack.push((next, func.successors(next).iter())),
            Some(_) => {}
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

impl BodyEmitter<'_, '_> {
    fn emit(&mut self, block: Block, inst: Inst) -> Result<(), Diagnostic> {
        let data = self.func.inst(inst);
        let nodes = match data.op {
            Op::Phi if data.shadow().is_some() => {
                return Err(self.refuse(inst, "φ with a shadow in LLVM IR", "run `widen` first"));
            }
            Op::Phi => {
                let ty = self.func.result(inst).map_or(Type::I1, |result| self.func.value_type(result));
                vec![self.module.asm.phi(self.module.asm.ty(ty))]
            }
            Op::Br | Op::Switch | Op::Ret | Op::Unreachable => {
                self.terminate(block, data);
                Vec::new()
            }
            Op::Call => self.call(data),
            _ => self.operation(block, inst, data)?,
        };
        if let ([node], Effect::Pure) = (&nodes[..], data.op.info().effect) {
            self.attach_facts(*node, data);
        }
        for (&result, node) in self.func.results(inst).iter().zip(nodes) {
            self.values.insert(result, node);
        }
        Ok(())
    }

    /// Attaches an instruction's metadata facts to its LLVM instruction.
    pub(super) fn attach_facts(&self, node: ValueHandle, data: &InstData) {
        self.module.facts.attach(&self.module.asm, node, data.op, self.func.origin(data.origin));
    }

    pub(super) fn refuse(&self, inst: Inst, text: &str, help: &str) -> Diagnostic {
        self.refuse_as(Code::NotEmitted, inst, text, help)
    }

    /// Returns an internal error; the verifier rejects such instructions.
    pub(super) fn broken(&self, inst: Inst, text: &str) -> Diagnostic {
        self.refuse_as(Code::Internal, inst, text, "report it, with the input")
    }

    pub(super) fn refuse_as(&self, code: Code, inst: Inst, text: &str, help: &str) -> Diagnostic {
        Diagnostic::error(code, text).of_inst(self.func, inst).help(help)
    }

    /// Returns the LLVM value of a value.
    pub(super) fn node(&mut self, value: Value) -> ValueHandle {
        if let Some(&known) = self.values.get(&value) {
            return known;
        }
        let asm = &self.module.asm;
        let node = match self.func.constant(value) {
            Some(Constant::Scalar(scalar, bits)) => asm.scalar(*scalar, *bits),
            Some(Constant::Vector(scalar, lanes)) => {
                let lanes: Vec<ValueHandle> = lanes.iter().map(|&bits| asm.scalar(*scalar, bits)).collect();
                asm.vector(&lanes)
            }
            Some(Constant::Address(_, name)) => {
                let unknown = || asm.scalar(Scalar::Ptr(Space::Generic), 0);
                self.module.globals.get(&**name).copied().unwrap_or_else(unknown)
            }
            // Values defined in unreachable blocks are poison.
            Some(Constant::Poison(_)) | None => asm.poison(asm.ty(self.func.value_type(value))),
        };
        self.values.insert(value, node);
        node
    }

    pub(super) fn nodes(&mut self, values: &[Value]) -> Vec<ValueHandle> {
        values.iter().map(|&value| self.node(value)).collect()
    }

    fn call(&mut self, data: &InstData) -> Vec<ValueHandle> {
        let args = self.nodes(&data.args);
        let asm = &self.module.asm;
        let Some(callee) = self.func.callee_of(data) else { return Vec::new() };
        let (ty, func) = self.module.functions[&*callee.name];
        let call = asm.call(ty, func, &args);
        match callee.signature.results.len() {
            0 => Vec::new(),
            1 => vec![call],
            count => (0..count as u32).map(|index| asm.field(call, index)).collect(),
        }
    }

    fn terminate(&mut self, block: Block, data: &InstData) {
        let args = self.nodes(&data.args);
        let asm = &self.module.asm;
        match &data.detail {
            Detail::Branch(targets, weights) => {
                let branch = match (&targets[..], &args[..]) {
                    (&[then, otherwise], &[condition]) => {
                        asm.branch(condition, self.labels[&then], self.labels[&otherwise])
                    }
                    (targets, _) => asm.jump(self.labels[&targets[0]]),
                };
                if let Some(weights) = weights {
                    asm.attach(branch, "prof", Some("branch_weights"), &weights[..]);
                }
                if targets.iter().any(|target| self.positions[target] <= self.positions[&block]) {
                    self.attach_facts(branch, data);
                }
            }
            Detail::Switch(switch) => {
                let scalar = self.func.value_type(data.args[0]).scalar();
                let cases: Vec<(ValueHandle, BlockHandle)> = switch
                    .cases
                    .iter()
                    .zip(&switch.targets[1..])
                    .map(|(&case, target)| (asm.scalar(scalar, case), self.labels[target]))
                    .collect();
                asm.switch(args[0], self.labels[&switch.targets[0]], &cases);
            }
            _ if data.op == Op::Ret => match &args[..] {
                [] => asm.ret(None),
                [one] => asm.ret(Some(*one)),
                all => {
                    let mut whole = asm.poison(self.module.result_ty(&self.func.signature));
                    for (index, &value) in (0..).zip(all) {
                        whole = asm.with_field(whole, value, index);
                    }
                    asm.ret(Some(whole));
                }
            },
            _ => asm.unreachable(),
        }
    }

    /// Fills in φ operands: LLVM needs one per edge, Heddle has one per predecessor block.
    fn fill_phis(&mut self, block: Block) {
        let phis: Vec<Inst> = self.func.phis(block).collect();
        for phi in phis {
            let Some(node) = self.func.result(phi).map(|result| self.node(result)) else { continue };
            let incoming: Vec<(Block, Value)> = self.func.inst(phi).incoming().collect();
            for (from, value) in incoming {
                let Some(&label) = self.labels.get(&from) else { continue };
                let value = self.node(value);
                let edges = self.func.successors(from).iter().filter(|&&to| to == block).count();
                for _ in 0..edges {
                    self.module.asm.add_incoming(node, value, label);
                }
            }
        }
    }

    /// Sets the flags that LLVM has too.
    pub(super) fn flagged(&self, node: ValueHandle, flags: Flags) -> ValueHandle {
        self.module.asm.with_flags(node, flags)
    }
}
