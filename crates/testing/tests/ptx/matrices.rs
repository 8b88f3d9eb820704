//! Matrices that a warp holds together: products against sums by definition, loads and stores against where each half lies.
//!
//! Where each number of a matrix is held stands here once more, as the documentation of PTX draws it.

use heddle_testing::generate::Random;
use heddle_testing::ptx::run_in_all_modes;

/// A kind of product.
struct Product {
    words: &'static str,
    m: usize,
    k: usize,
    /// The bits of a number of `A` and `B`, and of `C`.
    bits: [usize; 2],
    /// A number from -8 to 8 as bits of `A`, and back of `C`.
    write: fn(i32) -> u64,
    read: fn(u64) -> f64,
    write_c: fn(i32) -> u64,
}

fn half(value: i32) -> u64 {
    // Whole numbers up to 16 have short fractions.
    let bits = (value as f32).to_bits();
    if value == 0 {
        return 0;
    }
    let exponent = (bits >> 23 & 0xff) as i32 - 127 + 15;
    u64::from(bits >> 31 << 15 | (exponent as u32) << 10 | bits >> 13 & 0x3ff)
}

fn of_half(bits: u64) -> f64 {
    let (sign, exponent, fraction) = (bits >> 15 & 1, bits >> 10 & 31, bits & 0x3ff);
    let size = match exponent {
        0 => fraction as f64 / 1024.0 / 16384.0,
        _ => (1.0 + fraction as f64 / 1024.0) * 2f64.powi(exponent as i32 - 15),
    };
    if sign == 1 { -size } else { size }
}

fn single(value: i32) -> u64 {
    (value as f32).to_bits().into()
}

fn of_single(bits: u64) -> f64 {
    f32::from_bits(bits as u32).into()
}

const fn product(
    words: &'static str,
    [m, k]: [usize; 2],
    bits: [usize; 2],
    write: fn(i32) -> u64,
    read: fn(u64) -> f64,
    write_c: fn(i32) -> u64,
) -> Product {
    Product { words, m, k, bits, write, read, write_c }
}

fn brain(value: i32) -> u64 {
    single(value) >> 16
}

fn whole(value: i32) -> u64 {
    u64::from(value as u32)
}

fn of_whole(bits: u64) -> f64 {
    (bits as u32 as i32).into()
}

fn byte(value: i32) -> u64 {
    u64::from(value as u8)
}

fn double(value: i32) -> u64 {
    f64::from(value).to_bits()
}

const PRODUCTS: &[Product] = &[
    product("m16n8k8.row.col.f16.f16.f16.f16", [16, 8], [16, 16], half, of_half, half),
    product("m16n8k16.row.col.f16.f16.f16.f16", [16, 16], [16, 16], half, of_half, half),
    product("m16n8k8.row.col.f32.f16.f16.f32", [16, 8], [16, 32], half, of_single, single),
    product("m16n8k16.row.col.f32.f16.f16.f32", [16, 16], [16, 32], half, of_single, single),
    product("m16n8k8.row.col.f32.bf16.bf16.f32", [16, 8], [16, 32], brain, of_single, single),
    product("m16n8k16.row.col.f32.bf16.bf16.f32", [16, 16], [16, 32], brain, of_single, single),
    product("m16n8k4.row.col.f32.tf32.tf32.f32", [16, 4], [32, 32], single, of_single, single),
    product("m16n8k8.row.col.f32.tf32.tf32.f32", [16, 8], [32, 32], single, of_single, single),
    product("m8n8k16.row.col.s32.s8.s8.s32", [8, 16], [8, 32], byte, of_whole, whole),
    product("m16n8k16.row.col.s32.s8.s8.s32", [16, 16], [8, 32], byte, of_whole, whole),
    product("m16n8k32.row.col.satfinite.s32.s8.s8.s32", [16, 32], [8, 32], byte, of_whole, whole),
    product("m8n8k4.row.col.f64.f64.f64.f64", [8, 4], [64, 64], double, f64::from_bits, double),
];

