//! Lowering of `wmma`: matrices that a warp loads, multiplies and stores as a whole.
//!
//! PTX does not specify which lane holds which element. The layout is that of GPUs since compute capability 7.5, which is the
//! one of `mma` (`matrix.rs`). A piece is eight rows of `A` and `C`, or eight columns of `B`. Lane `4g + t` holds row or
//! column `g` of each piece. Along the other direction it holds neighbours from `t` times their number on. `A` lies in pairs of
//! pieces, each with all of `k`. A product of 8 by 32 is held as its transpose, of 32 by 8: `B` as `A`, `A` as `B`, and the rows
//! of `C` as columns. `A` and `B` of f16 always have eight registers; unused ones repeat others.

use super::body::FunctionLowering;
use super::matrix::{numbers_of, parts, sum_scalar};
use super::memory::space_of;
use super::product::{MmaShape, MmaTypes};
use super::{LowerResult, layout, refuse};
use crate::check::ResolvedInst;
use crate::words::Word;
use heddle_ir::inst::Access;
use heddle_ir::words::Flags;
use heddle_ir::{Op, Scalar, Value};

/// Number of registers of `A` and `B` of f16.
const HALF_REGISTERS: usize = 8;

/// Returns the sizes of a product: `m`, `n` and `k`.
fn shape_of(words: &[Word]) -> Option<[usize; 3]> {
    words.iter().find_map(|word| {
        Some(match word {
            Word::M16n16k16 => [16, 16, 16],
            Word::M32n8k16 => [32, 8, 16],
            Word::M8n32k16 => [8, 32, 16],
            Word::M16n16k8 => [16, 16, 8],
            Word::M8n8k4 => [8, 8, 4],
            _ => return None,
        })
    })
}

/// Returns the piece and the group along the other direction of a register of `A` or `C`: pairs of pieces, one after the other.
fn left_piece(index: usize, along: usize) -> (usize, usize) {
    let (pair, within) = (index / (2 * along), index % (2 * along));
    (2 * pair + within % 2, within / 2)
}

/// True if registers hold the transposes of the matrices.
fn is_transposed(words: &[Word]) -> bool {
    words.contains(&Word::M8n32k16)
}

/// Layout of a matrix fragment in registers and memory.
struct FragmentLayout {
    ty: Word,
    /// True for the right factor, as registers hold it.
    is_right: bool,
    /// Number of pieces of eight rows (columns for `B`).
    pieces: usize,
    /// Number of groups of neighbours of a lane along the other direction.
    along: usize,
    /// Number of neighbours in a group.
    each: usize,
    /// True if neighbours are adjacent in memory.
    is_close: bool,
    /// Default distance between rows (or columns).
    stride: usize,
}

impl FragmentLayout {
    fn of(inst: &ResolvedInst) -> LowerResult<FragmentLayout> {
        let Some([m, n, k]) = shape_of(&inst.words) else {
            return refuse("unknown matrix size", "use a size of the table");
        };
        let has = |word: Word| inst.words.contains(&word);
        let ty = inst.words.iter().copied().rfind(|word| word.is_type()).unwrap_or(Word::F32);
        let is_transposed = is_transposed(&inst.words);
        let [m, n] = if is_transposed { [n, m] } else { [m, n] };
        let is_row = has(Word::Row) != is_transposed;
        let (left, right) = if is_transposed { (Word::B, Word::A) } else { (Word::A, Word::B) };
        let is_right = has(right);
        let (each, pieces, size) = match () {
            () if has(left) => (numbers_of(ty), m / 8, k),
            () if is_right => (numbers_of(ty), n / 8, k),
            () => (2, m / 8, n),
        };
        let along = if has(left) || is_right { size / (4 * each) } else { size / 8 };
        let is_close = is_row != is_right;
        let stride = if is_close { size } else { 8 * pieces };
        Ok(FragmentLayout { ty, is_right, pieces, along, each, is_close, stride })
    }

    /// Iterates over the pieces in the order of their registers, with the group along the other direction.
    fn order(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (along, is_right) = (self.along, self.is_right);
        (0..self.pieces * along).map(move |index| match is_right {
            true => (index / along, index % along),
            false => left_piece(index, along),
        })
    }

