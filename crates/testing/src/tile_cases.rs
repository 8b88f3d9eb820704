//! Functions of brushes of two dimensions over arrays in tiles.

use crate::divided::KernelText;
use crate::generate::{
    GeneratedProgram, InputArgument, ObjectShape, Owner, ProgramClass, ProgramInput, ProgramTraits, Random,
};
use heddle_ir::{Scalar, Space, parse_module};
use std::fmt::Write as _;

/// Extents of brushes.
const BRUSHES: [[u32; 2]; 8] = [[2, 2], [4, 2], [8, 2], [2, 4], [4, 4], [8, 4], [2, 8], [16, 2]];
/// Elements of an array: rows and columns that indices stay within, and beyond.
const ELEMENTS: u32 = 2048;
/// Least index of a row or column that lanes begin at.
const FIRST: u64 = 4;

/// Array in tiles, whose extents are powers of two.
#[derive(Clone, Copy)]
struct TiledArray {
    /// Logarithms of the extents of a tile: columns, and rows.
    tile: [u32; 2],
    scalar: Scalar,
    /// True if its rows are along the second dimension.
    is_transposed: bool,
}

impl TiledArray {
    /// Writes the address of an element.
    fn address(self, text: &mut KernelText, array: u32, at: [u32; 2], random: &mut Random) -> u32 {
        let [x, y] = if self.is_transposed { [at[1], at[0]] } else { at };
        let place = match random.chance(25) {
            true => TiledArray::quotients(text, [x, y], random),
            false => self.place(text, [x, y], random),
        };
        let bytes = text.condition(&format!("mul v{place}, {}", self.scalar.bytes()));
        text.condition(&format!("ptradd v{array}, v{bytes}"))
    }

    /// Writes the place of an element that several lanes have, of an array in rows.
    fn quotients(text: &mut KernelText, at: [u32; 2], random: &mut Random) -> u32 {
        let operations = ["lshr v{}, 1", "lshr v{}, 2", "and v{}, -2", "and v{}, -4", "add v{}, 0"];
        let [x, y] = at.map(|index| {
            let operation = random.pick(&operations).replace("{}", &index.to_string());
            text.condition(&operation)
        });
        let row = text.condition(&format!("mul v{y}, v4"));
        if random.chance(30) {
            // Lines do not follow the order of lanes.
            let column = text.condition(&format!("lshr v{}, 1", at[0]));
            let column = text.condition(&format!("mul v{column}, v4"));
            let other = text.condition(&format!("xor v{}, 1", at[1]));
            let other = text.condition(&format!("and v{other}, 1"));
            let other = text.condition(&format!("mul v{other}, v4"));
            return text.condition(&format!("add v{column}, v{other}"));
        }
        text.condition(&format!("add v{row}, v{x}"))
    }

    /// Writes the place of an element.
    fn place(self, text: &mut KernelText, [x, y]: [u32; 2], random: &mut Random) -> u32 {
        let [log_x, log_y] = self.tile;
        let (columns, rows) = ((1 << log_x) - 1, (1 << log_y) - 1);
        let row = match random.below(3) {
            0 => {
                // Without the sign, as compilers write it of numbers that are not negative.
                let sign = if random.chance(50) { i64::MAX } else { -1 };
                let tile = text.condition(&format!("and v{y}, {}", -(1i64 << log_y) & sign));
                text.condition(&format!("mul v{tile}, v4"))
            }
            1 => {
                let tile = text.condition(&format!("ashr v{y}, {log_y}"));
                let line = text.condition(&format!("mul v4, {}", 1 << log_y));
                text.condition(&format!("mul v{tile}, v{line}"))
            }
            _ => {
                let tile = text.condition(&format!("lshr v{y}, {log_y}"));
                let line = text.condition(&format!("shl v4, {log_y}"));
                text.condition(&format!("mul v{line}, v{tile}"))
            }
        };
        let column = match random.chance(50) {
            true => {
                let tile = text.condition(&format!("lshr v{x}, {log_x}"));
                text.condition(&format!("shl v{tile}, {}", log_x + log_y))
            }
            false => {
                let scaled = text.condition(&format!("shl v{x}, {log_y}"));
                text.condition(&format!("and v{scaled}, {}", -(1i64 << (log_x + log_y))))
            }
        };
        let low_row = text.condition(&format!("and v{y}, {rows}"));
        let low_row = text.condition(&format!("shl v{low_row}, {log_x}"));
        let low_column = text.condition(&format!("and v{x}, {columns}"));
        let low = text.condition(&format!("or disjoint v{low_row}, v{low_column}"));
        let high = text.condition(&format!("add v{row}, v{column}"));
        text.condition(&format!("add v{high}, v{low}"))
    }
}

