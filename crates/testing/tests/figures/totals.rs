//! Totals of the tables, with the direction in which each may change.
//!
//! A golden has a row for each total: its direction (`<=` may shrink, `>=` may grow, `=` must not change), its name and a
//! figure for each column of the table. A total that improves passes; `HEDDLE_BLESS=1` records the improvement.

use crate::Figures;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Direction in which a total may change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Direction {
    /// Less is better: code, refusals.
    AtMost,
    /// More is better: proofs.
    AtLeast,
    /// Any change is wrong: facts with one right answer.
    Exactly,
}

use Direction::{AtLeast, AtMost, Exactly};

const DIRECTIONS: [(&str, Direction); 3] = [("<=", AtMost), (">=", AtLeast), ("=", Exactly)];

impl Direction {
    fn sign(self) -> &'static str {
        DIRECTIONS.iter().find(|(_, direction)| *direction == self).map_or("", |(sign, _)| sign)
    }

    fn permits(self, expected: u64, found: u64) -> bool {
        match self {
            AtMost => found <= expected,
            AtLeast => found >= expected,
            Exactly => found == expected,
        }
    }
}

/// Rows that are totals of their own.
const ROWS: &[(&str, Direction)] = &[
    ("instructions", AtMost),
    ("instructions times their loops", AtMost),
    ("operands", AtMost),
    ("bits of results", AtMost),
    ("lines from values to users", AtMost),
    ("lines along edges", AtMost),
    ("blocks", AtMost),
    ("blocks out of reach", AtMost),
    ("shadows", AtMost),
    ("private bytes", AtMost),
    ("lanes moved by permutes", AtMost),
    ("accesses: known bases", AtLeast),
    ("without a place in the source", AtMost),
    ("branches without weights", AtMost),
    ("blocks full", AtLeast),
    ("edges full", AtLeast),
    ("blocks without divergence", AtLeast),
    ("values after loops uniform", AtLeast),
    ("values uniform", AtLeast),
    ("slots shared", AtLeast),
    ("addresses into one object", AtLeast),
    ("conditions: stride", AtMost),
    ("conditions: bits looked at", AtMost),
    ("explanations: links", AtMost),
    ("explanations: words", AtMost),
    ("words about groups", AtMost),
    ("facts: divergent loops", AtMost),
    ("facts: uniform exits", AtLeast),
    ("folding: steps", AtMost),
    ("heddle varying", AtMost),
    ("heddle divergent", AtMost),
    ("remark: cost together", AtMost),
    ("accesses in remarks: PerLane", AtMost),
    ("regions", Exactly),
    ("functions", AtMost),
];

/// Rows that are added up by their beginnings: the total's name and direction.
const BEGINNINGS: &[(&str, &str, Direction)] = &[
    ("refused: ", "refused", AtMost),
    ("impossible: ", "impossible", AtMost),
    ("gather", "gathers and scatters", AtMost),
    ("scatter", "gathers and scatters", AtMost),
    ("masked_", "masked accesses", AtMost),
    ("accesses contiguous", "accesses contiguous", AtLeast),
    ("accesses in remarks: Interleaved", "accesses interleaved", AtLeast),
    ("coutinho ", "published analyses", Exactly),
    ("karrenberg ", "published analyses", Exactly),
    ("stratton ", "published analyses", Exactly),
];

/// Rows that are added up by their ends.
const ENDS: &[(&str, &str, Direction)] = &[
    (", wide", "instructions on vectors", AtMost),
    ("uniform", "uniform", AtLeast),
    ("known never poison", "never poison", AtLeast),
    ("known evenly poison", "evenly poison", AtLeast),
    ("straight, signed", "straight", AtLeast),
    ("straight, unsigned", "straight", AtLeast),
    (": bits known", "bits known", AtLeast),
    (": bits known to be zero", "bits known to be zero", AtLeast),
    (": powers of two aligned", "powers of two aligned", AtLeast),
    (": never poison", "never poison", AtLeast),
    (": evenly poison", "evenly poison", AtLeast),
    (": straight", "straight", AtLeast),
    (": alike beyond the brush", "alike beyond the brush", AtLeast),
    ("together in the group", "together in the group or launch", AtLeast),
    ("together in the launch", "together in the group or launch", AtLeast),
    ("together in the nowhere", "not together", AtMost),
    ("alike in the group", "alike in the group or launch", AtLeast),
    ("alike in the launch", "alike in the group or launch", AtLeast),
    ("shared in the nowhere", "not shared", AtMost),
];

/// Tables whose rows have one right answer: all are added up.
const EXACT_TABLES: &[&str] = &["graphs"];
/// Tables of code, whose rows of single ops say nothing by themselves.
const CLAIMS: &[&str] = &["proved of ", "published analyses", "graphs"];

/// Returns the total that a row of a table counts for.
fn total_of(table: &str, row: &str) -> Option<(&'static str, Direction)> {
    if EXACT_TABLES.contains(&table) {
        return Some(("all", Exactly));
    }
    if let Some(&(name, direction)) = ROWS.iter().find(|(name, _)| *name == row) {
        return Some((name, direction));
    }
    if let Some(&(_, name, direction)) = BEGINNINGS.iter().find(|(start, ..)| row.starts_with(start)) {
        return Some((name, direction));
    }
    let is_claim = CLAIMS.iter().any(|start| table.starts_with(start));
    let is_of_table = |end: &str| is_claim || end == ", wide";
    let found = ENDS.iter().find(|(end, ..)| row.ends_with(end) && is_of_table(end));
    found.map(|&(_, name, direction)| (name, direction))
}

