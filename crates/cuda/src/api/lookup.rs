//! Entries by their names, as newer applications ask for them.

use super::pointer::{CudaOutput, CudaString};
use crate::core::error::{CudaError, CudaResult};
use crate::cuda::*;
use std::ffi::{CString, c_void};
use std::sync::OnceLock;

/// All entries of the interface, each with its name and version.
pub const ENTRIES: &str = include_str!("entries.txt");

/// Requests the per-thread default stream variant.
const PER_THREAD: u64 = 2;

/// Result of an entry lookup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EntryLookup {
    Entry(*mut c_void),
    Unknown,
    TooNew,
}

/// Strips the version suffix of a name.
fn base(name: &str) -> &str {
    let name = name.strip_suffix("_ptsz").or_else(|| name.strip_suffix("_ptds")).unwrap_or(name);
    match name.rsplit_once("_v") {
        Some((base, version)) if version.len() == 1 && version.as_bytes()[0].is_ascii_digit() => base,
        _ => name,
    }
}

/// Returns the newest entry of a name up to a version. A versioned name means that entry.
fn newest(name: &str, version: i32, per_thread: bool) -> Option<(&'static str, i32)> {
    let is_of = |entry: &str| match base(name) == name {
        true => base(entry) == name,
        false => entry == name,
    };
    let is_per_thread = |entry: &str| entry.ends_with("_ptsz") || entry.ends_with("_ptds");
    let all = ENTRIES.lines().filter_map(|line| {
        let (entry, since) = line.split_once(' ')?;
        Some((entry, since.parse::<i32>().ok()?))
    });
    let of_name =
        all.filter(|&(entry, _)| is_of(entry) && (per_thread || !is_per_thread(entry) || entry == name));
    // A form for threads comes before one that is not, a new one before an old one.
    of_name.max_by_key(|&(entry, since)| (since <= version, is_per_thread(entry) && since <= version, since))
}

/// This library, as the linker knows it.
fn library() -> usize {
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    *LIBRARY.get_or_init(|| {
        // SAFETY: an all-zero record is one; the address is of this library, so the system finds it, and its path is a text.
        unsafe {
            let mut info: libc::Dl_info = std::mem::zeroed();
            let own: unsafe extern "C" fn(u32) -> CUresult = super::device::cuInit;
            if libc::dladdr(own as *const c_void, &mut info) == 0 || info.dli_fname.is_null() {
                return 0;
            }
            libc::dlopen(info.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD).expose_provenance()
        }
    })
}

fn address(entry: &str) -> Option<*mut c_void> {
    let name = CString::new(entry).ok()?;
    let library = std::ptr::with_exposed_provenance_mut(library());
    // SAFETY: the handle is of this library, which is open as long as its code runs, and the name is a text.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

fn find(name: &str, version: i32, flags: u64) -> EntryLookup {
    let per_thread = flags & PER_THREAD != 0;
    match newest(name, version, per_thread) {
        None => EntryLookup::Unknown,
        Some((_, since)) if since > version => EntryLookup::TooNew,
        Some((entry, _)) => address(entry).map_or(EntryLookup::Unknown, EntryLookup::Entry),
    }
}

fn look_up(
    name: CudaString,
    place: CudaOutput<*mut c_void>,
    version: i32,
    flags: u64,
) -> CudaResult<EntryLookup> {
    let name = name.get()?;
    place.ensure()?;
    let found = find(&name, version, flags);
    place.write(if let EntryLookup::Entry(address) = found { address } else { std::ptr::null_mut() })?;
    Ok(found)
}

entries! {
    fn cuGetProcAddress(name: CudaString, place: CudaOutput<*mut c_void>, version: i32, flags: u64) {
        match look_up(name, place, version, flags)? {
            EntryLookup::Entry(_) => Ok(()),
            _ => Err(CudaError(CUDA_ERROR_NOT_FOUND)),
        }
    }

    fn cuGetProcAddress_v2 | cuGetProcAddress_v2_ptsz (
        name: CudaString, place: CudaOutput<*mut c_void>, version: i32, flags: u64, status: CudaOutput<u32>,
    ) {
        let found = look_up(name, place, version, flags)?;
        status.write_if(match found {
            EntryLookup::Entry(_) => 0,
            EntryLookup::Unknown => 1,
            EntryLookup::TooNew => 2,
        });
        // A caller that passes a status pointer gets the status there; otherwise the error code reports it.
        match found {
            EntryLookup::Entry(_) => Ok(()),
            _ if !status.is_null() => Ok(()),
            _ => Err(CudaError(CUDA_ERROR_NOT_FOUND)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::newest;

    #[test]
    fn names_mean_the_newest_entry_that_a_version_knows() {
        let entry = |name, version, per_thread| newest(name, version, per_thread).map(|(entry, _)| entry);
        assert_eq!(entry("cuMemAlloc", 12000, false), Some("cuMemAlloc_v2"));
        assert_eq!(entry("cuMemAlloc", 2000, false), Some("cuMemAlloc"));
        assert_eq!(entry("cuMemAlloc_v2", 12000, false), Some("cuMemAlloc_v2"));
        assert_eq!(entry("cuLaunchKernel", 12000, true), Some("cuLaunchKernel_ptsz"));
        assert_eq!(entry("cuLaunchKernel", 12000, false), Some("cuLaunchKernel"));
        assert_eq!(entry("cuMemAlloc", 12000, true), Some("cuMemAlloc_v2"));
        assert_eq!(entry("cuStreamGetCaptureInfo", 11030, false), Some("cuStreamGetCaptureInfo_v2"));
        assert_eq!(entry("cuNothing", 12000, false), None);
        assert_eq!(newest("cuLaunchKernel", 2000, false), Some(("cuLaunchKernel", 4000)));
    }
}
