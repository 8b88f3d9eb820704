//! Programs that want too much of the interpreter get a fault that names the limit: no hang, no memory without bound.
//!
//! Whatever costs time or memory that the limits do not see takes hours here, or more memory than there is.

use heddle_interp::{
    Argument, Datum, FaultKind, LaneSet, LaunchGeometry, LimitKind, Memory, RunLimits, RunOptions, Scheduler,
    run,
};
use heddle_ir::{Module, Stage, parse_module, verify_module};
use std::fmt::Write as _;

fn parse(text: &str) -> Module {
    let module = parse_module(text).unwrap_or_else(|errors| panic!("{}: {text:.300}", errors[0]));
    if text.len() < 100_000 {
        verify_module(&module, Stage::Source).unwrap_or_else(|violations| panic!("{violations}"));
    }
    module
}

/// A function of one argument, `lanes` of which run the lines, which may have blocks of their own.
fn func(lines: &str) -> String {
    format!("func @f(v0: i32) {{\nblock0:\n{lines}\n}}\n")
}

/// As above, for lines executed in an endless loop.
fn endless(lines: &str) -> String {
    func(&format!("  br block1\nblock1:\n{lines}\n  br block1"))
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        writeln!(text, "{}", line(number)).expect("a string takes all text");
        text
    })
}

/// Any number of steps, so that it is something else which ends the run; and little of that, so that it ends soon.
fn many_steps() -> RunOptions {
    let limits = RunLimits { steps: u64::MAX, work: 20_000_000, memory: 64 << 20, ..RunLimits::default() };
    RunOptions { limits, ..RunOptions::lanes(4) }
}

/// The limit that the run ends at.
fn limit_of(text: &str, options: &RunOptions) -> LimitKind {
    let args = [Argument::Uniform(Datum::Bits(1))];
    let fault = match run(&parse(text), "f", &args, &mut Memory::new(), options) {
        Ok(outcome) => panic!("it ends, with {:?}", outcome.counters),
        Err(fault) => fault,
    };
    let FaultKind::Limit { limit, value, .. } = fault.kind else { panic!("{fault}") };
    let shown = fault.to_string();
    assert!(shown.contains(&value.to_string()), "{shown}");
    assert!(shown.contains(&format!("`--{}`", limit.option())), "{shown}");
    limit
}

#[track_caller]
fn ends_at(expected: LimitKind, text: &str) {
    let options = many_steps();
    assert_eq!(limit_of(text, &options), expected);
    let races = RunOptions { detect_races: true, ..options };
    assert_eq!(limit_of(text, &races), expected);
}

#[test]
fn loops_without_end() {
    let spins = endless("");
    assert_eq!(limit_of(&spins, &RunOptions::lanes(4)), LimitKind::Steps);
    // Steps are recorded, which takes memory.
    assert_eq!(limit_of(&spins, &many_steps()), LimitKind::Memory);
    for scheduler in [Scheduler::Random(1), Scheduler::Ipdom] {
        let options = RunOptions { scheduler, ..RunOptions::lanes(4) };
        assert_eq!(limit_of(&spins, &options), LimitKind::Steps);
    }
    let calls = "func @g(v0: i32) {\nblock0:\n  ret\n}\n".to_string() + &endless("  call @g(v0)");
    assert_eq!(limit_of(&calls, &RunOptions::lanes(4)), LimitKind::Steps);
}

#[test]
fn blocks_of_much_work() {
    ends_at(LimitKind::Work, &endless(&lines(20_000, |number| format!("  v{} = add v0, v0", number + 1))));
    let phis = lines(20_000, |number| {
        format!("  v{} = phi i32 [block0: v0], [block1: v{}]", number + 1, (number + 1) % 20_000 + 1)
    });
    ends_at(LimitKind::Work, &endless(&phis));
}

#[test]
fn switches_of_many_cases() {
    let cases = (2..100_000).map(|case| format!("{case}: block1")).collect::<Vec<_>>().join(", ");
    let text = func(&format!("  br block1\nblock1:\n  switch v0, block1 [{cases}]"));
    ends_at(LimitKind::Work, &text);
}

