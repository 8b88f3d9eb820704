//! Lock of a cache entry while a process makes it.
//!
//! `flock` holds where the file system has it: the kernel gives it up with the process. A file system without locks (NFS
//! whose lock service is away answers `ENOLCK`, others `EOPNOTSUPP`) still creates a file exclusively: the lock is then a *lease*, a file
//! that names its holder. A lease whose holder died on this machine is passed over at once; one of another machine after
//! `LEASE`. Leases are numbered, and a lease that is passed over stays, so two that find it dead do not both replace it.
//!
//! Where `flock` is local to each machine (NFS mounted with `nolock`), each machine makes the entry once. No lock matters for
//! results: entries are renamed into their place.

use std::fs::{File, TryLockError};
use std::io::{Error, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Maximum time to wait for an entry that another process makes.
const PATIENCE: Duration = Duration::from_secs(120);
/// Time after which a lease of another machine is passed over.
const LEASE: Duration = Duration::from_secs(20);

/// Extensions of locked files and of leases.
const LOCK: &str = "lock";
const LEASED: &str = "lease";

/// Right to make an entry, which other processes wait for. Dropping it lets them go on.
#[derive(Debug)]
pub struct EntryLock {
    /// Keeps the lock of `flock`.
    _file: Option<File>,
    /// Files that go with the lock.
    paths: Vec<PathBuf>,
}

impl Drop for EntryLock {
    fn drop(&mut self) {
        // Who opens a new file of this name finds the entry, and those who wait at this one do, too.
        for path in &self.paths {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Growing pauses of a process that waits.
struct Waiting {
    start: Instant,
    pause: Duration,
}

impl Waiting {
    fn new() -> Waiting {
        Waiting { start: Instant::now(), pause: Duration::from_millis(1) }
    }

    /// Sleeps; false if the process has waited long enough.
    fn sleeps(&mut self) -> bool {
        if self.start.elapsed() >= PATIENCE {
            return false;
        }
        std::thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(Duration::from_millis(10));
        true
    }
}

impl EntryLock {
    /// Goes on without a lock.
    fn none() -> EntryLock {
        EntryLock { _file: None, paths: Vec::new() }
    }

    /// Locks an entry; `is_made` ends the wait for a lease. Where no lock is possible, or after two minutes, the caller goes on
    /// without one.
    pub(crate) fn acquire(entry: &Path, is_made: impl Fn() -> bool) -> EntryLock {
        let path = entry.with_extension(LOCK);
        let folder = entry.parent().unwrap_or(Path::new("."));
        let opened = std::fs::create_dir_all(folder)
            .and_then(|()| File::options().create(true).write(true).truncate(false).open(&path));
        let Ok(file) = opened else { return EntryLock::none() };
        let mut waiting = Waiting::new();
        loop {
            match file.try_lock() {
                Ok(()) => return EntryLock { _file: Some(file), paths: vec![path] },
                Err(TryLockError::WouldBlock) if waiting.sleeps() => {}
                Err(TryLockError::WouldBlock) => return EntryLock::none(),
                Err(TryLockError::Error(_)) => break,
            }
        }
        let _ = std::fs::remove_file(path);
        EntryLock::lease(entry, is_made).unwrap_or_else(|_| EntryLock::none())
    }

    /// Creates the first lease that is free.
    fn lease(entry: &Path, is_made: impl Fn() -> bool) -> Result<EntryLock, Error> {
        let mut paths = Vec::new();
        let mut waiting = Waiting::new();
        let holder = holder();
        loop {
            let path = entry.with_extension(format!("{}.{LEASED}", paths.len()));
            match File::options().write(true).create_new(true).open(&path) {
                Ok(mut file) => {
                    paths.push(path);
                    let lock = EntryLock { _file: None, paths };
                    file.write_all(holder.as_bytes())?;
                    return Ok(lock);
                }
                Err(reason) if reason.kind() != ErrorKind::AlreadyExists => return Err(reason),
                Err(_) => {}
            }
            match Lease::wait(&path, &mut waiting, &is_made) {
                Lease::Free => {}
                Lease::Dead => paths.push(path),
                Lease::Vain => return Ok(EntryLock::none()),
            }
        }
    }
}

/// Outcome of the wait for another process's lease.
enum Lease {
    /// The file is gone.
    Free,
    /// Its holder is gone, or too slow.
    Dead,
    /// The entry is there, or the process has waited long enough.
    Vain,
}

impl Lease {
    fn wait(path: &Path, waiting: &mut Waiting, is_made: impl Fn() -> bool) -> Lease {
        let start = Instant::now();
        loop {
            match std::fs::read_to_string(path) {
                Err(_) => return Lease::Free,
                Ok(holder) if is_gone(&holder) || start.elapsed() >= LEASE => return Lease::Dead,
                Ok(_) => {}
            }
            if is_made() || !waiting.sleeps() {
                return Lease::Vain;
            }
        }
    }
}

/// Machine and process namespace in which a process number means one process.
fn machine() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {}", boot.trim(), namespace.display())
}

/// Name of this process in a lease.
fn holder() -> String {
    format!("{}\n{}\n", machine(), std::process::id())
}

/// True if the holder was a process of this machine that has ended.
fn is_gone(holder: &str) -> bool {
    let mut lines = holder.lines();
    let (Some(place), Some(process)) = (lines.next(), lines.next()) else { return false };
    place == machine() && holder.ends_with('\n') && !Path::new("/proc").join(process).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_of_a_dead_process_is_passed_over() {
        let folder = std::env::temp_dir().join(format!("heddle-lease-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("it can be written");
        let entry = folder.join("entry.o");
        let mut child = std::process::Command::new("true").spawn().expect("it starts");
        let dead = child.id();
        child.wait().expect("it ends");
        let first = folder.join("entry.0.lease");
        std::fs::write(&first, format!("{}\n{dead}\n", machine())).expect("it can be written");
        let lock = EntryLock::lease(&entry, || false).expect("it can be written");
        assert_eq!(lock.paths, [first, folder.join("entry.1.lease")]);
        // A second process waits for the living holder until the entry is there.
        let vain = EntryLock::lease(&entry, || true).expect("it can be written");
        assert!(vain.paths.is_empty());
        drop(lock);
        assert_eq!(std::fs::read_dir(&folder).expect("it can be listed").count(), 0);
        std::fs::remove_dir_all(&folder).expect("it can be removed");
    }

    #[test]
    fn holders_of_other_machines_and_half_written_names_count_as_alive() {
        assert!(!is_gone(&holder()) && !is_gone("") && !is_gone("another pid:[1]\n999999999\n"));
        let gone = format!("{}\n999999999\n", machine());
        assert!(is_gone(&gone) && !is_gone(gone.trim_end()));
    }
}