/// Distributes a matrix over the registers of all lanes. `place` maps a number's row and column to its lane, register
/// and index in the register.
fn fragments(
    rows: usize,
    columns: usize,
    bits: usize,
    registers: usize,
    value: impl Fn(usize, usize) -> u64,
    place: impl Fn(usize, usize) -> [usize; 3],
) -> Vec<u64> {
    let mut lanes = vec![0u64; 32 * registers];
    for row in 0..rows {
        for column in 0..columns {
            let [lane, register, at] = place(row, column);
            let mask = u64::MAX >> (64 - bits);
            lanes[lane * registers + register] |= (value(row, column) & mask) << (at * bits);
        }
    }
    lanes
}

/// Runs a kernel in all modes; returns the second object after each run.
fn run(text: &str, input: &[u64], results: usize) -> Vec<(String, Vec<u64>)> {
    run_in_all_modes(text, 32, input, results).unwrap_or_else(|reason| panic!("{reason}\n{text}"))
}

#[test]
fn products_are_sums_of_products() {
    for product in PRODUCTS {
        let Product { words, m, k, bits, write, read, write_c } = *product;
        let mut random = Random::new((m * 31 + k) as u64);
        let mut matrix = |rows: usize, columns: usize| -> Vec<Vec<i32>> {
            (0..rows).map(|_| (0..columns).map(|_| random.below(9) as i32 - 4).collect()).collect()
        };
        let (a, b, c) = (matrix(m, k), matrix(k, 8), matrix(m, 8));
        let each = (32 / bits[0]).max(1);
        let rows = m / 8;
        let along = k / (4 * each);
        let packed = if bits[1] == 16 { 2 } else { 1 };
        // Numbers in a lane's row of four, then the next register of the same rows.
        let of_a = |row: usize, column: usize| {
            let (part, within) = (column / (4 * each), column % (4 * each));
            [row % 8 * 4 + within / each, row / 8 + rows * part, within % each]
        };
        let of_b = |row: usize, column: usize| {
            let (part, within) = (row / (4 * each), row % (4 * each));
            [column * 4 + within / each, part, within % each]
        };
        let of_c = |row: usize, column: usize| {
            let number = row / 8 * 2 + column % 2;
            [row % 8 * 4 + column / 2, number / packed, number % packed]
        };
        let counts = [rows * along, along, rows * 2 / packed];
        let parts = [
            fragments(m, k, bits[0], counts[0], |i, j| write(a[i][j]), of_a),
            fragments(k, 8, bits[0], counts[1], |i, j| write(b[i][j]), of_b),
            fragments(m, 8, bits[1], counts[2], |i, j| write_c(c[i][j]), of_c),
        ];
        let input: Vec<u64> = parts.concat();
        let ty = |index: usize| match (bits[usize::from(index > 1)], index) {
            (64, _) => "f64",
            (32, 2) if !words.contains("s8") => "f32",
            _ => "b32",
        };
        let mut text = String::from(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b32 %t<2>;\n.reg .b64 %d<4>;\n",
        );
        text.push_str("ld.param.u64 %d0, [in];\nld.param.u64 %d1, [out];\nmov.u32 %t0, %tid.x;\n");
        let mut at = 0;
        let mut lists = Vec::new();
        for (index, &count) in counts.iter().enumerate() {
            let ty = ty(index);
            text.push_str(&format!(
                ".reg .{ty} %m{index}_<{count}>;\nmul.wide.u32 %d2, %t0, {};\nadd.s64 %d2, %d2, %d0;\n",
                count * 8
            ));
            for register in 0..count {
                text.push_str(&format!(
                    "ld.global.{ty} %m{index}_{register}, [%d2+{}];\n",
                    at + register * 8
                ));
            }
            at += 32 * count * 8;
            let list: Vec<String> = (0..count).map(|register| format!("%m{index}_{register}")).collect();
            lists.push(format!("{{{}}}", list.join(", ")));
        }
        text.push_str(&format!(
            "mma.sync.aligned.{words} {}, {}, {}, {};\n",
            lists[2], lists[0], lists[1], lists[2]
        ));
        text.push_str(&format!("mul.wide.u32 %d2, %t0, {};\nadd.s64 %d2, %d2, %d1;\n", counts[2] * 8));
        for register in 0..counts[2] {
            text.push_str(&format!("st.global.{} [%d2+{}], %m2_{register};\n", ty(2), register * 8));
        }
        text.push_str("ret;\n}\n");
        for (what, found) in run(&text, &input, 32 * counts[2]) {
            for row in 0..m {
                for column in 0..8 {
                    let [lane, register, number] = of_c(row, column);
                    let bits = found[lane * counts[2] + register] >> (number * bits[1]);
                    let bits = bits & (u64::MAX >> (64 - product.bits[1]));
                    let sum: i32 = (0..k).map(|at| a[row][at] * b[at][column]).sum();
                    let expected = f64::from(sum + c[row][column]);
                    assert_eq!(read(bits), expected, "mma.{words}, {what}: row {row}, column {column}");
                }
            }
        }
    }
}

