//! Loops of one vector operation, as text at stage Wide: eight independent instances per iteration.
//!
//! A function `@name(v0: data, v1: other, v2: rounds)` walks over the data in steps of a cache line. It sums what it
//! loads, so that no load is dead, and stores the same value each time. [`other`] holds the offset of each lane from
//! its start, mask lanes from 256, values from 512, and the step in bytes at 640; the sum is stored after 1024.

use std::fmt::Write as _;

/// The operations of one round.
pub(super) const OF_ROUND: usize = 8;
/// The bytes of each object.
pub(super) const SIZE: usize = 8192;

/// The lanes of a vector, and what each of them is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TimedVector {
    pub(super) lanes: u32,
    pub(super) bits: u32,
}

impl TimedVector {
    /// Returns the vector of `bits`-wide lanes that fills a register.
    pub(super) fn of_register(register: u32, bits: u32) -> TimedVector {
        TimedVector { lanes: register / bits, bits }
    }

    fn ty(self) -> String {
        format!("<{} x i{}>", self.lanes, self.bits)
    }
}

/// Operation timed by a loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum TimedOperation {
    /// An addition that waits for the one before: the unit.
    Unit,
    Load,
    MaskedLoad,
    Gather,
    MaskedGather,
    Store,
    MaskedStore,
    Scatter,
    MaskedScatter,
    Permute,
    /// Lanes turned round.
    Reverse,
    /// Tests whether any lane is active, and branches on it.
    Branch,
    /// A scalar in all lanes.
    Broadcast,
    /// The greater of two lanes.
    Blend,
    Ballot,
    Division,
    Compress,
}

/// All of them.
pub(super) const ALL: [TimedOperation; 17] = [
    TimedOperation::Unit,
    TimedOperation::Load,
    TimedOperation::MaskedLoad,
    TimedOperation::Gather,
    TimedOperation::MaskedGather,
    TimedOperation::Store,
    TimedOperation::MaskedStore,
    TimedOperation::Scatter,
    TimedOperation::MaskedScatter,
    TimedOperation::Permute,
    TimedOperation::Reverse,
    TimedOperation::Branch,
    TimedOperation::Broadcast,
    TimedOperation::Blend,
    TimedOperation::Ballot,
    TimedOperation::Division,
    TimedOperation::Compress,
];

struct TimedLoopText {
    text: String,
    next: u32,
    blocks: u32,
    /// The block that is being written.
    block: u32,
}

impl TimedLoopText {
    fn fresh(&mut self) -> String {
        self.next += 1;
        format!("v{}", self.next)
    }

    fn def(&mut self, right: &str) -> String {
        let value = self.fresh();
        let _ = writeln!(self.text, "  {value} = {right}");
        value
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "  {line}");
    }

    fn begin(&mut self, block: u32) {
        self.block = block;
        let _ = writeln!(self.text, "block{block}:");
    }

    fn new_block(&mut self) -> u32 {
        self.blocks += 1;
        self.blocks
    }
}

/// Operands available to a loop iteration.
struct LoopOperands {
    vector: TimedVector,
    /// Where each lane is.
    offsets: String,
    mask: String,
    value: String,
    /// An unknown number, the same for all lanes.
    scalar: String,
}

