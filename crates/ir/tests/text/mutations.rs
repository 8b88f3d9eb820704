//! Randomly damaged texts: each gives diagnostics or a module that round-trips, without panic or hang.

use crate::corpus;
use heddle_ir::{parse_bytes, parse_module};

/// A small generator of random numbers; the same seed gives the same numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// Splits a text into words and runs of blanks and signs.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '.' | '-');
        let end = match is_word(first) {
            true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (piece, behind) = rest.split_at(end);
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

/// A part of the text, since whole functions take long to mutate piece by piece.
fn excerpt<'t>(text: &'t str, random: &mut Random) -> &'t str {
    let starts: Vec<usize> = text.match_indices("\nfunc").map(|(at, _)| at + 1).collect();
    match random.below(4) {
        0 => text,
        _ => {
            let start = starts.get(random.below(starts.len())).copied().unwrap_or(0);
            let end = text[start..].find("\n}").map_or(text.len(), |end| start + end + 2);
            &text[start..end]
        }
    }
}

fn damaged(text: &str, words: &[&str], random: &mut Random) -> Vec<u8> {
    let mut pieces = pieces(text);
    let times = 1 + random.below(3);
    for _ in 0..times {
        let (a, b) = (random.below(pieces.len()), random.below(pieces.len()));
        if pieces.is_empty() {
            break;
        }
        match random.below(7) {
            0 => pieces.swap(a, b),
            1 => drop(pieces.remove(a)),
            2 => pieces.insert(a, pieces[b]),
            3 => pieces[a] = words[random.below(words.len())],
            4 => pieces.truncate(a),
            5 => {
                let run: Vec<&str> = pieces[a..].iter().take(random.below(30)).copied().collect();
                pieces.splice(b..b, run);
            }
            _ => drop(pieces.drain(a..pieces.len().min(a + random.below(20)))),
        }
    }
    let mut bytes = pieces.concat().into_bytes();
    if random.below(3) == 0 && !bytes.is_empty() {
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
    }
    bytes
}

#[test]
fn damaged_texts_are_refused_or_come_back() {
    let rounds: usize =
        std::env::var("HEDDLE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(6000);
    let corpus = corpus();
    let all: String = corpus.iter().map(|(_, text)| text.as_str()).collect();
    let words = pieces(&all);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut refused, mut accepted) = (0, 0);
    for _ in 0..rounds {
        let (_, text) = &corpus[random.below(corpus.len())];
        let bytes = damaged(excerpt(text, &mut random), &words, &mut random);
        match parse_bytes(&bytes) {
            Ok(module) => {
                accepted += 1;
                let printed = module.to_string();
                match parse_module(&printed) {
                    Ok(again) => assert_eq!(again.to_string(), printed),
                    Err(errors) => panic!(
                        "accepted, but its print is not: {}\n{}",
                        errors[0],
                        String::from_utf8_lossy(&bytes)
                    ),
                }
            }
            Err(errors) => {
                refused += 1;
                assert!((1..=20).contains(&errors.len()));
                let lines = bytes.split(|&byte| byte == b'\n').count();
                for error in &errors {
                    assert!(
                        (1..=u32::try_from(lines).unwrap()).contains(&error.place.line)
                            && error.place.column >= 1
                    );
                    assert!(
                        !error.excerpt.as_ref().unwrap().marked.is_empty() && !error.to_string().is_empty()
                    );
                }
            }
        }
    }
    assert!(refused > rounds / 4 && accepted > rounds / 50, "{refused} refused, {accepted} accepted");
}

#[test]
fn every_truncation_is_refused_or_comes_back() {
    let (_, text) = corpus().into_iter().find(|(name, _)| name == "steps-linear.hed").unwrap();
    for end in 0..text.len() {
        if let Ok(module) = parse_bytes(&text.as_bytes()[..end]) {
            let printed = module.to_string();
            assert_eq!(parse_module(&printed).unwrap().to_string(), printed);
        }
    }
}