/// Makes a function whose lanes sum neighbours in one array and store to another one, both in tiles.
pub fn tile_case(seed: u64) -> GeneratedProgram {
    let mut random = Random::new(seed);
    let random = &mut random;
    let scalar = random.pick(&[Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I32, Scalar::I64, Scalar::I64]);
    let tile = [0, 1].map(|_| random.below(3) as u32);
    let array = TiledArray { tile, scalar, is_transposed: random.chance(40) };
    let brush = random.pick(&BRUSHES);
    // Of indices without known bits, nothing is known.
    let align = |random: &mut Random| random.pick(&[1, 2, 4, 4, 4]);
    let aligns = [align(random), align(random)];
    let ty = format!("i{}", scalar.bits());
    let mut text = KernelText::new(&format!(
        "func @f(v0: ptr(global) uniform, v1: ptr(global) uniform, v2: i64 uniform align {}, v3: i64 uniform align {}, \
         v4: i64 uniform, v5: {ty} varying) {{\nblock0:",
        aligns[0], aligns[1]
    ));
    let lanes = [0, 1].map(|along| text.condition(&format!("lane i64, {along}")));
    let flags = random.pick(&["", " nsw", " nuw nsw"]);
    let ids = [0, 1].map(|along| text.condition(&format!("add{flags} v{}, v{}", 2 + along, lanes[along])));
    let is_masked = random.chance(30);
    if is_masked {
        let [along, bound] = [random.below(2), random.below(4)];
        let predicate = random.pick(&["ult", "uge", "ne"]);
        let condition = text.condition(&format!("icmp {predicate} v{}, {bound}", lanes[along]));
        _ = writeln!(text.text, "  br v{condition}, block1, block2\nblock1:");
    }
    let neighbour = |text: &mut KernelText, random: &mut Random| {
        ids.map(|id| match random.pick(&[0, 0, 1, -1, 2, -2, 1, -1]) {
            0 => id,
            distance if random.chance(30) => text.condition(&format!("sub v{id}, {}", -distance)),
            distance if distance < 0 => text.condition(&format!("add v{id}, {distance}")),
            distance => text.condition(&format!("add{flags} v{id}, {distance}")),
        })
    };
    let mut sum = 5;
    let stores = 1 + random.below(2);
    for _ in 0..stores {
        for _ in 0..random.below(6) {
            let at = neighbour(&mut text, random);
            let from = u32::from(random.chance(90));
            let address = array.address(&mut text, from, at, random);
            let loaded = text.condition(&format!("load {ty}, v{address}"));
            let scaled = text.condition(&format!("mul v{sum}, 5"));
            sum = text.condition(&format!("add v{scaled}, v{loaded}"));
        }
        let at = neighbour(&mut text, random);
        let address = array.address(&mut text, 0, at, random);
        _ = writeln!(text.text, "  store v{sum}, v{address}");
    }
    _ = writeln!(text.text, "{}  ret\n}}", if is_masked { "  br block2\nblock2:\n" } else { "" });
    let module = parse_module(&text.text).unwrap_or_else(|it| panic!("{it:?}\n{}", text.text));
    let object = |name: &str| ObjectShape {
        name: name.into(),
        space: Space::Global,
        scalar,
        len: ELEMENTS,
        owner: Owner::Shared,
    };
    let input = |random: &mut Random| {
        let first = aligns.map(|align: u64| (FIRST + random.below(6) as u64).next_multiple_of(align));
        // Lines may be the same memory.
        let pitch = if random.chance(20) { 0 } else { 24 + 4 * random.below(5) };
        let numbers = [first[0], first[1], pitch as u64].map(|it| InputArgument::Uniform(it.into()));
        let bytes =
            |random: &mut Random| (0..ELEMENTS * scalar.bytes()).map(|_| random.below(256) as u8).collect();
        let varying = (0..brush[0] * brush[1]).map(|_| random.below(256) as u128).collect();
        ProgramInput {
            brush: brush.to_vec(),
            group: None,
            groups: [1; 3],
            args: [InputArgument::Object(0), InputArgument::Object(1)]
                .into_iter()
                .chain(numbers)
                .chain([InputArgument::Varying(varying)])
                .collect(),
            contents: vec![bytes(random), bytes(random)],
        }
    };
    GeneratedProgram {
        seed,
        module,
        entry: "f".into(),
        traits: ProgramTraits {
            class: ProgramClass::Racy,
            order_dependent: true,
            horizontals: false,
            barriers: false,
            fmuladd: false,
            counters: false,
            early_exits: false,
        },
        objects: vec![object("out"), object("in")],
        inputs: vec![input(random), input(random)],
    }
}