/// The function that times an operation.
pub(super) fn function(name: &str, timed: TimedOperation, vector: TimedVector) -> String {
    let mut text = TimedLoopText { text: String::new(), next: 2, blocks: 2, block: 0 };
    let TimedVector { lanes, bits } = vector;
    let _ =
        writeln!(text.text, "func @{name}(v0: ptr(global) align 64, v1: ptr(global) align 64, v2: i64) {{");
    text.begin(0);
    let offsets = text.def(&format!("load <{lanes} x i64>, v1"));
    let at = text.def("ptradd v1, i64 256");
    let bytes = text.def(&format!("load <{lanes} x i32>, {at}"));
    let mask = text.def(&format!("icmp ne {bytes}, splat 0"));
    let at = text.def("ptradd v1, i64 512");
    let value = text.def(&format!("load {}, {at}", vector.ty()));
    let scalar = text.def(&format!("load i{bits}, {at}"));
    let at = text.def("ptradd v1, i64 640");
    let step = text.def(&format!("load i64, {at}"));
    let around = LoopOperands { vector, offsets, mask, value, scalar };
    text.line("br block1");

    let [round, next_round] = [text.fresh(), text.fresh()];
    let sums: Vec<[String; 2]> = (0..OF_ROUND).map(|_| [text.fresh(), text.fresh()]).collect();
    let mut body = TimedLoopText { text: String::new(), block: 1, ..text };
    // It is not known by how much it steps, so that no round is known to do again what another did.
    let stepped = body.def(&format!("mul {round}, {step}"));
    let offset = body.def(&format!("and {stepped}, 960"));
    let base = body.def(&format!("ptradd v0, {offset}"));
    let mut last = sums[0][0].clone();
    for (number, [sum, new]) in sums.iter().enumerate() {
        // The unit is one chain.
        let sum = if timed == TimedOperation::Unit { &last } else { sum };
        let result = operation(&mut body, timed, &around, number, &base, sum);
        // A name that was given before: whatever came out, and zero.
        body.line(&format!("{new} = or {result}, splat 0"));
        last = new.clone();
    }
    body.line(&format!("{next_round} = add {round}, 1"));
    let goes_on = body.def(&format!("icmp ult {next_round}, v2"));
    body.line(&format!("br {goes_on}, block1, block2"));
    let latch = body.block;

    text = TimedLoopText { text: text.text, next: body.next, blocks: body.blocks, block: 0 };
    text.begin(1);
    text.line(&format!("{round} = phi i64 [block0: 0], [block{latch}: {next_round}]"));
    for [sum, new] in &sums {
        let new = if timed == TimedOperation::Unit { &last } else { new };
        text.line(&format!("{sum} = phi {} [block0: {}], [block{latch}: {new}]", vector.ty(), around.value));
    }
    text.text += &body.text;
    text.begin(2);
    for (number, [_, new]) in sums.iter().enumerate() {
        let at = text.def(&format!("ptradd v1, i64 {}", 1024 + 64 * number));
        text.line(&format!("store {new}, {at}"));
    }
    text.line("ret");
    text.text + "}\n"
}

