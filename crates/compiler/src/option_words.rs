//! Options in text form: a table of words with help, from which a pass's argument is parsed and described.

use crate::options::invalid_option;
use heddle_ir::Diagnostic;

/// Word of the text form of an option. `force` stands for itself, `target=NAME` has a value, `BRUSH` stands for any other word.
#[derive(Debug)]
pub struct OptionWord<T: 'static> {
    /// The word as documented.
    pub form: &'static str,
    /// Help text, a noun phrase or a verb.
    pub help: &'static str,
    set: OptionSetter<T>,
}

/// Effect of a word.
#[derive(Debug)]
enum OptionSetter<T: 'static> {
    Flag(fn(&mut T)),
    /// Takes the value, or the whole word where the form has none.
    Value(fn(&mut T, &str) -> Result<(), Diagnostic>),
}

/// Creates a row for a word that stands for itself.
pub(crate) const fn flag<T>(form: &'static str, help: &'static str, set: fn(&mut T)) -> OptionWord<T> {
    OptionWord { form, help, set: OptionSetter::Flag(set) }
}

/// Stores a parsed value.
pub(crate) fn store<V>(place: &mut V, parsed: Result<V, Diagnostic>) -> Result<(), Diagnostic> {
    *place = parsed?;
    Ok(())
}

/// Creates a row for a word with a value, or for any word.
pub(crate) const fn word<T>(
    form: &'static str,
    help: &'static str,
    set: fn(&mut T, &str) -> Result<(), Diagnostic>,
) -> OptionWord<T> {
    OptionWord { form, help, set: OptionSetter::Value(set) }
}

/// Word of an option and its help text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OptionHelp {
    /// The word as documented.
    pub form: &'static str,
    /// Help text.
    pub help: &'static str,
}

impl<T> OptionWord<T> {
    fn is_placeholder(&self) -> bool {
        self.form.starts_with(|first: char| first.is_ascii_uppercase())
    }

    /// Returns the text for `set` if a word has this form.
    fn value_in<'w>(&self, word: &'w str) -> Option<&'w str> {
        match self.form.split_once('=') {
            _ if self.is_placeholder() => Some(word),
            Some((key, _)) => word.strip_prefix(key)?.strip_prefix('='),
            None => (word == self.form).then_some(word),
        }
    }
}

/// Sets the option that a word names. Returns false if no option has this form.
pub(crate) fn set_option<T>(
    table: &[OptionWord<T>],
    options: &mut T,
    word: &str,
) -> Result<bool, Diagnostic> {
    let (others, named): (Vec<_>, Vec<_>) = table.iter().partition(|option| option.is_placeholder());
    let found = named.into_iter().chain(others).find_map(|option| Some((option, option.value_in(word)?)));
    let Some((option, value)) = found else { return Ok(false) };
    match option.set {
        OptionSetter::Flag(set) => set(options),
        OptionSetter::Value(set) => set(options, value).map_err(|error| {
            let is_alone = table.len() == 1 || !option.is_placeholder();
            if is_alone { error } else { error.note(format!("the words are {}", list_of_forms(table))) }
        })?,
    }
    Ok(true)
}

/// Parses words separated by `+`.
pub(crate) fn parse_options<T>(
    table: &[OptionWord<T>],
    words: &str,
    mut options: T,
) -> Result<T, Diagnostic> {
    for word in words.split('+').filter(|word| !word.is_empty()) {
        if !set_option(table, &mut options, word)? {
            return Err(invalid_option(word, format!("write {}", list_of_forms(table))));
        }
    }
    Ok(options)
}

/// Returns the forms of a table as a list: `` `force`, `explain` or `target=NAME` ``.
pub(crate) fn list_of_forms<T>(table: &[OptionWord<T>]) -> String {
    let forms: Vec<String> = table.iter().map(|option| format!("`{}`", option.form)).collect();
    match forms.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        Some((last, _)) => last.clone(),
        None => "no argument".into(),
    }
}

/// Returns forms and help texts of a table.
pub(crate) fn describe<T>(table: &[OptionWord<T>]) -> Vec<OptionHelp> {
    table.iter().map(|&OptionWord { form, help, .. }| OptionHelp { form, help }).collect()
}