/// Totals by table, then by name and direction; a figure for each column.
type Totals = BTreeMap<String, TableTotals>;

/// Totals of one table.
#[derive(Default)]
struct TableTotals {
    columns: Vec<String>,
    rows: BTreeMap<(String, Direction), Vec<u64>>,
}

fn totals_of(figures: &Figures) -> Totals {
    let mut totals = Totals::new();
    for (name, table) in &figures.0 {
        let into = totals.entry(name.clone()).or_default();
        into.columns.clone_from(&table.columns);
        for (row, values) in &table.rows {
            let Some((total, direction)) = total_of(name, row) else { continue };
            let sums = into.rows.entry((total.into(), direction)).or_default();
            sums.resize(table.columns.len(), 0);
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum = sum.wrapping_add(*value));
        }
        into.rows.retain(|_, sums| sums.iter().any(|&sum| sum > 0));
    }
    totals.retain(|_, table| !table.rows.is_empty());
    totals
}

/// Text of the totals, as goldens have it.
pub(crate) fn text(figures: &Figures) -> String {
    let mut text = String::new();
    for (name, table) in totals_of(figures) {
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{gap}{name}: {}", table.columns.join(" | "));
        for ((row, direction), sums) in &table.rows {
            let sums: Vec<String> = sums.iter().map(u64::to_string).collect();
            let _ = writeln!(text, "  {:2} {row:34} | {}", direction.sign(), sums.join(" | "));
        }
    }
    text
}

fn parse(text: &str) -> Totals {
    let mut totals = Totals::new();
    let mut table = String::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let Some(row) = line.strip_prefix("  ") else {
            let (name, columns) = line.rsplit_once(": ").unwrap_or((line, ""));
            table = name.to_string();
            let columns = columns.split(" | ").map(Into::into).collect();
            totals.insert(table.clone(), TableTotals { columns, rows: BTreeMap::new() });
            continue;
        };
        let mut cells = row.split(" | ");
        let (sign, name) = cells.next().and_then(|head| head.split_at_checked(3)).unwrap_or(("", row));
        let direction = DIRECTIONS.iter().find(|(known, _)| *known == sign.trim());
        let direction = direction.map_or(Exactly, |&(_, direction)| direction);
        let sums = cells.filter_map(|cell| cell.trim().parse().ok()).collect();
        if let Some(into) = totals.get_mut(&table) {
            into.rows.insert((name.trim().into(), direction), sums);
        }
    }
    totals
}

/// Compares totals with those of a golden; returns what got worse.
pub(crate) fn worse(golden: &str, figures: &Figures) -> Vec<String> {
    let (expected, found) = (parse(golden), totals_of(figures));
    let mut worse = Vec::new();
    let names = expected.keys().chain(found.keys().filter(|name| !expected.contains_key(*name)));
    for name in names {
        let (none, other) = (TableTotals::default(), TableTotals::default());
        let before = expected.get(name).unwrap_or(&none);
        let after = found.get(name).unwrap_or(&other);
        let sum = |table: &TableTotals, row: &(String, Direction), column: &str| {
            let at = table.columns.iter().position(|known| known == column);
            at.and_then(|at| table.rows.get(row)?.get(at).copied()).unwrap_or_default()
        };
        let rows = before.rows.keys().chain(after.rows.keys().filter(|row| !before.rows.contains_key(*row)));
        for row in rows {
            let columns =
                before.columns.iter().chain(after.columns.iter().filter(|it| !before.columns.contains(it)));
            for column in columns {
                let (expected, found) = (sum(before, row, column), sum(after, row, column));
                if !row.1.permits(expected, found) {
                    worse.push(format!(
                        "{name}, {column}: {}: {found}, not {} {expected}",
                        row.0,
                        row.1.sign()
                    ));
                }
            }
        }
    }
    worse
}

#[test]
fn totals_may_only_improve() {
    let figures = |bits: u64, count: u64| {
        let mut figures = Figures::default();
        figures.column("proved of x", "4 lanes").add("add: bits known", bits);
        figures.column("code of x", "avx2").add("instructions", count);
        figures.column("graphs", "x").add("loops", 7);
        figures
    };
    let golden = text(&figures(10, 20));
    assert!(worse(&golden, &figures(10, 20)).is_empty(), "{golden}");
    assert!(worse(&golden, &figures(11, 19)).is_empty());
    assert_eq!(worse(&golden, &figures(9, 20)), ["proved of x, 4 lanes: bits known: 9, not >= 10"]);
    assert_eq!(worse(&golden, &figures(10, 21)), ["code of x, avx2: instructions: 21, not <= 20"]);
    let mut other = figures(10, 20);
    other.column("graphs", "x").add("loops", 1);
    other.column("code of x", "avx2").add("refused: for a reason", 1);
    assert_eq!(
        worse(&golden, &other),
        ["code of x, avx2: refused: 1, not <= 0", "graphs, x: all: 8, not = 7"]
    );
}
