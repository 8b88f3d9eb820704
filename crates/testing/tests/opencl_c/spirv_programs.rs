//! SPIR-V: generated kernels compute on the oracle what an evaluation of their syntax tree says.
//!
//! Each kernel reads a number per work-item, assigns to variables of four widths in branches, loops and switches, and writes all of
//! them. Nothing is undefined: shifts and counts are masked, divisors are odd.

use heddle_builtins::compile_spirv;
use heddle_runs::line::RunLine;
use heddle_spirv::SpirvOptions;
use heddle_testing::generate::Random;
use spirv::{Op, OpenclStd100Op as Std};
use std::collections::BTreeMap;

const WIDTHS: [u32; 4] = [8, 16, 32, 64];
/// Widths of the variables.
const VARIABLES: [u32; 6] = [32, 32, 64, 16, 8, 64];
const ITEMS: usize = 8;

fn low(value: u64, width: u32) -> u64 {
    if width == 64 { value } else { value & ((1 << width) - 1) }
}

fn signed(value: u64, width: u32) -> i64 {
    (value << (64 - width)) as i64 >> (64 - width)
}

/// Operation on two numbers of a width.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Binary {
    Plain(Op),
    Shift(Op),
    Divide(Op),
    Builtin(Std),
}

#[derive(Clone, Debug)]
enum Expr {
    Input,
    Item,
    Variable(usize),
    Constant(u64),
    Not(Box<Expr>),
    Count(Box<Expr>),
    Reverse(Box<Expr>),
    Field {
        is_signed: bool,
        of: Box<Expr>,
        offset: u32,
        count: u32,
    },
    Insert {
        base: Box<Expr>,
        part: Box<Expr>,
        offset: u32,
        count: u32,
    },
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// Selects by a comparison of numbers of a width.
    Select {
        op: Op,
        width: u32,
        compared: [Box<Expr>; 2],
        values: [Box<Expr>; 2],
    },
    Convert {
        is_signed: bool,
        from: u32,
        of: Box<Expr>,
    },
    /// Product, sum or difference of small floats, as 32 bits.
    Float(Op, Box<Expr>, Box<Expr>),
    /// Elements of a vector of two, exchanged by a shuffle, and one picked.
    Shuffle([Box<Expr>; 2], u32),
    /// Call of the module's function.
    Call(Box<Expr>, Box<Expr>),
}

#[derive(Clone, Debug)]
enum Statement {
    Assign(usize, Expr),
    /// Assigns one of two values by a φ.
    Merge(usize, Expr, [Expr; 2]),
    If(Expr, [Vec<Statement>; 2]),
    /// Repeats as often as the lowest two bits say.
    Loop(Expr, Vec<Statement>),
    Switch(Expr, Vec<Vec<Statement>>),
}

struct Generator<'r> {
    random: &'r mut Random,
    is_in_function: bool,
}

