//! On-disk cache of compiled objects.
//!
//! An entry holds its full key (module text, machine, options, versions) next to the object, so modules never share
//! an entry. A truncated, changed or foreign entry is a miss. Entries are written atomically, so processes may share
//! a folder; a failed write is compiled again next time. Beyond the size limit the least recently used entries are
//! deleted.
//!
//! Processes that miss the same entry at once compile it once: the first locks it (`entry_lock.rs`), the others wait.
//! A second folder, which is only read, may hold entries for all machines of a cluster.

use crate::cache_folder::{cache_folder, folder_of, hash_of, write_whole};
use crate::entry_lock::EntryLock;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

const MAGIC: &[u8; 16] = b"heddle object 1\n";
/// Default size limit in bytes; beyond the limit, half the cache is deleted.
const DEFAULT_LIMIT: u64 = 512 << 20;
/// Number of writes between size checks.
const WRITES: u32 = 32;
/// A hit refreshes an entry's time if it is older than this.
const REST: Duration = Duration::from_secs(3600);

/// Extension of entries.
const ENTRY: &str = "o";

/// Cache folder and its size limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectCache {
    folder: PathBuf,
    /// Folder that is searched after the own one, and never written.
    seed: Option<PathBuf>,
    most: u64,
}

/// Result of a search for an entry.
#[derive(Debug)]
pub enum CacheSearch {
    /// The object.
    Found(Vec<u8>),
    /// No entry. The caller makes it while it holds the lock.
    Missing(EntryLock),
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (word, rest) = bytes.split_at_checked(8)?;
    Some((u64::from_le_bytes(word.try_into().ok()?), rest))
}

/// Splits the bytes of an entry into its key and its object; none if they were cut off or changed.
fn parse_entry(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (sum, rest) = number(bytes.strip_prefix(MAGIC)?)?;
    if sum != hash_of(rest) {
        return None;
    }
    let (len, rest) = number(rest)?;
    rest.split_at_checked(usize::try_from(len).ok()?)
}

impl ObjectCache {
    /// Returns the cache in a folder, which may not exist yet.
    pub fn at(folder: impl Into<PathBuf>) -> ObjectCache {
        ObjectCache { folder: folder.into(), seed: None, most: DEFAULT_LIMIT }
    }

    /// Adds a folder whose entries are found, too, and never change.
    #[must_use]
    pub fn with_seed(self, folder: impl Into<PathBuf>) -> ObjectCache {
        ObjectCache { seed: Some(folder.into()), ..self }
    }

    /// Limits the size in bytes; checked once in 32 writes.
    #[must_use]
    pub fn with_limit(self, most: u64) -> ObjectCache {
        ObjectCache { most, ..self }
    }

    /// Returns the user's cache, in `HEDDLE_CACHE_DIR` or the system's cache folder, limited to `HEDDLE_CACHE_SIZE`
    /// MiB, with `HEDDLE_CACHE_SEED` as the folder that is only read. None without such a folder, or if `HEDDLE_CACHE` is 0.
    pub fn of_user() -> Option<ObjectCache> {
        let variable = |name| std::env::var(name).ok();
        if variable("HEDDLE_CACHE").is_some_and(|value| value.trim() == "0") {
            return None;
        }
        let cache = ObjectCache::at(cache_folder()?.join("objects"));
        let cache = match folder_of("HEDDLE_CACHE_SEED") {
            Some(seed) => cache.with_seed(seed.join("objects")),
            None => cache,
        };
        let size = variable("HEDDLE_CACHE_SIZE").and_then(|size| size.trim().parse::<u64>().ok());
        Some(cache.with_limit(size.map_or(DEFAULT_LIMIT, |size| size.saturating_mul(1 << 20))))
    }

    /// Cache in a folder next to this one, with the same limit.
    #[must_use]
    pub fn sibling(&self, name: &str) -> ObjectCache {
        let seed = self.seed.as_ref().map(|seed| seed.with_file_name(name));
        ObjectCache { folder: self.folder.with_file_name(name), seed, most: self.most }
    }

