//! Text of generated nests of loops: two or three levels, which are independent, over arrays of one type.
//!
//! Each iteration writes cells of its own, at an index that all levels take part in, and reads two arrays at distances, strides
//! and orders that differ from access to access.

use crate::generate::Random;
use std::fmt::Write as _;

/// Types of the arrays, and those of sums.
const TYPES: &[(&str, usize, &str)] = &[
    ("uint8_t", 1, "uint32_t"),
    ("int16_t", 2, "uint32_t"),
    ("int32_t", 4, "uint32_t"),
    ("int64_t", 8, "uint64_t"),
    ("float", 4, "float"),
    ("double", 8, "double"),
];

/// Marks of a nest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NestMark {
    /// One that names all levels.
    Collapse,
    /// One on each level.
    Levels,
    /// One on each level but the innermost one.
    Outer,
}

/// Wrong code in place of a nest, as a planted fault: what a wrong transform would make of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NestFault {
    /// The last iteration of an odd number in the outermost level is missing.
    OuterRemainder,
    /// The last iteration of an odd number in the innermost level is missing.
    InnerRemainder,
    /// Neighbours in the innermost level write each other's cells.
    LaneNumbers,
    /// Neighbours in the next level write each other's cells.
    RowOrder,
}

impl NestFault {
    /// All faults.
    pub const ALL: [NestFault; 4] =
        [NestFault::OuterRemainder, NestFault::InnerRemainder, NestFault::LaneNumbers, NestFault::RowOrder];
}

/// A generated nest.
#[derive(Clone, Debug)]
pub(super) struct CNest {
    pub(super) seed: u64,
    pub(super) features: Vec<&'static str>,
    /// Statements of the body before results are stored; each may be left out.
    pub(super) terms: Vec<String>,
    /// Element type, its bytes, and the type of sums.
    element: (&'static str, usize, &'static str),
    levels: usize,
    mark: NestMark,
    heads: Vec<&'static str>,
    counter: &'static str,
    restricts: bool,
    /// Row length of the inputs: a parameter or a constant.
    row: &'static str,
    /// Value of a level for the others, and its cell.
    imperfect: Option<String>,
    index: &'static str,
    stores: String,
}

/// Sizes of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NestSizes {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) depth: u32,
    pub(super) rounds: u32,
}

/// Constant row length of the inputs.
pub(super) const CONSTANT_ROW: u32 = 80;

impl NestSizes {
    pub(super) fn draw(random: &mut Random, levels: usize) -> NestSizes {
        let width = random.pick(&[0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 36]);
        let height = random.pick(&[0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17]);
        let depth = if levels == 3 { random.pick(&[0, 1, 2, 3, 4]) } else { 1 };
        NestSizes { width, height, depth, rounds: random.between(0, 3) }
    }

    /// Row length of the inputs where it is a parameter.
    pub(super) fn row(self) -> u32 {
        2 * self.width + 8
    }

    /// Cells of an input: with a border, and room for both row lengths.
    pub(super) fn cells_in(self) -> usize {
        (self.depth + 3) as usize * (self.height + 4) as usize * CONSTANT_ROW as usize + 16
    }

    /// Cells of an output.
    pub(super) fn cells_out(self) -> usize {
        2 * self.depth as usize * (self.height + 1) as usize * (self.width + 4) as usize + 64
    }
}