impl Generator<'_> {
    fn expr(&mut self, width: u32, depth: u32) -> Expr {
        use Binary::*;
        let same = |this: &mut Self| Box::new(this.expr(width, depth - 1));
        if depth == 0 || self.random.below(6) == 0 {
            let fitting: Vec<usize> = (0..VARIABLES.len()).filter(|&at| VARIABLES[at] == width).collect();
            return match self.random.below(4) {
                0 if width == 32 => Expr::Input,
                1 if width == 64 && !self.is_in_function => Expr::Item,
                2 => Expr::Constant(low(self.random.bits() >> self.random.below(64), width)),
                _ if self.is_in_function => Expr::Constant(low(self.random.bits(), width)),
                _ => Expr::Variable(fitting[self.random.below(fitting.len())]),
            };
        }
        let offset = self.random.below(width as usize) as u32;
        let count = self.random.below((width - offset) as usize + 1) as u32;
        match self.random.below(20) {
            0 => Expr::Not(same(self)),
            1 => Expr::Count(same(self)),
            2 => Expr::Reverse(same(self)),
            3 => Expr::Field { is_signed: self.random.below(2) == 0, of: same(self), offset, count },
            4 => Expr::Insert { base: same(self), part: same(self), offset, count },
            5 | 6 => {
                let op = [
                    Op::IEqual,
                    Op::INotEqual,
                    Op::ULessThan,
                    Op::SLessThan,
                    Op::UGreaterThanEqual,
                    Op::SGreaterThan,
                ][self.random.below(6)];
                let of = WIDTHS[self.random.below(4)];
                let compared = [(); 2].map(|()| Box::new(self.expr(of, depth - 1)));
                Expr::Select { op, width: of, compared, values: [same(self), same(self)] }
            }
            7 | 8 => {
                let from = WIDTHS[self.random.below(4)];
                let of = Box::new(self.expr(from, depth - 1));
                Expr::Convert { is_signed: self.random.below(2) == 0, from, of }
            }
            9 if width == 32 => {
                let op = [Op::FAdd, Op::FSub, Op::FMul][self.random.below(3)];
                Expr::Float(op, same(self), same(self))
            }
            10 if width == 32 => Expr::Shuffle([same(self), same(self)], self.random.below(4) as u32),
            11 if width == 32 && !self.is_in_function => Expr::Call(same(self), same(self)),
            12 => {
                let op = [Op::ShiftLeftLogical, Op::ShiftRightLogical, Op::ShiftRightArithmetic]
                    [self.random.below(3)];
                Expr::Binary(Shift(op), same(self), same(self))
            }
            13 => {
                let op = [Op::UDiv, Op::UMod][self.random.below(2)];
                Expr::Binary(Divide(op), same(self), same(self))
            }
            14..=16 => {
                let op = [
                    Std::s_min,
                    Std::u_max,
                    Std::s_add_sat,
                    Std::u_sub_sat,
                    Std::rotate,
                    Std::u_mul_hi,
                    Std::s_hadd,
                    Std::u_abs_diff,
                ][self.random.below(8)];
                Expr::Binary(Builtin(op), same(self), same(self))
            }
            _ => {
                let op = [Op::IAdd, Op::ISub, Op::IMul, Op::BitwiseAnd, Op::BitwiseOr, Op::BitwiseXor]
                    [self.random.below(6)];
                Expr::Binary(Plain(op), same(self), same(self))
            }
        }
    }

    fn statements(&mut self, depth: u32) -> Vec<Statement> {
        (0..1 + self.random.below(3)).map(|_| self.statement(depth)).collect()
    }

    fn statement(&mut self, depth: u32) -> Statement {
        let variable = self.random.below(VARIABLES.len());
        let width = VARIABLES[variable];
        match self.random.below(if depth == 0 { 3 } else { 7 }) {
            0 | 1 => Statement::Assign(variable, self.expr(width, 3)),
            2 => Statement::Merge(variable, self.expr(32, 2), [self.expr(width, 2), self.expr(width, 2)]),
            3 | 4 => {
                Statement::If(self.expr(32, 2), [self.statements(depth - 1), self.statements(depth - 1)])
            }
            5 => Statement::Loop(self.expr(32, 2), self.statements(depth - 1)),
            _ => Statement::Switch(self.expr(32, 2), (0..3).map(|_| self.statements(depth - 1)).collect()),
        }
    }
}

/// State of a work-item.
struct Item<'p> {
    input: u64,
    item: u64,
    variables: [u64; VARIABLES.len()],
    function: &'p Expr,
}