#[test]
fn joins_of_many_edges() {
    let edges = (1..50_000).map(|block| format!("[block{block}: {block}]")).collect::<Vec<_>>().join(", ");
    let cases = (2..50_000).map(|block| format!("{block}: block{block}")).collect::<Vec<_>>().join(", ");
    let blocks = lines(49_999, |block| format!("block{}:\n  br block50000", block + 1));
    let text = format!(
        "func @f(v0: i32) {{\nblock0:\n  br block50001\nblock50001:\n  switch v0, block1 [{cases}]\n{blocks}block50000:\n\
           v1 = phi i32 {edges}\n  br block50001\n}}\n"
    );
    ends_at(LimitKind::Work, &text);
}

#[test]
fn copies_without_end() {
    let object = "  v1 = alloca 3000000 align 1\n  v2 = alloca 3000000 align 1\n  br block1\nblock1:\n";
    for line in ["memset v1, i8 1, i64 3000000", "memcpy v1, v2, i64 3000000", "memmove v1, v2, i64 3000000"]
    {
        ends_at(LimitKind::Work, &func(&format!("{object}  {line}\n  br block1")));
    }
    let shared = "global @g: ptr(global) align 1 = [zero 100000]\n".to_string();
    ends_at(LimitKind::Work, &(shared + &endless("  memset @g, i8 1, i64 100000")));
}

#[test]
fn objects_of_all_sizes() {
    for bytes in [0, 1, 1000, 400_000_000, 4_000_000_000u64] {
        ends_at(LimitKind::Memory, &endless(&format!("  v1 = alloca {bytes} align 1")));
    }
    // Addresses run out before memory does.
    let aligned = RunOptions { brush: vec![1], ..many_steps() };
    assert_eq!(limit_of(&endless("  v1 = alloca 1 align 1073741824"), &aligned), LimitKind::Memory);
}

#[test]
fn globals_that_are_large_together() {
    let text = lines(1000, |number| format!("global @g{number}: ptr(global) align 1 = [zero 1000000000]"));
    ends_at(LimitKind::Memory, &(text + &func("  ret")));
    let text = "global @g: ptr(global) align 1 = [zero 1000000000000]\n".to_string();
    ends_at(LimitKind::Memory, &(text + &func("  ret")));
}

#[test]
fn a_hundred_thousand_globals_are_placed_at_once() {
    let text =
        lines(100_000, |number| format!("global @g{number}: ptr(global) align 1 = [i8 1]")) + &func("  ret");
    let args = [Argument::Uniform(Datum::Bits(1))];
    run(&parse(&text), "f", &args, &mut Memory::new(), &RunOptions::lanes(4)).expect("it runs");
}

#[test]
fn calls_without_end() {
    let values = lines(1000, |number| format!("  v{} = add v0, v0", number + 1));
    let text = func(&format!("{values}  call @f(v0)\n  ret"));
    ends_at(LimitKind::Calls, &text);
    let limits = RunLimits { calls: u64::MAX, ..many_steps().limits };
    let deep = RunOptions { limits, ..many_steps() };
    assert_eq!(limit_of(&text, &deep), LimitKind::Memory);
}

#[test]
fn functions_with_many_values_called_again_and_again() {
    let values = lines(20_000, |number| format!("  v{} = add v0, v0", number + 1));
    let callee = format!(
        "func @g(v0: i32) {{\nblock0:\n  br true, block1, block2\nblock1:\n  ret\nblock2:\n{values}  ret\n}}\n"
    );
    ends_at(LimitKind::Work, &(callee + &endless("  call @g(v0)")));
}

#[test]
fn traces_without_end() {
    let options = RunOptions { trace: true, ..many_steps() };
    assert_eq!(limit_of(&endless("  v1 = add v0, 1"), &options), LimitKind::Memory);
}

#[test]
fn notes_on_races() {
    // Notes take many times the bytes that they are about.
    let text = "global @g: ptr(global) align 1 = [zero 10000000]\n".to_string();
    let text = text + &func("  memset @g, i8 1, i64 10000000\n  ret");
    let args = [Argument::Uniform(Datum::Bits(1))];
    run(&parse(&text), "f", &args, &mut Memory::new(), &many_steps()).expect("it runs without notes");
    let options = RunOptions { detect_races: true, ..many_steps() };
    assert_eq!(limit_of(&text, &options), LimitKind::Memory);
}

