//! Results of run-time selection: lines of the report, and choices in the cache.

use crate::code::{GroupCode, VariantSpec};
use crate::kept::CHOICES;
use crate::selection::{
    CandidateSpec, KeptChoice, LaunchClass, Selection, TrialBudget, parse_choices, print_choices,
};
use heddle_llvm::{Cpu, ObjectCache};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Number of classes of launches that a report lists.
const LISTED: usize = 4;

/// Writes a number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Account of a kernel's launches in a line.
pub(crate) fn account_line(kernel: &str, total: &TrialBudget) -> String {
    let (launches, seconds) = (grouped(total.launches), total.run / 1e9);
    let invested = match total.invested / 1e9 {
        seconds if seconds < 0.05 => String::new(),
        seconds => format!("{seconds:.1} s to compile promising code, "),
    };
    format!(
        "kernel {kernel}: {launches} launches, {seconds:.1} s, {invested}{:.1} % lost to trials\n",
        100.0 * total.lost_share()
    )
}

fn class_text(class: &LaunchClass) -> String {
    let groups = match class.local {
        [0, ..] => String::new(),
        [x, 1, 1] => format!(" in groups of {x}"),
        [x, y, 1] => format!(" in groups of {x}x{y}"),
        [x, y, z] => format!(" in groups of {x}x{y}x{z}"),
    };
    let ends = if class.is_uniform { "" } else { ", smaller at the ends" };
    let threads = match class.threads {
        0 => "1 thread".to_string(),
        octave => format!("{} threads or more", 1u64 << octave),
    };
    format!("2^{} work-items{groups}{ends}, {threads}", class.octave)
}

/// Codes of a kernel's classes of launches, those with the most time first.
pub(crate) fn class_lines(selection: &Selection<VariantSpec, GroupCode>) -> String {
    let mut text = String::new();
    for (class, incumbent, budget) in selection.classes().into_iter().take(LISTED) {
        let code = selection.with_spec(incumbent, |spec| spec.variant.to_string()).unwrap_or_default();
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {}: {code}, {} launches", class_text(&class), grouped(budget.launches));
    }
    text
}

/// Choices of a kernel as they are kept on disk.
pub(crate) fn choices_text(kernel: &str, selection: &Selection<VariantSpec, GroupCode>) -> String {
    let mut text = format!("kernel {kernel}\ncpu {}\n", Cpu::host().name);
    let mut number = 0;
    while let Some((key, code)) = selection.with_spec(number, |spec| (spec.key(), spec.variant.to_string())) {
        let _ = writeln!(text, "code {key:016x} {code}");
        number += 1;
    }
    text + &print_choices(&selection.choices())
}

/// Contents of the user's cache.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CacheSummary {
    /// Folder of the compiled objects.
    pub folder: PathBuf,
    /// Number of objects, and their bytes.
    pub objects: (usize, u64),
    /// Choices among codes, a line each.
    pub choices: Vec<String>,
}

/// A choice as a line for users; `text` is the file that it is in.
fn choice_line(text: &str, choice: &KeptChoice) -> String {
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("?");
    let code = value(&format!("code {:016x} ", choice.code));
    let state = if choice.is_settled { "settled" } else { "being examined" };
    let share = match choice.ratios.iter().map(|it| it.1).reduce(f64::min) {
        Some(ratio) => format!(", next best {ratio:.2}"),
        None => String::new(),
    };
    format!(
        "kernel {} on {}, {}: {code}, {:.3} ns for a work-item, {} launches, {state}{share}",
        value("kernel "),
        value("cpu "),
        class_text(&choice.class),
        choice.pace,
        grouped(choice.launches)
    )
}

/// Summarizes the user's cache; none if there is none.
pub fn summarize_cache() -> Option<CacheSummary> {
    let cache = ObjectCache::of_user()?;
    let mut choices = Vec::new();
    for text in
        cache.sibling(CHOICES).contents().into_iter().filter_map(|bytes| String::from_utf8(bytes).ok())
    {
        choices.extend(parse_choices(&text).iter().map(|choice| choice_line(&text, choice)));
    }
    choices.sort();
    Some(CacheSummary { folder: cache.folder().to_path_buf(), objects: cache.size(), choices })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_is_a_line() {
        let mut total = TrialBudget::default();
        (0..1200).for_each(|_| total.add_launch(2.6e6));
        total.settle(0.0, 0.018 * total.run);
        assert_eq!(account_line("k", &total), "kernel k: 1,200 launches, 3.1 s, 1.8 % lost to trials\n");
        total.invested = 0.24e9;
        let line = "kernel k: 1,200 launches, 3.1 s, 0.2 s to compile promising code, 1.8 % lost to trials\n";
        assert_eq!(account_line("k", &total), line);
        assert_eq!([0, 12, 123, 1234, 1_234_567].map(grouped), ["0", "12", "123", "1,234", "1,234,567"]);
    }

    #[test]
    fn kept_choices_are_listed() {
        let class = LaunchClass::new(1 << 20, [64, 1, 1], true, 2);
        let ratios = vec![(1, 1.25)];
        let choice = KeptChoice { class, code: 7, pace: 1.5, launches: 3000, ratios, is_settled: true };
        let text = format!(
            "kernel k\ncpu znver4\ncode {:016x} 32 lanes\n{}",
            7,
            print_choices(std::slice::from_ref(&choice))
        );
        assert_eq!(parse_choices(&text), std::slice::from_ref(&choice));
        assert_eq!(
            choice_line(&text, &choice),
            "kernel k on znver4, 2^20 work-items in groups of 64, 2 threads or more: 32 lanes, 1.500 ns for a work-item, 3,000 launches, settled, next best 1.25"
        );
    }
}
