//! Kernels of two and three dimensions with private arrays, for every order of axes and tile that brushes may have.
//!
//! A kernel is a list of statements with one sum. Statements access private arrays at constant, uniform and divergent indices, by bytes and as
//! structures; exchange sums through local memory, also transposed; branch and loop on indices of each dimension. Few kernels observe
//! their brushes. Groups may have one work-item, and those at the end of a launch may be smaller.

use crate::divided::KernelText;
use crate::generate::Random;
use heddle_ir::{Module, parse_module};
use std::fmt::Write as _;

/// Sizes of groups.
const SIZES: [[u32; 3]; 20] = [
    [7, 11, 1],
    [16, 16, 1],
    [8, 8, 4],
    [1, 64, 1],
    [64, 1, 1],
    [3, 5, 2],
    [5, 1, 7],
    [4, 4, 1],
    [2, 3, 1],
    [16, 2, 1],
    [2, 16, 1],
    [1, 5, 9],
    [1, 1, 12],
    [9, 2, 3],
    [3, 17, 1],
    [2, 2, 8],
    [4, 8, 2],
    [1, 1, 1],
    [1, 1, 1],
    [6, 6, 1],
];
/// Maximum number of work-items of a launch.
const MAX_ITEMS: u32 = 384;
/// Elements of the input.
pub(crate) const INPUTS: u32 = 1024;
/// Lanes of brushes that kernels observe.
const LANES: [u32; 3] = [4, 8, 16];
/// Orders of dimensions, innermost first.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 1, 0], [2, 0, 1]];

/// Kernel of several dimensions, and a launch. Its parameters are the output, the input and two numbers.
#[derive(Clone, Debug)]
pub struct DimensionCase {
    /// The seed.
    pub seed: u64,
    /// The text.
    pub text: String,
    /// The kernel `k`.
    pub module: Module,
    /// Number of dimensions.
    pub dimensions: u32,
    /// Size of a group.
    pub local: [u32; 3],
    /// Number of groups.
    pub groups: [u32; 3],
    /// Size of the last group along each dimension.
    pub last: [u32; 3],
    /// Minimum of global indices.
    pub offset: [u64; 3],
    /// Arguments that are numbers.
    pub numbers: [u32; 2],
    /// Lanes of a brush, if the kernel observes it.
    pub observed: Option<u32>,
    /// True if groups have local memory.
    pub has_local: bool,
    /// True if the input is the output.
    pub is_aliased: bool,
    /// Names of what the kernel has.
    pub features: Vec<&'static str>,
}

impl DimensionCase {
    /// Size of the launch.
    pub fn global(&self) -> [u32; 3] {
        [0, 1, 2].map(|along| (self.groups[along] - 1) * self.local[along] + self.last[along])
    }

    /// True if all groups have the same size.
    pub fn is_uniform(&self) -> bool {
        self.last == self.local
    }

    /// Number of work-items.
    pub fn items(&self) -> u32 {
        self.global().iter().product()
    }
}

/// Array of private memory.
#[derive(Clone, Copy)]
struct CaseArray {
    address: u32,
    bytes: u32,
    /// Bytes of most of its elements.
    element: u32,
    /// True if elements of other sizes are accessed, too.
    has_views: bool,
}

/// Kernel that is being written: statements append to a block, with the sum of the work-item so far.
struct DimensionText<'r> {
    text: KernelText,
    random: &'r mut Random,
    features: Vec<&'static str>,
    blocks: u32,
    /// Block that is being written.
    here: u32,
    /// Numbers by dimension.
    ids: [u32; 3],
    globals: [u32; 3],
    sizes: [u32; 3],
    /// Number of work-items of the group.
    items: u32,
    /// Index of the work-item in the output, and in its second part.
    own: [u32; 2],
    /// Address of its place through the input, if that is the output.
    own_input: Option<u32>,
    uniform: Vec<u32>,
    values: Vec<u32>,
    arrays: Vec<CaseArray>,
    dimensions: usize,
    observes: bool,
    is_divergent: bool,
    has_tile: bool,
    /// True if each element of the tile has been written.
    is_tile_full: bool,
    budget: u32,
}

