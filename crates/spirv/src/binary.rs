//! Reader of the binary form: words, header, instructions, operands.

use crate::error::{SpirvError, SpirvResult, opcode_name};
use spirv::{MAGIC_NUMBER, Op};

/// Words of the header.
const HEADER: usize = 5;
/// Maximum id bound, a universal limit of the specification.
const MAX_BOUND: u32 = 0x40_0000;

/// True if the bytes start like a SPIR-V module of either byte order.
pub fn is_spirv(bytes: &[u8]) -> bool {
    bytes
        .first_chunk()
        .is_some_and(|first| [u32::from_le_bytes(*first), u32::from_be_bytes(*first)].contains(&MAGIC_NUMBER))
}

/// Instruction: opcode and operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpirvInst<'w> {
    /// Opcode; none if the grammar lacks it.
    pub(crate) op: Option<Op>,
    /// Number of the opcode.
    pub(crate) number: u32,
    /// Offset of its first word in the module.
    pub(crate) at: usize,
    /// Operands.
    pub(crate) words: &'w [u32],
}

impl<'w> SpirvInst<'w> {
    /// Name in the specification.
    pub(crate) fn name(&self) -> String {
        self.op.map_or_else(|| format!("opcode {}", self.number), opcode_name)
    }

    /// Returns a reader of the operands.
    pub(crate) fn operands(&self) -> SpirvOperands<'w> {
        SpirvOperands { words: self.words, at: self.at }
    }

    /// Makes an error for a broken rule.
    pub(crate) fn invalid(&self, reason: impl Into<String>) -> SpirvError {
        SpirvError::invalid(self.at, reason).of(|| self.name())
    }

    /// Makes an error for a missing feature.
    pub(crate) fn unsupported(&self, reason: impl Into<String>, help: impl Into<String>) -> SpirvError {
        SpirvError::unsupported(self.at, reason, help).of(|| self.name())
    }

    /// Returns the operand at an index.
    pub(crate) fn operand(&self, index: usize) -> SpirvResult<u32> {
        self.words.get(index).copied().ok_or_else(|| self.invalid("the instruction is too short"))
    }
}

/// Reader of an instruction's operands.
#[derive(Clone, Debug)]
pub(crate) struct SpirvOperands<'w> {
    words: &'w [u32],
    at: usize,
}

impl<'w> SpirvOperands<'w> {
    /// Reads an id or a literal of one word.
    pub(crate) fn word(&mut self) -> SpirvResult<u32> {
        match self.words {
            [] => Err(SpirvError::invalid(self.at, "the instruction is too short")),
            [first, rest @ ..] => {
                self.words = rest;
                Ok(*first)
            }
        }
    }

    /// Reads an optional word.
    pub(crate) fn optional(&mut self) -> Option<u32> {
        self.word().ok()
    }

    /// Reads a string. Invalid UTF-8 is replaced.
    pub(crate) fn string(&mut self) -> SpirvResult<String> {
        let mut bytes = Vec::new();
        loop {
            let word = self.word()?.to_le_bytes();
            match word.iter().position(|&byte| byte == 0) {
                Some(end) => {
                    bytes.extend_from_slice(&word[..end]);
                    return Ok(String::from_utf8_lossy(&bytes).into_owned());
                }
                None => bytes.extend_from_slice(&word),
            }
        }
    }

    /// Returns the remaining words.
    pub(crate) fn rest(&self) -> &'w [u32] {
        self.words
    }
}

/// Words of a module in the machine's byte order, with the header checked.
#[derive(Clone, Debug)]
pub(crate) struct SpirvBinary {
    words: Vec<u32>,
    /// All ids are below it.
    pub(crate) bound: u32,
}

impl SpirvBinary {
    /// Reads a module of either byte order.
    pub(crate) fn read(bytes: &[u8]) -> SpirvResult<SpirvBinary> {
        if !is_spirv(bytes) {
            return Err(SpirvError::invalid(0, "the magic number 0x07230203 is missing"));
        }
        let (chunks, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(SpirvError::invalid(
                chunks.len(),
                "the size of the module is no multiple of four bytes",
            ));
        }
        let is_little = bytes.starts_with(&MAGIC_NUMBER.to_le_bytes());
        let word =
            |chunk: &[u8; 4]| if is_little { u32::from_le_bytes(*chunk) } else { u32::from_be_bytes(*chunk) };
        let words: Vec<u32> = chunks.iter().map(word).collect();
        let [_, version, _, bound, _, ..] = words[..] else {
            return Err(SpirvError::invalid(words.len(), "the header ends early"));
        };
        let [minor, major] = [version >> 8 & 0xff, version >> 16];
        if major != 1 || minor > u32::from(spirv::MINOR_VERSION) {
            let reason = format!("the version {major}.{minor} is unknown");
            return Err(SpirvError::unsupported(1, reason, "write a module of version 1.0 to 1.6"));
        }
        if bound > MAX_BOUND {
            return Err(SpirvError::invalid(3, format!("the id bound {bound} exceeds {MAX_BOUND}")));
        }
        Ok(SpirvBinary { words, bound })
    }

    /// Returns the instructions; the first error ends them.
    pub(crate) fn instructions(&self) -> SpirvResult<Vec<SpirvInst<'_>>> {
        let mut found = Vec::new();
        let mut at = HEADER;
        while let Some(&first) = self.words.get(at) {
            let (number, count) = (first & 0xffff, (first >> 16) as usize);
            let op = Op::from_u32(number);
            let Some([_, words @ ..]) = at.checked_add(count).and_then(|end| self.words.get(at..end)) else {
                let reason = match count {
                    0 => "the word count of an instruction is zero".to_string(),
                    _ => format!("an instruction of {count} words exceeds the module"),
                };
                return Err(SpirvError::invalid(at, reason));
            };
            found.push(SpirvInst { op, number, at, words });
            at += count;
        }
        Ok(found)
    }

    /// Returns the number of words.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }
}
