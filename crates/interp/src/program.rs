//! A module made ready to run: for each function where its values lie, and where its lanes may wait.

use crate::control::ControlGraph;
use crate::elementwise::is_elementwise;
use crate::fault::FaultKind;
use crate::limits::Budget;
use crate::post_dominators::ImmediatePostDominators;
use crate::run::RunOptions;
use crate::schedule::Scheduler;
use heddle_ir::entity::{Entity as _, EntitySet, SecondaryMap};
use heddle_ir::module::Declaration;
use heddle_ir::ops::Effect;
use heddle_ir::{Block, Constant, Detail, Function, Inst, Module, Op, Scalar, Type, Value, ValueDef};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use std::ops::Range;

/// Where a value lies in a frame's registers: a row for each of its elements.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct RegisterSlot {
    /// The row of its first element.
    pub(crate) first: usize,
    /// Elements in one lane: one, or those of a vector.
    pub(crate) elements: usize,
}

impl RegisterSlot {
    /// The row of an element. A scalar stands for each element of a vector.
    #[inline]
    pub(crate) fn row(self, element: usize) -> usize {
        match self.elements {
            1 => self.first,
            _ => self.first + element,
        }
    }

    /// All its rows.
    #[inline]
    pub(crate) fn rows(self) -> Range<usize> {
        self.first..self.first + self.elements
    }
}

/// An instruction that works on each element by itself: where its operands and its result lie, and of what types
/// they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ElementwiseInst {
    pub(crate) to: RegisterSlot,
    /// An operand that is not there is the first one again.
    pub(crate) from: [RegisterSlot; 3],
    pub(crate) to_scalar: Scalar,
    pub(crate) from_scalars: [Scalar; 3],
    pub(crate) operands: usize,
    /// Whether ⊤ in its second operand, the divisor, is an error.
    pub(crate) traps: bool,
}

impl ElementwiseInst {
    fn new(
        func: &Function,
        inst: Inst,
        slots: &SecondaryMap<Value, RegisterSlot>,
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
        })
    }
}

/// A function made ready to run.
#[derive(Debug)]
pub(crate) struct PreparedFunction<'m> {
    pub(crate) func: &'m Function,
    control: OnceCell<ControlGraph>,
    post_dominators: OnceCell<ImmediatePostDominators>,
    slots: SecondaryMap<Value, RegisterSlot>,
    /// The rows of all values.
    pub(crate) rows: usize,
    /// The constants, with the bits of their elements; none is ⊤.
    pub(crate) constants: Vec<(Value, Vec<Option<u128>>)>,
    /// The instructions that work on each element by itself.
    pub(crate) elementwise: SecondaryMap<Inst, Option<ElementwiseInst>>,
    /// The blocks with a φ that reads another one of them.
    pub(crate) tangled_phis: EntitySet<Block>,
    /// The most lanes that it launches.
    widest: usize,
}

/// Whether a φ of the block reads another one of them.
fn phis_read_phis(func: &Function, block: Block) -> bool {
    let is_other = |phi: Inst, value: Value| {
        let def = func.def_inst(value).filter(|&def| def != phi && func.inst(def).op == Op::Phi);
        def.is_some_and(|def| func.layout.block_of(def) == Some(block))
    };
    func.phis(block).any(|phi| func.inst(phi).args.iter().any(|&arg| is_other(phi, arg)))
}

impl<'m> PreparedFunction<'m> {
    fn new(func: &'m Function, address_of: &FxHashMap<&str, u64>) -> PreparedFunction<'m> {
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
        let (mut tangled_phis, mut widest) = (EntitySet::new(), 0);
        for block in func.blocks() {
            for inst in func.block_insts(block) {
                elementwise[inst] = ElementwiseInst::new(func, inst, &slots);
                if let Detail::Launch(launch) = &func.inst(inst).detail {
                    widest = widest.max(launch.lanes() as usize);
                }
            }
            if phis_read_phis(func, block) {
                tangled_phis.insert(block);
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
            tangled_phis,
            widest,
        }
    }

    /// Makes ready what the scheduler, or a profile, asks for.
    pub(crate) fn prepare(&self, options: &RunOptions, budget: &mut Budget) -> Result<(), FaultKind> {
        let by_stack = options.scheduler == Scheduler::Ipdom;
        if by_stack && self.post_dominators.get().is_none() {
            budget.work(self.func.block_count() as u64)?;
            let _ = self.post_dominators.set(ImmediatePostDominators::new(self.func));
        }
        // A profile knows loops, whatever the scheduler.
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

    /// Where a value lies.
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

/// A module made ready to run.
#[derive(Debug)]
pub(crate) struct PreparedModule<'m> {
    pub(crate) codes: Vec<PreparedFunction<'m>>,
    /// The most lanes that a launch in it has.
    pub(crate) widest: usize,
    by_name: FxHashMap<&'m str, usize>,
}

impl<'m> PreparedModule<'m> {
    pub(crate) fn new(module: &'m Module, address_of: &FxHashMap<&str, u64>) -> PreparedModule<'m> {
        let codes: Vec<PreparedFunction<'m>> =
            module.functions.iter().map(|func| PreparedFunction::new(func, address_of)).collect();
        let by_name =
            codes.iter().enumerate().map(|(index, code)| (code.func.name.as_str(), index)).collect();
        let launches = codes.iter().map(|code| code.widest).max();
        PreparedModule { codes, widest: launches.unwrap_or(0), by_name }
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn find_declared(&self, declaration: &Declaration) -> Option<usize> {
        self.find(&declaration.name)
    }
}

/// The number of elements of a type in one lane.
pub(crate) fn elements_of(ty: Type) -> usize {
    ty.lanes().unwrap_or(1).into()
}