impl DimensionText<'_> {
    fn block(&mut self) -> u32 {
        self.blocks += 1;
        self.blocks
    }

    fn begin(&mut self, block: u32) {
        self.here = block;
        _ = writeln!(self.text.text, "block{block}:");
    }

    fn line(&mut self, line: &str) {
        _ = writeln!(self.text.text, "  {line}");
    }

    fn value(&mut self, what: &str) -> u32 {
        self.text.condition(what)
    }

    fn note(&mut self, feature: &'static str) {
        if !self.features.contains(&feature) {
            self.features.push(feature);
        }
    }

    /// A value of the work-item, the newer ones more often.
    fn pick(&mut self) -> u32 {
        let [one, other] = [(); 2].map(|()| self.random.below(self.values.len()));
        self.values[one.max(other)]
    }

    /// A dimension of the launch.
    fn dimension(&mut self) -> usize {
        self.random.below(self.dimensions)
    }

    /// Address of an element of four bytes.
    fn element(&mut self, base: &str, index: u32) -> u32 {
        let wide = self.value(&format!("zext i64, v{index}"));
        let bytes = self.value(&format!("shl v{wide}, 2"));
        self.value(&format!("ptradd {base}, v{bytes}"))
    }

    /// Index of the work-item among those of sizes, in an order of the dimensions.
    fn linear(&mut self, ids: [u32; 3], sizes: [u32; 3], order: [usize; 3]) -> u32 {
        let plane = self.value(&format!("mul v{}, v{}", ids[order[2]], sizes[order[1]]));
        let row = self.value(&format!("add v{plane}, v{}", ids[order[1]]));
        let scaled = self.value(&format!("mul v{row}, v{}", sizes[order[0]]));
        self.value(&format!("add v{scaled}, v{}", ids[order[0]]))
    }

    /// A condition, mostly on an index of some dimension.
    fn condition(&mut self) -> u32 {
        const OF: [&str; 3] =
            ["conditions of dimension 0", "conditions of dimension 1", "conditions of dimension 2"];
        let along = self.dimension();
        let (id, global) = (self.ids[along], self.globals[along]);
        match self.random.below(5) {
            0 => {
                self.note(OF[along]);
                let bound = self.random.between(1, 6);
                let predicate = self.random.pick(&["ult", "ugt", "eq", "ne"]);
                self.value(&format!("icmp {predicate} v{id}, {bound}"))
            }
            1 => {
                self.note(OF[along]);
                let mask = self.random.pick(&[1, 2, 3, 5]);
                let low = self.value(&format!("and v{global}, {mask}"));
                let other = self.random.pick(&[0, 1, mask]);
                self.value(&format!("icmp eq v{low}, {other}"))
            }
            2 => {
                self.note(OF[along]);
                let other = self.dimension();
                self.note(OF[other]);
                let predicate = self.random.pick(&["ult", "ule", "ne"]);
                self.value(&format!("icmp {predicate} v{global}, v{}", self.globals[other]))
            }
            3 => {
                self.note(OF[along]);
                let half = self.value(&format!("lshr v{}, 1", self.sizes[along]));
                self.value(&format!("icmp ult v{id}, v{half}"))
            }
            _ => {
                let value = self.pick();
                let mask = self.random.pick(&[1, 3, 6]);
                let low = self.value(&format!("and v{value}, {mask}"));
                self.value(&format!("icmp ne v{low}, 0"))
            }
        }
    }

    /// Work-items for which a condition holds go through `inside`, which returns their sum; the others keep theirs.
    fn some(&mut self, condition: u32, sum: u32, inside: impl FnOnce(&mut Self) -> u32) -> u32 {
        let [then, end] = [self.block(), self.block()];
        let (before, known) = (self.here, self.values.len());
        self.line(&format!("br v{condition}, block{then}, block{end}"));
        self.begin(then);
        let changed = inside(self);
        let from = self.here;
        self.line(&format!("br block{end}"));
        self.values.truncate(known);
        self.begin(end);
        self.value(&format!("phi i32 [block{before}: v{sum}], [block{from}: v{changed}]"))
    }

    /// A loop of so many iterations, at least one.
    fn repeat(&mut self, trips: &str, sum: u32, inside: impl FnOnce(&mut Self, u32, u32) -> u32) -> u32 {
        let [head, end] = [self.block(), self.block()];
        let (before, known) = (self.here, self.values.len());
        self.line(&format!("br block{head}"));
        self.begin(head);
        let [counter, carried, next] = [(); 3].map(|()| self.text.skip());
        // The latch is known once the body is written.
        let phis = self.text.text.len();
        let changed = inside(self, counter, carried);
        let latch = self.here;
        self.line(&format!("v{next} = add v{counter}, 1"));
        let continues = self.value(&format!("icmp ult v{next}, {trips}"));
        self.line(&format!("br v{continues}, block{head}, block{end}"));
        let lines = format!(
            "  v{counter} = phi i32 [block{before}: 0], [block{latch}: v{next}]\n  \
             v{carried} = phi i32 [block{before}: v{sum}], [block{latch}: v{changed}]\n"
        );
        self.text.text.insert_str(phis, &lines);
        self.values.truncate(known);
        self.begin(end);
        changed
    }

    /// Address of an element of a private array, and its bytes.
    fn private(&mut self, array: CaseArray) -> (u32, u32) {
        let element = match array.has_views && self.random.chance(40) {
            true => {
                self.note("accesses of several sizes");
                self.random.pick(&[1, 1, 2, 4])
            }
            false => array.element,
        };
        let count = array.bytes / element;
        let at = match self.random.below(4) {
            0 => {
                self.note("constant indices");
                let offset = element * self.random.below(count as usize) as u32;
                return (self.value(&format!("ptradd v{}, i64 {offset}", array.address)), element);
            }
            1 => {
                self.note("uniform indices");
                self.uniform[self.random.below(self.uniform.len())]
            }
            2 => {
                self.note("divergent indices");
                let along = self.dimension();
                self.ids[along]
            }
            _ => {
                self.note("divergent indices");
                self.pick()
            }
        };
        let at = self.value(&format!("and v{at}, {}", count - 1));
        let wide = self.value(&format!("zext i64, v{at}"));
        let offset = self.value(&format!("shl v{wide}, {}", element.trailing_zeros()));
        (self.value(&format!("ptradd v{}, v{offset}", array.address)), element)
    }

    fn load(&mut self, (address, bytes): (u32, u32)) -> u32 {
        let loaded = self.value(&format!("load i{}, v{address}", 8 * bytes));
        match bytes {
            4 => loaded,
            8 => self.value(&format!("trunc i32, v{loaded}")),
            _ => {
                let extension = self.random.pick(&["zext", "sext"]);
                self.value(&format!("{extension} i32, v{loaded}"))
            }
        }
    }

    fn store(&mut self, value: u32, (address, bytes): (u32, u32)) {
        let value = match bytes {
            4 => value,
            8 => self.value(&format!("zext i64, v{value}")),
            bytes => self.value(&format!("trunc i{}, v{value}", 8 * bytes)),
        };
        self.line(&format!("store v{value}, v{address}"));
    }

    /// Copies a part of one array to another one.
    fn copy(&mut self) {
        let to = self.random.below(self.arrays.len());
        let from = self.random.below(self.arrays.len());
        if to == from {
            return;
        }
        self.note("copied structures");
        let [to, from] = [self.arrays[to], self.arrays[from]];
        let bytes = self.random.pick(&[8, 16]).min(to.bytes.min(from.bytes));
        let [to, from] = [to, from].map(|array| {
            let parts = array.bytes / bytes;
            if parts == 1 || self.random.chance(60) {
                let offset = bytes * self.random.below(parts as usize) as u32;
                return self.value(&format!("ptradd v{}, i64 {offset}", array.address));
            }
            let value = self.pick();
            let part = self.value(&format!("and v{value}, {}", parts - 1));
            let wide = self.value(&format!("zext i64, v{part}"));
            let offset = self.value(&format!("shl v{wide}, {}", bytes.trailing_zeros()));
            self.value(&format!("ptradd v{}, v{offset}", array.address))
        });
        self.line(&format!("memcpy v{to}, v{from}, i64 {bytes} align 4, align 4"));
    }

    /// Work-items exchange their sums through local memory.
    fn exchange(&mut self, sum: u32) -> u32 {
        let orders = if self.dimensions == 2 { &ORDERS[..3] } else { &ORDERS[..] };
        let [order, other] = [(); 2].map(|()| self.random.pick(orders));
        let own = self.linear(self.ids, self.sizes, order);
        let address = self.element("@tile", own);
        self.line(&format!("store v{sum}, v{address}"));
        self.line("barrier group");
        let at = match self.random.below(4) {
            0 | 1 => {
                self.note("transposed accesses to local memory");
                self.linear(self.ids, self.sizes, other)
            }
            2 => {
                let along = self.dimension();
                let step = self.value(&format!("add v{own}, v{}", self.sizes[along]));
                self.value(&format!("urem v{step}, v{}", self.items))
            }
            _ => {
                let value = self.pick();
                self.value(&format!("urem v{value}, v{}", self.items))
            }
        };
        let address = self.element("@tile", at);
        let found = self.value(&format!("load i32, v{address}"));
        self.line("barrier group");
        self.is_tile_full = true;
        self.values.push(found);
        self.value(&format!("xor v{sum}, v{found}"))
    }

    /// Work-items count in cells that others read.
    fn counts(&mut self, sum: u32) -> u32 {
        self.note("atomics on local memory");
        let own = self.linear(self.ids, self.sizes, ORDERS[0]);
        let address = self.element("@cells", own);
        self.line(&format!("store i32 0, v{address}"));
        self.line("barrier group");
        let value = self.pick();
        let at = self.value(&format!("urem v{value}, v{}", self.items));
        let cell = self.element("@cells", at);
        self.value(&format!("atomic_rmw add v{cell}, v{sum} relaxed group"));
        self.line("barrier group");
        let found = self.value(&format!("load i32, v{address}"));
        self.line("barrier group");
        self.values.push(found);
        self.value(&format!("add v{sum}, v{found}"))
    }

    /// Reads the input, contiguous along some dimension; of an output the work-item's own place.
    fn input(&mut self) -> u32 {
        if let Some(from) = self.own_input {
            return self.value(&format!("load i32, v{from}"));
        }
        let [along, across] = [self.dimension(), self.dimension()];
        let pitch = self.random.pick(&["31", "32", "v3"]);
        let row = self.value(&format!("mul v{}, {pitch}", self.globals[across]));
        let at = self.value(&format!("add v{row}, v{}", self.globals[along]));
        let at = self.value(&format!("and v{at}, {}", INPUTS - 1));
        let address = self.element("v1", at);
        self.value(&format!("load i32, v{address}"))
    }

    /// Stores the sum in the work-item's own places.
    fn show(&mut self, sum: u32) {
        for own in self.own {
            let address = self.element("v0", own);
            self.line(&format!("store v{sum}, v{address}"));
        }
    }

    /// Some work-items return.
    fn exit(&mut self, sum: u32) {
        self.note("early exits");
        let condition = self.condition();
        let [then, end] = [self.block(), self.block()];
        self.line(&format!("br v{condition}, block{then}, block{end}"));
        self.begin(then);
        let mixed = self.value(&format!("mul v{sum}, 5"));
        self.show(mixed);
        self.line("ret");
        self.begin(end);
    }

    fn operation(&mut self, sum: u32) -> u32 {
        let value = self.pick();
        let op = self.random.pick(&["add", "sub", "mul", "xor", "or", "and", "umin", "smax"]);
        let found = match op {
            "and" | "or" => {
                let mixed = self.value(&format!("{op} v{sum}, v{value}"));
                self.value(&format!("sub v{mixed}, v{value}"))
            }
            "mul" => {
                let odd = self.value(&format!("or v{value}, 1"));
                self.value(&format!("mul v{sum}, v{odd}"))
            }
            _ => self.value(&format!("{op} v{sum}, v{value}")),
        };
        self.values.push(found);
        found
    }

    /// Writes some statements.
    fn statements(&mut self, count: u32, mut sum: u32) -> u32 {
        for _ in 0..count {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            sum = self.statement(sum);
        }
        sum
    }

    fn statement(&mut self, sum: u32) -> u32 {
        let array = self.arrays[self.random.below(self.arrays.len())];
        match self.random.below(if self.is_divergent { 11 } else { 18 }) {
            0 => self.operation(sum),
            1 | 2 => {
                let at = self.private(array);
                self.store(sum, at);
                sum
            }
            3 | 4 => {
                let at = self.private(array);
                let found = self.load(at);
                self.values.push(found);
                self.value(&format!("add v{sum}, v{found}"))
            }
            5 => {
                self.copy();
                sum
            }
            6 => {
                let found = self.input();
                self.values.push(found);
                self.value(&format!("xor v{sum}, v{found}"))
            }
            7 | 8 => {
                let condition = self.condition();
                let was = std::mem::replace(&mut self.is_divergent, true);
                let count = self.random.between(1, 3);
                let sum = self.some(condition, sum, |it| it.statements(count, sum));
                self.is_divergent = was;
                sum
            }
            9 => {
                self.note("divergent loops");
                let value = self.pick();
                let low = self.value(&format!("and v{value}, 3"));
                let trips = self.value(&format!("add v{low}, 1"));
                let was = std::mem::replace(&mut self.is_divergent, true);
                let sum = self.repeat(&format!("v{trips}"), sum, |it, counter, sum| {
                    it.values.push(counter);
                    it.statements(2, sum)
                });
                self.is_divergent = was;
                sum
            }
            10 => {
                let value = self.pick();
                let shift = self.random.between(1, 7);
                let mixed = self.value(&format!("lshr v{value}, {shift}"));
                self.values.push(mixed);
                self.value(&format!("sub v{sum}, v{mixed}"))
            }
            11 => {
                self.note("loops with barriers");
                let trips = self.random.pick(&["2", "3", "v4"]);
                self.repeat(trips, sum, |it, counter, sum| {
                    it.uniform.push(counter);
                    let sum = it.statements(2, sum);
                    let sum = it.meet(sum);
                    it.uniform.pop();
                    sum
                })
            }
            12 => {
                self.note("barriers under conditions of groups");
                let along = self.dimension();
                let group = self.value(&format!("group_id i32, {along}"));
                let odd = self.value(&format!("and v{group}, 1"));
                let parity = self.random.below(2);
                let condition = self.value(&format!("icmp eq v{odd}, {parity}"));
                let was = self.is_tile_full;
                let sum = self.some(condition, sum, |it| it.meet(sum));
                self.is_tile_full = was;
                sum
            }
            13 if self.observes => {
                self.note("sub-group functions");
                let found = match self.random.below(3) {
                    0 => self.value(&format!("reduce add v{sum}")),
                    1 => self.value("lane i32"),
                    _ => {
                        let before = self.value(&format!("reduce umax v{sum}"));
                        let lane = self.value("lane i32");
                        self.value(&format!("add v{before}, v{lane}"))
                    }
                };
                self.values.push(found);
                self.value(&format!("add v{sum}, v{found}"))
            }
            14 if self.is_tile_full => {
                self.exit(sum);
                sum
            }
            _ => self.meet(sum),
        }
    }

    /// A barrier, mostly with an exchange.
    fn meet(&mut self, sum: u32) -> u32 {
        self.note("barriers");
        match self.random.below(6) {
            _ if !self.has_tile => self.line("barrier group"),
            0 => self.line("barrier group"),
            1 => return self.counts(sum),
            _ => return self.exchange(sum),
        }
        sum
    }
}