/// Index of a cell of an input. Features are noted.
fn read_index(random: &mut Random, levels: usize, extra: &str, features: &mut Vec<&'static str>) -> String {
    let offset = |random: &mut Random| random.below(5) as i32 - 2;
    let (dx, dy, dz) = (offset(random), offset(random), random.below(3) as i32 - 1);
    let z = if levels == 3 { format!("(z + 1 + {dz})") } else { "1".into() };
    let kind = random.weighted(&[
        ("plain", 60),
        ("two", 9),
        ("back", 9),
        ("rows", 8),
        ("columns", 7),
        ("across", 7),
    ]);
    let (row, column) = match kind {
        "two" => (format!("(y + 2 + {dy})"), format!("2 * x + 2 + {dx}")),
        "back" => (format!("(y + 2 + {dy})"), format!("(w - 1 - x) + 2 + {dx}")),
        "rows" => (format!("(y + 2 + {dy})"), format!("{}", 2 + dx)),
        "columns" => (format!("{}", 2 + dy), format!("x + 2 + {dx}")),
        "across" => {
            features.push("transposed");
            return format!("{z} * (h + 4) * row + (x + 2 + {dx}) * (h + 4) + y + 2 + {dy}{extra}");
        }
        _ => (format!("(y + 2 + {dy})"), format!("x + 2 + {dx}")),
    };
    match kind {
        "two" => features.push("strides of 2"),
        "back" => features.push("strides of -1"),
        "rows" | "columns" => features.push("equal in one dimension"),
        _ => {}
    }
    format!("({z} * (h + 4) + {row}) * row + {column}{extra}")
}

fn load(random: &mut Random, levels: usize, extra: &str, features: &mut Vec<&'static str>) -> String {
    let array = random.pick(&["in", "other"]);
    format!("{array}[{}]", read_index(random, levels, extra, features))
}

/// One statement that changes `sum`.
fn term(
    random: &mut Random,
    levels: usize,
    sum: &str,
    is_real: bool,
    features: &mut Vec<&'static str>,
) -> String {
    let one = load(random, levels, "", features);
    let two = load(random, levels, "", features);
    let bound = random.pick(&["1", "3", "20", "100"]);
    match random.below(20) {
        0..4 => format!("sum += {one};"),
        4..6 => format!("sum += ({sum}){one} * ({sum}){two};"),
        6..8 => format!("sum = sum < ({sum}){one} ? sum : ({sum}){two};"),
        8 => format!("sum -= 3 * ({sum}){one};"),
        9 if !is_real => format!("sum ^= ({sum}){one} << 3;"),
        9 | 10 => format!("sum = 2 * sum + ({sum}){one};"),
        11 | 12 => {
            features.push("divergent branches");
            format!("if ({one} > {bound}) sum += {two};")
        }
        13 => {
            features.push("divergent branches");
            let three = load(random, levels, "", features);
            format!("if ({one} > {bound}) {{ sum += {two}; sum *= 3; }} else sum = sum - {three};")
        }
        14 | 15 => {
            features.push("inner loops");
            let each = load(random, levels, " + k", features);
            format!("for (int k = 0; k < rounds; k++) sum += {each};")
        }
        16 => {
            features.push("divergent inner loops");
            let each = load(random, levels, " + k", features);
            format!("for (int k = 0; k < ({one} > {bound} ? 3 : 1); k++) sum += {each};")
        }
        17 => {
            features.push("divergent inner loops");
            let each = load(random, levels, " + k", features);
            format!("for (int k = 0; k < 4; k++) {{ if ({each} > {bound}) break; sum += {two}; }}")
        }
        18 => {
            features.push("private arrays");
            format!("{{ {sum} own[4] = {{1, 2, 3, 4}}; own[(x + y) & 3] += {one}; sum += own[rounds & 3]; }}")
        }
        _ => {
            features.push("parameters");
            format!("sum += ({sum})(x * 3 + y + rounds);")
        }
    }
}

/// Heads of loops, with words for what differs.
const UP: &str = "for (TYPE VAR = 0; VAR < LIMIT; VAR++)";
const HEADS: &[(&str, u32)] = &[
    (UP, 75),
    ("for (TYPE VAR = 1; VAR < LIMIT; VAR++)", 8),
    ("for (TYPE VAR = 0; VAR < LIMIT; VAR += 2)", 8),
    ("for (TYPE VAR = LIMIT - 1; VAR >= 0; VAR--)", 9),
];

