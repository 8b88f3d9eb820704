//! Generated nests of loops whose levels become dimensions of a brush: what they leave in memory is what one thread leaves there.
//!
//! Nests have two levels, and a third one in the body of some. Iterations write cells of their own, and read two arrays, which may be one,
//! at distances, by strides of 1, -1, 2, a half, or a parameter, or across. Levels count up, down or by twos; rows may be of different lengths or
//! have none; values of a row may be computed in the outer level. Bodies branch.

use crate::fuzz::quietly;
use crate::generate::Random;
use heddle_compiler::Session;
use heddle_interp::{Argument, Datum, Memory, RunOptions, run};
use heddle_ir::{Module, Space, parse_module};
use heddle_transform::widen::wide_name;
use heddle_transform::{NestLevels, NestProjection, canonicalize, spread_nest};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Row length of inputs that is a constant of some nests.
const CONSTANT_PITCH: u64 = 48;
/// Border around inputs, in cells.
const BORDER: u64 = 3;
/// Brushes: extents of the inner level and of the outer one.
const BRUSHES: [[u32; 2]; 9] = [[4, 2], [2, 4], [8, 2], [4, 4], [2, 8], [16, 2], [8, 4], [4, 8], [16, 4]];
/// Element types, and their bytes.
const TYPES: [(&str, u64); 4] = [("i8", 1), ("i16", 2), ("i32", 4), ("i64", 8)];

/// A nest, and what it works on.
#[derive(Debug)]
pub struct NestCase {
    /// Text of the function `f`.
    pub text: String,
    /// Extents of the brush: the inner level's first.
    pub brush: [u32; 2],
    projection: NestProjection,
    /// Features of the nest.
    pub features: Vec<&'static str>,
    inputs: [Vec<u8>; 2],
    is_aliasing: bool,
    output_bytes: usize,
    sizes: NestCaseSizes,
}

/// Sizes of a call.
#[derive(Clone, Copy, Debug)]
struct NestCaseSizes {
    rows: u64,
    columns: u64,
    pitch: u64,
    stride: u64,
}

/// Writer of a function's text.
struct NestText<'r> {
    random: &'r mut Random,
    lines: String,
    /// Number of the next value, and of the next block of the body.
    value: u32,
    block: u32,
    /// Block that is written.
    current: u32,
    element: (&'static str, u64),
    features: Vec<&'static str>,
    /// Row length of inputs.
    pitch: String,
}

/// Values of the levels' counters.
#[derive(Clone, Copy)]
struct NestCounters {
    row: u32,
    column: u32,
}

