//! Advice on ranges of managed memory, and where they were prefetched to: kept, and read back (`CUmem_range_attribute`).
//!
//! All memory is the host's, so advice changes nothing else.

use crate::core::error::{CudaError, CudaResult, ensure};
use crate::cuda::*;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Device number of the host (`CU_DEVICE_CPU`).
const CU_DEVICE_CPU: CUdevice = -1;

/// Types of locations (`CUmemLocationType`).
const INVALID_LOCATION: u32 = 0;
const DEVICE_LOCATION: u32 = 1;
const HOST_LOCATION: u32 = 2;
const HOST_NUMA_LOCATION: u32 = 3;
const CURRENT_HOST_NUMA_LOCATION: u32 = 4;

/// Location of memory (`CUmemLocation`).
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RangeLocation {
    /// `CU_MEM_LOCATION_TYPE_…`.
    pub kind: u32,
    /// Number of the device or of the host's node.
    pub id: i32,
}

impl RangeLocation {
    /// Returns the location of a device number; -1 is the host.
    pub fn of_device(device: CUdevice) -> RangeLocation {
        match device {
            CU_DEVICE_CPU => RangeLocation { kind: HOST_LOCATION, id: 0 },
            id => RangeLocation { kind: DEVICE_LOCATION, id },
        }
    }

    /// Returns an error unless there is such a location.
    pub fn check(self) -> CudaResult<()> {
        match self.kind {
            DEVICE_LOCATION => ensure(self.id == 0, CUDA_ERROR_INVALID_DEVICE),
            HOST_LOCATION | HOST_NUMA_LOCATION | CURRENT_HOST_NUMA_LOCATION => Ok(()),
            _ => Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
        }
    }

    fn device(self) -> CUdevice {
        match self.kind {
            DEVICE_LOCATION => self.id,
            INVALID_LOCATION => CU_DEVICE_INVALID,
            _ => CU_DEVICE_CPU,
        }
    }
}

/// Advice on a range.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct RangeAdvice {
    is_read_mostly: bool,
    preferred: RangeLocation,
    /// True if the device, and if the host, accesses the range.
    accessed: [bool; 2],
    prefetched: RangeLocation,
}

/// Numbers of advice (`CUmem_advise`).
const SET_READ_MOSTLY: u32 = 1;
const UNSET_READ_MOSTLY: u32 = 2;
const SET_PREFERRED_LOCATION: u32 = 3;
const UNSET_PREFERRED_LOCATION: u32 = 4;
const SET_ACCESSED_BY: u32 = 5;
const UNSET_ACCESSED_BY: u32 = 6;

/// Numbers of attributes (`CUmem_range_attribute`).
const READ_MOSTLY: u32 = 1;
const PREFERRED_LOCATION: u32 = 2;
const ACCESSED_BY: u32 = 3;
const LAST_PREFETCH_LOCATION: u32 = 4;
const PREFERRED_LOCATION_TYPE: u32 = 5;
const PREFERRED_LOCATION_ID: u32 = 6;
const LAST_PREFETCH_LOCATION_TYPE: u32 = 7;
const LAST_PREFETCH_LOCATION_ID: u32 = 8;

/// Ranges with advice by their starts, with their ends.
type AdvisedRanges = BTreeMap<usize, (usize, RangeAdvice)>;

fn advised() -> MutexGuard<'static, AdvisedRanges> {
    static ADVISED: Mutex<AdvisedRanges> = Mutex::new(BTreeMap::new());
    ADVISED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes an address the start of a range, if it is inside of one.
fn split(ranges: &mut AdvisedRanges, at: usize) {
    let Some((&start, &(end, advice))) = ranges.range(..at).next_back() else { return };
    if at < end {
        ranges.insert(start, (at, advice));
        ranges.insert(at, (end, advice));
    }
}

/// Returns the parts of a range with their advice; the default where there is none.
fn parts(ranges: &AdvisedRanges, start: usize, end: usize) -> Vec<(usize, usize, RangeAdvice)> {
    let first = ranges.range(..start).next_back().map_or(start, |(&first, _)| first);
    let (mut parts, mut at) = (Vec::new(), start);
    for (&known, &(known_end, advice)) in ranges.range(first..end) {
        let (known, known_end) = (known.max(at), known_end.min(end));
        if known >= known_end {
            continue;
        }
        if at < known {
            parts.push((at, known, RangeAdvice::default()));
        }
        parts.push((known, known_end, advice));
        at = known_end;
    }
    if at < end {
        parts.push((at, end, RangeAdvice::default()));
    }
    parts
}