impl Item<'_> {
    fn eval(&self, expr: &Expr, width: u32) -> u64 {
        let of = |expr: &Expr| self.eval(expr, width);
        let found = match expr {
            Expr::Input => self.input,
            Expr::Item => self.item,
            Expr::Variable(index) => self.variables[*index],
            Expr::Constant(bits) => *bits,
            Expr::Not(a) => !of(a),
            Expr::Count(a) => of(a).count_ones().into(),
            Expr::Reverse(a) => of(a).reverse_bits() >> (64 - width),
            Expr::Field { is_signed, of: a, offset, count } => match (*count, *is_signed) {
                (0, _) => 0,
                (count, true) => signed(of(a) >> offset, count) as u64,
                (count, false) => low(of(a) >> offset, count),
            },
            Expr::Insert { base, part, offset, count } => {
                let mask = if *count == 0 { 0 } else { low(u64::MAX, *count) << offset };
                of(base) & !mask | of(part) << offset & mask
            }
            Expr::Binary(op, a, b) => binary(*op, of(a), of(b), width),
            Expr::Select { op, width: compared_width, compared, values } => {
                let [a, b] = [0, 1].map(|at| self.eval(&compared[at], *compared_width));
                let [x, y] = [a, b].map(|value| signed(value, *compared_width));
                let is_true = match op {
                    Op::IEqual => a == b,
                    Op::INotEqual => a != b,
                    Op::ULessThan => a < b,
                    Op::SLessThan => x < y,
                    Op::UGreaterThanEqual => a >= b,
                    _ => x > y,
                };
                of(&values[usize::from(!is_true)])
            }
            Expr::Convert { is_signed, from, of } => {
                let value = self.eval(of, *from);
                if *is_signed { signed(value, *from) as u64 } else { value }
            }
            Expr::Float(op, a, b) => {
                let [a, b] = [a, b].map(|side| low(of(side), 15) as f32);
                let value = match op {
                    Op::FAdd => a + b,
                    Op::FSub => a - b,
                    _ => a * b,
                };
                value as i32 as u64
            }
            Expr::Shuffle(parts, index) => of(&parts[usize::from(index % 2 == 0)]),
            Expr::Call(a, b) => {
                let mut variables = [0; VARIABLES.len()];
                variables[0] = of(b);
                Item { input: of(a), item: 0, variables, function: self.function }.eval(self.function, 32)
            }
        };
        low(found, width)
    }

    fn run(&mut self, list: &[Statement]) {
        for statement in list {
            match statement {
                Statement::Assign(variable, value) => {
                    self.variables[*variable] = self.eval(value, VARIABLES[*variable]);
                }
                Statement::Merge(variable, condition, values) => {
                    let is_even = self.eval(condition, 32) & 1 == 0;
                    self.variables[*variable] =
                        self.eval(&values[usize::from(is_even)], VARIABLES[*variable]);
                }
                Statement::If(condition, sides) => {
                    let is_even = self.eval(condition, 32) & 1 == 0;
                    self.run(&sides[usize::from(is_even)]);
                }
                Statement::Loop(count, body) => {
                    for _ in 0..self.eval(count, 32) & 3 {
                        self.run(body);
                    }
                }
                Statement::Switch(selector, cases) => {
                    if let Some(case) = cases.get(self.eval(selector, 32) as usize & 3) {
                        self.run(case);
                    }
                }
            }
        }
    }
}

fn binary(op: Binary, a: u64, b: u64, width: u32) -> u64 {
    let [x, y] = [a, b].map(|value| i128::from(signed(value, width)));
    let by = (b % u64::from(width)) as u32;
    let top = 1i128 << (width - 1);
    match op {
        Binary::Plain(Op::IAdd) => a.wrapping_add(b),
        Binary::Plain(Op::ISub) => a.wrapping_sub(b),
        Binary::Plain(Op::IMul) => a.wrapping_mul(b),
        Binary::Plain(Op::BitwiseAnd) => a & b,
        Binary::Plain(Op::BitwiseOr) => a | b,
        Binary::Plain(_) => a ^ b,
        Binary::Shift(Op::ShiftLeftLogical) => a << by,
        Binary::Shift(Op::ShiftRightLogical) => a >> by,
        Binary::Shift(_) => (signed(a, width) >> by) as u64,
        Binary::Divide(Op::UDiv) => a / (b | 1),
        Binary::Divide(_) => a % (b | 1),
        Binary::Builtin(Std::s_min) => x.min(y) as u64,
        Binary::Builtin(Std::u_max) => a.max(b),
        Binary::Builtin(Std::s_add_sat) => (x + y).clamp(-top, top - 1) as u64,
        Binary::Builtin(Std::u_sub_sat) => a.saturating_sub(b),
        Binary::Builtin(Std::rotate) => {
            if by == 0 {
                a
            } else {
                a << by | a >> (width - by)
            }
        }
        Binary::Builtin(Std::u_mul_hi) => ((u128::from(a) * u128::from(b)) >> width) as u64,
        Binary::Builtin(Std::s_hadd) => ((x + y) >> 1) as u64,
        Binary::Builtin(_) => a.abs_diff(b),
    }
}

