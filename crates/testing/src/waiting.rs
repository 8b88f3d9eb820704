//! Kernels whose work-items wait in loops for others of their group, in an order that decides what they compute.
//!
//! A kernel is a list of phases. In a *turn*, one lane of each brush waits until a flag has the number of its brush, and then adds to
//! the sum of the phase; in an *arrival*, work-items count themselves, and wait until all have. Votes, barriers and loops come between.

use crate::divided::KernelText;
use crate::generate::{
    GeneratedProgram, InputArgument, ObjectShape, Owner, ProgramClass, ProgramInput, ProgramTraits, Random,
};
use heddle_ir::{Scalar, Space, parse_module};
use std::fmt::Write as _;

/// Lanes of brushes.
const LANES: [u32; 4] = [2, 4, 8, 16];
/// Maximum number of brushes of a group.
const MAX_BRUSHES: usize = 5;
/// Maximum number of work-items of a group.
const ITEMS: u32 = 80;
/// Maximum number of phases.
const MAX_PHASES: usize = 5;
/// Words of local memory: a flag and a sum for each phase.
const FLAGS: usize = 2 * MAX_PHASES;

/// Kernel that is being written: phases append to a block, with the sum of the work-item so far.
struct WaitingText<'r> {
    text: KernelText,
    random: &'r mut Random,
    blocks: u32,
    /// Block that is being written.
    here: u32,
    /// Index of the work-item, its lane, its brush.
    item: u32,
    lane: u32,
    brush: u32,
    brushes: u32,
    items: u32,
}

impl WaitingText<'_> {
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

    /// Address of a word of the flags.
    fn flag(&mut self, number: usize) -> u32 {
        self.value(&format!("ptradd @flags, i64 {}", 4 * number))
    }

    /// Waits until a flag has a value.
    fn wait(&mut self, flag: u32, until: &str) {
        let [poll, after] = [self.block(), self.block()];
        self.line(&format!("br block{poll}"));
        self.begin(poll);
        let access = self.random.pick(&["", " atomic acquire group", " atomic relaxed device"]);
        let volatile = if access.is_empty() { "volatile " } else { "" };
        let seen = self.value(&format!("load {volatile}i32, v{flag}{access}"));
        let other = self.value(&format!("icmp ne v{seen}, {until}"));
        self.line(&format!("br v{other}, block{poll}, block{after}"));
        self.begin(after);
    }

    /// Lanes that take part in a phase go through `inside`, which returns their sum; the others keep theirs.
    fn some(&mut self, condition: u32, sum: u32, inside: impl FnOnce(&mut Self) -> u32) -> u32 {
        let [then, end] = [self.block(), self.block()];
        let before = self.here;
        self.line(&format!("br v{condition}, block{then}, block{end}"));
        self.begin(then);
        let changed = inside(self);
        let from = self.here;
        self.line(&format!("br block{end}"));
        self.begin(end);
        self.value(&format!("phi i32 [block{before}: v{sum}], [block{from}: v{changed}]"))
    }

    /// One lane of each brush adds to the shared sum, in an order of the brushes, several times.
    fn turn(&mut self, phase: usize, sum: u32) -> u32 {
        let (rounds, brushes) = (1 + self.random.below(3) as u32, self.brushes);
        let shift = self.random.below(brushes as usize);
        let moved = self.value(&format!("add v{}, {shift}", self.brush));
        let mut rank = self.value(&format!("urem v{moved}, {brushes}"));
        if self.random.chance(60) {
            rank = self.value(&format!("sub i32 {}, v{rank}", brushes - 1));
        }
        // The first lane of a brush is always there.
        let lane = self.value(&format!("icmp eq v{}, 0", self.lane));
        self.some(lane, sum, |it| {
            let (head, end) = (it.block(), it.block());
            let before = it.here;
            it.line(&format!("br block{head}"));
            it.begin(head);
            let [turn, inner] = [it.text.skip(), it.text.skip()];
            let [next_turn, next] = [it.text.skip(), it.text.skip()];
            // The latch is known once the turn is written.
            let phis = it.text.text.len();
            let flag = it.flag(phase);
            it.wait(flag, &format!("v{turn}"));
            let shared = it.flag(MAX_PHASES + phase);
            let old = it.value(&format!("load i32, v{shared} atomic relaxed group"));
            let five = it.value(&format!("mul v{old}, 5"));
            let new = it.value(&format!("add v{five}, v{inner}"));
            it.line(&format!("store v{new}, v{shared} atomic relaxed group"));
            let passed = it.value(&format!("add v{turn}, 1"));
            let latch = it.here;
            _ = writeln!(
                it.text.text,
                "  v{next_turn} = add v{turn}, {brushes}\n  v{next} = xor v{inner}, v{new}"
            );
            it.line(&format!("store v{passed}, v{flag} atomic release group"));
            let goes_on = it.value(&format!("icmp ult v{next_turn}, {}", rounds * brushes));
            it.line(&format!("br v{goes_on}, block{head}, block{end}"));
            let lines = format!(
                "  v{turn} = phi i32 [block{before}: v{rank}], [block{latch}: v{next_turn}]\n  \
                 v{inner} = phi i32 [block{before}: v{sum}], [block{latch}: v{next}]\n"
            );
            it.text.text.insert_str(phis, &lines);
            it.begin(end);
            next
        })
    }

    /// Work-items, or one of each brush, count themselves and wait for all.
    fn arrival(&mut self, phase: usize, sum: u32) -> u32 {
        let is_of_brush = self.random.chance(50);
        let all = if is_of_brush { self.brushes } else { self.items };
        let lane = match is_of_brush {
            true => self.value(&format!("icmp eq v{}, 0", self.lane)),
            false => self.value(&format!("icmp ult v{}, {all}", self.item)),
        };
        self.some(lane, sum, |it| {
            let flag = it.flag(phase);
            it.value(&format!("atomic_rmw add v{flag}, i32 1 relaxed group"));
            it.wait(flag, &all.to_string());
            it.value(&format!("add v{sum}, 77"))
        })
    }

    /// All lanes of the brush are together.
    fn vote(&mut self, sum: u32) -> u32 {
        let shared = self.value(&format!("reduce add v{sum}"));
        self.value(&format!("add v{sum}, v{shared}"))
    }

    /// A work-item reads the sum of its neighbour.
    fn exchange(&mut self, sum: u32) -> u32 {
        let offset = |it: &mut Self, item: u32| {
            let wide = it.value(&format!("zext i64, v{item}"));
            let bytes = it.value(&format!("shl v{wide}, 2"));
            it.value(&format!("ptradd @cells, v{bytes}"))
        };
        let own = offset(self, self.item);
        self.line(&format!("store v{sum}, v{own}"));
        self.line("barrier group");
        let next = self.value(&format!("add v{}, 1", self.item));
        let next = self.value(&format!("urem v{next}, {}", self.items));
        let other = offset(self, next);
        let other = self.value(&format!("load i32, v{other}"));
        self.line("barrier group");
        let doubled = self.value(&format!("mul v{other}, 2"));
        self.value(&format!("add v{sum}, v{doubled}"))
    }
}

