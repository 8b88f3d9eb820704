//! Compiled objects, kept in a folder.
//!
//! An entry holds all that its object was made from (the module as text, the machine, the options, the versions) beside
//! the object, so two modules never share one. Who reads an entry that is cut off, changed or another's finds nothing.
//! Entries are written whole or not at all; what cannot be written is compiled again next time.

use crate::cache_folder::{cache_folder, hash_of, write_whole};
use std::path::PathBuf;

const MAGIC: &[u8; 16] = b"heddle object 1\n";
/// The most entries; of more, the older half goes.
const MOST: usize = 256;

/// A folder with compiled objects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectCache {
    folder: PathBuf,
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (word, rest) = bytes.split_at_checked(8)?;
    Some((u64::from_le_bytes(word.try_into().ok()?), rest))
}

impl ObjectCache {
    /// In a folder, which need not be there.
    pub fn at(folder: impl Into<PathBuf>) -> ObjectCache {
        ObjectCache { folder: folder.into() }
    }

    /// The user's: below `HEDDLE_CACHE`, or else in the folder that the system has for such things. None if there is none.
    pub fn of_user() -> Option<ObjectCache> {
        cache_folder().map(|folder| ObjectCache::at(folder.join("objects")))
    }

    fn path(&self, key: &[u8]) -> PathBuf {
        self.folder.join(format!("{:016x}.o", hash_of(key)))
    }

    /// The object that was made from this.
    pub(crate) fn find(&self, key: &[u8]) -> Option<Vec<u8>> {
        let bytes = std::fs::read(self.path(key)).ok()?;
        let rest = bytes.strip_prefix(MAGIC)?;
        let (sum, rest) = number(rest)?;
        if sum != hash_of(rest) {
            return None;
        }
        let (len, rest) = number(rest)?;
        let (known, object) = rest.split_at_checked(usize::try_from(len).ok()?)?;
        (known == key).then(|| object.to_vec())
    }

    /// Keeps the object that was made from this.
    pub(crate) fn keep(&self, key: &[u8], object: &[u8]) {
        let mut rest = (key.len() as u64).to_le_bytes().to_vec();
        rest.extend_from_slice(key);
        rest.extend_from_slice(object);
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&hash_of(&rest).to_le_bytes());
        bytes.extend_from_slice(&rest);
        if write_whole(&self.path(key), &bytes).is_ok() {
            self.thin_out();
        }
    }

    fn thin_out(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let mut entries: Vec<_> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
            })
            .collect();
        if entries.len() > MOST {
            entries.sort();
            entries[..MOST / 2].iter().for_each(|(_, path)| _ = std::fs::remove_file(path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // An entry of another module that happens to have this name is not taken.
        std::fs::copy(cache.path(b"key"), cache.path(b"another")).expect("it can be copied");
        std::fs::write(cache.path(b"another"), &whole).expect("it can be written");
        assert_eq!(cache.find(b"another"), None);
        for count in 0..2 * MOST {
            cache.keep(format!("{count}").as_bytes(), b"");
        }
        let left = std::fs::read_dir(&folder).expect("it can be listed").count();
        assert!((MOST / 2..=MOST + 1).contains(&left), "{left}");
        std::fs::remove_dir_all(&folder).expect("it can be removed");
    }
}
