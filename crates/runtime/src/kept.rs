//! Objects of kernels that were compiled before, by this process or another.
//!
//! An object is found by all that it was made from: the program as its keeper names it, the kernel, the launches that it
//! is for, the machine, the options, and the compiler itself, by what its sources sum up to.

use crate::code::{Made, Needs};
use heddle_llvm::ObjectCache;
use std::sync::Arc;

/// What the sources of the compiler sum up to.
pub const COMPILER: &str = env!("HEDDLE_SOURCES");

/// Objects of one program.
#[derive(Clone, Debug)]
pub struct Kept {
    cache: ObjectCache,
    program: Arc<[u8]>,
}

fn word(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (word, rest) = bytes.split_first_chunk()?;
    Some((u64::from_le_bytes(*word), rest))
}

impl Kept {
    /// In a cache, of a program that these bytes tell from all others.
    pub fn new(cache: ObjectCache, program: impl Into<Arc<[u8]>>) -> Kept {
        Kept { cache, program: program.into() }
    }

    /// In the user's cache, if there is one.
    pub fn of_user(program: impl Into<Arc<[u8]>>) -> Option<Kept> {
        ObjectCache::of_user().map(|cache| Kept::new(cache, program))
    }

    /// All that an object is made from; `what` is beside the program.
    pub(crate) fn key_of(&self, what: &str) -> Vec<u8> {
        let mut key = format!("kernel {COMPILER} {:?} {what}", heddle_llvm::version()).into_bytes();
        key.extend_from_slice(&self.program);
        key
    }

    pub(crate) fn find(&self, key: &[u8]) -> Option<Made> {
        let bytes = self.cache.find(key)?;
        let (local_bytes, rest) = word(&bytes)?;
        let (brush_bytes, rest) = word(rest)?;
        let (stack_bytes, rest) = word(rest)?;
        let (size, rest) = word(rest)?;
        let (warnings, object) = rest.split_at_checked(usize::try_from(size).ok()?)?;
        let warnings = String::from_utf8(warnings.to_vec()).ok()?;
        let needs = Needs { local_bytes, brush_bytes, stack_bytes };
        Some(Made { needs, warnings, object: object.to_vec() })
    }

    pub(crate) fn keep(&self, key: &[u8], made: &Made) {
        let mut bytes = made.needs.local_bytes.to_le_bytes().to_vec();
        bytes.extend(made.needs.brush_bytes.to_le_bytes());
        bytes.extend(made.needs.stack_bytes.to_le_bytes());
        bytes.extend((made.warnings.len() as u64).to_le_bytes());
        bytes.extend_from_slice(made.warnings.as_bytes());
        bytes.extend_from_slice(&made.object);
        self.cache.keep(key, &bytes);
    }
}
