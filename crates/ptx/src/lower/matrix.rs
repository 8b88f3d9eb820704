//! Lowering of `mma` and of loads, stores and transposes of matrices distributed over a warp.
//!
//! Lane `4g + t` holds row `g` of each eight rows of `A`, and column `g` of each eight columns of `B`. Of each eight rows of `C`
//! it holds row `g`, columns `2t` and `2t + 1`. A register of `A` or `B` holds `e` neighbours along `k`, from `e·t` on; the next
//! register along `k` continues `4e` further. So a row of `A` is in four adjacent lanes, and columns `2t` and `2t + 1` of `B` are
//! in those of lanes `8t` and `8t + 4`. All are fetched and summed in order of `k`, each sum rounded to nearest.

use super::body::FunctionLowering;
use super::memory::space_of;
use super::product::{MmaShape, MmaTypes};
use super::{LowerResult, refuse};
use crate::check::{ResolvedInst, ResolvedOperand};
use crate::words::Word;
use heddle_ir::inst::Access;
use heddle_ir::words::Flags;
use heddle_ir::{Op, Scalar, Value};

/// Returns the sizes of a product: `m`, `n` and `k`.
fn shape_of(words: &[Word]) -> Option<[usize; 3]> {
    words.iter().find_map(|word| {
        Some(match word {
            Word::M8n8k4 => [8, 8, 4],
            Word::M8n8k16 => [8, 8, 16],
            Word::M16n8k4 => [16, 8, 4],
            Word::M16n8k8 => [16, 8, 8],
            Word::M16n8k16 => [16, 8, 16],
            Word::M16n8k32 => [16, 8, 32],
            _ => return None,
        })
    })
}

/// Returns the number of matrices that an instruction moves.
fn count_of(words: &[Word]) -> usize {
    words.iter().fold(1, |count, word| match word {
        Word::X2 => 2,
        Word::X4 => 4,
        _ => count,
    })
}

/// Returns the type of the accumulator.
pub(super) fn sum_scalar(to: Word, words: &[Word]) -> Scalar {
    match to {
        Word::F64 => Scalar::F64,
        Word::S32 if words.contains(&Word::Satfinite) => Scalar::I64,
        Word::S32 => Scalar::I32,
        _ => Scalar::F32,
    }
}

/// Returns the number of elements of `A` or `B` in a register.
pub(super) fn numbers_of(ty: Word) -> usize {
    match ty {
        Word::F16 | Word::Bf16 => 2,
        Word::U8 | Word::S8 => 4,
        _ => 1,
    }
}

pub(super) fn parts(arg: &ResolvedOperand) -> &[ResolvedOperand] {
    match arg {
        ResolvedOperand::Vector(parts) => parts,
        one => std::slice::from_ref(one),
    }
}

