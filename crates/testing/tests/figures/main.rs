//! Figures on the results of analyses and passes: `tests/figures/*.txt`.
//!
//! Other tests check that claims are correct, but an analysis that claims nothing would pass them. So would a pass that
//! leaves more code than necessary, or refuses needlessly. Here a weaker proof or more code changes a total, which may
//! only improve. `HEDDLE_BLESS=1` records improvements, and new texts below `tests/`; review the diff.
//!
//! * `programs`: the programs; `families`: some of them.
//! * `claims`: facts proved about functions.
//! * `operations`: facts proved about single operations.
//! * `code`: amount, kinds and layout of code.
//! * `stages`: code after each pass, and vector code for each machine.
//! * `edits`: results and refusals of single passes, given other facts than the pipeline's.
//! * `totals`: totals of all these, and the directions in which they may change.
//!
//! A text with the line `; figures: each` has a golden of its own, `tests/figures/each/NAME.txt`, with every row. With
//! `HEDDLE_FIGURES=FOLDER` the test compares every row of every table, with a signature of all data, with what it wrote into
//! the folder before: so two builds are compared, and mutants are detected (`./x mutants`).
#![forbid(unsafe_code)]

mod claims;
mod code;
mod edits;
mod families;
mod operations;
mod programs;
mod stages;
mod totals;

use programs::{Program, family, generated, texts, texts_with_figures};
use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::path::{Path, PathBuf};

/// Figures in tables.
#[derive(Default)]
struct Figures(Vec<(String, Table)>);

#[derive(Default)]
struct Table {
    columns: Vec<String>,
    rows: BTreeMap<String, Vec<u64>>,
}

/// One column of a table.
struct Column<'f> {
    table: &'f mut Table,
    number: usize,
}

impl Figures {
    fn column(&mut self, table: &str, column: &str) -> Column<'_> {
        let at = self.0.iter().position(|(name, _)| name == table).unwrap_or_else(|| {
            self.0.push((table.into(), Table::default()));
            self.0.len() - 1
        });
        let table = &mut self.0[at].1;
        let number = table.columns.iter().position(|name| name == column).unwrap_or_else(|| {
            table.columns.push(column.into());
            table.columns.len() - 1
        });
        Column { table, number }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, table) in &self.0 {
            let widths: Vec<usize> = table.columns.iter().map(|column| column.len().max(7)).collect();
            let _ = write!(text, "{}{name}\n{:LEFT$}", if text.is_empty() { "" } else { "\n" }, "");
            for (column, width) in table.columns.iter().zip(&widths) {
                let _ = write!(text, "  {column:>width$}");
            }
            text.push('\n');
            for (name, figures) in &table.rows {
                let _ = write!(text, "  {name:IN$}", IN = LEFT - 2);
                for (at, width) in widths.iter().enumerate() {
                    match figures.get(at).copied().unwrap_or_default() {
                        0 => _ = write!(text, "  {:>width$}", "."),
                        figure => _ = write!(text, "  {figure:>width$}"),
                    }
                }
                text.push('\n');
            }
        }
        text
    }
}

/// Characters that the name of a row takes, if it is short.
const LEFT: usize = 34;

/// Row of signatures, after all others.
const SIGNATURE: &str = "~ signature";
/// Signatures are below this prime.
const SIGNATURES: u64 = 9_999_991;

/// Hashes what is written, byte by byte (FNV-1a).
struct Signer(u64);

impl std::fmt::Write for Signer {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}

impl Column<'_> {
    /// Adds this text to what the column's signature is of.
    fn sign(&mut self, text: impl Display) {
        let mut signer = Signer(0xcbf2_9ce4_8422_2325);
        let _ = write!(signer, "{text}");
        let row = self.row(SIGNATURE);
        *row = (*row + signer.0 % SIGNATURES) % SIGNATURES;
    }

    fn row(&mut self, row: &str) -> &mut u64 {
        if !self.table.rows.contains_key(row) {
            self.table.rows.insert(row.into(), Vec::new());
        }
        let figures = self.table.rows.get_mut(row).expect("it is there");
        figures.resize(figures.len().max(self.number + 1), 0);
        &mut figures[self.number]
    }

    fn add(&mut self, row: impl AsRef<str>, count: impl TryInto<u64>) {
        let row = self.row(row.as_ref());
        *row = row.wrapping_add(count.try_into().unwrap_or_default());
    }
}

/// The first line of a message without what is only of one program: its names and numbers.
fn kind_of_message(message: &str) -> String {
    let mut kind = String::new();
    let mut was_name = false;
    for character in message.lines().next().unwrap_or_default().chars() {
        let is_name = was_name && (character.is_alphanumeric() || "._".contains(character))
            || character == '@'
            || character.is_ascii_digit();
        if !is_name {
            kind.push(character);
        } else if !was_name {
            kind.push('#');
        }
        was_name = is_name;
    }
    kind
}