impl NestText<'_> {
    fn op(&mut self, text: impl std::fmt::Display) -> u32 {
        let value = self.value;
        self.value += 1;
        let _ = writeln!(self.lines, "  v{value} = {text}");
        value
    }

    fn does(&mut self, text: impl std::fmt::Display) {
        let _ = writeln!(self.lines, "  {text}");
    }

    fn new_block(&mut self) -> u32 {
        self.block += 1;
        self.block
    }

    fn begin(&mut self, block: u32) {
        let _ = writeln!(self.lines, "block{block}:");
        self.current = block;
    }

    fn address(&mut self, array: &str, index: u32) -> u32 {
        let size = self.element.1;
        let bytes = self.op(format_args!("mul v{index}, {size}"));
        self.op(format_args!("ptradd {array}, v{bytes}"))
    }

    fn load(&mut self, array: &str, index: u32) -> u32 {
        let address = self.address(array, index);
        let (ty, align) = self.element;
        self.op(format_args!("load {ty}, v{address} align {align}"))
    }

    fn store(&mut self, value: u32, array: &str, index: u32) {
        let address = self.address(array, index);
        let align = self.element.1;
        self.does(format_args!("store v{value}, v{address} align {align}"));
    }

    /// Index of a cell that an iteration reads.
    fn read_index(&mut self, at: NestCounters) -> u32 {
        let far = |random: &mut Random| random.below(2 * BORDER as usize + 1);
        let (down, right) = (far(self.random), far(self.random));
        let pitch = self.pitch.clone();
        let kind = self.random.weighted(&[
            ("distances", 50),
            ("strides of 2", 8),
            ("strides of -1", 8),
            ("parameter strides", 6),
            ("halved", 6),
            ("one row", 6),
            ("one column", 6),
            ("across", 10),
        ]);
        self.features.push(kind);
        let row = self.op(format_args!("add v{}, {down}", at.row));
        let column = match kind {
            "strides of 2" => self.op(format_args!("shl v{}, 1", at.column)),
            "strides of -1" => self.op(format_args!("sub v4, v{}", at.column)),
            "parameter strides" => self.op(format_args!("mul v{}, v6", at.column)),
            "halved" => self.op(format_args!("lshr v{}, 1", at.column)),
            "one column" => self.op("add v4, 0"),
            _ => at.column,
        };
        let column = self.op(format_args!("add v{column}, {right}"));
        let (slow, fast) = match kind {
            "across" => (column, row),
            "one row" => (self.op("add v3, 0"), column),
            _ => (row, column),
        };
        let start = self.op(format_args!("mul v{slow}, {pitch}"));
        self.op(format_args!("add v{start}, v{fast}"))
    }

    fn read(&mut self, at: NestCounters) -> u32 {
        let index = self.read_index(at);
        let array = self.random.pick(&["v0", "v1"]);
        self.load(array, index)
    }

    /// One step that changes the sum of an iteration; returns the sum.
    fn step(&mut self, sum: u32, at: NestCounters) -> u32 {
        let kind = self.random.weighted(&[
            ("operations", 60),
            ("branches that diverge", 12),
            ("branches in a row", 6),
            ("inner loops", 8),
            ("inner loops that diverge", 8),
            ("selects", 6),
        ]);
        self.features.push(kind);
        match kind {
            "branches that diverge" | "branches in a row" => {
                self.branch(sum, at, kind == "branches in a row")
            }
            "inner loops" | "inner loops that diverge" => self.inner_loop(sum, at, kind == "inner loops"),
            "selects" => {
                let other = self.read(at);
                let is_less = self.op(format_args!("icmp slt v{sum}, v{other}"));
                self.op(format_args!("select v{is_less}, v{sum}, v{other}"))
            }
            _ => {
                let other = self.read(at);
                let op = self.random.pick(&["add", "sub", "mul", "xor", "and", "or"]);
                self.op(format_args!("{op} v{sum}, v{other}"))
            }
        }
    }

    fn branch(&mut self, sum: u32, at: NestCounters, by_row: bool) -> u32 {
        let tested = if by_row { at.row } else { sum };
        let low = self.op(format_args!("and v{tested}, 1"));
        let is_odd = self.op(format_args!("icmp ne v{low}, 0"));
        let [odd, even, joined] = [(); 3].map(|()| self.new_block());
        let from = self.current;
        let has_else = self.random.chance(50);
        self.does(format_args!("br v{is_odd}, block{odd}, block{}", if has_else { even } else { joined }));
        self.begin(odd);
        let other = self.read(at);
        let then = self.op(format_args!("sub v{other}, v{sum}"));
        self.does(format_args!("br block{joined}"));
        let (otherwise, value) = if has_else {
            self.begin(even);
            let value = self.read(at);
            self.does(format_args!("br block{joined}"));
            (even, value)
        } else {
            (from, sum)
        };
        self.begin(joined);
        let ty = self.element.0;
        self.op(format_args!("phi {ty} [block{odd}: v{then}], [block{otherwise}: v{value}]"))
    }

    fn inner_loop(&mut self, sum: u32, at: NestCounters, is_uniform: bool) -> u32 {
        let ty = self.element.0;
        let rounds = if is_uniform {
            self.op("and v6, 3")
        } else {
            let low = self.op(format_args!("and v{}, 3", at.column));
            self.op(format_args!("xor v{low}, v6"))
        };
        let other = self.read(at);
        let [head, end] = [(); 2].map(|()| self.new_block());
        let from = self.current;
        self.does(format_args!("br block{head}"));
        self.begin(head);
        let (round, before, after, next) = (self.value, self.value + 1, self.value + 2, self.value + 3);
        self.op(format_args!("phi i64 [block{from}: 0], [block{head}: v{next}]"));
        self.op(format_args!("phi {ty} [block{from}: v{sum}], [block{head}: v{after}]"));
        self.op(format_args!("add v{before}, v{other}"));
        self.op(format_args!("add nuw v{round}, 1"));
        let continues = self.op(format_args!("icmp ult v{next}, v{rounds}"));
        self.does(format_args!("br v{continues}, block{head}, block{end}"));
        self.begin(end);
        self.op(format_args!("phi {ty} [block{head}: v{after}]"))
    }

    /// Stores a sum in a cell of the iteration's own.
    fn store_own(&mut self, sum: u32, at: NestCounters, array: &str) {
        let kind = self.random.weighted(&[
            ("stores", 55),
            ("transposed stores", 15),
            ("stores of stride 2", 10),
            ("conditional stores", 10),
            ("updates", 10),
        ]);
        self.features.push(kind);
        let (slow, fast, length) = match kind {
            "transposed stores" => (at.column, at.row, "v3"),
            _ => (at.row, at.column, "v4"),
        };
        let length = self.op(format_args!("add {length}, 1"));
        let start = self.op(format_args!("mul v{slow}, v{length}"));
        let mut index = self.op(format_args!("add v{start}, v{fast}"));
        if kind == "stores of stride 2" {
            index = self.op(format_args!("shl v{index}, 1"));
        }
        let mut sum = sum;
        if kind == "updates" {
            let old = self.load(array, index);
            sum = self.op(format_args!("add v{old}, v{sum}"));
        }
        if kind != "conditional stores" {
            return self.store(sum, array, index);
        }
        let low = self.op(format_args!("and v{sum}, 2"));
        let is_one = self.op(format_args!("icmp ne v{low}, 0"));
        let [then, joined] = [(); 2].map(|()| self.new_block());
        self.does(format_args!("br v{is_one}, block{then}, block{joined}"));
        self.begin(then);
        self.store(sum, array, index);
        self.does(format_args!("br block{joined}"));
        self.begin(joined);
    }
}

