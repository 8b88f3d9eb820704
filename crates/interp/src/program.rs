//! Modules prepared for execution: register slots of all values, and control graphs.

use crate::control_graph::ControlGraph;
use crate::elementwise::is_elementwise;
use crate::fault::FaultKind;
use crate::limits::Budget;
use crate::post_dominators::ImmediatePostDominators;
use crate::run::RunOptions;
use crate::schedule::Scheduler;
use heddle_ir::entity::{Entity as _, EntitySet, SecondaryMap};
use heddle_ir::module::{Declaration, FunctionKind};
use heddle_ir::ops::Effect;
use heddle_ir::{Block, Constant, Detail, Function, Inst, Module, Op, Scalar, Type, Value, ValueDef};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use std::ops::Range;

/// Rows of a value in the register file of a frame, one for each element.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct RegisterSlot {
    /// Row of the first element.
    pub(crate) first: usize,
    /// Elements in one lane: one for a scalar.
    pub(crate) elements: usize,
}

impl RegisterSlot {
    /// Returns the row of an element. A scalar is broadcast to each element of a vector.
    #[inline]
    pub(crate) fn row(self, element: usize) -> usize {
        match self.elements {
            1 => self.first,
            _ => self.first + element,
        }
    }

    /// Returns the rows of all elements.
    #[inline]
    pub(crate) fn rows(self) -> Range<usize> {
        self.first..self.first + self.elements
    }
}

/// Slots and types of an elementwise instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ElementwiseInst {
    pub(crate) to: RegisterSlot,
    /// Operands; absent ones repeat the first.
    pub(crate) from: [RegisterSlot; 3],
    pub(crate) to_scalar: Scalar,
    pub(crate) from_scalars: [Scalar; 3],
    pub(crate) operands: usize,
    /// True for divisions: poison in the second operand, the divisor, is a fault.
    pub(crate) traps: bool,
    /// True in programs with kernels: the minimum divided by -1 is itself, with the remainder 0, instead of a trap.
    pub(crate) overflow_wraps: bool,
}

impl ElementwiseInst {
    fn new(
        func: &Function,
        inst: Inst,
        slots: &SecondaryMap<Value, RegisterSlot>,
        has_kernels: bool,
    ) -> Option<ElementwiseInst> {
        let data = func.inst(inst);
        let result = func.result(inst).filter(|_| is_elementwise(data.op))?;
        let operand = |index: usize| *data.args.get(index).unwrap_or(&data.args[0]);
        Some(ElementwiseInst {
            to: slots[result],
            from: [0, 1, 2].map(|index| slots[operand(index)]),
            to_scalar: func.value_type(result).scalar(),
            from_scalars: [0, 1, 2].map(|index| func.value_type(operand(index)).scalar()),
            operands: data.args.len().min(3),
            traps: data.op.info().effect == Effect::Traps,
            overflow_wraps: has_kernels,
        })
    }
}

/// Function prepared for execution.
#[derive(Debug)]
pub(crate) struct PreparedFunction<'m> {
    pub(crate) func: &'m Function,
    control: OnceCell<ControlGraph>,
    post_dominators: OnceCell<ImmediatePostDominators>,
    slots: SecondaryMap<Value, RegisterSlot>,
    /// Rows of all values.
    pub(crate) rows: usize,
    /// Constants with the bits of their elements; none for poison.
    pub(crate) constants: Vec<(Value, Vec<Option<u128>>)>,
    /// Elementwise instructions.
    pub(crate) elementwise: SecondaryMap<Inst, Option<ElementwiseInst>>,
    /// Blocks in which a φ reads another φ of the block.
    pub(crate) interdependent_phis: EntitySet<Block>,
    /// Maximum number of lanes of a launch in the function.
    max_launch_lanes: usize,
}

/// True if a φ of the block reads another φ of the block.
fn phis_read_phis(func: &Function, block: Block) -> bool {
    let is_other = |phi: Inst, value: Value| {
        let def = func.def_inst(value).filter(|&def| def != phi && func.inst(def).op == Op::Phi);
        def.is_some_and(|def| func.layout.block_of(def) == Some(block))
    };
    func.phis(block).any(|phi| func.inst(phi).args.iter().any(|&arg| is_other(phi, arg)))
}