impl FunctionLowering<'_, '_, '_> {
    pub(super) fn product(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let Some([m, _, k]) = shape_of(&inst.words) else {
            return refuse("unknown sizes of the product", "use a size of the table");
        };
        let types: Vec<Word> = inst.words.iter().copied().filter(|word| word.is_type()).collect();
        let [to, a, b, c] = types[..] else { return refuse("four types expected", "write them") };
        let scalar = sum_scalar(to, &inst.words);
        let types = MmaTypes { scalar, numbers: [a, b] };
        let each = numbers_of(a);
        let (rows, along) = (m / 8, k / (4 * each));
        let [into, left, right, start] = [0, 1, 2, 3].map(|index| parts(&inst.args[index]));
        let is_half = to == Word::F16;
        let results = if is_half { rows } else { rows * 2 };
        if left.len() != rows * along || right.len() != along || [into.len(), start.len()] != [results; 2] {
            return refuse(
                "the fragments have other numbers of registers",
                format!("write {results}, {}, {along} and {results}", rows * along),
            );
        }
        let word = |ty: Word| if ty == Word::F64 { Word::F64 } else { Word::B32 };
        let left: Vec<Value> = left.iter().map(|arg| self.read(arg, word(a))).collect::<LowerResult<_>>()?;
        let right: Vec<Value> =
            right.iter().map(|arg| self.read(arg, word(b))).collect::<LowerResult<_>>()?;
        let mut sums = self.read_sums(start, c, scalar)?;
        self.sum_up(&left, &right, MmaShape { rows, columns: 1, types }, &mut sums);
        self.write_sums(into, to, &sums);
        Ok(())
    }

    /// Reads the registers of `C` as accumulators.
    pub(super) fn read_sums(
        &mut self,
        registers: &[ResolvedOperand],
        ty: Word,
        scalar: Scalar,
    ) -> LowerResult<Vec<Value>> {
        let mut sums = Vec::new();
        for arg in registers {
            if ty == Word::F16 {
                let both = self.read(arg, Word::B32)?;
                let both = self.emit.halves(both, Scalar::F16);
                sums.extend(both.map(|half| self.emit.to(Op::Fpext, scalar, half)));
            } else {
                let value = self.read(arg, ty)?;
                sums.push(match ty == Word::S32 {
                    true => self.emit.resize(value, scalar, true),
                    false => value,
                });
            }
        }
        Ok(sums)
    }

    /// Writes accumulators to the registers of `D`. Clamps 64-bit ones to 32 bits.
    pub(super) fn write_sums(&mut self, registers: &[ResolvedOperand], ty: Word, sums: &[Value]) {
        if ty == Word::F16 {
            let halves: Vec<Value> =
                sums.iter().map(|&sum| self.emit.to(Op::Fptrunc, Scalar::F16, sum)).collect();
            for (arg, both) in registers.iter().zip(halves.chunks_exact(2)) {
                let value = self.emit.packed([both[0], both[1]]);
                self.write(arg, value, false);
            }
            return;
        }
        for (arg, &sum) in registers.iter().zip(sums) {
            let scalar = self.emit.scalar(sum);
            let mut sum = sum;
            if scalar == Scalar::I64 {
                let most = self.emit.int(scalar, i32::MAX.into());
                let min = self.emit.int(scalar, i32::MIN.into());
                sum = self.emit.op(Op::Smin, &[sum, most]);
                sum = self.emit.op(Op::Smax, &[sum, min]);
                sum = self.emit.resize(sum, Scalar::I32, true);
            }
            self.write(arg, sum, false);
        }
    }

    /// Returns the addresses of a lane's part of a matrix: one for both halves, or one for each if they are in two rows. Lane
    /// `8 * matrix + r` has the address of row `r`.
    fn held(&mut self, number: Value, matrix: usize, inst: &ResolvedInst) -> Vec<Value> {
        let [column, row] = self.emit.position_in_rows();
        let rows = match inst.words.contains(&Word::Trans) {
            true => {
                [0, 1].map(|half| (self.emit.times(column, 2, half), self.emit.times(row, 2, 0))).to_vec()
            }
            false => vec![(row, self.emit.times(column, 4, 0))],
        };
        let mut places = Vec::new();
        for (row, bytes) in rows {
            let lane = self.emit.times(row, 1, 8 * matrix as i128);
            let number = self.emit.fetched(number, lane);
            let address = self.pointer_of(number, space_of(&inst.words));
            let bytes = self.emit.resize(bytes, Scalar::I64, false);
            places.push(self.emit.op(Op::PtrAdd, &[address, bytes]));
        }
        places
    }

    /// Returns the registers of an instruction that moves matrices, and its address as an integer.
    fn registers_and_address<'i>(
        &mut self,
        inst: &'i ResolvedInst,
        registers: usize,
        address: usize,
    ) -> LowerResult<(&'i [ResolvedOperand], Value)> {
        let registers = parts(&inst.args[registers]);
        let count = count_of(&inst.words);
        if registers.len() != count {
            return refuse("the numbers of registers and matrices differ", format!("write {count}"));
        }
        let pointer = self.address(&inst.args[address], space_of(&inst.words))?;
        Ok((registers, self.number_of(pointer)))
    }

    pub(super) fn load_matrices(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let (registers, number) = self.registers_and_address(inst, 0, 1)?;
        let mut loaded = Vec::new();
        for matrix in 0..registers.len() {
            let places = self.held(number, matrix, inst);
            let scalar = if places.len() == 1 { Scalar::I32 } else { Scalar::I16 };
            let access = Access::aligned(scalar.bytes());
            let values: Vec<Value> =
                places.iter().map(|&place| self.emit.load(scalar, place, access, Flags::NONE)).collect();
            loaded.push(match values[..] {
                [low, high] => self.emit.packed([low, high]),
                _ => values[0],
            });
        }
        for (arg, value) in registers.iter().zip(loaded) {
            self.write(arg, value, false);
        }
        Ok(())
    }

    pub(super) fn store_matrices(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let (registers, number) = self.registers_and_address(inst, 1, 0)?;
        for (matrix, arg) in registers.iter().enumerate() {
            let value = self.read(arg, Word::B32)?;
            let places = self.held(number, matrix, inst);
            if let [place] = places[..] {
                self.emit.store(value, place, Access::aligned(4), Flags::NONE);
                continue;
            }
            let halves = self.emit.halves(value, Scalar::I16);
            for (half, place) in halves.into_iter().zip(places) {
                self.emit.store(half, place, Access::aligned(2), Flags::NONE);
            }
        }
        Ok(())
    }

    /// Transposes a matrix: a lane's halves come from its position in two rows.
    pub(super) fn transpose(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let value = self.read(&inst.args[1], Word::B32)?;
        let [column, row] = self.emit.position_in_rows();
        let (one, sixteen) = (self.emit.int32(1), self.emit.int32(16));
        let within = self.emit.op(Op::Lshr, &[row, one]);
        let odd = self.emit.op(Op::And, &[row, one]);
        let by = self.emit.op(Op::Mul, &[odd, sixteen]);
        let halves = [0, 1].map(|half| {
            let from = self.emit.times(column, 8, 4 * half);
            let from = self.emit.op(Op::Add, &[from, within]);
            let both = self.emit.fetched(value, from);
            let half = self.emit.op(Op::Lshr, &[both, by]);
            self.emit.resize(half, Scalar::I16, false)
        });
        let value = self.emit.packed(halves);
        self.write(&inst.args[0], value, false);
        Ok(())
    }
}