/// Generates the nest of this seed.
pub(super) fn generate_nest(seed: u64) -> CNest {
    let mut random = Random::new(seed ^ 0x7e50);
    let random = &mut random;
    let mut features: Vec<&'static str> = Vec::new();
    let levels = if random.chance(30) { 3 } else { 2 };
    features.push(if levels == 3 { "three levels" } else { "two levels" });
    let element = random.pick(TYPES);
    let is_real = element.2 == "float" || element.2 == "double";
    features.push(if is_real { "floats" } else { "integers" });
    let imperfect = random.chance(20).then(|| {
        features.push("imperfect");
        let z = if levels == 3 { "(z + 1)" } else { "1" };
        format!("other[({z} * (h + 4) + y + {}) * row + {}]", random.below(4), random.below(8))
    });
    let mark = match imperfect.is_some() {
        true => NestMark::Levels,
        false => random.weighted(&[(NestMark::Collapse, 45), (NestMark::Levels, 45), (NestMark::Outer, 10)]),
    };
    features.push(match mark {
        NestMark::Collapse => "collapse",
        NestMark::Levels => "marks on each level",
        NestMark::Outer => "marks on outer levels",
    });
    let heads: Vec<&str> = (0..levels).map(|_| random.weighted(HEADS)).collect();
    if heads.iter().any(|head| *head != UP) {
        features.push("other counters");
    }
    let row = random.pick(&["row_length", "80"]);
    features.push(if row == "80" { "constant rows" } else { "parameter rows" });
    let indices: &[(&str, &str, u32)] = match levels {
        2 => &[
            ("y * w + x", "plain", 55),
            ("x * h + y", "transposed stores", 15),
            ("2 * (y * w + x) + 1", "stores of stride 2", 8),
            ("y * (w + 3) + x", "stores with gaps", 8),
            ("(h - 1 - y) * w + x", "reversed stores", 7),
            ("y * w + w - 1 - x", "reversed stores", 7),
        ],
        _ => &[
            ("(z * h + y) * w + x", "plain", 60),
            ("(z * w + x) * h + y", "transposed stores", 20),
            ("(y * d + z) * w + x", "transposed stores", 20),
        ],
    };
    let choices: Vec<((&str, &str), u32)> =
        indices.iter().map(|&(index, feature, weight)| ((index, feature), weight)).collect();
    let (index, feature) = random.weighted(&choices);
    features.push(feature);
    let count = 1 + random.below(6);
    let terms = (0..count).map(|_| term(random, levels, element.2, is_real, &mut features)).collect();
    let stores = match random.below(10) {
        0..6 => "out[at] = (T)sum;".to_string(),
        6 => {
            features.push("conditional stores");
            format!("if ({} > 3) out[at] = (T)sum;", load(random, levels, "", &mut features))
        }
        7 => {
            features.push("updates");
            "out[at] = (T)(out[at] + sum);".into()
        }
        _ => {
            features.push("several outputs");
            "out[at] = (T)sum; more[at] = (T)(sum + 1);".into()
        }
    };
    features.sort_unstable();
    features.dedup();
    CNest {
        seed,
        features,
        terms,
        element,
        levels,
        mark,
        heads,
        counter: random.pick(&["long", "int"]),
        restricts: random.chance(50),
        row,
        imperfect,
        index,
        stores,
    }
}

impl CNest {
    pub(super) fn element_size(&self) -> usize {
        self.element.1
    }

    pub(super) fn is_real(&self) -> bool {
        matches!(self.element.0, "float" | "double")
    }

    pub(super) fn levels(&self) -> usize {
        self.levels
    }

    pub(super) fn name(&self, suffix: &str) -> String {
        format!("n{}{suffix}", self.seed)
    }