impl<'m> PreparedFunction<'m> {
    fn new(func: &'m Function, address_of: &FxHashMap<&str, u64>, has_kernels: bool) -> PreparedFunction<'m> {
        let mut slots = SecondaryMap::filled(RegisterSlot::default(), func.value_count());
        let (mut rows, mut constants) = (0, Vec::new());
        for value in (0..func.value_count()).map(Value::new) {
            if func.value_def(value) == ValueDef::None {
                continue;
            }
            let elements = elements_of(func.value_type(value));
            slots[value] = RegisterSlot { first: rows, elements };
            rows += elements;
            if let Some(constant) = func.constant(value) {
                constants.push((value, constant_elements(constant, address_of)));
            }
        }
        let mut elementwise = SecondaryMap::filled(None, func.inst_count());
        let (mut interdependent_phis, mut max_launch_lanes) = (EntitySet::new(), 0);
        for block in func.blocks() {
            for inst in func.block_insts(block) {
                elementwise[inst] = ElementwiseInst::new(func, inst, &slots, has_kernels);
                if let Detail::Launch(launch) = &func.inst(inst).detail {
                    max_launch_lanes = max_launch_lanes.max(launch.lanes() as usize);
                }
            }
            if phis_read_phis(func, block) {
                interdependent_phis.insert(block);
            }
        }
        let (control, post_dominators) = (OnceCell::new(), OnceCell::new());
        PreparedFunction {
            func,
            control,
            post_dominators,
            slots,
            rows,
            constants,
            elementwise,
            interdependent_phis,
            max_launch_lanes,
        }
    }

    /// Computes what the scheduler or the profile needs: post-dominators or the control graph.
    pub(crate) fn prepare(&self, options: &RunOptions, budget: &mut Budget) -> Result<(), FaultKind> {
        let by_stack = options.scheduler == Scheduler::Ipdom;
        if by_stack && self.post_dominators.get().is_none() {
            budget.work(self.func.block_count() as u64)?;
            let _ = self.post_dominators.set(ImmediatePostDominators::new(self.func));
        }
        // A profile needs the loops with every scheduler.
        if (!by_stack || options.profile) && self.control.get().is_none() {
            let _ = self.control.set(ControlGraph::new(self.func, budget)?);
        }
        Ok(())
    }

    pub(crate) fn control(&self) -> &ControlGraph {
        self.control.get().expect("the function of a frame is prepared")
    }

    pub(crate) fn post_dominators(&self) -> &ImmediatePostDominators {
        self.post_dominators.get().expect("the function of a frame is prepared")
    }

    /// Returns the register slot of a value.
    #[inline]
    pub(crate) fn slot(&self, value: Value) -> RegisterSlot {
        self.slots[value]
    }
}

fn constant_elements(constant: &Constant, address_of: &FxHashMap<&str, u64>) -> Vec<Option<u128>> {
    match constant {
        Constant::Poison(ty) => vec![None; ty.lanes().unwrap_or(1).into()],
        Constant::Scalar(_, bits) => vec![Some(*bits)],
        Constant::Vector(_, lanes) => lanes.iter().map(|&bits| Some(bits)).collect(),
        Constant::Address(_, name) => vec![address_of.get(&**name).map(|&address| address.into())],
    }
}

/// Module prepared for execution.
#[derive(Debug)]
pub(crate) struct PreparedModule<'m> {
    pub(crate) functions: Vec<PreparedFunction<'m>>,
    /// Maximum number of lanes of a launch in the module.
    pub(crate) max_launch_lanes: usize,
    by_name: FxHashMap<&'m str, usize>,
}

impl<'m> PreparedModule<'m> {
    pub(crate) fn new(module: &'m Module, address_of: &FxHashMap<&str, u64>) -> PreparedModule<'m> {
        let has_kernels = module.functions.iter().any(|func| matches!(func.kind, FunctionKind::Kernel(_)));
        let functions: Vec<PreparedFunction<'m>> = module
            .functions
            .iter()
            .map(|func| PreparedFunction::new(func, address_of, has_kernels))
            .collect();
        let by_name =
            functions.iter().enumerate().map(|(index, code)| (code.func.name.as_str(), index)).collect();
        let launches = functions.iter().map(|code| code.max_launch_lanes).max();
        PreparedModule { functions, max_launch_lanes: launches.unwrap_or(0), by_name }
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn find_callee(&self, declaration: &Declaration) -> Option<usize> {
        self.find(&declaration.name)
    }
}

/// Returns the number of elements of a type in one lane.
pub(crate) fn elements_of(ty: Type) -> usize {
    ty.lanes().unwrap_or(1).into()
}
