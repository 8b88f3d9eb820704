//! Memory of the machine that this process may use: physical memory, limits of its control groups, `ulimit`.
//!
//! Systems promise more memory than they have, and end processes that ask them to keep the promise. So drivers refuse allocations
//! beyond what is free: the minimum of what the system and each limit have left, and of the total less what drivers have given
//! to the application, whose pages may not be backed yet.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that drivers have given to the application.
static GIVEN: AtomicUsize = AtomicUsize::new(0);

/// Notes memory that is given to the application.
pub(crate) fn give(bytes: usize) {
    GIVEN.fetch_add(bytes, Ordering::Relaxed);
}

/// Notes memory that the application has given back.
pub(crate) fn take_back(bytes: usize) {
    GIVEN.fetch_sub(bytes, Ordering::Relaxed);
}

/// Limit of memory, and what is left of it, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct MemoryLimit {
    total: usize,
    free: usize,
}

/// Returns the memory that the process may use, in bytes.
pub fn total_bytes() -> usize {
    static TOTAL: OnceLock<usize> = OnceLock::new();
    *TOTAL.get_or_init(|| limits().map(|limit| limit.total).min().unwrap_or(usize::MAX))
}

/// Returns the memory that is free for the process, in bytes.
pub fn free_bytes() -> usize {
    let total = total_bytes();
    let left = limits().map(|limit| limit.free).min().unwrap_or(usize::MAX);
    let left = left.min(total.saturating_sub(GIVEN.load(Ordering::Relaxed)));
    // The process needs some for itself: page tables, stacks, code.
    left.saturating_sub((total / 64).min(256 << 20))
}

fn limits() -> impl Iterator<Item = MemoryLimit> {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let of_groups = limits_of_groups(&groups, Path::new("/sys/fs/cgroup"));
    limit_of_machine(&info).into_iter().chain(of_groups).chain(limits_of_process(&status))
}

/// Returns the first number behind a name in lines such as `MemTotal:  1024 kB`.
fn number_of(text: &str, name: &str) -> Option<usize> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
}

fn limit_of_machine(info: &str) -> Option<MemoryLimit> {
    let bytes = |name: &str| number_of(info, name)?.checked_mul(1024);
    Some(MemoryLimit { total: bytes("MemTotal")?, free: bytes("MemAvailable").or_else(|| bytes("MemFree"))? })
}

/// Returns the limits of the control groups of the process and of all groups around them, of version 1 and 2.
fn limits_of_groups(groups: &str, root: &Path) -> Vec<MemoryLimit> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let (folder, files) = match controllers {
            "" => (root.to_path_buf(), ["memory.max", "memory.current", "inactive_file"]),
            _ if controllers.split(',').any(|name| name == "memory") => {
                let files = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"];
                (root.join("memory"), files)
            }
            _ => continue,
        };
        let mut group: PathBuf = folder.join(path.trim_start_matches('/'));
        while group.starts_with(&folder) {
            limits.extend(limit_of_group(&group, files));
            if !group.pop() {
                break;
            }
        }
    }
    limits
}

fn limit_of_group(group: &Path, [limit, usage, reclaimable]: [&str; 3]) -> Option<MemoryLimit> {
    let number = |name: &str| std::fs::read_to_string(group.join(name)).ok()?.trim().parse::<usize>().ok();
    // `max` is no number: there is no limit.
    let total = number(limit)?;
    let used = number(usage).unwrap_or(0);
    let facts = std::fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let cached = number_of(&facts, &format!("{reclaimable} ")).unwrap_or(0);
    Some(MemoryLimit { total, free: total.saturating_sub(used.saturating_sub(cached)) })
}

/// Returns the limits that `ulimit -v` and `ulimit -d` set.
fn limits_of_process(status: &str) -> Vec<MemoryLimit> {
    // SAFETY: it asks the system for a number.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    let used = |field: usize| {
        let pages = status.split_whitespace().nth(field).and_then(|text| text.parse::<usize>().ok());
        pages.unwrap_or(0).saturating_mul(page)
    };
    let limit = |which, used: usize| {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: it fills in the limits, which are there.
        let is_known = unsafe { libc::getrlimit(which, &mut limit) } == 0;
        let total = usize::try_from(limit.rlim_cur).ok()?;
        let is_set = is_known && limit.rlim_cur != libc::RLIM_INFINITY;
        is_set.then(|| MemoryLimit { total, free: total.saturating_sub(used) })
    };
    [limit(libc::RLIMIT_AS, used(0)), limit(libc::RLIMIT_DATA, used(5))].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_tells_its_memory() {
        let info = "MemTotal:       2048 kB\nMemFree:   512 kB\nMemAvailable:   1024 kB\n";
        assert_eq!(limit_of_machine(info), Some(MemoryLimit { total: 2 << 20, free: 1 << 20 }));
        assert_eq!(limit_of_machine("MemTotal: x kB\n"), None);
        assert!(total_bytes() > 0 && free_bytes() <= total_bytes());
    }

    #[test]
    fn control_groups_limit_memory() {
        let root = std::env::temp_dir().join(format!("heddle-groups-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("it can be made");
            std::fs::write(path, text).expect("it can be written");
        };
        write("memory.max", "max\n");
        write("outer/memory.max", "4000\n");
        write("outer/memory.current", "1500\n");
        write("outer/memory.stat", "anon 100\ninactive_file 500\nactive_file 7\n");
        write("outer/inner/memory.max", "9000\n");
        write("outer/inner/memory.current", "9001\n");
        write("memory/one/memory.limit_in_bytes", "700\n");
        write("memory/one/memory.usage_in_bytes", "300\n");
        write("memory/one/memory.stat", "inactive_file 1\ntotal_inactive_file 100\n");
        let found = limits_of_groups("4:memory,hugetlb:/one\n1:cpu:/two\n0::/outer/inner\n", &root);
        let _ = std::fs::remove_dir_all(&root);
        let expected = [(700, 500), (9000, 0), (4000, 3000)];
        assert_eq!(found, expected.map(|(total, free)| MemoryLimit { total, free }));
    }
}
