//! Kernels whose code is faster where strides among their arguments are those of dense arrays.
//!
//! ```text
//!     y[i * incy] = a * x[i * incx];
//! ```
//!
//! Libraries of arrays pass strides, since arrays may be views of others. Mostly they are the size of an element, or 0 where one element is used
//! for all: then an access is contiguous, or uniform, and a gather otherwise. A launch knows them.
//!
//! Requires: Stage::Source.  Ensures: where the arguments have these values, the kernel does the same.

use super::insts_of;
use heddle_ir::entity::EntitySet;
use heddle_ir::function::ValueDef;
use heddle_ir::inst::Detail;
use heddle_ir::ops::Observed;
use heddle_ir::{Function, Op, Value};
use std::fmt;

/// Maximum number of parameters whose values are known in code.
const MOST_PARAMETERS: usize = 16;
/// Maximum number of operations of an address that are looked at.
const MOST_OPERATIONS: usize = 256;

/// Integer parameter that addresses multiply by the indices of work-items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StrideParameter {
    /// Its number.
    number: usize,
    /// Value with which neighbouring work-items access neighbouring elements.
    unit: u64,
    /// True if most launches have that value, as far as the kernel tells: the index is along dimension 0.
    pub is_usual: bool,
}

impl StrideParameter {
    /// True if an index is compared with a sum that has the parameter: it is a number of elements then.
    pub fn bounds_an_index(self, func: &Function) -> bool {
        let has_parameter = |sum: Value| {
            let (mut seen, mut open) = (EntitySet::new(), vec![sum]);
            while let Some(value) = open.pop() {
                if parameter(func, value) == Some(self.number) {
                    return true;
                }
                let Some(inst) = func.def_inst(value).filter(|_| seen.insert(value)) else { continue };
                let data = func.inst(inst);
                if matches!(data.op, Op::Add | Op::Sub | Op::Sext | Op::Zext | Op::Trunc | Op::Freeze) {
                    open.extend(&data.args);
                }
            }
            false
        };
        let is_index = |value: Value| position(func, value).is_some();
        insts_of(func).into_iter().map(|inst| func.inst(inst)).any(|data| match data.args[..] {
            [one, other] if data.op == Op::Icmp => {
                has_parameter(one) && is_index(other) || has_parameter(other) && is_index(one)
            }
            _ => false,
        })
    }
}

/// As the argument that it is in launches of dense arrays, counted from 0.
impl fmt::Display for StrideParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "argument {} = {}", self.number, self.unit)
    }
}

/// Strides of a launch that its code knows, by the numbers of the [stride parameters](stride_parameters) of its kernel: two bits for each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct KnownStrides(u32);

const UNIT: u32 = 1;
const ZERO: u32 = 2;

impl KnownStrides {
    /// All strides are those of dense arrays.
    pub const DENSE: KnownStrides = KnownStrides(u32::MAX / 3 * UNIT);

    /// Returns the known strides of a launch with these arguments.
    pub fn of_launch(
        parameters: &[StrideParameter],
        argument: impl Fn(usize) -> Option<u64>,
    ) -> KnownStrides {
        KnownStrides::pack(parameters, |parameter| match argument(parameter.number) {
            Some(0) => ZERO,
            Some(value) if value == parameter.unit => UNIT,
            _ => 0,
        })
    }

    /// Returns the known strides of most launches.
    pub fn usual(parameters: &[StrideParameter]) -> KnownStrides {
        KnownStrides::pack(parameters, |parameter| u32::from(parameter.is_usual) * UNIT)
    }

    fn pack(parameters: &[StrideParameter], value: impl Fn(&StrideParameter) -> u32) -> KnownStrides {
        let places = parameters.iter().enumerate();
        KnownStrides(places.fold(0, |all, (place, parameter)| all | value(parameter) << (2 * place)))
    }

    /// True if the code knows no stride.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Replaces the stride parameters of a kernel by their known values.
    pub fn assume(self, parameters: &[StrideParameter], func: &mut Function) {
        for (place, parameter) in parameters.iter().enumerate() {
            let Some(value) = self.value(place, parameter) else { continue };
            let param = func.params()[parameter.number];
            let constant = func.make_int(func.value_type(param).scalar(), value.into());
            func.map_values(|value| if value == param { constant } else { value });
        }
    }