/// Fixed ids.
const VOID: u32 = 1;
const BOOL: u32 = 2;
const FLOAT: u32 = 3;
const INT2: u32 = 4;
const LONG3: u32 = 5;
const INPUT_POINTER: u32 = 6;
const ITEM_POINTER: u32 = 7;
const OUTPUT_POINTER: u32 = 8;
const KERNEL_TYPE: u32 = 9;
const FUNCTION_TYPE: u32 = 10;
const ITEM_VARIABLE: u32 = 11;
const FUNCTION: u32 = 12;
const KERNEL: u32 = 13;
const STD: u32 = 14;
const IN: u32 = 15;
const OUT: u32 = 16;
/// Types of integers, and pointers to variables of them.
const INTS: u32 = 20;
const POINTERS: u32 = 24;
const FIRST: u32 = 30;

fn int(width: u32) -> u32 {
    INTS + width.trailing_zeros() - 3
}

/// Writer of a module.
struct Writer {
    next: u32,
    constants: BTreeMap<(u32, u64), u32>,
    head: Vec<u32>,
    body: Vec<u32>,
    variables: Vec<u32>,
    input: u32,
    item: u32,
}

fn put(words: &mut Vec<u32>, op: Op, operands: &[u32]) {
    words.push((operands.len() as u32 + 1) << 16 | op as u32);
    words.extend_from_slice(operands);
}

