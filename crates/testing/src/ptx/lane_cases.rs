//! Cross-lane instructions: votes, shuffles, matches, reductions and elections with all modes and modifiers, each with what
//! PTX's specification says that a lane gets.

use crate::generate::Random;
use std::fmt::Write as _;

/// Values of the lanes, and the participating lanes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneValues {
    /// Values that instructions read.
    pub a: Vec<u64>,
    /// Further values.
    pub b: Vec<u64>,
    /// Lanes that take part.
    pub members: u32,
}

impl LaneValues {
    fn members(&self) -> impl Iterator<Item = usize> + '_ {
        (0..32).filter(|lane| self.members >> lane & 1 == 1)
    }

    fn word(&self, lane: usize) -> u32 {
        self.a[lane] as u32
    }

    /// Returns a lane's vote.
    fn says(&self, lane: usize) -> bool {
        self.a[lane] & 1 == 1
    }

    fn float(&self, lane: usize) -> f32 {
        f32::from_bits(self.word(lane))
    }
}

/// Expected word and predicate of a lane; `None` where unspecified.
pub type LaneExpectation = Box<dyn Fn(usize, &LaneValues) -> (Option<u32>, Option<bool>)>;

/// An instruction that writes `%d` or `%q` and reads `%a`, `%w`, `%p`, `%b` and `%all`, the members.
pub struct LaneCase {
    /// Text of the instruction.
    pub text: String,
    /// Result of each lane.
    pub expected: LaneExpectation,
}

fn case(
    text: impl Into<String>,
    expected: impl Fn(usize, &LaneValues) -> (Option<u32>, Option<bool>) + 'static,
) -> LaneCase {
    LaneCase { text: text.into(), expected: Box::new(expected) }
}

fn votes(all: &mut Vec<LaneCase>) {
    for (sync, mask) in [(".sync", ", %all"), ("", "")] {
        let of = |mode: &str| format!("vote{sync}.{mode}.pred %q, %p{mask};");
        all.push(case(of("all"), |_, lanes| (None, Some(lanes.members().all(|lane| lanes.says(lane))))));
        all.push(case(of("any"), |_, lanes| (None, Some(lanes.members().any(|lane| lanes.says(lane))))));
        all.push(case(of("uni"), |own, lanes| {
            (None, Some(lanes.members().all(|lane| lanes.says(lane) == lanes.says(own))))
        }));
        for text in
            [format!("vote{sync}.ballot.b32 %d, %p{mask};"), format!("vote.ballot{sync}.b32 %d, %p{mask};")]
        {
            all.push(case(text, |_, lanes| {
                (Some(lanes.members().filter(|&lane| lanes.says(lane)).map(|lane| 1 << lane).sum()), None)
            }));
        }
    }
    all.push(case("activemask.b32 %d;", |_, lanes| (Some(lanes.members), None)));
    all.push(case("elect.sync %d|%q, %all;", |own, lanes| {
        let first = lanes.members.trailing_zeros();
        (Some(first), Some(own as u32 == first))
    }));
}

/// The lane that a shuffle reads, and whether it is in range.
fn shuffled(mode: &str, lane: i32, by: u32, bounds: u32) -> (i32, bool) {
    let (by, clamp, segment) = ((by & 31) as i32, (bounds & 31) as i32, (bounds >> 8 & 31) as i32);
    let most = lane & segment | clamp & !segment;
    let least = lane & segment;
    let (from, is_in) = match mode {
        "up" => (lane - by, lane - by >= most),
        "down" => (lane + by, lane + by <= most),
        "bfly" => (lane ^ by, lane ^ by <= most),
        _ => (least | by & !segment, least | by & !segment <= most),
    };
    (if is_in { from } else { lane }, is_in)
}

fn shuffles(all: &mut Vec<LaneCase>) {
    for (sync, mask) in [(".sync", ", %all"), ("", "")] {
        for mode in ["up", "down", "bfly", "idx"] {
            for segment in if sync.is_empty() { vec![0, 24] } else { vec![0, 16, 24, 28] } {
                let bounds = if mode == "up" { 0 } else { 31 } | segment << 8;
                for by in [Some(1), Some(40), None] {
                    let operand = by.map_or("%b".to_string(), |by: u32| by.to_string());
                    let text = format!("shfl{sync}.{mode}.b32 %d|%q, %w, {operand}, {bounds}{mask};");
                    all.push(case(text, move |own, lanes| {
                        let by = by.unwrap_or(lanes.b[own] as u32);
                        let (from, is_in) = shuffled(mode, own as i32, by, bounds);
                        // A lane gets 0 where the other one takes no part.
                        let takes_part = lanes.members >> from & 1 == 1;
                        let word = if takes_part { lanes.word(from as usize) } else { 0 };
                        (Some(word), Some(is_in))
                    }));
                }
            }
        }
    }
}