    /// Known value of a parameter.
    fn value(self, place: usize, parameter: &StrideParameter) -> Option<u64> {
        match self.0 >> (2 * place) & 3 {
            UNIT => Some(parameter.unit),
            ZERO => Some(0),
            _ => None,
        }
    }
}

/// Part of an address that grows with something.
#[derive(Clone, Copy, Debug)]
enum StrideTerm {
    /// With an index times a parameter, if the index is along dimension 0, by this many bytes for each 1 of the product.
    Parameter { number: usize, is_first: bool, scale: f64 },
    /// With an index or the counter of a loop, by this many bytes.
    Constant(f64),
}

/// Terms of an address.
struct AddressTerms<'f> {
    func: &'f Function,
    seen: EntitySet<Value>,
    operations: usize,
    terms: Vec<StrideTerm>,
}

impl AddressTerms<'_> {
    /// Adds the terms of a value that an address grows with by a number of bytes for each 1.
    fn add(&mut self, value: Value, scale: f64) {
        let func = self.func;
        self.operations += 1;
        if self.operations > MOST_OPERATIONS || !self.seen.insert(value) {
            return;
        }
        let Some(inst) = func.def_inst(value) else { return };
        let data = func.inst(inst);
        let power =
            |by: Value| func.unsigned_constant(by).filter(|&by| by < 64).map(|by| 2f64.powi(by as i32));
        match (data.op, &data.args[..]) {
            (Op::Add | Op::Sub | Op::PtrAdd | Op::Or, &[one, other]) => {
                self.add(one, scale);
                self.add(other, scale);
            }
            (Op::Select, &[_, one, other]) => {
                self.add(one, scale);
                self.add(other, scale);
            }
            (
                Op::Sext | Op::Zext | Op::Trunc | Op::Freeze | Op::Inttoptr | Op::Ptrtoint | Op::SpaceCast,
                &[operand],
            ) => self.add(operand, scale),
            (Op::Shl, &[operand, by]) => {
                if let Some(factor) = power(by) {
                    self.add(operand, scale * factor);
                }
            }
            (Op::Ashr | Op::Lshr, &[operand, by]) => {
                if let Some(factor) = power(by) {
                    self.add(operand, scale / factor);
                }
            }
            (Op::Mul, &[one, other]) => self.add_product(one, other, scale),
            (Op::Phi, _) => self.add_phi(value, scale),
            (Op::Load | Op::Call, _) => {}
            // The index, or one in a row.
            _ if position(self.func, value).is_some() => self.terms.push(StrideTerm::Constant(scale)),
            _ => {}
        }
    }

    fn add_product(&mut self, one: Value, other: Value, scale: f64) {
        for (index, factor) in [(one, other), (other, one)] {
            if let Some(constant) = self.func.signed_constant(factor) {
                return self.add(index, scale * constant as f64);
            }
            if let Some(number) = parameter(self.func, factor)
                && let Some(is_first) = position(self.func, index)
            {
                let is_first = is_first && !self.is_quotient(index);
                return self.terms.push(StrideTerm::Parameter { number, is_first, scale });
            }
        }
    }

    /// Adds the terms of what a φ is, and of its steps.
    fn add_phi(&mut self, value: Value, scale: f64) {
        let func = self.func;
        let Some(inst) = func.def_inst(value) else { return };
        for (_, incoming) in func.inst(inst).incoming() {
            let step = func.def_inst(incoming).map(|inst| func.inst(inst));
            let step = step.filter(|data| matches!(data.op, Op::Add | Op::PtrAdd) && data.args[0] == value);
            match step.and_then(|data| func.signed_constant(data.args[1])) {
                // Steps of several elements: the loop is unrolled, or takes whole records.
                Some(_) => self.terms.push(StrideTerm::Constant(scale)),
                None => self.add(incoming, scale),
            }
        }
    }

    /// True if an index is equal in neighbouring work-items.
    fn is_quotient(&self, mut index: Value) -> bool {
        while let Some(data) = self.func.def_inst(index).map(|inst| self.func.inst(inst)) {
            match data.op {
                Op::Sext | Op::Zext | Op::Trunc | Op::Freeze => index = data.args[0],
                op => return matches!(op, Op::Udiv | Op::Sdiv | Op::Lshr | Op::Ashr),
            }
        }
        false
    }
}