/// A kind of product of matrices that a warp holds as a whole.
struct Whole {
    shapes: &'static [[usize; 3]],
    /// The types of `A` and `B`, of `C`, and of `D`.
    types: [&'static str; 3],
    /// Modifiers after the types.
    more: &'static str,
    /// The bits of a number of `A` and `B`, of `C`, and of `D`.
    bits: [usize; 3],
    write: fn(i32) -> u64,
    write_c: fn(i32) -> u64,
    read: fn(u64) -> f64,
}

const SHAPES: &[[usize; 3]] = &[[16, 16, 16], [32, 8, 16], [8, 32, 16]];

#[rustfmt::skip]
const WHOLES: &[Whole] = &[
    Whole { shapes: SHAPES, types: ["f16", "f16", "f16"], more: "", bits: [16; 3], write: half, write_c: half, read: of_half },
    Whole { shapes: SHAPES, types: ["f16", "f32", "f32"], more: "", bits: [16, 32, 32], write: half, write_c: single, read: of_single },
    Whole { shapes: SHAPES, types: ["f16", "f32", "f16"], more: "", bits: [16, 32, 16], write: half, write_c: single, read: of_half },
    Whole { shapes: SHAPES, types: ["bf16", "f32", "f32"], more: "", bits: [16, 32, 32], write: brain, write_c: single, read: of_single },
    Whole { shapes: SHAPES, types: ["s8", "s32", "s32"], more: "", bits: [8, 32, 32], write: byte, write_c: whole, read: of_whole },
    Whole { shapes: SHAPES, types: ["s8", "s32", "s32"], more: ".satfinite", bits: [8, 32, 32], write: byte, write_c: whole, read: of_whole },
    Whole { shapes: &[[16, 16, 8]], types: ["tf32", "f32", "f32"], more: "", bits: [32; 3], write: single, write_c: single, read: of_single },
    Whole { shapes: &[[8, 8, 4]], types: ["f64", "f64", "f64"], more: "", bits: [64; 3], write: double, write_c: double, read: f64::from_bits },
];

/// Bytes of each of three matrices.
const ROOM: usize = 4096;

/// Where a number lies in memory.
fn at(row: usize, column: usize, is_row: bool, stride: usize) -> usize {
    if is_row { row * stride + column } else { column * stride + row }
}

#[test]
fn whole_matrices_are_multiplied_as_they_lie_in_memory() {
    let mut checked = 0;
    for kind in WHOLES {
        for &[m, n, k] in kind.shapes {
            for (way, rows) in
                [[true, false, true], [false, true, false], [true, true, false], [false, false, true]]
                    .iter()
                    .enumerate()
            {
                checked += 1;
                let mut random = Random::new((m * 31 + k + way) as u64);
                let mut matrix = |rows: usize, columns: usize| -> Vec<Vec<i32>> {
                    (0..rows).map(|_| (0..columns).map(|_| random.below(9) as i32 - 4).collect()).collect()
                };
                let [a, b, c] = [matrix(m, k), matrix(k, n), matrix(m, n)];
                // With the minimum row stride, or with a larger one given explicitly.
                let sizes = [[m, k], [k, n], [m, n]];
                let more = if way % 2 == 0 { 0 } else { 16 };
                let strides = [0, 1, 2].map(|of| sizes[of][usize::from(rows[of])] + more);
                let mut input = vec![0u8; 3 * ROOM];
                for (of, (matrix, write)) in
                    [(&a, kind.write), (&b, kind.write), (&c, kind.write_c)].into_iter().enumerate()
                {
                    let bytes = kind.bits[of / 2] / 8;
                    for (row, numbers) in matrix.iter().enumerate() {
                        for (column, &number) in numbers.iter().enumerate() {
                            let start = of * ROOM + at(row, column, rows[of], strides[of]) * bytes;
                            input[start..start + bytes]
                                .copy_from_slice(&write(number).to_le_bytes()[..bytes]);
                        }
                    }
                }
                let [input_ty, c_ty, d_ty] = kind.types;
                let shape = format!("m{m}n{n}k{k}");
                let layout = |of: usize| if rows[of] { "row" } else { "col" };
                let registers = |size: usize| match input_ty {
                    "f16" => 8,
                    "s8" => size * k / 128,
                    "bf16" => size * k / 64,
                    _ => size * k / 32,
                };
                let sums = |ty: &str| m * n / if ty == "f16" { 64 } else { 32 };
                let counts = [registers(m), registers(n), sums(c_ty), sums(d_ty)];
                let list = |of: usize| {
                    let all: Vec<String> = (0..counts[of]).map(|at| format!("%m{of}_{at}")).collect();
                    format!("{{{}}}", all.join(", "))
                };
                let stride = |of: usize| if more > 0 { format!(", {}", strides[of]) } else { String::new() };
                let mut text = String::from(
                    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b64 %d<4>;\nld.param.u64 %d0, [in];\nld.param.u64 %d1, [out];\n",
                );
                for (of, ty) in [input_ty, input_ty, c_ty, d_ty].into_iter().enumerate() {
                    let register = if ty == "f64" { "f64" } else { "b32" };
                    text.push_str(&format!(".reg .{register} %m{of}_<{}>;\n", counts[of]));
                }
                for (of, (name, ty)) in
                    [("a", input_ty), ("b", input_ty), ("c", c_ty)].into_iter().enumerate()
                {
                    let (layout, list, stride) = (layout(of), list(of), stride(of));
                    text.push_str(&format!(
                        "add.s64 %d2, %d0, {};\nwmma.load.{name}.sync.aligned.{layout}.{shape}.global.{ty} {list}, [%d2]{stride};\n",
                        of * ROOM
                    ));
                }
                let types = match input_ty {
                    "f16" => format!("{d_ty}.{c_ty}"),
                    _ => format!("{d_ty}.{input_ty}.{input_ty}.{c_ty}"),
                };
                text.push_str(&format!(
                    "wmma.mma.sync.aligned.{}.{}.{shape}.{types}{} {}, {}, {}, {};\nwmma.store.d.sync.aligned.{}.{shape}.{d_ty} [%d1], {}{};\nret;\n}}\n",
                    layout(0),
                    layout(1),
                    kind.more,
                    list(3),
                    list(0),
                    list(1),
                    list(2),
                    layout(2),
                    list(3),
                    stride(2)
                ));
                let words: Vec<u64> = input
                    .chunks_exact(8)
                    .map(|bytes| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)))
                    .collect();
                for (what, found) in run(&text, &words, ROOM / 8) {
                    let found: Vec<u8> = found.iter().flat_map(|word| word.to_le_bytes()).collect();
                    let bytes = kind.bits[2] / 8;
                    for row in 0..m {
                        for column in 0..n {
                            let start = at(row, column, rows[2], strides[2]) * bytes;
                            let bits = found[start..start + bytes].iter().rev();
                            let bits = bits.fold(0, |word, &byte| word << 8 | u64::from(byte));
                            let sum: i32 = (0..k).map(|at| a[row][at] * b[at][column]).sum();
                            let expected = f64::from(sum + c[row][column]);
                            assert_eq!(
                                (kind.read)(bits),
                                expected,
                                "{shape}.{types}, {what}: row {row}, column {column}\n{text}"
                            );
                        }
                    }
                }
            }
        }
    }
    assert_eq!(checked, 80, "kinds, shapes and layouts");
}