/// The way in which a level counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LevelCount {
    Up,
    Twos,
    Down,
}

impl LevelCount {
    fn draw(text: &mut NestText<'_>) -> LevelCount {
        let count =
            text.random.weighted(&[(LevelCount::Up, 70), (LevelCount::Twos, 15), (LevelCount::Down, 15)]);
        match count {
            LevelCount::Up => {}
            LevelCount::Twos => text.features.push("levels by twos"),
            LevelCount::Down => text.features.push("levels down"),
        }
        count
    }

    /// First number of a level whose greatest number is this value.
    fn first(self, last: u32) -> String {
        if self == LevelCount::Down { format!("v{last}") } else { "0".into() }
    }

    /// Writes the end of a level: the next number, as this value, and the branch.
    fn end(self, text: &mut NestText<'_>, counter: u32, next: u32, count: &str, [head, exit]: [u32; 2]) {
        let (step, by) = match self {
            LevelCount::Up => ("add nuw", 1),
            LevelCount::Twos => ("add nuw", 2),
            LevelCount::Down => ("add", -1),
        };
        text.does(format_args!("v{next} = {step} v{counter}, {by}"));
        let continues = match self {
            LevelCount::Down => text.op(format_args!("icmp ne v{next}, -1")),
            _ => text.op(format_args!("icmp ult v{next}, {count}")),
        };
        text.does(format_args!("br v{continues}, block{head}, block{exit}"));
    }
}

