//! A module made ready to run: for each function where its values lie, and where its lanes may wait.

use crate::brush::lanes_of;
use crate::control::Control;
use crate::elementwise::is_elementwise;
use heddle_ir::entity::{Entity as _, SecondaryMap};
use heddle_ir::module::Declaration;
use heddle_ir::{Constant, Function, Inst, Module, Scalar, Type, Value, ValueDef};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;

/// Where the lanes of a value lie in a frame's registers: `first + lane * elements + element`.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Slot {
    pub(crate) first: usize,
    /// Elements in one lane: one, or those of a vector.
    pub(crate) elements: usize,
}

impl Slot {
    /// Where an element of a lane lies, once `first` counts the lanes of the run. A scalar stands for each element
    /// of a vector.
    #[inline]
    pub(crate) fn at(self, lane: usize, element: usize) -> usize {
        match self.elements {
            1 => self.first + lane,
            elements => self.first + lane * elements + element,
        }
    }

    /// Where the elements of these lanes lie, from the first one on.
    #[inline]
    pub(crate) fn offsets(self, lanes: u128) -> impl Iterator<Item = usize> {
        let elements = self.elements;
        lanes_of(lanes).flat_map(move |lane| lane * elements..(lane + 1) * elements)
    }
}

/// An instruction that works on each element by itself: where its operands and its result lie, and of what types
/// they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elementwise {
    pub(crate) to: Slot,
    /// An operand that is not there is the first one again.
    pub(crate) from: [Slot; 3],
    pub(crate) to_scalar: Scalar,
    pub(crate) from_scalars: [Scalar; 3],
    pub(crate) operands: usize,
}

impl Elementwise {
    fn new(func: &Function, inst: Inst, slots: &SecondaryMap<Value, Slot>) -> Option<Elementwise> {
        let data = func.inst(inst);
        let result = func.result(inst).filter(|_| is_elementwise(data.op))?;
        let operand = |index: usize| *data.args.get(index).unwrap_or(&data.args[0]);
        Some(Elementwise {
            to: slots[result],
            from: [0, 1, 2].map(|index| slots[operand(index)]),
            to_scalar: func.value_type(result).scalar(),
            from_scalars: [0, 1, 2].map(|index| func.value_type(operand(index)).scalar()),
            operands: data.args.len().min(3),
        })
    }
}

/// A function made ready to run.
#[derive(Debug)]
pub(crate) struct Code<'m> {
    pub(crate) func: &'m Function,
    pub(crate) control: OnceCell<Control>,
    slots: SecondaryMap<Value, Slot>,
    /// The elements of all values in one lane.
    pub(crate) elements: usize,
    /// The constants, with their bits; none is ⊤.
    pub(crate) constants: Vec<(Value, Vec<Option<u128>>)>,
    /// The instructions that work on each element by itself.
    pub(crate) elementwise: SecondaryMap<Inst, Option<Elementwise>>,
}

impl<'m> Code<'m> {
    fn new(func: &'m Function, address_of: &FxHashMap<&str, u64>) -> Code<'m> {
        let mut slots = SecondaryMap::filled(Slot::default(), func.value_count());
        let (mut elements, mut constants) = (0, Vec::new());
        for value in (0..func.value_count()).map(Value::new) {
            if func.value_def(value) == ValueDef::None {
                continue;
            }
            let lanes = usize::from(func.value_type(value).lanes().unwrap_or(1));
            slots[value] = Slot { first: elements, elements: lanes };
            elements += lanes;
            if let Some(constant) = func.constant(value) {
                constants.push((value, constant_elements(constant, address_of)));
            }
        }
        let mut elementwise = SecondaryMap::filled(None, func.inst_count());
        for inst in func.blocks().flat_map(|block| func.block_insts(block)) {
            elementwise[inst] = Elementwise::new(func, inst, &slots);
        }
        Code { func, control: OnceCell::new(), slots, elements, constants, elementwise }
    }

    pub(crate) fn control(&self) -> &Control {
        self.control.get_or_init(|| Control::new(self.func))
    }

    /// Where a value lies when `lanes` lanes run.
    pub(crate) fn slot(&self, value: Value, lanes: usize) -> Slot {
        let slot = self.slots[value];
        Slot { first: slot.first * lanes, elements: slot.elements }
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
pub(crate) struct Program<'m> {
    pub(crate) codes: Vec<Code<'m>>,
    by_name: FxHashMap<&'m str, usize>,
}

impl<'m> Program<'m> {
    pub(crate) fn new(module: &'m Module, address_of: &FxHashMap<&str, u64>) -> Program<'m> {
        let codes: Vec<Code<'m>> = module.functions.iter().map(|func| Code::new(func, address_of)).collect();
        let by_name =
            codes.iter().enumerate().map(|(index, code)| (code.func.name.as_str(), index)).collect();
        Program { codes, by_name }
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