/// True if an integer depends on the work-item's index along dimension 0, in its group or in the range, false if on others only; none if on no
/// index. Neighbours are in one group, and floats of neighbours round to one integer.
fn position(func: &Function, value: Value) -> Option<bool> {
    let (mut seen, mut open, mut found) = (EntitySet::new(), vec![value], None);
    while let Some(value) = open.pop() {
        let Some(inst) = func.def_inst(value).filter(|_| seen.insert(value)) else { continue };
        let data = func.inst(inst);
        match data.detail {
            Detail::Dimension(dimension) if data.observes(Observed::Position) => {
                found = Some(found.unwrap_or(false) || dimension.is_none_or(|it| it == 0));
            }
            Detail::Dimension(_) if data.op == Op::GroupId => found = Some(found.unwrap_or(false)),
            _ if matches!(data.op, Op::Load | Op::Call) || is_rounding(data.op) => {}
            _ => open.extend(&data.args),
        }
    }
    found
}

/// True for operations whose results are integers near floats.
fn is_rounding(op: Op) -> bool {
    matches!(op, Op::Fptosi | Op::Fptoui | Op::FptosiSat | Op::FptouiSat)
}

/// Number of the parameter that an integer is, possibly converted.
fn parameter(func: &Function, mut value: Value) -> Option<usize> {
    while let Some(inst) = func.def_inst(value) {
        let data = func.inst(inst);
        match data.op {
            Op::Sext | Op::Zext | Op::Trunc | Op::Freeze => value = data.args[0],
            _ => return None,
        }
    }
    match func.value_def(value) {
        ValueDef::Param(number) => {
            let scalar = func.value_type(value).scalar();
            (scalar.is_int() && matches!(scalar.bits(), 32 | 64)).then_some(number as usize)
        }
        _ => None,
    }
}

/// Returns the parameters of a kernel that are strides.
pub fn stride_parameters(func: &Function) -> Vec<StrideParameter> {
    let mut found: Vec<StrideParameter> = Vec::new();
    // Distances between rows.
    let mut pitches: Vec<usize> = Vec::new();
    for inst in insts_of(func) {
        let data = func.inst(inst);
        let (address, bytes) = match (data.op, &data.args[..], func.result(inst)) {
            (Op::Load, &[address, ..], Some(loaded)) => (address, func.value_type(loaded).bytes()),
            (Op::Store, &[stored, address, ..], _) => (address, func.value_type(stored).bytes()),
            _ => continue,
        };
        let mut terms = AddressTerms { func, seen: EntitySet::new(), operations: 0, terms: Vec::new() };
        terms.add(address, 1.0);
        let bytes = f64::from(bytes);
        // It is contiguous along another dimension, or from one iteration to the next.
        let is_dense =
            |term: &StrideTerm| matches!(term, StrideTerm::Constant(scale) if scale.abs() <= bytes);
        if terms.terms.iter().any(is_dense) {
            pitches.extend(terms.terms.iter().filter_map(|term| match *term {
                StrideTerm::Parameter { number, .. } => Some(number),
                StrideTerm::Constant(_) => None,
            }));
            continue;
        }
        for term in terms.terms {
            let StrideTerm::Parameter { number, is_first, scale } = term else { continue };
            // In an array of structures the stride counts these.
            let unit = if scale > bytes { 1.0 } else { bytes / scale };
            if unit < 1.0 || unit.fract() != 0.0 || unit > 1024.0 {
                continue;
            }
            match found.iter_mut().find(|it| it.number == number) {
                Some(known) => known.is_usual |= is_first,
                None => found.push(StrideParameter { number, unit: unit as u64, is_usual: is_first }),
            }
        }
    }
    found.retain(|it| !pitches.contains(&it.number) && !it.bounds_an_index(func));
    found.truncate(MOST_PARAMETERS);
    found
}
