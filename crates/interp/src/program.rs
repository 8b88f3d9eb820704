//! A module made ready to run: for each function where its values lie, and where its lanes may wait.

use crate::control::Control;
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
    /// The scalar types of the operands of each instruction.
    pub(crate) operand_scalars: SecondaryMap<Inst, [Option<Scalar>; 3]>,
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
        let mut operand_scalars = SecondaryMap::filled([None; 3], func.inst_count());
        for inst in func.blocks().flat_map(|block| func.block_insts(block)) {
            for (index, &arg) in func.inst(inst).args.iter().take(3).enumerate() {
                operand_scalars[inst][index] = Some(func.value_type(arg).scalar());
            }
        }
        Code { func, control: OnceCell::new(), slots, elements, constants, operand_scalars }
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