    /// Folder of the cache.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Number of entries and their bytes.
    pub fn size(&self) -> (usize, u64) {
        let sizes = self.paths().into_iter().filter_map(|path| Some(path.metadata().ok()?.len()));
        sizes.fold((0, 0), |(count, bytes), size| (count + 1, bytes + size))
    }

    /// Files of the entries, in the order of their names.
    fn paths(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let mut paths: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|it| it == ENTRY)).collect();
        paths.sort();
        paths
    }

    /// Contents of all entries that are whole, in the order of their names.
    pub fn contents(&self) -> Vec<Vec<u8>> {
        let content = |path: PathBuf| Some(parse_entry(&std::fs::read(path).ok()?)?.1.to_vec());
        self.paths().into_iter().filter_map(content).collect()
    }

    /// Copies all entries of another cache that are whole; returns their number.
    pub fn import(&self, other: &ObjectCache) -> std::io::Result<usize> {
        let mut count = 0;
        for path in other.paths() {
            let bytes = std::fs::read(&path)?;
            if let (Some(_), Some(name)) = (parse_entry(&bytes), path.file_name()) {
                write_whole(&self.folder.join(name), &bytes)?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// Deletes all entries; returns their number.
    pub fn clear(&self) -> std::io::Result<usize> {
        let paths = self.paths();
        paths.iter().try_for_each(std::fs::remove_file)?;
        Ok(paths.len())
    }

    fn file_name(key: &[u8]) -> String {
        format!("{:016x}.{ENTRY}", hash_of(key))
    }

    fn path(&self, key: &[u8]) -> PathBuf {
        self.folder.join(Self::file_name(key))
    }

    /// Returns the object for a key. On a miss, waits while another process makes it, for two minutes at most.
    pub fn find_or_lock(&self, key: &[u8]) -> CacheSearch {
        if let Some(object) = self.find(key) {
            return CacheSearch::Found(object);
        }
        let lock = EntryLock::acquire(&self.path(key), || self.find(key).is_some());
        match self.find(key) {
            Some(object) => CacheSearch::Found(object),
            None => CacheSearch::Missing(lock),
        }
    }

    /// Returns the object for a key, in the own folder or the seed.
    pub fn find(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.find_own(key).or_else(|| {
            let bytes = std::fs::read(self.seed.as_ref()?.join(Self::file_name(key))).ok()?;
            let (known, object) = parse_entry(&bytes)?;
            (known == key).then(|| object.to_vec())
        })
    }

    fn find_own(&self, key: &[u8]) -> Option<Vec<u8>> {
        let mut file = File::open(self.path(key)).ok()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        let (known, object) = parse_entry(&bytes)?;
        if known != key {
            return None;
        }
        let now = SystemTime::now();
        let written = file.metadata().and_then(|about| about.modified()).unwrap_or(now);
        if now.duration_since(written).is_ok_and(|age| age > REST) {
            // If this fails, the entry is deleted sooner.
            let _ = file.set_modified(now);
        }
        Some(object.to_vec())
    }

    /// Stores the object for a key.
    pub fn keep(&self, key: &[u8], object: &[u8]) {
        let mut rest = (key.len() as u64).to_le_bytes().to_vec();
        rest.extend_from_slice(key);
        rest.extend_from_slice(object);
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&hash_of(&rest).to_le_bytes());
        bytes.extend_from_slice(&rest);
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if write_whole(&self.path(key), &bytes).is_ok()
            && COUNT.fetch_add(1, Ordering::Relaxed).is_multiple_of(WRITES)
        {
            self.evict();
        }
    }

    fn evict(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let known = entries.filter_map(|entry| {
            let entry = entry.ok()?;
            let about = entry.metadata().ok()?;
            Some((about.modified().ok()?, entry.path(), about.len()))
        });
        let mut entries: Vec<_> = known.collect();
        let mut bytes: u64 = entries.iter().map(|(_, _, size)| size).sum();
        if bytes <= self.most {
            return;
        }
        entries.sort();
        for (_, path, size) in entries {
            if bytes <= self.most / 2 {
                return;
            }
            // Another process may have been first.
            let _ = std::fs::remove_file(path);
            bytes -= size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_many_makes_an_entry_and_a_seed_is_only_read() {
        let folder = std::env::temp_dir().join(format!("heddle-objects-lock-{}", std::process::id()));
        let cache = ObjectCache::at(folder.join("objects"));
        let made = AtomicU32::new(0);
        let search = || match cache.find_or_lock(b"key") {
            CacheSearch::Found(object) => object,
            CacheSearch::Missing(_lock) => {
                made.fetch_add(1, Ordering::Relaxed);
                // Others come to the lock meanwhile.
                std::thread::sleep(Duration::from_millis(20));
                cache.keep(b"key", b"object");
                b"object".to_vec()
            }
        };
        std::thread::scope(|scope| {
            let searches: Vec<_> = (0..16).map(|_| scope.spawn(search)).collect();
            for search in searches {
                assert_eq!(search.join().expect("no search panics"), b"object");
            }
        });
        assert_eq!(made.load(Ordering::Relaxed), 1);
        assert_eq!(cache.size().0, 1);
        let seeded = ObjectCache::at(folder.join("own")).with_seed(folder.join("objects"));
        assert_eq!(seeded.find(b"key").as_deref(), Some(&b"object"[..]));
        assert_eq!(seeded.size().0, 0);
        assert_eq!(seeded.import(&cache).expect("it can be written"), 1);
        assert_eq!(seeded.clear().expect("it can be written"), 1);
        std::fs::remove_dir_all(&folder).expect("it can be removed");
    }

    #[test]
    fn what_is_kept_is_found_and_what_is_bent_is_not() {
        let folder = std::env::temp_dir().join(format!("heddle-objects-{}", std::process::id()));
        let cache = ObjectCache::at(&folder);
        assert_eq!(cache.find(b"key"), None);
        cache.keep(b"key", b"object");
        assert_eq!(cache.find(b"key").as_deref(), Some(&b"object"[..]));
        assert_eq!(cache.find(b"another"), None);
        let path = cache.path(b"key");
        let whole = std::fs::read(&path).expect("it is there");
        for at in 0..whole.len() {
            let mut bent = whole.clone();
            bent[at] ^= 1;
            std::fs::write(&path, &bent).expect("it can be written");
            assert_eq!(cache.find(b"key"), None, "byte {at}");
            std::fs::write(&path, &whole[..at]).expect("it can be written");
            assert_eq!(cache.find(b"key"), None, "cut at {at}");
        }
        // An entry with another key under this file name is a miss.
        std::fs::copy(cache.path(b"key"), cache.path(b"another")).expect("it can be copied");
        std::fs::write(cache.path(b"another"), &whole).expect("it can be written");
        assert_eq!(cache.find(b"another"), None);
        let small = cache.with_limit(10_000);
        let times = [(b"old", SystemTime::UNIX_EPOCH), (b"new", SystemTime::now() + 24 * REST)];
        for (key, time) in times {
            small.keep(key, b"object");
            let file = File::options().append(true).open(small.path(key)).expect("it is there");
            file.set_modified(time).expect("its time can be set");
        }
        for count in 0..4 * WRITES {
            small.keep(format!("{count}").as_bytes(), &[0; 1000]);
        }
        let left: Vec<_> = std::fs::read_dir(&folder).expect("it can be listed").flatten().collect();
        let bytes: u64 = left.iter().map(|entry| entry.metadata().expect("it is there").len()).sum();
        assert!(bytes <= 10_000 + u64::from(WRITES) * 1_100, "{bytes}");
        assert_eq!(small.find(b"old"), None);
        assert_eq!(small.find(b"new").as_deref(), Some(&b"object"[..]));
        std::fs::remove_dir_all(&folder).expect("it can be removed");
    }
}