/// The number at a row and column of a matrix in memory: all differ.
fn number(matrix: usize, row: usize, column: usize) -> u64 {
    (matrix * 64 + row * 8 + column + 1) as u64
}

#[test]
fn loads_stores_and_transposes_know_where_halves_lie() {
    for count in [1, 2, 4] {
        for trans in [false, true] {
            let word = if trans { ".trans" } else { "" };
            let list: Vec<String> = (0..count).map(|at| format!("%m{at}")).collect();
            let list = list.join(", ");
            // Matrices come in row by row; a lane tells where a row is. What is loaded goes out as it is, is stored elsewhere, and
            // goes out as it lies there.
            let mut text = String::from(
                ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b32 %t<4>, %m<4>;\n.reg .b64 %d<6>;\n\
                 .shared .align 16 .b8 rows[512];\n.shared .align 16 .b8 copy[512];\nld.param.u64 %d0, [in];\nld.param.u64 %d1, [out];\nmov.u32 %t0, %tid.x;\n\
                 mul.wide.u32 %d2, %t0, 16;\nadd.s64 %d3, %d0, %d2;\nmov.u64 %d4, rows;\nadd.s64 %d4, %d4, %d2;\nmov.u64 %d5, copy;\nadd.s64 %d5, %d5, %d2;\n",
            );
            for at in [0, 8] {
                text.push_str(&format!("ld.global.b64 %d2, [%d3+{at}];\nst.shared.b64 [%d4+{at}], %d2;\nst.shared.b64 [%d5+{at}], 0;\n"));
            }
            text.push_str(&format!(
                "bar.sync 0;\nldmatrix.sync.aligned.m8n8.x{count}{word}.shared.b16 {{{list}}}, [%d4];\nstmatrix.sync.aligned.m8n8.x{count}{word}.shared.b16 [%d5], {{{list}}};\nbar.sync 0;\n"
            ));
            text.push_str("mul.wide.u32 %d2, %t0, 56;\nadd.s64 %d1, %d1, %d2;\n");
            for at in 0..count {
                text.push_str(&format!("st.global.b32 [%d1+{}], %m{at};\n", at * 8));
            }
            text.push_str("movmatrix.sync.aligned.m8n8.trans.b16 %t1, %m0;\nst.global.b32 [%d1+32], %t1;\n");
            for at in [0, 8] {
                text.push_str(&format!(
                    "ld.shared.b64 %d2, [%d5+{at}];\nst.global.b64 [%d1+{}], %d2;\n",
                    40 + at
                ));
            }
            text.push_str("ret;\n}\n");
            let mut input = Vec::new();
            for row in 0..32 {
                for part in 0..2 {
                    let of = |at: usize| number(row / 8, row % 8, part * 4 + at) << (16 * at);
                    input.push((0..4).map(of).sum());
                }
            }
            for (what, found) in run(&text, &input, 32 * 7) {
                for lane in 0..32 {
                    let message = format!("x{count}{word}, {what}, lane {lane}");
                    let own = &found[lane * 7..][..7];
                    let held = |matrix: usize, turned: bool| {
                        let at = |half: usize| {
                            let (row, column) = (lane / 4, lane % 4 * 2 + half);
                            let (row, column) = if turned { (column, row) } else { (row, column) };
                            number(matrix, row, column) << (16 * half)
                        };
                        at(0) | at(1)
                    };
                    for (matrix, &word) in own.iter().enumerate().take(count) {
                        assert_eq!(word, held(matrix, trans), "loaded, {message}");
                    }
                    assert_eq!(own[4], held(0, !trans), "transposed, {message}");
                    if lane < 8 * count {
                        assert_eq!(own[5..], input[lane * 2..][..2], "stored, {message}");
                    }
                }
            }
        }
    }
}