/// Numbers of the values of the counters' next iterations, and of the row's number of iterations.
const NEXT_ROW: u32 = 900;
const NEXT_COLUMN: u32 = 901;
const ROW_COUNT: u32 = 902;

/// Writes a nest: `in`, `other`, `out`, rows, columns, row length of inputs, and a small number are `v0` to `v6`.
fn nest_text(random: &mut Random) -> (String, (&'static str, u64), Vec<&'static str>) {
    let element = random.pick(&TYPES);
    let has_constant_pitch = random.chance(40);
    let pitch = if has_constant_pitch { CONSTANT_PITCH.to_string() } else { "v5".into() };
    let mut text = NestText {
        random,
        lines: String::new(),
        value: 10,
        block: 9,
        current: 0,
        element,
        features: vec![if has_constant_pitch { "constant rows" } else { "parameter rows" }],
        pitch,
    };
    let [rows, columns] = [(); 2].map(|()| LevelCount::draw(&mut text));
    // Blocks 0 to 5: entry, before the outer level, its header, before the inner one, the latch, the end.
    text.begin(0);
    let is_some = text.op("icmp ne v3, 0");
    text.does(format_args!("br v{is_some}, block1, block5"));
    text.begin(1);
    let last_row = text.op("sub v3, 1");
    text.does("br block2");
    text.begin(2);
    let first_row = rows.first(last_row);
    let row = text.op(format_args!("phi i64 [block1: {first_row}], [block4: v{NEXT_ROW}]"));
    let of_row = if text.random.chance(25) {
        text.features.push("imperfect");
        let pitch = text.pitch.clone();
        let start = text.op(format_args!("mul v{row}, {pitch}"));
        Some(text.load("v0", start))
    } else {
        None
    };
    let is_uneven = text.random.chance(20);
    if is_uneven {
        text.features.push("rows of different lengths");
        let low = text.op(format_args!("and v{row}, 3"));
        let less = text.op(format_args!("icmp ult v{low}, v4"));
        let fewer = text.op(format_args!("sub v4, v{low}"));
        text.does(format_args!("v{ROW_COUNT} = select v{less}, v{fewer}, v4"));
    } else {
        text.does(format_args!("v{ROW_COUNT} = add v4, 0"));
    }
    let has_some = text.op(format_args!("icmp ne v{ROW_COUNT}, 0"));
    text.does(format_args!("br v{has_some}, block3, block4"));
    text.begin(3);
    let last_column = text.op(format_args!("sub v{ROW_COUNT}, 1"));
    let [head, after] = [(); 2].map(|()| text.new_block());
    // The latch of the inner level is the last block of the body.
    let lines = std::mem::take(&mut text.lines);
    text.begin(head);
    let column = text.op("phi");
    let at = NestCounters { row, column };
    let mut sum = text.read(at);
    if let Some(value) = of_row {
        sum = text.op(format_args!("xor v{sum}, v{value}"));
    }
    for _ in 0..text.random.below(4) {
        sum = text.step(sum, at);
    }
    text.store_own(sum, at, "v2");
    if text.random.chance(15) {
        text.features.push("several outputs");
        let twice = text.op(format_args!("add v{sum}, v{sum}"));
        text.store_own(twice, at, "v7");
    }
    let latch = text.current;
    columns.end(&mut text, column, NEXT_COLUMN, &format!("v{ROW_COUNT}"), [head, after]);
    let first_column = columns.first(last_column);
    let phi = format!("phi i64 [block3: {first_column}], [block{latch}: v{NEXT_COLUMN}]");
    let body = text.lines.replacen(&format!("v{column} = phi\n"), &format!("v{column} = {phi}\n"), 1);
    text.lines = lines;
    text.does(format_args!("br block{head}"));
    text.lines += &body;
    text.begin(after);
    text.does("br block4");
    text.begin(4);
    rows.end(&mut text, row, NEXT_ROW, "v3", [2, 5]);
    text.begin(5);
    text.does("ret");
    let params = "v0: ptr uniform, v1: ptr uniform, v2: ptr uniform, v3: i64 uniform, v4: i64 uniform, v5: i64 uniform, \
                  v6: i64 uniform, v7: ptr uniform";
    (format!("func @f({params}) {{\n{}}}\n", text.lines), element, text.features)
}

/// Generates a nest and a call of it.
pub fn generate_nest_case(seed: u64) -> NestCase {
    let mut random = Random::new(seed);
    let (text, (_, size), mut features) = nest_text(&mut random);
    let rows: u64 = random.pick(&[0, 1, 2, 3, 4, 5, 7, 8, 9, 11]);
    let columns: u64 = random.pick(&[0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 19]);
    let pitch = 2 * columns + 2 * BORDER + u64::from(random.between(0, 3));
    let stride = u64::from(random.between(0, 3));
    let sizes = NestCaseSizes { rows, columns, pitch, stride };
    // Both orders of the levels fit, with the farthest distance and three steps for each column.
    let longest = pitch.max(CONSTANT_PITCH);
    let cells = (rows.max(columns) + 2 * BORDER + 1) * longest + 3 * columns + 2 * BORDER + 1;
    let bytes = |random: &mut Random| -> Vec<u8> {
        let small = random.chance(50);
        let byte = |random: &mut Random| if small { random.below(7) as u8 } else { random.bits() as u8 };
        (0..cells * size).map(|_| byte(random)).collect()
    };
    let inputs = [bytes(&mut random), bytes(&mut random)];
    let is_aliasing = random.chance(25);
    if is_aliasing {
        features.push("aliasing inputs");
    }
    let output_bytes = (2 * (rows + 1) * (columns + 1) * size + 2 * size) as usize;
    let brush = random.pick(&BRUSHES);
    let projection = match random.chance(33) {
        true => NestProjection::OuterFirst,
        false => NestProjection::InnerFirst,
    };
    if projection == NestProjection::OuterFirst {
        features.push("outer level first");
    }
    features.sort_unstable();
    features.dedup();
    NestCase { text, brush, projection, features, inputs, is_aliasing, output_bytes, sizes }
}

/// Outcome of a check that found nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NestOutcome {
    /// The nest became a brush.
    Spread,
    /// The nest was refused.
    Refused,
}