    /// Returns the mark of a level, counted from the outermost one.
    fn mark_of(&self, level: usize) -> String {
        match self.mark {
            NestMark::Collapse if level == 0 => format!("#pragma omp simd collapse({})\n", self.levels),
            NestMark::Outer if level + 1 == self.levels => String::new(),
            NestMark::Levels | NestMark::Outer => "#pragma clang loop vectorize(assume_safety)\n".into(),
            NestMark::Collapse => String::new(),
        }
    }

    /// Returns the function's text, which the runner calls with its arguments and with room for results that it has none of.
    pub(super) fn text(&self, suffix: &str, is_marked: bool, fault: Option<NestFault>) -> String {
        let (element, _, sum) = self.element;
        let restrict = if self.restricts { "restrict " } else { "" };
        let mut text =
            format!("#define T {element}\nvoid {}(const char *args, char *r) {{\n", self.name(suffix));
        let sizes = ["w", "h", "d", "row_length", "rounds"];
        for (slot, name) in sizes.into_iter().enumerate() {
            let _ = writeln!(text, "int {name} = *(int *)(args + {});", 16 * slot);
        }
        for (slot, name) in ["in", "other", "out", "more"].into_iter().enumerate() {
            let qualifier = if slot < 2 { "const " } else { "" };
            let _ = writeln!(text, "{qualifier}T *{restrict}{name} = *(T **)(args + {});", 16 * (5 + slot));
        }
        let _ = writeln!(text, "long row = {};", self.row);
        let variables = &["z", "y", "x"][3 - self.levels..];
        let bounds = &["d", "h", "w"][3 - self.levels..];
        for (level, (variable, bound)) in variables.iter().zip(bounds).enumerate() {
            let is_innermost = level + 1 == self.levels;
            let shortened = match fault {
                Some(NestFault::OuterRemainder) => level == 0,
                Some(NestFault::InnerRemainder) => is_innermost,
                _ => false,
            };
            let limit = if shortened { format!("({bound} - {bound} % 2)") } else { (*bound).into() };
            if is_innermost && let Some(value) = &self.imperfect {
                let _ = writeln!(text, "T above = {value};");
            }
            if is_marked {
                text += &self.mark_of(level);
            }
            let words = [("TYPE", self.counter), ("VAR", variable), ("LIMIT", &*limit)];
            let head = words
                .iter()
                .fold(self.heads[level].to_string(), |head, (word, text)| head.replace(word, text));
            let opens =
                if is_innermost || level + 2 == self.levels && self.imperfect.is_some() { " {" } else { "" };
            let _ = writeln!(text, "{head}{opens}");
        }
        let swapped = |name: &str, bound: &str| format!("(({name} ^ 1) < {bound} ? {name} ^ 1 : {name})");
        let index = match fault {
            Some(NestFault::LaneNumbers) => self.index.replace('x', &swapped("x", "w")),
            Some(NestFault::RowOrder) => self.index.replace('y', &swapped("y", "h")),
            _ => self.index.into(),
        };
        let start = if self.imperfect.is_some() { "above" } else { "1" };
        let _ = writeln!(text, "{sum} sum = {start};");
        for term in &self.terms {
            let _ = writeln!(text, "{term}");
        }
        let _ = writeln!(text, "long at = {index};\n{}\n}}", self.stores);
        if self.imperfect.is_some() {
            text += "}\n";
        }
        text + "}\n#undef T\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_change_the_text_of_most_nests() {
        let nests: Vec<CNest> = (1..40).map(generate_nest).collect();
        for fault in NestFault::ALL {
            let changed =
                nests.iter().filter(|nest| nest.text("", true, Some(fault)) != nest.text("", true, None));
            assert!(changed.count() > 30, "{fault:?}");
        }
    }

    #[test]
    fn only_marked_text_has_marks() {
        for nest in (1..40).map(generate_nest) {
            assert!(
                nest.text("", true, None).contains("#pragma")
                    && !nest.text("", false, None).contains("#pragma")
            );
        }
    }
}
