//! Functions by lot that are about one thing each, and densely: addresses, private objects, graphs of blocks. Nothing runs
//! them, so what they compute need not be defined.

use heddle_testing::generate::Random;
use std::fmt::Write as _;

/// Text of a function being written.
struct Text {
    random: Random,
    out: String,
    values: u32,
}

impl Text {
    fn new(seed: u64, params: &[&str]) -> Text {
        let params: Vec<String> =
            params.iter().enumerate().map(|(number, it)| format!("v{number}: {it}")).collect();
        let out = format!("func @f({}) {{\nblock0:\n", params.join(", "));
        Text { random: Random::new(seed), out, values: params.len() as u32 }
    }

    /// An instruction that gives a value.
    fn value(&mut self, what: &str) -> u32 {
        let number = self.values;
        self.values += 1;
        let _ = writeln!(self.out, "  v{number} = {what}");
        number
    }

    fn line(&mut self, what: &str) {
        let _ = writeln!(self.out, "{what}");
    }

    fn end(mut self) -> String {
        self.out += "}\n";
        self.out
    }

    /// Writes a construct straight, in a loop, after a branch, or in a divergent loop; `write` receives the
    /// loop-variant values.
    fn around(&mut self, uniform: u32, varying: u32, mut write: impl FnMut(&mut Text, Option<u32>)) {
        match self.random.below(4) {
            0 => write(self, None),
            1 | 2 => {
                let bound = if self.random.chance(60) { uniform } else { varying };
                let next = self.values + 1;
                self.line("  br block1\nblock1:");
                // The body determines the number of the next block.
                let at = self.out.len();
                self.values += 2;
                write(self, Some(next - 1));
                let head = format!("  v{} = phi i64 [block0: 0], [block1: v{next}]\n", next - 1);
                self.out.insert_str(at, &head);
                let _ = writeln!(self.out, "  v{next} = add nuw nsw v{}, 1", next - 1);
                let more = self.value(&format!("icmp ult v{next}, v{bound}"));
                self.line(&format!("  br v{more}, block1, block2\nblock2:"));
            }
            _ => {
                let bound = if self.random.chance(40) { uniform } else { varying };
                let taken = self.value(&format!("icmp ult v{bound}, 7"));
                self.line(&format!("  br v{taken}, block1, block2\nblock1:"));
                write(self, None);
                self.line("  br block2\nblock2:");
            }
        }
    }
}

const WIDTHS: [u32; 4] = [8, 16, 32, 64];

/// Addresses of all kinds, and groups of accesses that start from them.
pub(super) fn addresses(seed: u64) -> String {
    let params = [
        "ptr(global) uniform align 16",
        // Pointers to another space do not alias the first either.
        if seed.is_multiple_of(3) { "ptr(local) uniform" } else { "ptr(global) uniform noalias" },
        "i8 uniform",
        "i16 uniform",
        "i32 uniform align 4",
        "i64 uniform",
        "i32 linear(1)",
        "i64 varying",
    ];
    let mut text = Text::new(seed, &params);
    // Values by width.
    let mut pool: [Vec<u32>; 4] = [vec![2], vec![3], vec![4, 6], vec![5]];
    for (at, width) in WIDTHS.into_iter().enumerate() {
        let lane = text.value(&format!("lane i{width}"));
        pool[at].extend([lane, lane]);
    }
    if text.random.chance(35) {
        // A tile of an image.
        let [column, row] = [0, 1].map(|along| text.value(&format!("lane i64, {along}")));
        let rows = text.value(&format!("mul nsw v{row}, v5"));
        let index = text.value(&format!("add nsw v{rows}, v{column}"));
        pool[3].extend([index, index, index]);
    }
    for _ in 0..text.random.between(1, 5) {
        arithmetic(&mut text, &mut pool);
    }
    text.around(5, 7, |text, round| {
        pool[3].extend(round);
        for _ in 0..text.random.between(1, 5) {
            arithmetic(text, &mut pool);
        }
        for _ in 0..text.random.between(1, 3) {
            accesses(text, &pool);
        }
        if let Some(round) = round {
            pool[3].retain(|&it| it != round);
        }
    });
    text.line("  ret");
    text.end()
}

