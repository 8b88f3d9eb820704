//! Splitting of `clBuildProgram` option strings.

/// Splits build options at spaces outside quotes.
pub fn split_build_options(options: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut is_word) = (Vec::new(), String::new(), None, false);
    let mut characters = options.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', _) => {
                is_word = true;
                match characters.next() {
                    // Backslash escapes quotes, spaces and itself only; other backslashes stay, as in Windows paths.
                    Some(next @ ('"' | '\'' | '\\' | ' ')) => word.push(next),
                    Some(next) => word.extend(['\\', next]),
                    None => word.push('\\'),
                }
            }
            (mark, Some(open)) if mark == open => quote = None,
            (_, Some(_)) => word.push(character),
            ('"' | '\'', None) => {
                quote = Some(character);
                is_word = true;
            }
            (space, None) if space.is_whitespace() => {
                if std::mem::take(&mut is_word) {
                    words.push(std::mem::take(&mut word));
                }
            }
            (_, None) => {
                word.push(character);
                is_word = true;
            }
        }
    }
    if is_word {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::split_build_options as words;

    #[test]
    fn options_are_parted_as_a_shell_does() {
        let parted = words(r#" -D A=1  -DB="two words" -I '/some where' -DC=\"x\" "#);
        assert_eq!(parted, ["-D", "A=1", "-DB=two words", "-I", "/some where", "-DC=\"x\""]);
        assert!(words("  ").is_empty());
        assert_eq!(words("''"), [""]);
    }
}