impl Writer {
    fn id(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    fn constant(&mut self, bits: u64, width: u32) -> u32 {
        let bits = low(bits, width);
        if let Some(&id) = self.constants.get(&(width, bits)) {
            return id;
        }
        let id = self.id();
        let words: &[u32] = if width == 64 { &[bits as u32, (bits >> 32) as u32] } else { &[bits as u32] };
        put(&mut self.head, Op::Constant, &[&[int(width), id][..], words].concat());
        self.constants.insert((width, bits), id);
        id
    }

    fn value(&mut self, op: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        put(&mut self.body, op, &[&[ty, id][..], operands].concat());
        id
    }

    fn label(&mut self, id: u32) {
        put(&mut self.body, Op::Label, &[id]);
    }

    fn branch(&mut self, to: u32) {
        put(&mut self.body, Op::Branch, &[to]);
    }

    fn expr(&mut self, expr: &Expr, width: u32) -> u32 {
        let ty = int(width);
        match expr {
            Expr::Input => self.input,
            Expr::Item => self.item,
            Expr::Variable(index) => self.value(Op::Load, ty, &[self.variables[*index]]),
            Expr::Constant(bits) => self.constant(*bits, width),
            Expr::Not(a) => {
                let a = self.expr(a, width);
                self.value(Op::Not, ty, &[a])
            }
            Expr::Count(a) => {
                let a = self.expr(a, width);
                self.value(Op::BitCount, ty, &[a])
            }
            Expr::Reverse(a) => {
                let a = self.expr(a, width);
                self.value(Op::BitReverse, ty, &[a])
            }
            Expr::Field { is_signed, of, offset, count } => {
                let of = self.expr(of, width);
                let (offset, count) =
                    (self.constant((*offset).into(), 32), self.constant((*count).into(), 32));
                let op = if *is_signed { Op::BitFieldSExtract } else { Op::BitFieldUExtract };
                self.value(op, ty, &[of, offset, count])
            }
            Expr::Insert { base, part, offset, count } => {
                let (base, part) = (self.expr(base, width), self.expr(part, width));
                let (offset, count) =
                    (self.constant((*offset).into(), 32), self.constant((*count).into(), 32));
                self.value(Op::BitFieldInsert, ty, &[base, part, offset, count])
            }
            Expr::Binary(op, a, b) => {
                let (a, mut b) = (self.expr(a, width), self.expr(b, width));
                match op {
                    Binary::Plain(op) => self.value(*op, ty, &[a, b]),
                    Binary::Shift(op) => {
                        let mask = self.constant(u64::from(width) - 1, width);
                        b = self.value(Op::BitwiseAnd, ty, &[b, mask]);
                        self.value(*op, ty, &[a, b])
                    }
                    Binary::Divide(op) => {
                        let one = self.constant(1, width);
                        b = self.value(Op::BitwiseOr, ty, &[b, one]);
                        self.value(*op, ty, &[a, b])
                    }
                    Binary::Builtin(op) => self.value(Op::ExtInst, ty, &[STD, *op as u32, a, b]),
                }
            }
            Expr::Select { op, width: compared_width, compared, values } => {
                let [a, b] = [0, 1].map(|at| self.expr(&compared[at], *compared_width));
                let condition = self.value(*op, BOOL, &[a, b]);
                let [x, y] = [0, 1].map(|at| self.expr(&values[at], width));
                self.value(Op::Select, ty, &[condition, x, y])
            }
            Expr::Convert { is_signed, from, of } => {
                let of = self.expr(of, *from);
                match (*from == width, is_signed) {
                    (true, _) => of,
                    (false, true) => self.value(Op::SConvert, ty, &[of]),
                    (false, false) => self.value(Op::UConvert, ty, &[of]),
                }
            }
            Expr::Float(op, a, b) => {
                let mask = self.constant(0x7fff, 32);
                let sides = [a, b].map(|side| {
                    let side = self.expr(side, 32);
                    let small = self.value(Op::BitwiseAnd, ty, &[side, mask]);
                    self.value(Op::ConvertUToF, FLOAT, &[small])
                });
                let value = self.value(*op, FLOAT, &sides);
                self.value(Op::ConvertFToS, ty, &[value])
            }
            Expr::Shuffle(parts, index) => {
                let parts = [0, 1].map(|at| self.expr(&parts[at], 32));
                let vector = self.value(Op::CompositeConstruct, INT2, &parts);
                let turned = self.value(Op::VectorShuffle, INT2, &[vector, vector, 1, 2]);
                match index / 2 {
                    0 => self.value(Op::CompositeExtract, ty, &[turned, index % 2]),
                    _ => {
                        let index = self.constant((index % 2).into(), 32);
                        self.value(Op::VectorExtractDynamic, ty, &[turned, index])
                    }
                }
            }
            Expr::Call(a, b) => {
                let (a, b) = (self.expr(a, 32), self.expr(b, 32));
                self.value(Op::FunctionCall, ty, &[FUNCTION, a, b])
            }
        }
    }

    /// Bool of the lowest bit.
    fn condition(&mut self, expr: &Expr) -> u32 {
        let value = self.expr(expr, 32);
        let (one, zero) = (self.constant(1, 32), self.constant(0, 32));
        let bit = self.value(Op::BitwiseAnd, int(32), &[value, one]);
        self.value(Op::INotEqual, BOOL, &[bit, zero])
    }

    fn statements(&mut self, list: &[Statement]) {
        for statement in list {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Assign(variable, value) => {
                let value = self.expr(value, VARIABLES[*variable]);
                put(&mut self.body, Op::Store, &[self.variables[*variable], value]);
            }
            Statement::Merge(variable, condition, values) => {
                let condition = self.condition(condition);
                let [yes, no, end] = [(); 3].map(|()| self.id());
                put(&mut self.body, Op::BranchConditional, &[condition, yes, no]);
                let mut pairs = Vec::new();
                for (label, value) in [yes, no].into_iter().zip(values) {
                    self.label(label);
                    pairs.extend([self.expr(value, VARIABLES[*variable]), label]);
                    self.branch(end);
                }
                self.label(end);
                let merged = self.value(Op::Phi, int(VARIABLES[*variable]), &pairs);
                put(&mut self.body, Op::Store, &[self.variables[*variable], merged]);
            }
            Statement::If(condition, sides) => {
                let condition = self.condition(condition);
                let [yes, no, end] = [(); 3].map(|()| self.id());
                put(&mut self.body, Op::SelectionMerge, &[end, 0]);
                put(&mut self.body, Op::BranchConditional, &[condition, yes, no]);
                for (label, side) in [yes, no].into_iter().zip(sides) {
                    self.label(label);
                    self.statements(side);
                    self.branch(end);
                }
                self.label(end);
            }
            Statement::Loop(count, body) => {
                let [before, header, inside, next, end] = [(); 5].map(|()| self.id());
                let value = self.expr(count, 32);
                let (zero, one, three) = (self.constant(0, 32), self.constant(1, 32), self.constant(3, 32));
                let count = self.value(Op::BitwiseAnd, int(32), &[value, three]);
                self.branch(before);
                self.label(before);
                self.branch(header);
                self.label(header);
                let (done, after) = (self.id(), self.id());
                put(&mut self.body, Op::Phi, &[int(32), done, zero, before, after, next]);
                let goes_on = self.value(Op::ULessThan, BOOL, &[done, count]);
                put(&mut self.body, Op::LoopMerge, &[end, next, 0]);
                put(&mut self.body, Op::BranchConditional, &[goes_on, inside, end]);
                self.label(inside);
                self.statements(body);
                self.branch(next);
                self.label(next);
                put(&mut self.body, Op::IAdd, &[int(32), after, done, one]);
                self.branch(header);
                self.label(end);
            }
            Statement::Switch(selector, cases) => {
                let value = self.expr(selector, 32);
                let three = self.constant(3, 32);
                let selector = self.value(Op::BitwiseAnd, int(32), &[value, three]);
                let end = self.id();
                let labels: Vec<u32> = cases.iter().map(|_| self.id()).collect();
                let mut words = vec![selector, end];
                words.extend((0..).zip(&labels).flat_map(|(case, &label)| [case, label]));
                put(&mut self.body, Op::SelectionMerge, &[end, 0]);
                put(&mut self.body, Op::Switch, &words);
                for (label, case) in labels.into_iter().zip(cases) {
                    self.label(label);
                    self.statements(case);
                    self.branch(end);
                }
                self.label(end);
            }
        }
    }
}

/// Writes a module with the kernel and the function.
fn module(function: &Expr, statements: &[Statement]) -> Vec<u8> {
    let mut it = Writer {
        next: FIRST,
        constants: BTreeMap::new(),
        head: Vec::new(),
        body: Vec::new(),
        variables: Vec::new(),
        input: 0,
        item: 0,
    };
    let head = &mut it.head;
    put(head, Op::ExtInstImport, &[STD, 0x6e65_704f, 0x732e_4c43, 0x0000_6474]);
    put(head, Op::MemoryModel, &[2, 2]);
    put(head, Op::EntryPoint, &[6, KERNEL, u32::from(b'k'), ITEM_VARIABLE]);
    put(head, Op::Decorate, &[ITEM_VARIABLE, 11, 28]);
    put(head, Op::TypeVoid, &[VOID]);
    put(head, Op::TypeBool, &[BOOL]);
    put(head, Op::TypeFloat, &[FLOAT, 32]);
    for width in WIDTHS {
        put(head, Op::TypeInt, &[int(width), width, 0]);
        put(head, Op::TypePointer, &[POINTERS + int(width) - INTS, 7, int(width)]);
    }
    put(head, Op::TypeVector, &[INT2, int(32), 2]);
    put(head, Op::TypeVector, &[LONG3, int(64), 3]);
    put(head, Op::TypePointer, &[INPUT_POINTER, 5, int(32)]);
    put(head, Op::TypePointer, &[OUTPUT_POINTER, 5, int(64)]);
    put(head, Op::TypePointer, &[ITEM_POINTER, 1, LONG3]);
    put(head, Op::TypeFunction, &[KERNEL_TYPE, VOID, INPUT_POINTER, OUTPUT_POINTER]);
    put(head, Op::TypeFunction, &[FUNCTION_TYPE, int(32), int(32), int(32)]);
    put(head, Op::Variable, &[ITEM_POINTER, ITEM_VARIABLE, 1]);
    // The function: its first parameter is the input, its second one the first variable.
    put(&mut it.body, Op::Function, &[int(32), FUNCTION, 0, FUNCTION_TYPE]);
    it.input = it.value(Op::FunctionParameter, int(32), &[]);
    it.value(Op::FunctionParameter, int(32), &[]);
    let label = it.id();
    it.label(label);
    let result = it.expr(function, 32);
    put(&mut it.body, Op::ReturnValue, &[result]);
    put(&mut it.body, Op::FunctionEnd, &[]);
    put(&mut it.body, Op::Function, &[VOID, KERNEL, 0, KERNEL_TYPE]);
    put(&mut it.body, Op::FunctionParameter, &[INPUT_POINTER, IN]);
    put(&mut it.body, Op::FunctionParameter, &[OUTPUT_POINTER, OUT]);
    let label = it.id();
    it.label(label);
    for width in VARIABLES {
        let variable = it.value(Op::Variable, POINTERS + int(width) - INTS, &[7]);
        it.variables.push(variable);
    }
    let items = it.value(Op::Load, LONG3, &[ITEM_VARIABLE]);
    it.item = it.value(Op::CompositeExtract, int(64), &[items, 0]);
    let address = it.value(Op::InBoundsPtrAccessChain, INPUT_POINTER, &[IN, it.item]);
    it.input = it.value(Op::Load, int(32), &[address]);
    for (index, width) in VARIABLES.into_iter().enumerate() {
        let zero = it.constant(0, width);
        put(&mut it.body, Op::Store, &[it.variables[index], zero]);
    }
    it.statements(statements);
    let count = it.constant(VARIABLES.len() as u64, 64);
    let base = it.value(Op::IMul, int(64), &[it.item, count]);
    for (index, width) in VARIABLES.into_iter().enumerate() {
        let value = it.value(Op::Load, int(width), &[it.variables[index]]);
        let wide = if width == 64 { value } else { it.value(Op::UConvert, int(64), &[value]) };
        let offset = it.constant(index as u64, 64);
        let at = it.value(Op::IAdd, int(64), &[base, offset]);
        let address = it.value(Op::InBoundsPtrAccessChain, OUTPUT_POINTER, &[OUT, at]);
        put(&mut it.body, Op::Store, &[address, wide]);
    }
    put(&mut it.body, Op::Return, &[]);
    put(&mut it.body, Op::FunctionEnd, &[]);
    let header = [spirv::MAGIC_NUMBER, 0x0001_0400, 0, it.next, 0];
    header.iter().chain(&it.head).chain(&it.body).flat_map(|word| word.to_le_bytes()).collect()
}

/// Generated modules give what their syntax trees give. `HEDDLE_FUZZ_PROGRAMS` is their number, `HEDDLE_FUZZ_SEED` the first seed.
#[test]
fn generated_modules_compute_what_they_say() {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (count, seed) = (number("HEDDLE_FUZZ_PROGRAMS", 300), number("HEDDLE_FUZZ_SEED", 1));
    for seed in seed..seed + count {
        let mut random = Random::new(seed);
        let mut generator = Generator { random: &mut random, is_in_function: true };
        let function = generator.expr(32, 3);
        generator.is_in_function = false;
        let statements: Vec<Statement> = (0..5).map(|_| generator.statement(2)).collect();
        let inputs: Vec<u64> = (0..ITEMS).map(|_| low(random.bits() >> random.below(60), 32)).collect();
        let mut expected = Vec::new();
        for (item, &input) in inputs.iter().enumerate() {
            let variables = [0; VARIABLES.len()];
            let mut item = Item { input, item: item as u64, variables, function: &function };
            item.run(&statements);
            expected.extend(item.variables.iter().map(|&value| value as i64));
        }
        let bytes = module(&function, &statements);
        let program = compile_spirv(&bytes, "generated.spv", &SpirvOptions::default(), &[]);
        let program = program.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(program.refused.is_empty(), "seed {seed}: {}", program.refused[0]);
        let inputs: Vec<i32> = inputs.iter().map(|&value| value as i32).collect();
        let line = format!(
            "@k(&a, &o) lanes=4 local={ITEMS} with a: i32 {inputs:?}; o: i64 zero {} -> o: {expected:?}",
            expected.len()
        );
        let found = RunLine::parse(&line).and_then(|run| {
            let ran = run.run(&program.module, &run.options)?;
            run.check(&program.module, &ran)
        });
        match found {
            Ok(None) => {}
            Ok(Some(found)) => panic!("seed {seed}: {line}\n  gives {found}"),
            Err(error) => panic!("seed {seed}: {line}\n  {error}"),
        }
    }
}
