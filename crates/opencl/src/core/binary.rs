//! Program binaries: what `CL_PROGRAM_BINARIES` gives and `clCreateProgramWithBinary` takes.
//!
//! A binary is a header (kind, version, checksum) followed by bitcode. The checksum is there because LLVM's reader does
//! not survive corrupt input.

use crate::cl::*;
use crate::core::error::{ClError, ClResult, ensure};

const MAGIC: &[u8; 8] = b"HEDDLECL";
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " llvm 22.1");

/// Compiled program in serialized form.
#[derive(Clone, Debug)]
pub struct Binary {
    /// `CL_PROGRAM_BINARY_TYPE_…`.
    pub kind: u32,
    /// Build options.
    pub options: String,
    /// True if the last group along a dimension may be smaller than the others.
    pub allows_rest: bool,
    /// Its module.
    pub bitcode: Vec<u8>,
}

fn sum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

fn piece(bytes: &mut Vec<u8>, contents: &[u8]) {
    bytes.extend((contents.len() as u64).to_le_bytes());
    bytes.extend(contents);
}

fn take<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (size, rest) = bytes.split_first_chunk()?;
    let (contents, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*size)).ok()?)?;
    *bytes = rest;
    Some(contents)
}

/// Serializes a binary.
pub fn write(binary: &Binary) -> Vec<u8> {
    let mut body = Vec::new();
    piece(&mut body, VERSION.as_bytes());
    piece(&mut body, &binary.kind.to_le_bytes());
    piece(&mut body, binary.options.as_bytes());
    piece(&mut body, &[u8::from(binary.allows_rest)]);
    piece(&mut body, &binary.bitcode);
    let mut bytes = MAGIC.to_vec();
    bytes.extend(sum(&body).to_le_bytes());
    bytes.extend(body);
    bytes
}

/// Reads what [`write()`] wrote.
pub fn read(bytes: &[u8]) -> ClResult<Binary> {
    let read = || {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (expected, mut body) = rest.split_first_chunk()?;
        if sum(body) != u64::from_le_bytes(*expected) || take(&mut body)? != VERSION.as_bytes() {
            return None;
        }
        let kind = u32::from_le_bytes(take(&mut body)?.try_into().ok()?);
        let options = String::from_utf8(take(&mut body)?.to_vec()).ok()?;
        let allows_rest = take(&mut body)? == [1];
        let bitcode = take(&mut body)?.to_vec();
        Some(Binary { kind, options, allows_rest, bitcode })
    };
    let binary = read().ok_or(ClError(CL_INVALID_BINARY))?;
    let kinds = [
        CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT,
        CL_PROGRAM_BINARY_TYPE_LIBRARY,
        CL_PROGRAM_BINARY_TYPE_EXECUTABLE,
    ];
    ensure(kinds.contains(&binary.kind), CL_INVALID_BINARY)?;
    Ok(binary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_that_was_changed_is_refused() {
        let kind = CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
        let binary = Binary { kind, options: "-w".into(), allows_rest: true, bitcode: vec![1, 2, 3] };
        let bytes = write(&binary);
        assert_eq!(read(&bytes).map(|read| read.bitcode), Ok(vec![1, 2, 3]));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(read(&changed).map(|read| read.kind), Err(ClError(CL_INVALID_BINARY)), "byte {at}");
            assert_eq!(
                read(&bytes[..at]).map(|read| read.kind),
                Err(ClError(CL_INVALID_BINARY)),
                "cut at {at}"
            );
        }
    }
}