fn arithmetic(text: &mut Text, pool: &mut [Vec<u32>; 4]) {
    let at = text.random.weighted(&[(0, 15), (1, 10), (2, 45), (3, 30)]);
    let operand = |text: &mut Text, at: usize| text.random.pick(&pool[at]);
    let flags = text.random.pick(&["", "", " nuw", " nsw", " nuw nsw"]);
    let a = operand(text, at);
    let b = operand(text, at);
    let small = match text.random.below(8) {
        0 => text.random.pick(&[100, 120, 127, 128, 200, 250]),
        _ => text.random.between(0, 9) as i32 - 1,
    };
    let value = match text.random.below(16) {
        0..=2 => format!("add{flags} v{a}, v{b}"),
        3 => format!("add{flags} v{a}, {small}"),
        4 => format!("sub{flags} v{a}, v{b}"),
        5 => format!("sub{flags} {small}, v{a}"),
        6 => format!("mul{flags} v{a}, {small}"),
        7 => format!("mul{flags} v{a}, v{b}"),
        8 => format!("shl{flags} v{a}, {}", text.random.between(0, 4)),
        9 => format!("shl{flags} v{a}, v{b}"),
        10 => format!("or{} v{a}, {}", text.random.pick(&["", " disjoint"]), text.random.between(0, 7)),
        11 => format!("and v{a}, {}", text.random.pick(&[1, 3, 7, 15, 31, 63, 5, 127, -4, -1])),
        12 | 13 => {
            let op =
                text.random.pick(&["urem", "udiv", "umin", "smin", "srem", "sdiv", "umax", "lshr", "ashr"]);
            format!("{op} v{a}, v{b}")
        }
        _ => {
            let from = text.random.below(4);
            let of = operand(text, from);
            let op = match from.cmp(&at) {
                std::cmp::Ordering::Less => text.random.pick(&["sext", "zext", "zext nneg"]),
                std::cmp::Ordering::Greater => "trunc",
                std::cmp::Ordering::Equal => return,
            };
            format!("{op} i{}, v{of}", WIDTHS[at])
        }
    };
    let value = text.value(&value);
    pool[at].extend([value, value]);
}

/// Loads and stores whose addresses differ by constants.
fn accesses(text: &mut Text, pool: &[Vec<u32>; 4]) {
    let base = text.random.below(2);
    let at = text.random.weighted(&[(0, 10), (1, 10), (2, 50), (3, 30)]);
    let mut index = text.random.pick(&pool[at]);
    if at < 3 {
        let op = text.random.pick(&["sext", "zext"]);
        index = text.value(&format!("{op} i64, v{index}"));
    }
    let (bytes, ty) = text.random.pick(&[(1, "i8"), (2, "i16"), (4, "i32"), (4, "f32"), (8, "i64")]);
    let scale = text.random.between(0, 5);
    let scaled = text.value(&format!("shl nsw v{index}, {scale}"));
    let address = text.value(&format!("ptradd v{base}, v{scaled}"));
    let align = if text.random.chance(30) { format!(" align {bytes}") } else { String::new() };
    let mut loaded = None;
    for _ in 0..text.random.between(1, 4) {
        let offset = i64::from(text.random.between(0, 4)) * bytes - text.random.pick(&[0, 0, 0, 1, bytes]);
        let address = text.value(&format!("ptradd v{address}, i64 {offset}"));
        match loaded.filter(|_| text.random.chance(50)) {
            Some(stored) => text.line(&format!("  store v{stored}, v{address}{align}")),
            None => loaded = Some(text.value(&format!("load {ty}, v{address}{align}"))),
        }
    }
    if let Some(stored) = loaded {
        text.line(&format!("  store v{stored}, v{address}{align}"));
    }
}

/// An operand.
#[derive(Clone, Copy)]
enum Given {
    Value(u32),
    Constant(&'static str),
}

impl Given {
    /// The operand with its type.
    fn typed(self, ty: &str) -> String {
        match self {
            Given::Value(_) => self.to_string(),
            Given::Constant(_) => format!("{ty} {self}"),
        }
    }
}

impl std::fmt::Display for Given {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Given::Value(number) => write!(f, "v{number}"),
            Given::Constant(text) => f.write_str(text),
        }
    }
}

