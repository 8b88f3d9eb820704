//! List of mutants, the sample to try, and their outcomes.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

/// Required share of killed mutants, in percent.
const AIM: f64 = 90.0;

/// Position in a file; lines and columns count from 1.
pub(crate) type LineColumn = (usize, usize);

/// Kind of mutation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Genre {
    /// A function's body is replaced by a constant result.
    Body,
    /// A binary operator becomes another one.
    Binary,
    /// `!` or `-` is removed.
    Unary,
    /// An arm is removed, where the last one matches everything.
    Arm,
    /// The guard of an arm is always true, or never.
    Guard,
    /// A field is removed from a literal and takes its default.
    Field,
}

/// Outcome of a mutant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum MutantOutcome {
    /// Not tried yet.
    Open,
    /// It does not compile; has the compiler's message.
    Unviable(String),
    /// It cannot be selected at run time: it is in a constant, or in a function that constants call.
    InConstant,
    /// A test failed.
    Killed(String),
    /// A test exceeded its time or memory limit.
    Overran(String),
    /// No test executed it.
    Unreached,
    /// Tests executed it and passed.
    Missed,
}

impl fmt::Display for MutantOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MutantOutcome::Open => f.write_str("open"),
            MutantOutcome::Unviable(why) => write!(f, "unviable ({why})"),
            MutantOutcome::InConstant => f.write_str("in a constant"),
            MutantOutcome::Killed(by) => write!(f, "killed ({by})"),
            MutantOutcome::Overran(what) => write!(f, "overran ({what})"),
            MutantOutcome::Unreached => f.write_str("unreached"),
            MutantOutcome::Missed => f.write_str("missed"),
        }
    }
}

/// A mutant.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    /// Number that selects the mutant at run time.
    pub number: usize,
    /// Location and mutation, in words.
    pub name: String,
    /// The package.
    pub package: String,
    /// The file, from the root of the tree.
    pub file: String,
    /// Start of the replaced text.
    pub at: LineColumn,
    /// Replacement text.
    pub replacement: String,
    pub genre: Genre,
    /// Sample that it belongs to, from 1.
    pub shard: usize,
    pub outcome: MutantOutcome,
    /// Reason why it is equivalent to the program, if listed.
    pub means_the_same: Option<String>,
}

/// Reads the output of `cargo mutants --list --json`.
pub(crate) fn read_list(path: &Path) -> Result<Vec<Mutant>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let list: Value = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let items = list.as_array().ok_or(format!("{}: no list", path.display()))?;
    items.iter().map(|item| read(item).ok_or(format!("{}: {item} is no mutant", path.display()))).collect()
}

fn read(item: &Value) -> Option<Mutant> {
    let text = |name: &str| item[name].as_str().map(String::from);
    let start = &item["span"]["start"];
    let number = |name: &str| start[name].as_u64().map(|number| number as usize);
    let genre = match item["genre"].as_str()? {
        "FnValue" => Genre::Body,
        "BinaryOperator" => Genre::Binary,
        "UnaryOperator" => Genre::Unary,
        "MatchArm" => Genre::Arm,
        "MatchArmGuard" => Genre::Guard,
        "StructField" => Genre::Field,
        _ => return None,
    };
    Some(Mutant {
        number: 0,
        name: text("name")?,
        package: text("package")?,
        file: text("file")?,
        at: (number("line")?, number("column")?),
        replacement: text("replacement")?,
        genre,
        shard: 1,
        outcome: MutantOutcome::Open,
        means_the_same: None,
    })
}

/// Returns the first samples of each package, from a fixed pseudorandom order of its mutants. Numbers start at 1.
pub(crate) fn sample(all: &[Mutant], size: Option<usize>, samples: usize) -> Vec<Mutant> {
    let mut chosen = Vec::new();
    for package in packages(all) {
        let mut mutants: Vec<Mutant> =
            all.iter().filter(|mutant| mutant.package == package).cloned().collect();
        mutants.sort_by_key(|mutant| lot(&mutant.name));
        let size = size.unwrap_or(mutants.len()).max(1);
        for (place, mutant) in mutants.iter_mut().enumerate() {
            mutant.shard = place / size + 1;
        }
        mutants.retain(|mutant| mutant.shard <= samples);
        mutants.sort_by(|a, b| (&a.file, a.at).cmp(&(&b.file, b.at)));
        chosen.extend(mutants);
    }
    for (number, mutant) in (1..).zip(&mut chosen) {
        mutant.number = number;
    }
    chosen
}

fn packages(mutants: &[Mutant]) -> BTreeSet<String> {
    mutants.iter().map(|mutant| mutant.package.clone()).collect()
}

/// Hashes the name (FNV-1a with a final mix).
fn lot(name: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ hash >> 32
}

/// Prints the outcomes by package; returns true if each package reaches the required share.
pub(crate) fn summarize(all: &[Mutant], mutants: &[Mutant]) -> bool {
    let mut all_ok = true;
    for package in packages(all) {
        let of = |mutant: &&Mutant| mutant.package == package;
        let total = all.iter().filter(of).count();
        let here: Vec<&Mutant> = mutants.iter().filter(of).collect();
        let count = |is: fn(&MutantOutcome) -> bool| here.iter().filter(|mutant| is(&mutant.outcome)).count();
        let killed = count(|outcome| matches!(outcome, MutantOutcome::Killed(_)));
        let overran = count(|outcome| matches!(outcome, MutantOutcome::Overran(_)));
        let survived = count(|outcome| matches!(outcome, MutantOutcome::Missed | MutantOutcome::Unreached));
        let unviable = count(|outcome| matches!(outcome, MutantOutcome::Unviable(_)));
        let constant = count(|outcome| matches!(outcome, MutantOutcome::InConstant));
        println!(
            "{package}: {killed} killed, {overran} overran, {survived} survived; {unviable} do not compile, {constant} \
             in constants; {} of {total} possible tried",
            here.len()
        );
        let mut same = 0;
        for mutant in here
            .iter()
            .filter(|mutant| matches!(mutant.outcome, MutantOutcome::Missed | MutantOutcome::Unreached))
        {
            match &mutant.means_the_same {
                Some(why) => {
                    same += 1;
                    println!("  means the same: {}: {why}", mutant.name);
                }
                None => println!("  {}: {}", mutant.outcome, mutant.name),
            }
        }
        let judged = killed + overran + survived;
        if judged > same {
            let share = |of: usize| 100.0 * (killed + overran) as f64 / of as f64;
            let verdict = if share(judged - same) >= AIM { "ok" } else { "missed" };
            all_ok &= share(judged - same) >= AIM;
            if same > 0 {
                println!("{package}: {:.1} % with the {same} that mean the same", share(judged));
            }
            println!("aim mutants-{package}: {:.1} % (>= {AIM:.0} %) {verdict}", share(judged - same));
        }
    }
    all_ok
}