fn change(start: usize, bytes: usize, change: impl Fn(&mut RangeAdvice)) {
    let (mut ranges, end) = (advised(), start.saturating_add(bytes));
    split(&mut ranges, start);
    split(&mut ranges, end);
    for (from, to, mut advice) in parts(&ranges, start, end) {
        change(&mut advice);
        ranges.insert(from, (to, advice));
    }
}

/// Notes advice on a range.
pub fn advise(start: CUdeviceptr, bytes: usize, number: u32, location: RangeLocation) -> CudaResult<()> {
    if matches!(number, SET_PREFERRED_LOCATION | SET_ACCESSED_BY | UNSET_ACCESSED_BY) {
        location.check()?;
    }
    let accessor = usize::from(location.kind != DEVICE_LOCATION);
    let set: &dyn Fn(&mut RangeAdvice) = match number {
        SET_READ_MOSTLY => &|advice| advice.is_read_mostly = true,
        UNSET_READ_MOSTLY => &|advice| advice.is_read_mostly = false,
        SET_PREFERRED_LOCATION => &|advice| advice.preferred = location,
        UNSET_PREFERRED_LOCATION => &|advice| advice.preferred = RangeLocation::default(),
        SET_ACCESSED_BY => &|advice| advice.accessed[accessor] = true,
        UNSET_ACCESSED_BY => &|advice| advice.accessed[accessor] = false,
        _ => return Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
    };
    change(start as usize, bytes, set);
    Ok(())
}

/// Notes that a range was prefetched.
pub fn note_prefetch(start: CUdeviceptr, bytes: usize, location: RangeLocation) {
    change(start as usize, bytes, |advice| advice.prefetched = location);
}

/// Forgets the advice on freed memory.
pub fn forget(start: usize, bytes: usize) {
    let mut ranges = advised();
    if ranges.is_empty() {
        return;
    }
    let end = start.saturating_add(bytes);
    split(&mut ranges, start);
    split(&mut ranges, end);
    ranges.retain(|&at, _| !(start..end).contains(&at));
}

/// Returns an attribute of a range in so many numbers of 32 bits.
pub fn attribute(start: CUdeviceptr, bytes: usize, number: u32, count: usize) -> CudaResult<Vec<i32>> {
    ensure(count > 0 && (number == ACCESSED_BY || count == 1), CUDA_ERROR_INVALID_VALUE)?;
    let parts = parts(&advised(), start as usize, (start as usize).saturating_add(bytes));
    let has = |test: fn(&RangeAdvice) -> bool| parts.iter().all(|(.., advice)| test(advice));
    let common = |location: fn(&RangeAdvice) -> RangeLocation| {
        let mut locations = parts.iter().map(|(.., advice)| location(advice));
        let first = locations.next().unwrap_or_default();
        if locations.all(|other| other == first) { first } else { RangeLocation::default() }
    };
    let (preferred, prefetched) = (common(|advice| advice.preferred), common(|advice| advice.prefetched));
    Ok(vec![match number {
        READ_MOSTLY => has(|advice| advice.is_read_mostly).into(),
        PREFERRED_LOCATION => preferred.device(),
        PREFERRED_LOCATION_TYPE => preferred.kind as i32,
        PREFERRED_LOCATION_ID => preferred.id,
        LAST_PREFETCH_LOCATION => prefetched.device(),
        LAST_PREFETCH_LOCATION_TYPE => prefetched.kind as i32,
        LAST_PREFETCH_LOCATION_ID => prefetched.id,
        ACCESSED_BY => {
            let mut devices = Vec::new();
            devices.extend(has(|advice| advice.accessed[0]).then_some(0));
            devices.extend(has(|advice| advice.accessed[1]).then_some(CU_DEVICE_CPU));
            devices.resize(count.max(devices.len()), CU_DEVICE_INVALID);
            devices.truncate(count);
            return Ok(devices);
        }
        _ => return Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
    }])
}