/// Available operands, the latest last.
#[derive(Clone)]
struct Pools {
    masks: Vec<Given>,
    numbers: Vec<Given>,
    floats: Vec<Given>,
}

/// Masks, numbers and choices of them, often with constants that make them simpler, or twice the same.
pub(super) fn values(seed: u64) -> String {
    let params = [
        "ptr(global) uniform",
        "i1 uniform",
        "i1 varying",
        "i1 varying",
        "i32 uniform",
        "i32 varying",
        "i32 varying",
        "f32 uniform",
        "f32 varying",
    ];
    let mut text = Text::new(seed, &params);
    let pool = |constants: &[&'static str], values: &[u32]| -> Vec<Given> {
        let constants = constants.iter().map(|&it| Given::Constant(it));
        constants.chain(values.iter().map(|&it| Given::Value(it))).collect()
    };
    let mut pools = Pools {
        masks: pool(&["true", "false"], &[1, 2, 3]),
        numbers: pool(&["0", "1", "-1", "2", "8", "31", "2147483647"], &[4, 5, 6]),
        floats: pool(&["0.0", "-0.0", "1.0", "2.0", "-1.0", "0.5", "inf"], &[7, 8]),
    };
    for _ in 0..text.random.between(6, 24) {
        compute(&mut text, &mut pools);
    }
    if text.random.chance(50) {
        let mask = text.random.pick(&pools.masks);
        text.line(&format!("  br {mask}, block1, block2\nblock1:"));
        let mut inside = pools.clone();
        for _ in 0..text.random.between(2, 8) {
            compute(&mut text, &mut inside);
        }
        store(&mut text, &inside, 0);
        text.line("  br block2\nblock2:");
    }
    for place in 1..4 {
        store(&mut text, &pools, place);
    }
    let float = text.random.pick(&pools.floats).typed("f32");
    text.line(&format!("  store {float}, v0"));
    let mask = text.random.pick(&pools.masks);
    let message = text.value(&format!("select {mask}, i32 3, 4"));
    let at = text.value("ptradd v0, i64 64");
    text.line(&format!("  store v{message}, v{at}"));
    text.line("  ret");
    text.end()
}

/// Each lane stores one of the latest numbers, and one of the latest floats.
fn store(text: &mut Text, pools: &Pools, place: i64) {
    let latest = &pools.numbers[pools.numbers.len() - 3..];
    let number = text.random.pick(latest).typed("i32");
    let lane = text.value("lane i64");
    let offset = text.value(&format!("shl v{lane}, 2"));
    let own = text.value(&format!("ptradd v0, v{offset}"));
    let at = text.value(&format!("ptradd v{own}, i64 {}", 128 * place));
    text.line(&format!("  store {number}, v{at}"));
    let latest = &pools.floats[pools.floats.len() - 2..];
    let float = text.random.pick(latest).typed("f32");
    let at = text.value(&format!("ptradd v{at}, i64 64"));
    text.line(&format!("  store {float}, v{at}"));
}

