//! The tables of `tests/ptx/tables`: their lines, and the numbers in them.

use heddle_ptx::Word;
use heddle_ptx::table::{OperandRole, OperandType, fits, forms_of, pattern};
use std::path::{Path, PathBuf};

/// A line of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableLine {
    /// The line.
    pub text: String,
    /// Instruction with its modifiers.
    pub instruction: String,
    /// Number of the form.
    pub form: u16,
    /// Operands, as they are written.
    pub inputs: Vec<String>,
    /// Results, as they are written.
    pub expected: Vec<String>,
}

/// Returns the modifiers of an instruction; `None` for what is no word.
pub fn words_of(instruction: &str) -> Vec<Option<Word>> {
    let words = instruction.split('.').skip(1);
    words.map(|text| Word::ALL.iter().copied().find(|word| word.text() == text)).collect()
}

fn read_line(text: &str) -> TableLine {
    let (left, right) = text.split_once("=>").unwrap_or_else(|| panic!("no result: {text}"));
    let mut parts = left.split_whitespace();
    let instruction = parts.next().expect("an instruction").to_string();
    let mnemonic = instruction.split('.').next().unwrap_or_default();
    let words = words_of(&instruction);
    let form = forms_of(mnemonic)
        .and_then(|forms| forms.iter().copied().find(|&form| fits(pattern(form), &words)))
        .unwrap_or_else(|| panic!("no such instruction: {text}"));
    TableLine {
        text: text.into(),
        form,
        inputs: parts.map(String::from).collect(),
        expected: right.split_whitespace().map(String::from).collect(),
        instruction,
    }
}

/// The type of an operand; 32 bits where the table leaves it open.
pub fn type_of(role: OperandRole, words: &[Word]) -> Word {
    let types: Vec<Word> = words.iter().copied().filter(|word| word.is_type()).collect();
    let last = types.last().copied().unwrap_or(Word::B32);
    match role {
        OperandRole::Predicate => Word::Pred,
        OperandRole::Value(of) | OperandRole::WithPredicate(of) => match of {
            OperandType::Last => last,
            OperandType::First => types[0],
            OperandType::Second => types[1],
            OperandType::Wide => match last.bits() {
                Some(16) => Word::B32,
                _ => Word::B64,
            },
            OperandType::Fixed(ty) => ty,
            OperandType::Any => Word::B32,
        },
        _ => last,
    }
}

/// The bits of a number of a type.
pub fn bits_of(text: &str, ty: Word) -> u64 {
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).unwrap_or_else(|_| panic!("{text}"));
    }
    let is_fraction = text.contains(['.', 'n', 'e']);
    match ty {
        Word::F32 if is_fraction => text.parse::<f32>().unwrap_or_else(|_| panic!("{text}")).to_bits().into(),
        Word::F64 if is_fraction => text.parse::<f64>().unwrap_or_else(|_| panic!("{text}")).to_bits(),
        _ => text.parse::<i64>().unwrap_or_else(|_| panic!("{text}")) as u64,
    }
}

/// True if a number of a type is NaN.
pub fn is_nan(bits: u64, ty: Word) -> bool {
    match ty {
        Word::F32 => f32::from_bits(bits as u32).is_nan(),
        Word::F64 => f64::from_bits(bits).is_nan(),
        Word::F16 => bits & 0x7fff > 0x7c00,
        Word::Bf16 => bits & 0x7fff > 0x7f80,
        _ => false,
    }
}

/// Mask of the bits that a type has, 64 at most.
pub fn mask(ty: Word) -> u64 {
    u64::MAX >> (64 - ty.bits().unwrap_or(32).min(64))
}

/// Returns the tables: the path and the lines of each.
pub fn tables() -> std::io::Result<Vec<(PathBuf, Vec<TableLine>)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ptx/tables");
    let mut paths = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<PathBuf>, _>>()?;
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path)?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        Ok((path, lines.map(read_line).collect()))
    };
    paths.into_iter().map(read).collect()
}
