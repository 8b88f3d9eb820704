//! Products of matrices distributed over a warp: code of a product, in place or in a function.
//!
//! A product takes hundreds of instructions, and kernels on tensor cores unroll their loops: one of NVIDIA's samples has 512
//! products. In a function with many, each is a call of the function of its types, which has the code once:
//!
//! ```text
//!     func @ptx.product.2.2.bf16.bf16.f32(i32 v0, …, f32 v8, …) -> f32, … convergent
//! ```
//!
//! Parameters are the registers of `A`, of `B` and the accumulators; results are the accumulators.
//! Decision: not for fewer products. In place, those with the same fragment of `A` or `B` share what is fetched and converted: sixteen
//! products of four fragments each take 0.4 of the time of calls.

use super::body::FunctionLowering;
use super::emit::IrEmitter;
use super::flow::operation;
use super::layout;
use crate::check::{ResolvedBody, ResolvedInst, ResolvedStatement};
use crate::operation::PtxOperation;
use crate::words::Word;
use heddle_ir::function::Origin;
use heddle_ir::inst::InstData;
use heddle_ir::module::{Declaration, Effects, FunctionKind, Signature};
use heddle_ir::{Function, Op, Scalar, Type, Value};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Prefix of the names of functions.
const PRODUCT: &str = "ptx.product";
/// Numbers of products of a function with which they are calls. For more, LLVM's register coalescer would take minutes; in place they exceed
/// the limit on instructions at once.
const MANY: std::ops::RangeInclusive<usize> = 256..=1024;
/// Types of elements.
const ELEMENTS: [Word; 6] = [Word::F16, Word::Bf16, Word::Tf32, Word::F64, Word::U8, Word::S8];

/// Types of a matrix product.
#[derive(Clone, Copy)]
pub(super) struct MmaTypes {
    /// Type of the accumulator.
    pub(super) scalar: Scalar,
    /// Element types of `A` and `B`.
    pub(super) numbers: [Word; 2],
}

/// Sizes of a product: eights of rows of `A`, eights of columns of `B`, and its types.
#[derive(Clone, Copy)]
pub(super) struct MmaShape {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) types: MmaTypes,
}

impl MmaShape {
    /// Returns the name of its function.
    fn name(self) -> String {
        let MmaShape { rows, columns, types } = self;
        let [left, right] = types.numbers;
        format!("{PRODUCT}.{rows}.{columns}.{left}.{right}.{}", types.scalar)
    }

    /// Returns the shape whose function has a name.
    fn of(declaration: &Declaration) -> Option<MmaShape> {
        let mut words = declaration.name.strip_prefix(PRODUCT)?.split('.').skip(1);
        let mut number = || words.next()?.parse().ok();
        let (rows, columns) = (number()?, number()?);
        let mut element = || {
            let text = words.next()?;
            ELEMENTS.into_iter().find(|word| word.text() == text)
        };
        let numbers = [element()?, element()?];
        let scalar = declaration.signature.results.first()?.ty.scalar();
        Some(MmaShape { rows, columns, types: MmaTypes { scalar, numbers } })
    }

    /// Returns the number of accumulators.
    fn sums(self) -> usize {
        2 * self.rows * self.columns
    }
}

/// True for products of matrices.
fn is_product(inst: &ResolvedInst) -> bool {
    match operation(inst) {
        PtxOperation::Mma => true,
        PtxOperation::Wmma => inst.words.contains(&Word::Mma),
        _ => false,
    }
}

impl FunctionLowering<'_, '_, '_> {
    /// Adds the products of a lane's registers to its accumulators, two for each of eight rows, by columns.
    pub(super) fn sum_up(&mut self, left: &[Value], right: &[Value], shape: MmaShape, sums: &mut [Value]) {
        if !self.calls_products {
            self.emit.sum_up(left, right, shape, sums);
            return;
        }
        let args = [left, right, sums].concat();
        let types: Vec<Type> = args.iter().map(|&arg| self.emit.func.value_type(arg)).collect();
        let results = vec![Type::Scalar(shape.types.scalar); shape.sums()];
        let effects = Effects { convergent: true, ..Effects::PURE };
        let signature = Signature { effects, ..Signature::new(&types, &results) };
        let declaration = Declaration { name: shape.name(), kind: FunctionKind::Function, signature };
        let results = self.emit.call(&Arc::new(declaration), &args);
        sums.iter_mut().zip(results).for_each(|(sum, result)| *sum = result);
    }
}

/// True if a function has so many products that they are calls.
pub(super) fn has_many_products(body: &ResolvedBody<'_, '_>) -> bool {
    let insts = body.steps.iter().filter(|step| match step {
        ResolvedStatement::Inst(inst) => is_product(inst),
        ResolvedStatement::Label(_) => false,
    });
    MANY.contains(&insts.take(MANY.end() + 1).count())
}

/// Defines the functions of products that the lowered functions call.
pub(super) fn define_products(module: &mut heddle_ir::Module) {
    let mut known = FxHashSet::default();
    let mut called: Vec<(Arc<Declaration>, MmaShape)> = Vec::new();
    for callee in module.functions.iter().flat_map(|func| func.callees.values()) {
        if let Some(shape) = MmaShape::of(callee)
            && known.insert(callee.name.clone())
        {
            called.push((Arc::clone(callee), shape));
        }
    }
    module.functions.extend(called.into_iter().map(|(declaration, shape)| function(&declaration, shape)));
}

