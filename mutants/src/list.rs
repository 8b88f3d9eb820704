//! Mutants: which there are, which are tried, and what became of them.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

/// The share of mutants that tests are to notice, in percent.
const AIM: f64 = 90.0;

/// A place in a file; lines and columns from 1 on.
pub(crate) type Place = (usize, usize);

/// Kind of mutation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Genre {
    /// A function returns something else at once.
    Body,
    /// An operator with two operands becomes another one.
    Binary,
    /// `!` or `-` is gone.
    Unary,
    /// An arm is gone, where a last one takes all.
    Arm,
    /// The guard of an arm is always true, or never.
    Guard,
    /// A field has the default that the rest of the literal gives.
    Field,
}

/// Outcome of a mutant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Fate {
    /// Not tried yet.
    Open,
    /// It does not compile, as far as the compiler says so of the mutant behind its question.
    Unviable(String),
    /// It stands where no question can be asked: in a constant, or a function that constants call.
    InConstant,
    /// A test failed.
    Killed(String),
    /// A test took many times its time or memory.
    Overran(String),
    /// No test came here.
    Unreached,
    /// Tests came here and passed.
    Missed,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fate::Open => f.write_str("open"),
            Fate::Unviable(why) => write!(f, "unviable ({why})"),
            Fate::InConstant => f.write_str("in a constant"),
            Fate::Killed(by) => write!(f, "killed ({by})"),
            Fate::Overran(what) => write!(f, "overran ({what})"),
            Fate::Unreached => f.write_str("unreached"),
            Fate::Missed => f.write_str("missed"),
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
    /// Where what is replaced begins.
    pub at: Place,
    /// Replacement text.
    pub replacement: String,
    pub genre: Genre,
    /// The sample that it belongs to, from 1 on.
    pub shard: usize,
    pub fate: Fate,
    /// Why it means the same as the program, if that is known.
    pub means_the_same: Option<String>,
}

/// Reads what `cargo mutants --list --json` printed.
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
        fate: Fate::Open,
        means_the_same: None,
    })
}

/// The first samples of each package: its mutants are ordered as if by lot, but always in the same way, and dealt out.
/// They are numbered from 1 on.
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

/// A number that says nothing of the name (FNV-1a, stirred).
fn lot(name: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ hash >> 32
}

/// Prints what became of the mutants, package by package; tells whether each has its share.
pub(crate) fn summarize(all: &[Mutant], mutants: &[Mutant]) -> bool {
    let mut all_ok = true;
    for package in packages(all) {
        let of = |mutant: &&Mutant| mutant.package == package;
        let total = all.iter().filter(of).count();
        let here: Vec<&Mutant> = mutants.iter().filter(of).collect();
        let count = |is: fn(&Fate) -> bool| here.iter().filter(|mutant| is(&mutant.fate)).count();
        let killed = count(|fate| matches!(fate, Fate::Killed(_)));
        let overran = count(|fate| matches!(fate, Fate::Overran(_)));
        let survived = count(|fate| matches!(fate, Fate::Missed | Fate::Unreached));
        let unviable = count(|fate| matches!(fate, Fate::Unviable(_)));
        let constant = count(|fate| matches!(fate, Fate::InConstant));
        println!(
            "{package}: {killed} killed, {overran} overran, {survived} survived; {unviable} do not compile, {constant} \
             in constants; {} of {total} possible tried",
            here.len()
        );
        let mut same = 0;
        for mutant in here.iter().filter(|mutant| matches!(mutant.fate, Fate::Missed | Fate::Unreached)) {
            match &mutant.means_the_same {
                Some(why) => {
                    same += 1;
                    println!("  means the same: {}: {why}", mutant.name);
                }
                None => println!("  {}: {}", mutant.fate, mutant.name),
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