/// Numbers of groups of a size, and the size of the last ones.
fn launch(random: &mut Random, dimensions: usize, local: [u32; 3]) -> ([u32; 3], [u32; 3]) {
    let is_one = local == [1; 3];
    let most = if is_one { 9 } else { 3 };
    let mut groups = [1; 3];
    for along in 0..dimensions {
        let items: u32 = (0..3).map(|it| groups[it] * local[it]).product();
        let room = (MAX_ITEMS / items).clamp(1, most);
        groups[along] = random.between(if is_one { room.min(2) } else { 1 }, room);
    }
    let is_uniform = random.chance(45);
    let last = [0, 1, 2].map(|along| match is_uniform || random.chance(30) {
        true => local[along],
        false => random.between(1, local[along]),
    });
    (groups, last)
}

/// Makes a kernel of several dimensions, and a launch.
pub fn dimension_case(seed: u64) -> DimensionCase {
    let mut random = Random::new(seed);
    let local = random.pick(&SIZES);
    let dimensions = if local[2] > 1 || random.chance(30) { 3 } else { 2 };
    let (groups, last) = launch(&mut random, dimensions, local);
    let observed = random.chance(12).then(|| random.pick(&LANES));
    let has_tile = if local == [1; 3] { random.chance(40) } else { random.chance(85) };
    let is_aliased = random.chance(10);
    let offset = [0, 1, 2].map(|along| match along < dimensions && random.chance(50) {
        true => u64::from(random.between(1, 40)),
        false => 0,
    });
    let items: u32 = local.iter().product();
    let tile = format!("global @tile: ptr(local) align 4 = [poison {}]\n", 4 * items);
    let cells = format!("global @cells: ptr(local) align 4 = [poison {}]\n", 4 * items);
    let head = "kernel @k(v0: ptr(global) align 4, v1: ptr(global) align 4, v3: i32, v4: i32) {\nblock0:";
    let globals = if has_tile { [tile, cells].concat() } else { String::new() };
    let mut it = DimensionText {
        text: KernelText::new(&format!("{globals}{head}")),
        features: vec![if dimensions == 2 { "two dimensions" } else { "three dimensions" }],
        blocks: 0,
        here: 0,
        ids: [0; 3],
        globals: [0; 3],
        sizes: [0; 3],
        items: 0,
        own: [0; 2],
        own_input: None,
        uniform: vec![3, 4],
        values: Vec::new(),
        arrays: Vec::new(),
        dimensions,
        observes: observed.is_some(),
        is_divergent: false,
        has_tile,
        is_tile_full: false,
        budget: 0,
        random: &mut random,
    };
    it.ids = [0, 1, 2].map(|along| it.value(&format!("local_id i32, {along}")));
    it.sizes = [0, 1, 2].map(|along| it.value(&format!("local_size i32, {along}")));
    it.globals = [0, 1, 2].map(|along| it.value(&format!("global_id i32, {along}")));
    let plane = it.value(&format!("mul v{}, v{}", it.sizes[0], it.sizes[1]));
    it.items = it.value(&format!("mul v{plane}, v{}", it.sizes[2]));
    let mut launched = [0; 3];
    let mut extents = [0; 3];
    for along in 0..3 {
        let first = it.value(&format!("global_offset i32, {along}"));
        launched[along] = it.value(&format!("sub v{}, v{first}", it.globals[along]));
        extents[along] = it.value(&format!("global_size i32, {along}"));
    }
    let orders: &[[usize; 3]] = if dimensions == 2 { &ORDERS[..3] } else { &ORDERS };
    let [order, other] = [(); 2].map(|()| it.random.pick(orders));
    it.own[0] = it.linear(launched, extents, order);
    let second = it.linear(launched, extents, other);
    let moved: u32 = [0, 1, 2].map(|along| (groups[along] - 1) * local[along] + last[along]).iter().product();
    it.own[1] = it.value(&format!("add v{second}, {moved}"));
    let numbers = [it.random.between(0, 63), it.random.between(1, 3)];
    it.values.extend(it.ids);
    it.values.extend(it.globals);
    for query in ["group_id", "num_groups", "local_size", "enqueued_size", "global_size", "global_offset"] {
        if it.random.chance(25) {
            let along = it.dimension();
            let found = it.value(&format!("{query} i32, {along}"));
            it.values.push(found);
        }
    }
    for _ in 0..it.random.between(1, 3) {
        let (bytes, element) = (it.random.pick(&[16, 32, 64]), it.random.pick(&[4, 4, 4, 1, 2, 8]));
        let address = it.value(&format!("alloca {bytes} align 8"));
        let has_views = it.random.chance(40);
        let fill = it.random.between(0, 9);
        it.line(&format!("memset v{address}, i8 {fill}, i64 {bytes} align 8"));
        it.arrays.push(CaseArray { address, bytes, element, has_views });
    }
    let factor = it.random.pick(&[3, 7, 1001]);
    let mut sum = it.linear(it.globals, [3, 4, 4], order);
    sum = it.value(&format!("mul v{sum}, {factor}"));
    if is_aliased {
        // The work-item alone accesses its place, through both pointers.
        it.note("input and output are one object");
        let [to, from] = [it.element("v0", it.own[0]), it.element("v1", it.own[0])];
        it.own_input = Some(from);
        sum = it.repeat("3", sum, |it, counter, sum| {
            let read = it.value(&format!("load i32, v{from}"));
            let mixed = it.value(&format!("mul v{read}, 3"));
            let next = it.value(&format!("add v{mixed}, v{counter}"));
            it.line(&format!("store v{next}, v{to}"));
            it.value(&format!("xor v{sum}, v{next}"))
        });
    }
    it.budget = it.random.between(4, 14);
    sum = it.statements(20, sum);
    if !it.features.contains(&"barriers") || it.random.chance(30) {
        sum = it.meet(sum);
    }
    for number in 0..it.arrays.len() {
        let at = it.private(it.arrays[number]);
        let found = it.load(at);
        sum = it.value(&format!("add v{sum}, v{found}"));
    }
    it.show(sum);
    it.line("ret");
    let text = format!("{}}}\n", it.text.text);
    let features = it.features;
    let module = parse_module(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    DimensionCase {
        seed,
        text,
        module,
        dimensions: dimensions as u32,
        local,
        groups,
        last,
        offset,
        numbers,
        observed,
        has_local: has_tile,
        is_aliased,
        features,
    }
}