/// Path of a golden below `tests/figures`.
fn golden_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/figures/{name}.txt"))
}

/// True if goldens are to be rewritten.
fn is_blessing() -> bool {
    std::env::var_os("HEDDLE_BLESS").is_some()
}

/// Compares text with a golden, byte by byte.
fn compare_text(name: &str, path: &Path, found: &str, rewrites: bool) {
    if rewrites {
        let folder = path.parent().expect("a file has a folder");
        std::fs::create_dir_all(folder).expect("the folder can be made");
        std::fs::write(path, found).expect("the file can be written");
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    let lines = expected.lines().zip(found.lines());
    let other: Vec<String> = lines.filter(|(a, b)| a != b).map(|(a, b)| format!("{a}\n{b}")).collect();
    assert!(expected == found, "{name}: other figures (HEDDLE_BLESS=1 rewrites them):\n{}", other.join("\n"));
}

/// Compares the totals of figures with their golden below `tests/figures`, and every row if `HEDDLE_FIGURES` names a folder.
fn compare(name: &str, figures: &Figures) {
    if let Some(folder) = std::env::var_os("HEDDLE_FIGURES") {
        let path = Path::new(&folder).join(format!("{name}.txt"));
        compare_text(name, &path, &figures.text(), !path.exists());
    }
    let path = golden_path(name);
    if is_blessing() {
        std::fs::write(&path, totals::text(figures)).expect("the file can be written");
        return;
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    let worse = totals::worse(&golden, figures);
    assert!(worse.is_empty(), "{name}: worse (HEDDLE_BLESS=1 accepts it):\n{}", worse.join("\n"));
}

fn compare_of(kind: &str, programs: &[Program], what: &str, count: impl Fn(&mut Figures, &str, &Program)) {
    let mut figures = Figures::default();
    programs.iter().for_each(|program| count(&mut figures, kind, program));
    compare(&format!("{what}-{kind}"), &figures);
}

#[test]
fn operations_are_known_as_well_as_before() {
    let mut figures = Figures::default();
    operations::operations(&mut figures);
    compare("operations", &figures);
}

#[test]
fn addresses_are_as_before() {
    let programs = family(families::addresses, 1600);
    compare_of("addresses", &programs, "claims", claims::claims);
    compare_of("addresses", &programs[..800], "code", stages::stages);
}

#[test]
fn objects_are_as_before() {
    let programs = family(families::objects, 1000);
    compare_of("objects", &programs, "claims", claims::claims);
    compare_of("objects", &programs[..500], "code", stages::stages);
}

#[test]
fn switches_are_as_before() {
    let programs = family(families::switches, 16);
    compare_of("switches", &programs, "claims", claims::claims);
    compare_of("switches", &programs, "edits", edits::edits);
    compare_of("switches", &programs, "code", stages::stages);
}

#[test]
fn graphs_are_as_before() {
    let programs = family(families::graphs, 750);
    compare_of("graphs", &programs, "claims", claims::claims);
    compare_of("graphs", &programs[..250], "edits", edits::edits);
    compare_of("graphs", &programs[..250], "code", stages::stages);
}

#[test]
fn ladders_are_as_before() {
    let programs = family(families::ladders, 600);
    compare_of("ladders", &programs, "claims", claims::claims);
    compare_of("ladders", &programs[..60], "code", stages::stages);
}

#[test]
fn values_are_as_before() {
    let programs = family(families::values, 600);
    compare_of("values", &programs, "code", stages::stages);
}

#[test]
fn programs_at_hand_are_as_before() {
    let programs = texts();
    compare_of("written", &programs, "claims", claims::claims);
    compare_of("written", &programs, "edits", edits::edits);
    compare_of("written", &programs, "code", stages::stages);
}

#[test]
fn texts_that_ask_for_it_are_as_before_row_by_row() {
    let programs = texts_with_figures();
    assert!(!programs.is_empty(), "no text has the line `; figures: each`");
    for (name, program) in programs {
        let mut figures = Figures::default();
        claims::claims(&mut figures, &name, &program);
        edits::edits(&mut figures, &name, &program);
        stages::stages(&mut figures, &name, &program);
        compare_text(&name, &golden_path(&format!("each/{name}")), &figures.text(), is_blessing());
    }
}

#[test]
fn programs_by_lot_are_as_before() {
    let programs = generated();
    compare_of("generated", &programs, "claims", claims::claims);
    compare_of("generated", &programs, "edits", edits::edits);
    compare_of("generated", &programs, "code", stages::stages);
}