#[test]
fn launches_of_nobody() {
    let geometry = LaunchGeometry { dims: 3, local: [1; 3], groups: [u32::MAX; 3], offset: [0; 3] };
    let text = func("  ret").replace("func", "kernel");
    let options = RunOptions { geometry: Some(geometry.clone()), ..many_steps() };
    assert!(matches!(limit_of(&text, &options), LimitKind::Memory | LimitKind::Work));
    assert_eq!(limit_of(&text, &RunOptions { entry_mask: LaneSet::NONE, ..options }), LimitKind::Work);
    let values = lines(1000, |number| format!("  v{} = add v0, v0", number + 1));
    let large = LaunchGeometry { local: [1 << 20, 1, 1], ..geometry };
    let text = func(&format!("{values}  ret")).replace("func", "kernel");
    assert_eq!(limit_of(&text, &RunOptions { geometry: Some(large), ..many_steps() }), LimitKind::Memory);
}

/// Nested loops, the innermost infinite.
fn nested(depth: usize) -> String {
    let heads = lines(depth, |level| format!("  br block{0}\nblock{0}:", level + 1));
    let tails = lines(depth, |level| {
        let behind = 2 * depth - level;
        format!("  br v1, block{}, block{behind}\nblock{behind}:", depth - level)
    });
    func(&format!("  v1 = icmp eq v0, 1\n{heads}{tails}  ret"))
}

#[test]
fn a_hundred_thousand_loops_in_each_other() {
    for scheduler in [Scheduler::Greedy, Scheduler::Random(3)] {
        let options = RunOptions { scheduler, ..many_steps() };
        assert_eq!(limit_of(&nested(100_000), &options), LimitKind::Work);
    }
    let options = RunOptions { scheduler: Scheduler::Ipdom, ..RunOptions::lanes(4) };
    assert_eq!(limit_of(&nested(100_000), &options), LimitKind::Steps);
    assert_eq!(limit_of(&nested(100), &RunOptions::lanes(4)), LimitKind::Steps);
}

#[test]
fn diverging_lanes_among_many_blocks() {
    // Where random schedulers ask which block leads to which.
    let diamonds = lines(30_000, |number| {
        let first = 3 * number + 1;
        format!(
            "  br v1, block{first}, block{}\nblock{first}:\n  br block{2}\nblock{}:\n  br block{2}\nblock{2}:",
            first + 1,
            first + 1,
            first + 2
        )
    });
    let text = func(&format!("  v2 = lane i32\n  v1 = icmp eq v2, v0\n{diamonds}  ret"));
    let module = parse(&text);
    let args = [Argument::Uniform(Datum::Bits(1))];
    for scheduler in [Scheduler::Random(1), Scheduler::Ipdom, Scheduler::Greedy] {
        let options = RunOptions { scheduler, ..RunOptions::lanes(4) };
        run(&module, "f", &args, &mut Memory::new(), &options).expect("it runs");
    }
}

#[test]
fn samples_with_bytes_changed() {
    // Runs the checks of the targets of `fuzz/` on a few inputs.
    let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests"));
    let mut state = 1u64;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    for path in heddle_testing::file_test::find_files(root).expect("there are samples") {
        let sample = std::fs::read(&path).expect("it can be read");
        for _ in 0..20 {
            let mut bytes = sample.clone();
            for _ in 0..1 + below(3) {
                let (at, from) = (below(bytes.len()), below(sample.len()));
                match below(4) {
                    0 => bytes[at] = b"0123456789v{}()[]<>,:=+-@i \n\xff"[below(29)],
                    1 => _ = bytes.remove(at),
                    2 => bytes[at] = sample[from],
                    _ => {
                        let line = sample[from..].split(|&byte| byte == b'\n').next().unwrap_or_default();
                        bytes.splice(at..at, line.iter().copied());
                    }
                }
            }
            heddle_testing::bytes::parse(&bytes);
            heddle_testing::bytes::verify(&bytes);
        }
    }
}