/// One operation, and what it leaves for the next round.
fn operation(
    text: &mut TimedLoopText,
    timed: TimedOperation,
    around: &LoopOperands,
    number: usize,
    base: &str,
    sum: &str,
) -> String {
    let LoopOperands { vector, offsets, mask, value, scalar } = around;
    let (ty, lanes) = (vector.ty(), vector.lanes);
    let step = number as u32 * lanes * vector.bits / 8;
    let at = |text: &mut TimedLoopText| text.def(&format!("ptradd {base}, i64 {step}"));
    let each = |text: &mut TimedLoopText| {
        let at = text.def(&format!("ptradd {base}, i64 {step}"));
        let all = text.def(&format!("splat <{lanes} x ptr(global)>, {at}"));
        text.def(&format!("ptradd {all}, {offsets}"))
    };
    let add = |text: &mut TimedLoopText, loaded: &str| text.def(&format!("xor {sum}, {loaded}"));
    match timed {
        TimedOperation::Unit if number.is_multiple_of(2) => text.def(&format!("add {sum}, {value}")),
        TimedOperation::Unit => text.def(&format!("xor {sum}, {value}")),
        TimedOperation::Load => {
            let at = at(text);
            let loaded = text.def(&format!("load {ty}, {at}"));
            add(text, &loaded)
        }
        TimedOperation::MaskedLoad => {
            let at = at(text);
            let loaded = text.def(&format!("masked_load {ty}, {at}, {mask}, splat 0"));
            add(text, &loaded)
        }
        TimedOperation::Gather => {
            let at = each(text);
            let loaded = text.def(&format!("gather {ty}, {at}, splat true, poison"));
            add(text, &loaded)
        }
        TimedOperation::MaskedGather => {
            let at = each(text);
            let loaded = text.def(&format!("gather {ty}, {at}, {mask}, splat 0"));
            add(text, &loaded)
        }
        TimedOperation::Store | TimedOperation::MaskedStore => {
            let at = at(text);
            match timed {
                TimedOperation::Store => text.line(&format!("store {value}, {at}")),
                _ => text.line(&format!("masked_store {value}, {at}, {mask}")),
            }
            sum.into()
        }
        TimedOperation::Scatter | TimedOperation::MaskedScatter => {
            let at = each(text);
            let active = if timed == TimedOperation::Scatter { "splat true" } else { mask };
            text.line(&format!("scatter {value}, {at}, {active}"));
            sum.into()
        }
        TimedOperation::Permute | TimedOperation::Reverse => {
            let lane = |lane: u32| match (timed, number % 3) {
                (TimedOperation::Reverse, _) => lanes - 1 - lane,
                (_, 0) => 2 * lane,
                (_, 1) => lane / 2 + lane % 2 * lanes,
                _ => 3 * lane % (2 * lanes),
            };
            let list: Vec<String> = (0..lanes).map(|it| lane(it).to_string()).collect();
            // Two in a row would become one.
            let other = text.def(&format!("xor {sum}, {value}"));
            text.def(&format!("permute {ty}, {other}, {value} [{}]", list.join(", ")))
        }
        TimedOperation::Branch => {
            let at = at(text);
            let loaded = text.def(&format!("load {ty}, {at}"));
            // The data has no such number.
            let is_there = text.def(&format!("icmp eq {loaded}, splat -1"));
            let requested = text.def(&format!("any {is_there}"));
            let [inside, behind] = [text.new_block(), text.new_block()];
            text.line(&format!("br {requested}, block{inside}, block{behind}"));
            text.begin(inside);
            text.line(&format!("store {value}, {at}"));
            text.line(&format!("br block{behind}"));
            text.begin(behind);
            sum.into()
        }
        TimedOperation::Broadcast => {
            let at = at(text);
            let one = text.def(&format!("load i{}, {at}", vector.bits));
            let all = text.def(&format!("splat {ty}, {one}"));
            add(text, &all)
        }
        TimedOperation::Blend => {
            let is_greater = text.def(&format!("icmp ugt {sum}, {value}"));
            let other = text.def(&format!("splat {ty}, {scalar}"));
            let less = text.def(&format!("sub {sum}, {other}"));
            text.def(&format!("select {is_greater}, {less}, {value}"))
        }
        TimedOperation::Ballot => {
            let is_greater = text.def(&format!("icmp sgt {sum}, {value}"));
            let bits = text.def(&format!("ballot i64, {is_greater}"));
            let narrow =
                if vector.bits == 64 { bits } else { text.def(&format!("trunc i{}, {bits}", vector.bits)) };
            let all = text.def(&format!("splat {ty}, {narrow}"));
            add(text, &all)
        }
        TimedOperation::Division => {
            let odd = text.def(&format!("or {value}, splat 1"));
            let quotient = text.def(&format!("udiv {sum}, {odd}"));
            text.def(&format!("sub {value}, {quotient}"))
        }
        TimedOperation::Compress => {
            let packed = text.def(&format!("compress {sum}, {mask}"));
            // After what was packed there is nothing.
            let frozen = text.def(&format!("freeze {packed}"));
            let first = text.def(&format!("extract {frozen}, i32 0"));
            let all = text.def(&format!("splat {ty}, {first}"));
            add(text, &all)
        }
    }
}

/// The bytes that are loaded.
pub(super) fn data() -> Vec<u8> {
    (0..SIZE).map(|at| (at * 37 % 251) as u8).collect()
}

/// Offsets, mask and values.
pub(super) fn other() -> Vec<u8> {
    let mut bytes = vec![0; SIZE];
    for lane in 0..16usize {
        // Lanes are apart, and not in order.
        let offset = (lane * 7 % 16 * 136) as u64;
        bytes[8 * lane..][..8].copy_from_slice(&offset.to_le_bytes());
        bytes[256 + 4 * lane] = u8::from(lane % 3 != 1);
    }
    for (at, byte) in bytes[512..640].iter_mut().enumerate() {
        *byte = (at * 61 % 239) as u8;
    }
    bytes[640] = 192;
    bytes
}
