//! Objects of kernels that were compiled before, by this process or another.
//!
//! An object is found by all that it was made from: the program as its keeper names it, the kernel, the launches that it
//! is for, the machine, the options, and the compiler itself, by what its sources sum up to.

use crate::code::{CompiledKernel, GroupRequirements};
use crate::selection::{CodeTraits, TRAIT_WORDS};
use heddle_llvm::{CacheSearch, EntryLock, ObjectCache};
use std::sync::Arc;
use std::time::Duration;

/// Checksum of the compiler's sources.
pub const COMPILER: &str = env!("HEDDLE_SOURCES");

/// Folder of the choices among codes, next to that of the objects.
pub(crate) const CHOICES: &str = "choices";

/// Folder of the estimates of codes, next to that of the objects.
const ESTIMATES: &str = "estimates";

/// Returns the user's caches of objects, choices and estimates; none if nothing is kept.
pub fn user_caches() -> Option<[ObjectCache; 3]> {
    let objects = ObjectCache::of_user()?;
    let (choices, estimates) = (objects.sibling(CHOICES), objects.sibling(ESTIMATES));
    Some([objects, choices, estimates])
}

/// Objects of one program.
#[derive(Clone, Debug)]
pub struct KernelCache {
    cache: ObjectCache,
    program: Arc<[u8]>,
}

fn word(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (word, rest) = bytes.split_first_chunk()?;
    Some((u64::from_le_bytes(*word), rest))
}

impl KernelCache {
    /// In a cache, of a program that these bytes tell from all others.
    pub fn new(cache: ObjectCache, program: impl Into<Arc<[u8]>>) -> KernelCache {
        KernelCache { cache, program: program.into() }
    }

    /// In the user's cache, if there is one.
    pub fn of_user(program: impl Into<Arc<[u8]>>) -> Option<KernelCache> {
        ObjectCache::of_user().map(|cache| KernelCache::new(cache, program))
    }

    /// All that an object is made from; `what` is next to the program.
    pub(crate) fn key_of(&self, what: &str) -> Vec<u8> {
        let mut key = format!("kernel {COMPILER} {:?} {what}", heddle_llvm::version()).into_bytes();
        key.extend_from_slice(&self.program);
        key
    }

    pub(crate) fn find(&self, key: &[u8]) -> Option<CompiledKernel> {
        Self::parse(&self.cache.find(key)?)
    }

    /// Returns the object of a key, or the right to make it. What cannot be read is made without a lock.
    pub(crate) fn find_or_lock(&self, key: &[u8]) -> Result<CompiledKernel, Option<EntryLock>> {
        match self.cache.find_or_lock(key) {
            CacheSearch::Found(bytes) => Self::parse(&bytes).ok_or(None),
            CacheSearch::Missing(lock) => Err(Some(lock)),
        }
    }

    fn parse(bytes: &[u8]) -> Option<CompiledKernel> {
        let (local_bytes, rest) = word(bytes)?;
        let (brush_bytes, rest) = word(rest)?;
        let (stack_bytes, rest) = word(rest)?;
        let (status, rest) = word(rest)?;
        let (compile_time, mut rest) = word(rest)?;
        let mut traits = [0; TRAIT_WORDS];
        for entry in &mut traits {
            (*entry, rest) = word(rest)?;
        }
        let (size, rest) = word(rest)?;
        let (warnings, object) = rest.split_at_checked(usize::try_from(size).ok()?)?;
        let warnings = String::from_utf8(warnings.to_vec()).ok()?;
        let status_offset = (status != u64::MAX).then_some(status);
        let needs = GroupRequirements { local_bytes, brush_bytes, stack_bytes, status_offset };
        let (traits, compile_time) = (CodeTraits::of_words(traits), Duration::from_nanos(compile_time));
        Some(CompiledKernel { needs, warnings, traits, compile_time, object: object.to_vec() })
    }

    pub(crate) fn keep(&self, key: &[u8], made: &CompiledKernel) {
        let mut bytes = made.needs.local_bytes.to_le_bytes().to_vec();
        bytes.extend(made.needs.brush_bytes.to_le_bytes());
        bytes.extend(made.needs.stack_bytes.to_le_bytes());
        bytes.extend(made.needs.status_offset.unwrap_or(u64::MAX).to_le_bytes());
        let compile_time = u64::try_from(made.compile_time.as_nanos()).unwrap_or(u64::MAX);
        bytes.extend(compile_time.to_le_bytes());
        made.traits.to_words().iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend((made.warnings.len() as u64).to_le_bytes());
        bytes.extend_from_slice(made.warnings.as_bytes());
        bytes.extend_from_slice(&made.object);
        self.cache.keep(key, &bytes);
    }

    /// Choices that are kept for a kernel, as text.
    pub(crate) fn find_choices(&self, key: &[u8]) -> Option<String> {
        String::from_utf8(self.cache.sibling(CHOICES).find(key)?).ok()
    }

    /// Estimates that are kept for a kernel, as text.
    pub(crate) fn find_estimates(&self, key: &[u8]) -> Option<String> {
        String::from_utf8(self.cache.sibling(ESTIMATES).find(key)?).ok()
    }

    pub(crate) fn keep_estimates(&self, key: &[u8], text: &str) {
        self.cache.sibling(ESTIMATES).keep(key, text.as_bytes());
    }

    pub(crate) fn keep_choices(&self, key: &[u8], text: &str) {
        self.cache.sibling(CHOICES).keep(key, text.as_bytes());
    }
}