fn compute(text: &mut Text, pools: &mut Pools) {
    let random = &mut text.random;
    let [m, n, o] = [0; 3].map(|_| random.pick(&pools.masks));
    let [a, b, c] = [0; 3].map(|_| random.pick(&pools.numbers));
    let [x, y, z] = [0; 3].map(|_| random.pick(&pools.floats));
    let flags = random.pick(&["", "", " nuw", " nsw"]);
    let promise = random.pick(&["", "", " nnan", " nsz", " nnan ninf nsz", " contract"]);
    let (first_mask, first, first_float) = (m.typed("i1"), a.typed("i32"), x.typed("f32"));
    let (pool, what) = match random.below(26) {
        0..=2 => {
            let op = random.pick(&["and", "or", "xor"]);
            (&mut pools.masks, format!("{op} {first_mask}, {n}"))
        }
        3 => (&mut pools.masks, format!("xor {first_mask}, true")),
        4 | 5 => {
            let otherwise = random.pick(&[n, Given::Constant("false"), Given::Constant("true")]);
            (&mut pools.masks, format!("select {o}, {first_mask}, {otherwise}"))
        }
        6 | 7 => {
            let how = random.pick(&["eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge"]);
            (&mut pools.masks, format!("icmp {how} {first}, {b}"))
        }
        8 => {
            let how = random.pick(&["oeq", "one", "olt", "uno", "ult", "ord"]);
            (&mut pools.masks, format!("fcmp{promise} {how} {first_float}, {y}"))
        }
        9 | 10 => (&mut pools.numbers, format!("select {m}, {first}, {b}")),
        11 => {
            let op = random.pick(&["zext", "sext"]);
            (&mut pools.numbers, format!("{op} i32, {first_mask}"))
        }
        12..=15 => {
            let op = random.pick(&["add", "sub", "mul", "shl"]);
            (&mut pools.numbers, format!("{op}{flags} {first}, {b}"))
        }
        16..=18 => {
            let op = random.pick(&[
                "and", "or", "xor", "lshr", "ashr", "udiv", "sdiv", "urem", "srem", "umin", "umax", "smin",
                "smax",
            ]);
            (&mut pools.numbers, format!("{op} {first}, {b}"))
        }
        19 => {
            let op = random.pick(&["fshl", "fshr"]);
            (&mut pools.numbers, format!("{op} {first}, {b}, {c}"))
        }
        20 | 21 => {
            let op = random.pick(&["fadd", "fsub", "fmul", "fdiv"]);
            (&mut pools.floats, format!("{op}{promise} {first_float}, {y}"))
        }
        22 => (&mut pools.floats, format!("select {m}, {first_float}, {y}")),
        23 => {
            let op = random.pick(&["reduce", "scan", "scan_before"]);
            let by = random.pick(&["add", "mul", "and", "or", "xor", "umin", "umax", "smin", "smax"]);
            (&mut pools.numbers, format!("{op} {by} {first}"))
        }
        24 => {
            let op = random.pick(&["reduce", "scan", "scan_before"]);
            let by = random.pick(&["fadd", "fmul", "fmin", "fmax"]);
            (&mut pools.floats, format!("{op}{promise} {by} {first_float}"))
        }
        _ => {
            let what = match random.below(3) {
                0 => format!("fneg {first_float}"),
                1 => format!("fma{promise} {first_float}, {y}, {z}"),
                _ => format!("fmin{promise} {first_float}, {y}"),
            };
            (&mut pools.floats, what)
        }
    };
    pool.push(Given::Value(text.values));
    text.value(&what);
}

/// Private objects, and pointers into them.
pub(super) fn objects(seed: u64) -> String {
    let params = ["ptr(global) uniform", "i64 uniform", "i64 varying", "i1 uniform", "i1 varying", "ptr"];
    let mut text = Text::new(seed, &params);
    let lane = text.value("lane i64");
    // Values that may be poison, in all lanes or in some.
    text.value("add nsw v1, 1");
    text.value("add nsw v2, 1");
    let mut pointers = Vec::new();
    for _ in 0..text.random.between(1, 4) {
        let bytes = text.random.pick(&[4, 8, 16, 24, 64]);
        pointers.push(text.value(&format!("alloca {bytes} align 8")));
    }
    let mut loaded = lane;
    for _ in 0..text.random.between(2, 8) {
        touch(&mut text, &mut pointers, &mut loaded, lane);
    }
    text.around(1, 2, |text, _| {
        let before = pointers.len();
        for _ in 0..text.random.between(3, 20) {
            touch(text, &mut pointers, &mut loaded, lane);
        }
        pointers.truncate(before);
        text.line(&format!("  store v{loaded}, v0"));
        loaded = lane;
    });
    for _ in 0..text.random.between(0, 6) {
        touch(&mut text, &mut pointers, &mut loaded, lane);
    }
    if text.random.chance(60) {
        walk(&mut text, &pointers, &mut loaded, lane);
    }
    text.line(&format!("  store v{loaded}, v0"));
    text.line("  ret");
    text.end()
}