impl NestCase {
    /// The module of the nest.
    pub fn module(&self) -> Module {
        parse_module(&self.text).unwrap_or_else(|errors| panic!("{errors:?}\n{}", self.text))
    }

    /// Runs a function and returns both outputs, or the fault.
    fn outcome(&self, module: &Module, name: &str, options: &RunOptions) -> Result<Vec<u8>, String> {
        let mut memory = Memory::new();
        let [first, second] = &self.inputs;
        let input = memory.add(Space::Global, Some("in"), 64, first.clone());
        let other = match self.is_aliasing {
            true => input,
            false => memory.add(Space::Global, Some("other"), 64, second.clone()),
        };
        let out = memory.add(Space::Global, Some("out"), 64, vec![0; self.output_bytes]);
        let more = memory.add(Space::Global, Some("more"), 64, vec![0; self.output_bytes]);
        let NestCaseSizes { rows, columns, pitch, stride } = self.sizes;
        let args = [input, other, out, rows, columns, pitch, stride, more];
        let args = args.map(|bits| Argument::Uniform(Datum::Bits(bits.into())));
        run(module, name, &args, &mut memory, options).map_err(|fault| fault.to_string())?;
        let bytes = |name: &str| memory.object(name).map(|object| object.bytes.clone());
        let both = bytes("out").zip(bytes("more")).ok_or("a result is gone")?;
        Ok([both.0, both.1].concat())
    }

