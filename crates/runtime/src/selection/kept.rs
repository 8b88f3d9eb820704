//! Choices as text, as they are kept on disk: a line for each class of launches.

use super::LaunchClass;
use std::fmt::Write as _;

/// Choice of a class of launches.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct KeptChoice {
    pub(crate) class: LaunchClass,
    /// Key of the code.
    pub(crate) code: u64,
    /// Nanoseconds for a work-item.
    pub(crate) pace: f64,
    /// Number of launches that the choice rests on.
    pub(crate) launches: u64,
    /// Other codes, by key, and the ratio of their time.
    pub(crate) ratios: Vec<(u64, f64)>,
    /// True if all candidates were examined.
    pub(crate) is_settled: bool,
}

/// Prints choices, a line each.
pub(crate) fn print_choices(choices: &[KeptChoice]) -> String {
    let mut text = String::new();
    for choice in choices {
        let LaunchClass { octave, local: [x, y, z], is_uniform, threads } = choice.class;
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "choice {octave} {x} {y} {z} {} {threads} {:016x} {:e} {} {}",
            u8::from(is_uniform),
            choice.code,
            choice.pace,
            choice.launches,
            u8::from(choice.is_settled)
        );
        choice.ratios.iter().for_each(|(key, ratio)| _ = write!(text, " {key:016x}={ratio:.4}"));
        text.push('\n');
    }
    text
}

fn parse_choice(line: &str) -> Option<KeptChoice> {
    let mut words = line.strip_prefix("choice ")?.split(' ');
    let flag = |word: &str| match word {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    };
    let octave = words.next()?.parse().ok()?;
    let local = [words.next()?.parse().ok()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?];
    let is_uniform = flag(words.next()?)?;
    let threads = words.next()?.parse().ok()?;
    let code = u64::from_str_radix(words.next()?, 16).ok()?;
    let is_rate = |rate: &f64| rate.is_finite() && *rate > 0.0;
    let pace = words.next()?.parse().ok().filter(is_rate)?;
    let launches = words.next()?.parse().ok()?;
    let is_settled = flag(words.next()?)?;
    let ratio = |word: &str| {
        let (key, ratio) = word.split_once('=')?;
        Some((u64::from_str_radix(key, 16).ok()?, ratio.parse().ok().filter(is_rate)?))
    };
    let ratios = words.map(ratio).collect::<Option<_>>()?;
    let class = LaunchClass { octave, local, is_uniform, threads };
    Some(KeptChoice { class, code, pace, launches, ratios, is_settled })
}

/// Parses choices; a line that is no choice is ignored.
pub(crate) fn parse_choices(text: &str) -> Vec<KeptChoice> {
    text.lines().filter_map(parse_choice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_as_they_were_written() {
        let class = LaunchClass::new(1 << 20, [64, 2, 1], true, 2);
        let choice =
            KeptChoice { class, code: 7, pace: 1.5, launches: 3, ratios: vec![(9, 1.25)], is_settled: true };
        let other = KeptChoice { ratios: Vec::new(), is_settled: false, ..choice.clone() };
        let text = print_choices(&[choice.clone(), other.clone()]);
        assert_eq!(parse_choices(&text), [choice.clone(), other]);
        // Lines that were cut off or changed are ignored.
        for at in 0..text.len() {
            let known = parse_choices(&text[..at]);
            assert!(known.len() <= 2);
        }
        assert_eq!(parse_choices(&format!("choice 0 0\n{text}x y\n")).len(), 2);
        assert!(parse_choices("choice 20 64 2 1 1 1 0000000000000007 NaN 3 1").is_empty());
    }
}
