//! Names and string literals, with their escapes.

use super::lexer::is_name_byte;
use std::borrow::Cow;

/// Appends `@name`, quoted if necessary.
pub(super) fn write_name(out: &mut String, name: &str) {
    out.push('@');
    if name.is_empty() || !name.bytes().all(is_name_byte) {
        write_text(out, name);
    } else {
        out.push_str(name);
    }
}

/// Appends a string literal.
pub(super) fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Decodes a token `@name` or `@"…"`.
pub(super) fn read_name(token: &str) -> Result<Cow<'_, str>, String> {
    match token.strip_prefix('@') {
        Some(quoted) if quoted.starts_with('"') => read_text(quoted),
        Some(name) => Ok(Cow::Borrowed(name)),
        None => Err("a name starts with `@`".into()),
    }
}

/// Decodes a token `"…"`.
pub(super) fn read_text(token: &str) -> Result<Cow<'_, str>, String> {
    let inner = token.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(token);
    if !inner.contains('\\') {
        return Ok(Cow::Borrowed(inner));
    }
    let mut text = String::new();
    let mut rest = inner.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match rest.next() {
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('t') => text.push('\t'),
            Some(c @ ('"' | '\\')) => text.push(c),
            Some('u') => {
                let code = rest.as_str().strip_prefix('{').and_then(|rest| rest.split_once('}'));
                let c = code
                    .filter(|(code, _)| code.len() <= 6 && code.bytes().all(|byte| byte.is_ascii_hexdigit()))
                    .and_then(|(code, _)| u32::from_str_radix(code, 16).ok())
                    .and_then(char::from_u32);
                let (Some(c), Some((_, behind))) = (c, code) else {
                    return Err("`\\u{…}` needs the hexadecimal number of a character".into());
                };
                text.push(c);
                rest = behind.chars();
            }
            other => {
                let other = other.map(String::from).unwrap_or_default();
                return Err(format!("`\\{other}` is no escape"));
            }
        }
    }
    Ok(Cow::Owned(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_comes_back() {
        for name in ["main", "a.b$c-d_9", "", "two words", "\"\\\n\r\t\0\u{7f}\u{85}é∀🧵", "@", "\\u{41}"]
        {
            let mut text = String::new();
            write_name(&mut text, name);
            assert_eq!(read_name(&text).unwrap(), name, "{text}");
            assert!(!text.contains('\n'));
        }
    }

    #[test]
    fn wrong_escapes() {
        for text in [r#""\q""#, r#""\u{}""#, r#""\u{110000}""#, r#""\u{d800}""#, r#""\u{+41}""#, r#""\u41""#]
        {
            assert!(read_text(text).is_err(), "{text}");
        }
    }
}