    /// Checks that the nest does in lock-step and as vector code what one thread does.
    pub fn check(&self, session: &Session) -> Result<NestOutcome, String> {
        let mut module = self.module();
        canonicalize(&mut module.functions[0]);
        let expected = self
            .outcome(&module, "f", &RunOptions::lanes(1))
            .map_err(|fault| format!("one thread: {fault}"))?;
        let [width, height] = self.brush;
        let extents = self.projection.in_order(width, height);
        let are_whole =
            self.sizes.rows.is_multiple_of(height.into()) && !self.features.contains(&"levels by twos");
        for levels in [NestLevels::Both, NestLevels::BothInWholeBrushes] {
            if levels == NestLevels::BothInWholeBrushes && !are_whole {
                continue;
            }
            let mut spreaded = module.clone();
            if spread_nest(&mut spreaded.functions[0], levels, self.projection).is_err() {
                return Ok(NestOutcome::Refused);
            }
            let same = |found: Result<Vec<u8>, String>, part: &str| match found {
                Ok(found) if found == expected => Ok(()),
                Ok(_) => Err(format!("{part}, {levels:?}: another result")),
                Err(fault) => Err(format!("{part}, {levels:?}: {fault}")),
            };
            let lanes = RunOptions { brush: extents.to_vec(), ..RunOptions::default() };
            same(self.outcome(&spreaded, "f", &lanes), "in lock-step")?;
            let brush = format!("W={}x{}", extents[0], extents[1]);
            session
                .run_passes(&mut spreaded, &["simplify", "vectorize", &brush], true, |_, _| {})
                .map_err(|diagnostic| diagnostic.to_string())?;
            let thread = RunOptions { stands_for: Some(extents.to_vec()), ..RunOptions::lanes(1) };
            same(self.outcome(&spreaded, &wide_name("f", &extents), &thread), "vector code")?;
        }
        Ok(NestOutcome::Spread)
    }
}

/// Number of nests that a thread takes at once.
const BATCH: u64 = 64;

/// Counts of a run over generated nests.
#[derive(Clone, Default, Debug)]
pub struct NestCounts {
    /// Nests.
    pub nests: u64,
    /// Nests that became brushes.
    pub spread: u64,
    /// Nests with each feature, in order of their names.
    pub features: BTreeMap<&'static str, u64>,
    /// Seeds of nests that did something else, with the difference and the nest.
    pub finds: Vec<(u64, String)>,
}

impl NestCounts {
    /// Checks the nest of a seed. A panic is a find.
    fn check(&mut self, seed: u64, session: &Session) {
        let case = generate_nest_case(seed);
        self.nests += 1;
        for &feature in &case.features {
            *self.features.entry(feature).or_default() += 1;
        }
        match quietly(|| case.check(session)).unwrap_or_else(Err) {
            Ok(NestOutcome::Spread) => self.spread += 1,
            Ok(NestOutcome::Refused) => {}
            Err(reason) => self.finds.push((seed, format!("{reason}\n{}", case.text))),
        }
    }

    fn merge(&mut self, other: NestCounts) {
        self.nests += other.nests;
        self.spread += other.spread;
        for (feature, count) in other.features {
            *self.features.entry(feature).or_default() += count;
        }
        self.finds.extend(other.finds);
    }
}

/// Checks nests from a seed on, until the time or the number of nests is over.
pub fn check_nests(seed: u64, count: Option<u64>, time: Duration, jobs: usize) -> NestCounts {
    let start = Instant::now();
    let next = AtomicU64::new(seed);
    let end = count.map_or(u64::MAX, |count| seed.saturating_add(count));
    let all: Mutex<NestCounts> = Mutex::default();
    let work = || {
        let session = Session::default();
        let mut counts = NestCounts::default();
        while start.elapsed() < time {
            let first = next.fetch_add(BATCH, Ordering::Relaxed);
            if first >= end {
                break;
            }
            (first..(first + BATCH).min(end)).for_each(|seed| counts.check(seed, &session));
        }
        all.lock().expect("no thread panics").merge(counts);
    };
    std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
    let mut counts = all.into_inner().expect("no thread panics");
    counts.finds.sort();
    counts
}