fn function(declaration: &Declaration, shape: MmaShape) -> Function {
    let mut func = Function::new(declaration.name.clone(), declaration.signature.clone());
    let params = func.params().to_vec();
    let block = func.append_block();
    let mut emit = IrEmitter { func, block, origin: Origin::NONE, broken: None };
    let (factors, sums) = params.split_at(params.len().saturating_sub(shape.sums()));
    let along = factors.len() / (shape.rows + shape.columns).max(1);
    let (left, right) = factors.split_at(shape.rows * along);
    let mut sums = sums.to_vec();
    emit.sum_up(left, right, shape, &mut sums);
    emit.inst(InstData::plain(Op::Ret, sums), None);
    emit.func
}

impl IrEmitter {
    /// Returns a lane's index in its group of four, and the index of the group.
    pub(super) fn position_in_rows(&mut self) -> [Value; 2] {
        let lane = self.query(Op::Lane, None);
        let (three, two) = (self.int32(3), self.int32(2));
        [self.op(Op::And, &[lane, three]), self.op(Op::Lshr, &[lane, two])]
    }

    /// Returns the value of another lane.
    pub(super) fn fetched(&mut self, value: Value, lane: Value) -> Value {
        let value = self.op(Op::Shuffle, &[value, lane]);
        self.value(InstData::plain(Op::Freeze, [value]), None)
    }

    pub(super) fn times(&mut self, value: Value, by: i128, more: i128) -> Value {
        let (by, more) = (self.int32(by), self.int32(more));
        let value = self.op(Op::Mul, &[value, by]);
        self.op(Op::Add, &[value, more])
    }

    /// Unpacks the elements of a register, converted to the accumulator's type.
    fn numbers(&mut self, register: Value, ty: Word, sum: Scalar) -> Vec<Value> {
        match ty {
            Word::F64 => vec![register],
            Word::Tf32 => {
                // The lower bits are not part of the number.
                let mask = self.int32(!0x1fff);
                let bits = self.op(Op::And, &[register, mask]);
                vec![self.bitcast(bits, Scalar::F32)]
            }
            Word::F16 | Word::Bf16 => {
                let both = self.halves(register, layout::scalar(ty));
                both.map(|half| self.to(Op::Fpext, sum, half)).to_vec()
            }
            _ => {
                let mut byte = |index: i128| {
                    let by = self.int32(8 * index);
                    let byte = self.op(Op::Lshr, &[register, by]);
                    let byte = self.to(Op::Trunc, Scalar::I8, byte);
                    self.resize(byte, sum, ty.is_signed())
                };
                (0..4).map(&mut byte).collect()
            }
        }
    }

    /// Adds the products of a lane's registers to its accumulators.
    fn sum_up(&mut self, left: &[Value], right: &[Value], shape: MmaShape, sums: &mut [Value]) {
        let MmaShape { rows, columns, types: sum } = shape;
        let along = right.len() / columns.max(1);
        for (right, sums) in right.chunks_exact(along).zip(sums.chunks_exact_mut(2 * rows)) {
            self.sum_up_columns(left, right, rows, sum, sums);
        }
    }

    /// Adds the products with eight columns.
    fn sum_up_columns(
        &mut self,
        left: &[Value],
        right: &[Value],
        rows: usize,
        sum: MmaTypes,
        sums: &mut [Value],
    ) {
        let [column, row] = self.position_in_rows();
        for (along, &right) in right.iter().enumerate() {
            for other in 0..4 {
                // The lane with the next elements of the same row.
                let adjacent = self.times(row, 4, other);
                let of_rows: Vec<Vec<Value>> = (0..rows)
                    .map(|part| {
                        let register = self.fetched(left[part + rows * along], adjacent);
                        self.numbers(register, sum.numbers[0], sum.scalar)
                    })
                    .collect();
                let of_columns = [0, 1].map(|part| {
                    let lane = self.times(column, 8, 4 * part + other);
                    let register = self.fetched(right, lane);
                    self.numbers(register, sum.numbers[1], sum.scalar)
                });
                for (part, of_row) in of_rows.iter().enumerate() {
                    for (which, of_column) in of_columns.iter().enumerate() {
                        let total = &mut sums[2 * part + which];
                        for (&x, &y) in of_row.iter().zip(of_column) {
                            *total = match sum.scalar.is_float() {
                                true => self.op(Op::Fma, &[x, y, *total]),
                                false => {
                                    let product = self.op(Op::Mul, &[x, y]);
                                    self.op(Op::Add, &[*total, product])
                                }
                            };
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MANY;
    use crate::lower::{LowerOptions, lower};
    use crate::parse;

    /// Calls begin and end with the numbers that are given.
    #[test]
    fn many_products_are_calls() {
        let product = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r0,%r1}, {%f0,%f1,%f2,%f3};\n";
        for (count, functions) in
            [(MANY.start() - 1, 1), (*MANY.start(), 2), (*MANY.end(), 2), (MANY.end() + 1, 1)]
        {
            let body = product.repeat(count);
            let text = format!(
                ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{{\n.reg .b32 %r<4>;\n.reg .f32 %f<4>;\n{body}ret;\n}}\n"
            );
            let parsed = parse(&text).unwrap_or_else(|errors| panic!("{}", errors[0]));
            let lowered = lower(&parsed, "products.ptx", LowerOptions::default())
                .unwrap_or_else(|errors| panic!("{}", errors[0]));
            assert!(lowered.refused.is_empty(), "{}", lowered.refused[0]);
            assert_eq!(lowered.module.functions.len(), functions, "{count}");
        }
    }
}
