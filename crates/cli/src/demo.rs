//! `heddle demo`: what works today, on one small loop.

use crate::Failure;
use crate::analyze::show_example;
use crate::report::title;
use heddle::interp::{Options, Semantics};
use heddle::ir::{Module, Value, parse_module};
use heddle::run_line::RunLine;
use heddle::trace_table::trace_table;

const SOURCE: &str = include_str!("../../../tests/thesis/logstar.hed");
const NAIVE: &str = include_str!("../../../tests/thesis/logstar-naive.hed");
const TRACKED: &str = include_str!("../../../tests/thesis/logstar-tracked.hed");
const NAIVE_WIDE: &str = include_str!("../../../tests/thesis/logstar-naive-wide.hed");
const WIDE: &str = include_str!("../../../tests/thesis/logstar-wide.hed");

const STEPS: &str = include_str!("../../../tests/ir/steps-source.hed");

const LANES: &str = "([88.38, 1.5]) lanes=2";
const VECTOR: &str = "(<88.38, 1.5>) lanes=1";

/// Shows one function: its text, and what it does.
struct Scene {
    title: &'static str,
    text: &'static str,
    say: &'static str,
    runs: &'static [(&'static str, Semantics)],
    watch: &'static [u32],
}

const SCENES: &[Scene] = &[
    Scene {
        title: "1. A loop that lanes leave at different times",
        text: SOURCE,
        say: "How often can the logarithm be taken before the number is at most 1? Two lanes ask, for 88.38 and 1.5.\n\
              FREEZING is what one expects: a lane that has left keeps its values. Lane 1 leaves after one round with\n\
              v3 = 1, and block2 waits for lane 0.\n\
              OBLIVIOUS is what SIMD registers do: rounds that a lane does not take part in overwrite its values with\n\
              ⊤. Nothing in this text protects lane 1's, and the oracle says so.",
        runs: &[(LANES, Semantics::Freezing), (LANES, Semantics::Oblivious)],
        watch: &[4, 3],
    },
    Scene {
        title: "2. The naive widening: a predicate, and on until no lane is left",
        text: NAIVE,
        say: "The predicate [v8] keeps lanes that have left from acting. It does not keep their values.",
        runs: &[(LANES, Semantics::Freezing), (LANES, Semantics::Oblivious)],
        watch: &[8, 4, 3],
    },
    Scene {
        title: "3. The same as SIMD code: one thread, vectors",
        text: NAIVE_WIDE,
        say: "Lane 1 counts along: 3 instead of 1. This is the bug that the two readings find before any code is made.",
        runs: &[(VECTOR, Semantics::Freezing)],
        watch: &[4, 3],
    },
    Scene {
        title: "4. The right one: what each lane left with is tracked",
        text: TRACKED,
        say: "v13 takes v3 where a lane leaves (v11) and keeps its own value elsewhere. Now both readings agree.",
        runs: &[(LANES, Semantics::Freezing), (LANES, Semantics::Oblivious)],
        watch: &[8, 4, 13],
    },
    Scene {
        title: "5. And widened",
        text: WIDE,
        say: "The counter v2 stays one scalar for all lanes; only what can differ is a vector.",
        runs: &[(VECTOR, Semantics::Freezing)],
        watch: &[8, 3, 13],
    },
];

pub(crate) fn run() -> Result<(), Failure> {
    for scene in SCENES {
        scene.show()?;
    }
    let broken = |what: String| Failure::Usage(format!("the demo is broken: {what}"));
    show_example(STEPS, &[4], "6. What diverges, and why").map_err(broken)?;
    say_line!(
        "  The counter v10 is one number for all lanes in the loop, and four behind it. The branch on v2 stays whole\n  \
         inside a divergent `if`. A compiler that knows this keeps the one scalar and jumps over the other.\n"
    );
    title("What next");
    say_line!(
        "  heddle exec tests/ir/steps-source.hed --lanes 4 --mem 'a: i32 [9, 1, 6, 2]' \\\n      \
         --arg '&a' --arg 1 --arg true --trace text\n  heddle analyze tests/ir/steps-source.hed --lanes 4 --why v15\n  heddle opt tests/ir/steps-source.hed -p canonicalize --verify\n  \
         heddle --help"
    );
    Ok(())
}

impl Scene {
    fn show(&self) -> Result<(), Failure> {
        let broken = |what: String| Failure::Usage(format!("the demo is broken: {what}"));
        let module = parse_module(self.text).map_err(|errors| broken(errors[0].to_string()))?;
        title(self.title);
        let text = module.to_string();
        let indented: Vec<String> = text.trim_end().lines().map(|line| format!("    {line}")).collect();
        say_line!("\n{}\n\n{}\n", indented.join("\n"), self.say);
        for &(call, semantics) in self.runs {
            self.run(&module, call, semantics).map_err(broken)?;
        }
        Ok(())
    }

    fn run(&self, module: &Module, call: &str, semantics: Semantics) -> Result<(), String> {
        let name = module.functions.first().map_or("", |func| &func.name);
        let line = RunLine::parse(&format!("@{name}{call}")).map_err(|error| error.to_string())?;
        let options = Options { trace: true, semantics, ..line.options.clone() };
        let ran = line.run(module, &options).map_err(|error| error.to_string())?;
        let reading = match semantics {
            _ if call == VECTOR => "one thread",
            Semantics::Freezing => "FREEZING",
            Semantics::Oblivious => "OBLIVIOUS",
        };
        say_line!("  {reading}: {}", line.show(module, &ran));
        if let Ok(outcome) = &ran.outcome {
            let watched: Vec<Value> = self.watch.iter().map(|&number| Value::from_u32(number)).collect();
            let table = trace_table(&outcome.trace, module, &watched);
            table.lines().for_each(|line| say_line!("    {line}"));
        }
        say_line!("");
        Ok(())
    }
}