fn matches(all: &mut Vec<LaneCase>) {
    for (bits, operand) in [(32, "%w"), (64, "%a")] {
        let of = move |lanes: &LaneValues, lane: usize| lanes.a[lane] & (u64::MAX >> (64 - bits));
        all.push(case(format!("match.any.sync.b{bits} %d, {operand}, %all;"), move |own, lanes| {
            let same = lanes.members().filter(|&lane| of(lanes, lane) == of(lanes, own));
            (Some(same.map(|lane| 1 << lane).sum()), None)
        }));
        all.push(case(format!("match.all.sync.b{bits} %d|%q, {operand}, %all;"), move |own, lanes| {
            let is_same = lanes.members().all(|lane| of(lanes, lane) == of(lanes, own));
            (Some(if is_same { lanes.members } else { 0 }), Some(is_same))
        }));
    }
}

fn reductions(all: &mut Vec<LaneCase>) {
    let mut whole = |words: &str, reduce: fn(u32, u32) -> u32| {
        all.push(case(format!("redux.sync.{words} %d, %w, %all;"), move |_, lanes| {
            (lanes.members().map(|lane| lanes.word(lane)).reduce(reduce), None)
        }));
    };
    whole("add.u32", u32::wrapping_add);
    whole("add.s32", u32::wrapping_add);
    whole("min.u32", u32::min);
    whole("max.u32", u32::max);
    whole("min.s32", |a, b| (a as i32).min(b as i32) as u32);
    whole("max.s32", |a, b| (a as i32).max(b as i32) as u32);
    whole("and.b32", |a, b| a & b);
    whole("or.b32", |a, b| a | b);
    whole("xor.b32", |a, b| a ^ b);
    for is_least in [true, false] {
        for (abs, nan) in [("", ""), (".abs", ""), ("", ".NaN"), (".abs", ".NaN")] {
            let mode = if is_least { "min" } else { "max" };
            all.push(case(format!("redux.sync.{mode}{abs}{nan}.f32 %d, %w, %all;"), move |_, lanes| {
                let number = |lane: usize| {
                    let number = lanes.float(lane);
                    if abs.is_empty() { number } else { number.abs() }
                };
                let is_nan = |lane: &usize| number(*lane).is_nan();
                let count = lanes.members().filter(is_nan).count();
                if count == lanes.members().count() || count > 0 && !nan.is_empty() {
                    return (None, None);
                }
                let numbers = lanes.members().filter(|lane| !is_nan(lane)).map(number);
                // Zeros are ordered.
                let order = |a: &f32, b: &f32| a.total_cmp(b);
                let found = if is_least { numbers.min_by(order) } else { numbers.max_by(order) };
                (found.map(f32::to_bits), None)
            }));
        }
    }
}

/// Start of a kernel: what follows `.visible .entry NAME`.
pub const LANE_KERNEL: &str = "(.param .u64 in, .param .u64 out)\n{\n\
    .reg .pred %p, %q, %skip;\n.reg .b32 %w, %b, %d, %t, %lane, %all;\n.reg .b64 %a, %in, %out, %at;\n\
    ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %lane, %tid.x;\nmul.wide.u32 %at, %lane, 16;\n\
    add.s64 %in, %in, %at;\nld.global.b64 %a, [%in];\nld.global.b32 %b, [%in+8];\ncvt.u32.u64 %w, %a;\n\
    and.b32 %t, %w, 1;\nsetp.eq.u32 %p, %t, 1;\nmul.wide.u32 %at, %lane, 8;\nadd.s64 %out, %out, %at;\n";

/// Values of 32 lanes, of a kind below 4.
pub fn lane_values(random: &mut Random, kind: usize) -> Vec<u64> {
    let of = |random: &mut Random| match kind {
        0 => random.bits(),
        // Few that differ.
        1 => u64::from(random.below(3) == 0) << 40 | random.below(2) as u64,
        2 => {
            let some = [0, 0x8000_0000, 0x3f80_0000, 0xc000_0000, 0x7fc0_0000, 0x7f80_0000, 1];
            random.pick(&some)
        }
        _ => 77,
    };
    (0..32).map(|_| of(random)).collect()
}

/// All cases.
pub fn lane_cases() -> Vec<LaneCase> {
    let mut all = Vec::new();
    votes(&mut all);
    shuffles(&mut all);
    matches(&mut all);
    reductions(&mut all);
    all
}

impl std::fmt::Debug for LaneCase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LaneCase").field("text", &self.text).finish_non_exhaustive()
    }
}

/// Text of a kernel in which the lanes that take part execute some instructions; a result and a predicate for each lane and
/// instruction lie 256 bytes apart.
pub fn lane_kernel(name: &str, cases: &[LaneCase], members: u32) -> String {
    let mut text = format!(
        ".visible .entry {name}{LANE_KERNEL}mov.u32 %all, {members:#x};\nshr.u32 %t, %all, %lane;\nand.b32 %t, %t, 1;\nsetp.eq.u32 %skip, %t, 0;\n@%skip bra End;\n"
    );
    for (index, case) in cases.iter().enumerate() {
        let _ = write!(
            text,
            "mov.u32 %d, 0;\nsetp.ne.u32 %q, %d, %d;\n{}\nselp.u32 %t, 1, 0, %q;\nst.global.v2.b32 [%out+{}], {{%d, %t}};\n",
            case.text,
            index * 256
        );
    }
    text.push_str("End:\nret;\n}\n");
    text
}

/// Members of the cases, in turn.
pub const LANE_MEMBERS: [u32; 4] = [u32::MAX, 0x0000_ffff, 0xa5a5_5a5a, 0x8000_0001];