/// A loop that carries a pointer on, by steps or to another object.
fn walk(text: &mut Text, pointers: &[u32], loaded: &mut u32, lane: u32) {
    let (first, other) = (text.random.pick(pointers), text.random.pick(pointers));
    let from = if text.out.contains("block2:") { 2 } else { 0 };
    let [pointer, round, next, more] = [0, 1, 2, 3].map(|number| text.values + number);
    text.values += 4;
    text.line("  br block3\nblock3:");
    text.line(&format!("  v{pointer} = phi ptr(private) [block{from}: v{first}], [block3: v{next}]"));
    text.line(&format!("  v{round} = phi i64 [block{from}: 0], [block3: v{more}]"));
    let mut inside = vec![pointer, pointer, other];
    for _ in 0..text.random.between(1, 6) {
        touch(text, &mut inside, loaded, lane);
    }
    match text.random.below(4) {
        0 => text.line(&format!("  v{next} = select v{}, v{pointer}, v{other}", 3 + lane % 2)),
        1 => {
            let end = text.random.pick(&inside);
            text.line(&format!("  v{next} = freeze v{end}"));
        }
        _ => text.line(&format!("  v{next} = ptradd v{pointer}, i64 4")),
    }
    text.line(&format!("  v{more} = add v{round}, 1"));
    let taken = text.value(&format!("icmp ult v{more}, v1"));
    text.line(&format!("  br v{taken}, block3, block4\nblock4:"));
}

fn touch(text: &mut Text, pointers: &mut Vec<u32>, loaded: &mut u32, lane: u32) {
    let pointer = text.random.pick(pointers);
    let other = text.random.pick(pointers);
    let offset = text.random.pick(&[0, 4, 8, 12, 16, 20, 1, -4, 64]);
    let bytes = text.random.pick(&[4, 8, 16, 3]);
    match text.random.below(40) {
        0..=11 => pointers.push(text.value(&format!("ptradd v{pointer}, i64 {offset}"))),
        12 => {
            let by = text.random.pick(&[1, 2, lane]);
            pointers.push(text.value(&format!("ptradd v{pointer}, v{by}")));
        }
        13..=17 => {
            let condition = text.random.pick(&[3, 3, 4]);
            pointers.push(text.value(&format!("select v{condition}, v{pointer}, v{other}")));
        }
        18 => pointers.push(text.value(&format!("freeze v{pointer}"))),
        19..=24 => {
            let stored = text.random.pick(&[1, 2, *loaded, lane, 1, lane + 1, lane + 2]);
            text.line(&format!("  store v{stored}, v{pointer}"));
        }
        25..=31 => *loaded = text.value(&format!("load i64, v{pointer}")),
        32 => text.line(&format!("  memset v{pointer}, i8 0, i64 {bytes}")),
        33 => text.line(&format!("  memcpy v{pointer}, v{other}, i64 {bytes}")),
        34 => _ = text.value(&format!("atomic_rmw add v{pointer}, v{loaded} relaxed device")),
        35 => _ = text.value(&format!("icmp eq v{pointer}, v{other}")),
        36 => text.line(&format!("  memmove v{pointer}, v0, i64 {bytes}")),
        // The rest lets an object out, which should be rare.
        37 if text.random.chance(20) => text.line(&format!("  store v{pointer}, v0")),
        39 => pointers.push(text.value("alloca 8 align 8")),
        38 if text.random.chance(20) => *loaded = text.value(&format!("ptrtoint i64, v{pointer}")),
        _ => {}
    }
}

/// Graphs of blocks by lot, most of which lead to some near them.
pub(super) fn graphs(seed: u64) -> String {
    let mut random = Random::new(seed);
    let count = random.between(3, 14) as usize;
    let near = random.chance(50);
    let shares = random.chance(40);
    // Blocks lead to some near them, mostly on.
    let target = |random: &mut Random, from: usize| {
        let to = match random.below(10) {
            _ if !near => random.below(count),
            0..=6 => from + 1 + random.below(3),
            7 | 8 => from.saturating_sub(random.below(4)),
            _ => random.below(count),
        };
        to.clamp(1, count - 1)
    };
    let ends: Vec<Vec<usize>> = (0..count)
        .map(|from| {
            let ways = random.weighted(&[(0, 8), (1, 32), (2, 54), (3, 6)]);
            let ways = if from == 0 {
                ways.max(1)
            } else if from + 1 == count {
                0
            } else {
                ways
            };
            (0..ways).map(|_| target(&mut random, from)).collect()
        })
        .collect();
    graph(seed, &ends, shares)
}