/// Makes a kernel whose work-items wait for each other.
pub fn waiting_kernel(seed: u64) -> GeneratedProgram {
    let mut random = Random::new(seed);
    let lanes = random.pick(&LANES);
    let brushes = 1 + random.below(MAX_BRUSHES) as u32;
    // The last brush may have few work-items.
    let items = lanes * brushes - random.pick(&[0, 0, 1, lanes - 1]);
    let mut it = WaitingText {
        text: KernelText::new(&format!(
            "global @flags: ptr(local) align 4 = [poison {}]\nglobal @cells: ptr(local) align 4 = [poison {}]\n\n\
             kernel @f(v0: ptr(global)) {{\nblock0:",
            4 * FLAGS,
            4 * ITEMS
        )),
        random: &mut random,
        blocks: 0,
        here: 0,
        item: 0,
        lane: 0,
        brush: 0,
        brushes,
        items,
    };
    it.item = it.value("local_id i32, 0");
    it.lane = it.value(&format!("urem v{}, {lanes}", it.item));
    it.brush = it.value(&format!("udiv v{}, {lanes}", it.item));
    let item = it.item;
    let mut sum = it.value(&format!("mul v{item}, 3"));
    let first = it.value(&format!("icmp eq v{item}, 0"));
    sum = it.some(first, sum, |it| {
        for number in 0..FLAGS {
            let flag = it.flag(number);
            it.line(&format!("store i32 0, v{flag}"));
        }
        sum
    });
    it.line("barrier group");
    let (mut horizontals, phases) = (false, 1 + it.random.below(MAX_PHASES));
    for phase in 0..phases {
        sum = match it.random.below(10) {
            0..5 => it.turn(phase, sum),
            5..7 => it.arrival(phase, sum),
            7..9 => {
                horizontals = true;
                it.vote(sum)
            }
            _ => it.exchange(sum),
        };
    }
    let wide = it.value(&format!("zext i64, v{item}"));
    let bytes = it.value(&format!("shl v{wide}, 2"));
    let group = it.value("group_id i64, 0");
    let skipped = it.value(&format!("mul v{group}, {}", 4 * ITEMS));
    let offset = it.value(&format!("add v{bytes}, v{skipped}"));
    let address = it.value(&format!("ptradd v0, v{offset}"));
    it.line(&format!("store v{sum}, v{address}"));
    it.line("ret");
    let text = format!("{}}}\n", it.text.text);
    let module = parse_module(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let groups = 1 + random.below(2) as u32;
    let input = ProgramInput {
        brush: vec![lanes],
        group: Some([items, 1, 1]),
        groups: [groups, 1, 1],
        args: vec![InputArgument::Object(0)],
        contents: [ITEMS * groups, FLAGS as u32, ITEMS].map(|words| vec![0; 4 * words as usize]).to_vec(),
    };
    let object = |name: &str, space: Space, len: u32, owner: Owner| ObjectShape {
        name: name.into(),
        space,
        scalar: Scalar::I32,
        len,
        owner,
    };
    let objects = vec![
        object("out", Space::Global, ITEMS * groups, Owner::Shared),
        object("flags", Space::Local, FLAGS as u32, Owner::Group),
        object("cells", Space::Local, ITEMS, Owner::Group),
    ];
    GeneratedProgram {
        seed,
        module,
        entry: "f".into(),
        traits: ProgramTraits {
            class: ProgramClass::Kernel,
            order_dependent: false,
            horizontals,
            barriers: true,
            fmuladd: false,
            counters: false,
            early_exits: false,
        },
        objects,
        inputs: vec![input],
    }
}