    /// Returns the number of registers of a lane.
    fn registers(&self, is_sum: bool) -> usize {
        let numbers = self.pieces * self.along;
        match (is_sum, self.ty) {
            (true, Word::F16) => numbers,
            (true, _) => 2 * numbers,
            (false, Word::F16) => HALF_REGISTERS,
            (false, _) => numbers,
        }
    }

    /// Returns the type of an element in memory.
    fn scalar(&self) -> Scalar {
        match self.ty {
            Word::F64 => Scalar::F64,
            ty => layout::int(ty.bits().unwrap_or(32)),
        }
    }
}

impl FunctionLowering<'_, '_, '_> {
    pub(crate) fn fragments(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        if inst.words.contains(&Word::Mma) {
            self.whole_product(inst)
        } else if inst.words.contains(&Word::Store) {
            self.store_fragment(inst)
        } else {
            self.load_fragment(inst)
        }
    }

    /// Returns the address of a lane's first element and the row (or column) stride in bytes, both as integers.
    fn held_from(
        &mut self,
        inst: &ResolvedInst,
        matrix: &FragmentLayout,
        address: usize,
    ) -> LowerResult<[Value; 2]> {
        let pointer = self.address(&inst.args[address], space_of(&inst.words))?;
        let number = self.number_of(pointer);
        let bytes = i128::from(matrix.scalar().bytes());
        let size = self.emit.int(Scalar::I64, bytes);
        let stride = match inst.args.get(2) {
            Some(arg) => {
                let stride = self.read(arg, Word::U32)?;
                self.emit.resize(stride, Scalar::I64, false)
            }
            None => self.emit.int(Scalar::I64, matrix.stride as i128),
        };
        let stride = self.emit.op(Op::Mul, &[stride, size]);
        let [column, row] = self.emit.position_in_rows();
        let [column, row] = [column, row].map(|value| self.emit.resize(value, Scalar::I64, false));
        let neighbours = self.emit.int(Scalar::I64, matrix.each as i128);
        let column = self.emit.op(Op::Mul, &[column, neighbours]);
        let (far, near) = if matrix.is_close { (row, column) } else { (column, row) };
        let far = self.emit.op(Op::Mul, &[far, stride]);
        let near = self.emit.op(Op::Mul, &[near, size]);
        let offset = self.emit.op(Op::Add, &[far, near]);
        Ok([self.emit.op(Op::Add, &[number, offset]), stride])
    }

    /// Returns the address of an element, by piece, group along the other direction, and neighbour.
    fn number_at(
        &mut self,
        inst: &ResolvedInst,
        matrix: &FragmentLayout,
        [first, stride]: [Value; 2],
        [piece, along, which]: [usize; 3],
    ) -> Value {
        let across = 8 * piece;
        let onward = 4 * matrix.each * along + which;
        let (far, near) = if matrix.is_close { (across, onward) } else { (onward, across) };
        let far = self.emit.int(Scalar::I64, far as i128);
        let far = self.emit.op(Op::Mul, &[stride, far]);
        let at = self.emit.op(Op::Add, &[first, far]);
        let pointer = self.pointer_of(at, space_of(&inst.words));
        self.emit.add_bytes(pointer, near as i64 * i64::from(matrix.scalar().bytes()))
    }

    fn load_fragment(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let is_sum = inst.words.contains(&Word::C);
        let matrix = FragmentLayout::of(inst)?;
        let registers = parts(&inst.args[0]);
        let count = matrix.registers(is_sum);
        if registers.len() != count {
            return refuse("the fragment has another number of registers", format!("write {count}"));
        }
        let place = self.held_from(inst, &matrix, 1)?;
        let scalar = matrix.scalar();
        let mut held = Vec::new();
        for (piece, along) in matrix.order() {
            if !is_sum && matrix.is_close && matrix.each > 1 {
                let address = self.number_at(inst, &matrix, place, [piece, along, 0]);
                held.push(self.emit.load(Scalar::I32, address, Access::aligned(4), Flags::NONE));
                continue;
            }
            let numbers: Vec<Value> = (0..matrix.each)
                .map(|which| {
                    let address = self.number_at(inst, &matrix, place, [piece, along, which]);
                    self.emit.load(scalar, address, Access::aligned(scalar.bytes()), Flags::NONE)
                })
                .collect();
            match is_sum && matrix.ty != Word::F16 || matrix.each == 1 {
                true => held.extend(numbers),
                false => held.push(self.side_by_side(&numbers)),
            }
        }
        for (arg, &value) in registers.iter().zip(held.iter().cycle()) {
            self.write(arg, value, false);
        }
        Ok(())
    }

    /// Packs elements into a register, first one lowest.
    fn side_by_side(&mut self, numbers: &[Value]) -> Value {
        let mut whole = self.emit.int32(0);
        for (index, &number) in numbers.iter().enumerate() {
            let by = self.emit.int32(i128::from(self.emit.scalar(number).bits()) * index as i128);
            let number = self.emit.resize(number, Scalar::I32, false);
            let number = self.emit.op(Op::Shl, &[number, by]);
            whole = self.emit.op(Op::Or, &[whole, number]);
        }
        whole
    }

    fn store_fragment(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let matrix = FragmentLayout::of(inst)?;
        let registers = parts(&inst.args[1]);
        let count = matrix.registers(true);
        if registers.len() != count {
            return refuse("the fragment has another number of registers", format!("write {count}"));
        }
        let place = self.held_from(inst, &matrix, 0)?;
        let mut numbers = Vec::new();
        for arg in registers {
            if matrix.ty == Word::F16 {
                let both = self.read(arg, Word::B32)?;
                numbers.extend(self.emit.halves(both, Scalar::I16));
            } else {
                numbers.push(self.read(arg, matrix.ty)?);
            }
        }
        let access = Access::aligned(matrix.scalar().bytes());
        for ((piece, along), both) in matrix.order().zip(numbers.chunks_exact(2)) {
            for (which, &number) in both.iter().enumerate() {
                let address = self.number_at(inst, &matrix, place, [piece, along, which]);
                self.emit.store(number, address, access, Flags::NONE);
            }
        }
        Ok(())
    }

    fn whole_product(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let Some([m, n, k]) = shape_of(&inst.words) else {
            return refuse("unknown sizes of the product", "use a size of the table");
        };
        let types: Vec<Word> = inst.words.iter().copied().filter(|word| word.is_type()).collect();
        let [to, a, b, c] = match types[..] {
            [to, c] => [to, Word::F16, Word::F16, c],
            [to, a, b, c] => [to, a, b, c],
            _ => return refuse("two or four types expected", "write them"),
        };
        let is_transposed = is_transposed(&inst.words);
        let [m, n] = if is_transposed { [n, m] } else { [m, n] };
        let order = if is_transposed { [0, 2, 1, 3] } else { [0, 1, 2, 3] };
        let (rows, columns, along) = (m / 8, n / 8, k / (4 * numbers_of(a)));
        let [into, left, right, start] = order.map(|index| parts(&inst.args[index]));
        let needed = [rows * along, columns * along];
        let expected = if a == Word::F16 { [HALF_REGISTERS; 2] } else { needed };
        let of_sum = |ty: Word| rows * columns * if ty == Word::F16 { 1 } else { 2 };
        if [left.len(), right.len()] != expected || [into.len(), start.len()] != [of_sum(to), of_sum(c)] {
            let counts = [of_sum(to), expected[0], expected[1], of_sum(c)];
            let message = order.map(|index| counts[index].to_string());
            return refuse(
                "the fragments have other numbers of registers",
                format!("write {} of them", message.join(", ")),
            );
        }
        let word = if a == Word::F64 { Word::F64 } else { Word::B32 };
        let [left, right] = [(left, needed[0]), (right, needed[1])].map(|(list, count)| {
            list.iter().take(count).map(|arg| self.read(arg, word)).collect::<LowerResult<Vec<Value>>>()
        });
        let (held, right) = (left?, right?);
        let mut left = held.clone();
        for (index, value) in held.into_iter().enumerate() {
            let (piece, onward) = left_piece(index, along);
            left[piece + rows * onward] = value;
        }
        let scalar = sum_scalar(to, &inst.words);
        let numbers = if is_transposed { [b, a] } else { [a, b] };
        let shape = MmaShape { rows, columns, types: MmaTypes { scalar, numbers } };
        let mut sums = self.read_sums(start, c, scalar)?;
        self.sum_up(&left, &right, shape, &mut sums);
        self.write_sums(into, to, &sums);
        Ok(())
    }
}