/// Checks after each other, each of which leads on or to one of some clean-ups; the last one has several ways there, with
/// blocks on them that do nothing else. Perhaps all of it again, in a loop.
pub(super) fn ladders(seed: u64) -> String {
    let mut random = Random::new(seed);
    let (checks, cleanups) = (random.between(1, 5) as usize, random.between(1, 4) as usize);
    let ways: Vec<usize> = match random.pick(&[2, 2, 2, 3, 4, 7, 8, 9]) {
        ways @ ..=4 => (0..ways).map(|_| random.below(6)).collect(),
        ways => vec![random.below(3); ways],
    };
    let between: usize = ways.iter().sum();
    // The blocks: a start, the checks, what has several ways, those on the ways, the clean-ups, and two ends.
    let mut next = checks + 2;
    let first_cleanup = next + between;
    let end = first_cleanup + cleanups;
    let mut ends: Vec<Vec<usize>> = vec![vec![1]];
    ends.extend((1..=checks).map(|at| vec![at + 1, first_cleanup + random.below(cleanups + 1)]));
    let landings: Vec<usize> = ways.iter().map(|_| first_cleanup + random.below(cleanups + 1)).collect();
    let mut starts = Vec::new();
    let mut passages = Vec::new();
    for (&blocks, &landing) in ways.iter().zip(&landings) {
        starts.push(if blocks == 0 { landing } else { next });
        for left in (0..blocks).rev() {
            next += 1;
            passages.push(vec![if left == 0 { landing } else { next }]);
        }
    }
    ends.push(starts);
    ends.extend(passages);
    for at in first_cleanup..end {
        ends.push(if random.chance(25) { vec![at + 1, end] } else { vec![at + 1] });
    }
    ends.push(if random.chance(30) { vec![1, end + 1] } else { vec![end + 1] });
    ends.push(Vec::new());
    graph(seed, &ends, false)
}

/// A function of blocks that lead to these and each do a little, with φs of what the blocks before did; if it `shares`, lanes
/// meet, or act where they are not.
fn graph(seed: u64, ends: &[Vec<usize>], shares: bool) -> String {
    let params =
        ["ptr(global) uniform", "i32 uniform", "i32 varying", "i1 uniform", "i1 varying", "i32 varying"];
    let count = ends.len();
    let mut text = Text::new(seed ^ 0x9e37, &params);
    // Each block first defines its φ, then what it adds; all blocks' values have fixed numbers.
    let first = text.values;
    let phi = |block: usize| first + 3 * block as u32;
    for (block, targets) in ends.iter().enumerate() {
        if block > 0 {
            text.line(&format!("block{block}:"));
        }
        let mut preds: Vec<usize> = (0..count).filter(|&from| ends[from].contains(&block)).collect();
        preds.dedup();
        let (before, sum, taken) = (phi(block), phi(block) + 1, phi(block) + 2);
        let incoming: Vec<String> = preds
            .iter()
            .map(|&from| match text.random.below(4) {
                0 => format!("[block{from}: v{}]", text.random.pick(&[1, 2, 5])),
                _ => format!("[block{from}: v{}]", phi(from) + 1),
            })
            .collect();
        match incoming.is_empty() {
            true => text.line(&format!("  v{before} = add v1, {block}")),
            false => text.line(&format!("  v{before} = phi i32 {}", incoming.join(" "))),
        }
        let with = text.random.pick(&["v1", "v2", "v5", "1", "7"]);
        let op = text.random.pick(&["add", "xor", "and", "mul"]);
        text.line(&format!("  v{sum} = {op} v{before}, {with}"));
        if text.random.chance(30) {
            text.line(&format!("  store v{sum}, v0"));
        }
        match text.random.below(16) {
            0 if shares => text.line("  barrier group"),
            1 if shares => text.line(&format!("  store v{sum}, v0 total")),
            2..=4 => text.line(&format!("  store v{sum}, v0")),
            _ => {}
        }
        let by = text.random.pick(&["v1", "v2", "3", "3"]);
        let of = text.random.pick(&[sum, before, 1, 1, 2]);
        let requested = text.random.pick(&[3, 4, 4]);
        match text.random.below(8) {
            0 => text.line(&format!("  v{taken} = any v{requested}")),
            1 => text.line(&format!("  v{taken} = all v{requested}")),
            _ => {
                let how = text.random.pick(&["eq", "ult", "sgt", "ne"]);
                text.line(&format!("  v{taken} = icmp {how} v{of}, {by}"));
            }
        }
        let taken = text.random.pick(&[taken, taken, 3, 3, 4]);
        match targets[..] {
            [] if block + 1 == count || text.random.chance(50) => text.line("  ret"),
            [] => text.line("  unreachable"),
            [to] => text.line(&format!("  br block{to}")),
            [then, otherwise] => text.line(&format!("  br v{taken}, block{then}, block{otherwise}")),
            [other, ref cases @ ..] => {
                let case = |(number, to): (usize, &usize)| format!("{number}: block{to}");
                let cases: Vec<String> = cases.iter().enumerate().map(case).collect();
                text.line(&format!("  switch v{sum}, block{other} [{}]", cases.join(", ")));
            }
        }
    }
    text.end()
}

