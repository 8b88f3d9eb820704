//! Kernels of one dimension whose work-items divide their index by a parameter, as kernels of several dimensions.
//!
//! ```text
//!     int i = global_id 0, x = i % w, y = i / w;       int x = global_id 0, y = global_id 1, i = y * w + x;
//! ```
//!
//! A launch of n work-items runs as one of w by n / w. Lanes along a row have one `y`, without a division; columns are seen, and the launch can
//! be cut into groups of short rows. A quotient that is divided again is two dimensions. Where w does not divide n, the last row is longer, and
//! the bounded kernel leaves the work-items from n on out.
//!
//! Requires: Stage::Source.  Ensures: for 0 < w and indices below 2³¹, the same work-items, in another order. The order of work-items
//! is not defined, and the kernel observes nothing of the launch but the index.

use super::insts_of;
use crate::inline::split_after;
use crate::remove_dead;
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::{DeclaredShape, Param};
use heddle_ir::ops::Observed;
use heddle_ir::words::{Flag, Flags, IntPredicate};
use heddle_ir::{Function, Inst, Op, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Kernel for launches of several dimensions, which does what another one does in launches of one.
#[derive(Clone, Debug)]
pub struct DividedIndex {
    /// The kernel.
    pub kernel: Function,
    /// The kernel with a last parameter: the number of work-items, in 64 bits. Those beyond it do nothing.
    pub bounded: Function,
    /// Parameters that are the extents of its launches, from dimension 0 on. The last dimension has what is left.
    pub widths: Vec<u32>,
}

/// Dimensions beyond the first one.
const MOST: usize = 2;

/// True if an instruction observes the launch, or the place of its work-item in it.
pub fn observes_launch(data: &InstData) -> bool {
    let observed = [Observed::Group, Observed::Launch, Observed::Position, Observed::Lanes];
    observed.iter().any(|&it| data.observes(it))
}

/// Reads the index along a dimension, in 64 bits.
fn global_id(builder: &mut Builder<'_>, dimension: u8) -> Value {
    let query = InstData::new(Op::GlobalId, [], Detail::Dimension(Some(dimension)));
    builder.value(query, Some(Type::I64))
}

/// Divides the index of a kernel into dimensions, under another name. None if it observes more than its index, or does not divide it by a
/// parameter. `is_observer` tells functions that observe the launch.
pub fn divided_index(
    func: &Function,
    name: &str,
    is_observer: impl Fn(&str) -> bool,
) -> Option<DividedIndex> {
    let mut kernel = func.clone();
    kernel.name = name.to_string();
    let mut roots = FxHashSet::default();
    for inst in insts_of(func) {
        let data = func.inst(inst);
        if data.op == Op::GlobalId && data.detail == Detail::Dimension(Some(0)) {
            roots.extend(func.result(inst));
            continue;
        }
        let calls = func.callee_of(data).is_some_and(|callee| is_observer(&callee.name));
        if calls || observes_launch(data) {
            return None;
        }
    }
    let mut widths = Vec::new();
    while widths.len() < MOST {
        let Some((width, rows)) = divide(&mut kernel, &roots, widths.len() as u8) else { break };
        widths.push(width);
        roots = rows;
    }
    if widths.is_empty() {
        return None;
    }
    while remove_dead(&mut kernel) {}
    let bounded = bounded(&kernel, &widths)?;
    Some(DividedIndex { kernel, bounded, widths })
}

/// Adds a parameter to a divided kernel, and lets work-items do nothing whose index is not below it.
fn bounded(kernel: &Function, widths: &[u32]) -> Option<Function> {
    let mut func = kernel.clone();
    func.name.push_str(".bounded");
    let count = func.add_param(Param { shape: Some(DeclaredShape::Uniform), ..Param::new(Type::I64) });
    let extents: Vec<Value> = widths.iter().map(|&it| func.params()[it as usize]).collect();
    let first = func.first_non_phi(func.entry())?;
    let mut builder = Builder::new(&mut func, InsertPoint::Before(first));
    let no_wrap = Flags::NONE.with(Flag::Nuw).with(Flag::Nsw);
    let mut index = global_id(&mut builder, widths.len() as u8);
    for (dimension, &extent) in extents.iter().enumerate().rev() {
        let extent = match builder.func.value_type(extent) == Type::I64 {
            true => extent,
            false => builder.op_to(Op::Zext, Type::I64, &[extent]),
        };
        let start = builder.op_with(Op::Mul, &[index, extent], no_wrap);
        let inner = global_id(&mut builder, dimension as u8);
        index = builder.op_with(Op::Add, &[start, inner], no_wrap);
    }
    let is_inside = builder.icmp(IntPredicate::Ult, index, count);
    let last = func.def_inst(is_inside)?;
    let entry = func.entry();
    let body = split_after(&mut func, last);
    let end = func.append_block();
    Builder::new(&mut func, InsertPoint::End(entry)).branch(is_inside, body, end);
    Builder::new(&mut func, InsertPoint::End(end)).ret(&[]);
    Some(func)
}

/// True if a condition never holds where this parameter is positive: it compares the parameter with 0 or -1.
fn is_never(func: &Function, condition: Value, width: u32) -> bool {
    let Some(data) = func.def_inst(condition).map(|inst| func.inst(inst)) else { return false };
    match (data.op, &data.args[..]) {
        (Op::And, parts) => parts.iter().any(|&it| is_never(func, it, width)),
        (Op::Or, parts) => parts.iter().all(|&it| is_never(func, it, width)),
        (Op::Icmp, &[number, other]) if data.detail == Detail::IntCompare(IntPredicate::Eq) => {
            parameter(func, number) == Some(width) && matches!(func.signed_constant(other), Some(-1 | 0))
        }
        _ => false,
    }
}

/// Values that are the same number as others: by conversions that keep numbers below 2³¹, and by choices of which the others are always
/// chosen where this parameter is positive.
fn converted(func: &Function, roots: &FxHashSet<Value>, width: Option<u32>) -> FxHashSet<Value> {
    let mut all = roots.clone();
    loop {
        let before = all.len();
        for inst in insts_of(func) {
            let data = func.inst(inst);
            let keeps = match (data.op, &data.args[..]) {
                (Op::Trunc | Op::Sext | Op::Zext, [number]) => all.contains(number),
                (Op::Select, &[condition, _, number]) => {
                    all.contains(&number) && width.is_some_and(|width| is_never(func, condition, width))
                }
                _ => false,
            };
            all.extend(func.result(inst).filter(|&it| keeps && is_index(func.value_type(it))));
        }
        if all.len() == before {
            return all;
        }
    }
}

fn is_index(ty: Type) -> bool {
    ty == Type::I32 || ty == Type::I64
}

/// Returns the parameter that a divisor is where it is positive: converted, at least 1, or 1 where a division would trap.
fn parameter(func: &Function, mut value: Value) -> Option<u32> {
    while let Some(inst) = func.def_inst(value) {
        let data = func.inst(inst);
        let is_one = |value: Value| func.unsigned_constant(value) == Some(1);
        value = match (data.op, &data.args[..]) {
            (Op::Trunc | Op::Sext | Op::Zext, &[number]) if is_index(func.value_type(value)) => number,
            (Op::Umax | Op::Smax, &[number, least]) if is_one(least) => number,
            (Op::Umax | Op::Smax, &[least, number]) if is_one(least) => number,
            (Op::Select, &[condition, one, number]) if is_one(one) => {
                return parameter(func, number).filter(|&it| is_never(func, condition, it));
            }
            _ => return None,
        };
    }
    let index = func.params().iter().position(|&it| it == value)?;
    is_index(func.value_type(value)).then_some(index as u32)
}

/// Instruction that divides one of these values, with its divisor.
fn division(func: &Function, inst: Inst, indices: &FxHashSet<Value>) -> Option<(Op, u32)> {
    let data = func.inst(inst);
    let is_division = matches!(data.op, Op::Udiv | Op::Sdiv | Op::Urem | Op::Srem);
    let divides = is_division && !data.is_total() && indices.contains(&data.args[0]);
    divides.then(|| Some((data.op, parameter(func, data.args[1])?))).flatten()
}

/// Replaces the index of a dimension, all of whose values are conversions of roots, by those of two dimensions. Returns the parameter that
/// is the extent, and the index of the second dimension; none if no parameter divides it.
fn divide(func: &mut Function, roots: &FxHashSet<Value>, dimension: u8) -> Option<(u32, FxHashSet<Value>)> {
    let indices = converted(func, roots, None);
    let insts = insts_of(func);
    let divisions = insts.iter().filter_map(|&inst| Some((inst, division(func, inst, &indices)?)));
    let mut divisions: Vec<(Inst, (Op, u32))> = divisions.collect();
    let (_, (_, width)) = *divisions.first()?;
    divisions.retain(|(_, (_, by))| *by == width);
    let of = |ops: [Op; 2]| -> FxHashSet<Value> {
        let of_ops = divisions.iter().filter(|(_, (op, _))| ops.contains(op));
        of_ops.filter_map(|(inst, _)| func.result(*inst)).collect()
    };
    let of = |ops| converted(func, &of(ops), Some(width));
    let (rows, mut columns) = (of([Op::Udiv, Op::Sdiv]), of([Op::Urem, Op::Srem]));
    // i - i / w * w, also as i - (i / w * w + z).
    let quotients = &rows;
    let is_product = |inst: &Inst| match (func.inst(*inst).op, &func.inst(*inst).args[..]) {
        (Op::Mul, &[one, other]) => [(one, other), (other, one)]
            .iter()
            .any(|(row, by)| quotients.contains(row) && parameter(func, *by) == Some(width)),
        _ => false,
    };
    let products = insts.iter().copied().filter(is_product).filter_map(|inst| func.result(inst)).collect();
    let products = converted(func, &products, None);
    let mut differences = Vec::new();
    for &inst in &insts {
        let (Op::Sub, &[index, taken]) = (func.inst(inst).op, &func.inst(inst).args[..]) else { continue };
        if !indices.contains(&index) {
            continue;
        }
        if products.contains(&taken) {
            columns.extend(func.result(inst));
        } else if let Some(sum) = func.def_inst(taken).map(|it| func.inst(it))
            && let (Op::Add, &[one, other]) = (sum.op, &sum.args[..])
            && let Some((_, rest)) =
                [(one, other), (other, one)].into_iter().find(|(it, _)| products.contains(it))
        {
            differences.push((inst, rest));
        }
    }

    let first = func.first_non_phi(func.entry())?;
    let by = *func.params().get(width as usize)?;
    let is_narrow = func.value_type(by) == Type::I32;
    let mut builder = Builder::new(func, InsertPoint::Before(first));
    let mut id = |dimension: u8| {
        let wide = global_id(&mut builder, dimension);
        [builder.op_to(Op::Trunc, Type::I32, &[wide]), wide]
    };
    let (column, row) = (id(dimension), id(dimension + 1));
    let no_wrap = Flags::NONE.with(Flag::Nuw).with(Flag::Nsw);
    let place = usize::from(!is_narrow);
    let start = builder.op_with(Op::Mul, &[row[place], by], no_wrap);
    let index = builder.op_with(Op::Add, &[start, column[place]], no_wrap);
    let index = match is_narrow {
        true => [index, builder.op_to(Op::Zext, Type::I64, &[index])],
        false => [builder.op_to(Op::Trunc, Type::I32, &[index]), index],
    };
    let mut replacements: FxHashMap<Value, Value> = FxHashMap::default();
    for (values, by) in [(&indices, index), (&rows, row), (&columns, column)] {
        let of_type = |it: Value| by[usize::from(func.value_type(it) == Type::I64)];
        replacements.extend(values.iter().map(|&it| (it, of_type(it))));
    }
    for (inst, rest) in differences {
        let ty = func.value_type(rest);
        let data = func.inst_mut(inst);
        data.args = [column[usize::from(ty == Type::I64)], rest].into_iter().collect();
        data.flags = Flags::NONE;
    }
    func.map_values(|value| replacements.get(&value).copied().unwrap_or(value));
    Some((width, row.into_iter().collect()))
}