/// Consecutive switches with many cases, and blocks with many predecessors.
pub(super) fn switches(seed: u64) -> String {
    let params = ["ptr(global) uniform", "i32 uniform", "i32 varying", "i32 varying"];
    let mut text = Text::new(seed, &params);
    let (mut block, mut values) = (0, [1, 2, 3, 2]);
    for _ in 0..text.random.between(1, 3) {
        let count = text.random.pick(&[3, 6, 7, 8, 9, 14, 30, 60]);
        let middle = text.random.between(1, 3);
        let by = text.random.pick(&values);
        // Each case leads to its own block, to one of those in the middle, or directly to the end.
        let first = block + 1;
        let (middles, end) = (first + count, first + count + middle);
        let own: Vec<bool> = (0..count).map(|_| text.random.chance(60)).collect();
        let targets: Vec<u32> = (0..count)
            .map(|case| match own[case as usize] {
                true => first + case,
                false if text.random.chance(70) => middles + text.random.between(0, middle - 1),
                false => end,
            })
            .collect();
        let cases: Vec<String> =
            targets.iter().enumerate().map(|(number, to)| format!("{number}: block{to}")).collect();
        text.line(&format!("  switch v{by}, block{middles} [{}]", cases.join(", ")));
        let mut into: Vec<Vec<(u32, u32)>> = vec![Vec::new(); middle as usize + 1];
        let mut lead = |from: u32, to: u32, value: u32| {
            let edges = &mut into[(to - middles) as usize];
            if edges.iter().all(|&(other, _)| other != from) {
                edges.push((from, value));
            }
        };
        lead(block, middles, values[0]);
        for case in 0..count {
            if !own[case as usize] {
                lead(block, targets[case as usize], values[0]);
                continue;
            }
            let from = first + case;
            text.line(&format!("block{from}:"));
            let brought = match text.random.below(3) {
                0 => text.value(&format!("add v{}, {case}", values[1])),
                _ => text.random.pick(&values),
            };
            let to = if text.random.chance(60) { middles + text.random.between(0, middle - 1) } else { end };
            lead(from, to, brought);
            text.line(&format!("  br block{to}"));
        }
        for number in 0..=middle {
            let here = middles + number;
            text.line(&format!("block{here}:"));
            let edges = std::mem::take(&mut into[number as usize]);
            let mut found = values[3];
            if !edges.is_empty() {
                let mut incoming: Vec<String> =
                    edges.iter().map(|(from, value)| format!("[block{from}: v{value}]")).collect();
                // No order of the edges is better than another one.
                let first = text.random.below(incoming.len());
                incoming.rotate_left(first);
                found = text.value(&format!("phi i32 {}", incoming.join(" ")));
                text.line(&format!("  store v{found}, v0"));
            }
            if here < end {
                into[middle as usize].push((here, found));
                text.line(&format!("  br block{end}"));
            } else {
                values[3] = found;
                block = end;
            }
        }
        values.rotate_left(1);
        values[1] = 2;
        values[2] = 1;
    }
    text.line("  ret");
    text.end()
}
