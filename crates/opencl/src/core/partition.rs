//! Partitions of devices into sub-devices.
//!
//! Domains of affinity are those of memory (NUMA). A device within one domain has no scheme by affinity, and one of a single compute
//! unit has no scheme at all.

use crate::cl::*;
use crate::core::device::Device;
use crate::core::error::{ClError, ClResult, ensure};
use std::ops::Range;
use std::sync::Arc;

/// Partition that a sub-device comes from.
#[derive(Debug)]
pub struct DeviceOrigin {
    /// Device that was partitioned.
    pub parent: Arc<Device>,
    /// Partition properties, with the terminating zero.
    pub properties: Vec<isize>,
}

/// Compute units of each part, and the partition properties that are reported.
#[derive(PartialEq, Eq, Debug)]
struct PartitionPlan {
    parts: Vec<Range<u32>>,
    properties: Vec<isize>,
}

impl PartitionPlan {
    /// Divides compute units, which belong to these domains, by a list of properties.
    fn new(units: Range<u32>, domains: &[Range<u32>], properties: &[isize]) -> ClResult<PartitionPlan> {
        let total = units.end - units.start;
        let is_divisible = || ensure(total > 1, CL_DEVICE_PARTITION_FAILED);
        match *properties {
            [CL_DEVICE_PARTITION_EQUALLY, size, 0] if size > 0 => {
                is_divisible()?;
                let size = u32::try_from(size).ok().filter(|&size| size <= total);
                let size = size.ok_or(ClError(CL_INVALID_DEVICE_PARTITION_COUNT))?;
                // One part of all units is no partition.
                ensure(size < total, CL_DEVICE_PARTITION_FAILED)?;
                let part = |number| units.start + number * size..units.start + (number + 1) * size;
                Ok(PartitionPlan {
                    parts: (0..total / size).map(part).collect(),
                    properties: properties.to_vec(),
                })
            }
            [CL_DEVICE_PARTITION_BY_COUNTS, ref counts @ .., last] => {
                is_divisible()?;
                // The list is as long as it was read: it ends at the first count that is no size of a part, or where there are too many.
                ensure(last == 0 && !counts.is_empty(), CL_INVALID_DEVICE_PARTITION_COUNT)?;
                let mut start = units.start;
                let mut parts = Vec::new();
                for &count in counts {
                    let count = u32::try_from(count).ok().filter(|&count| count <= units.end - start);
                    let end = start + count.ok_or(ClError(CL_INVALID_DEVICE_PARTITION_COUNT))?;
                    parts.push(start..end);
                    start = end;
                }
                let properties = [properties, &[0]].concat();
                Ok(PartitionPlan { parts, properties })
            }
            [CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, domain, 0] if AFFINITY_DOMAINS & domain == domain => {
                ensure(domain.count_ones() == 1, CL_INVALID_VALUE)?;
                let parts = within(&units, domains);
                // The device does not have the scheme in its list.
                ensure(parts.len() > 1, CL_INVALID_VALUE)?;
                let numa = CL_DEVICE_AFFINITY_DOMAIN_NUMA as isize;
                Ok(PartitionPlan { parts, properties: vec![CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, numa, 0] })
            }
            _ => Err(ClError(CL_INVALID_VALUE)),
        }
    }
}

/// Domains that devices may be partitioned by.
const AFFINITY_DOMAINS: isize =
    (CL_DEVICE_AFFINITY_DOMAIN_NUMA | CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE) as isize;

/// Returns the parts of compute units in each domain that has some.
fn within(units: &Range<u32>, domains: &[Range<u32>]) -> Vec<Range<u32>> {
    let part = |domain: &Range<u32>| domain.start.max(units.start)..domain.end.min(units.end);
    domains.iter().map(part).filter(|part| !part.is_empty()).collect()
}

impl Device {
    /// Partitions the device and returns its parts.
    pub fn partition(self: &Arc<Device>, properties: &[isize]) -> ClResult<Vec<Arc<Device>>> {
        let plan = PartitionPlan::new(self.units.clone(), &self.machine.layout.domains, properties)?;
        let part = |units| {
            let origin = DeviceOrigin { parent: self.clone(), properties: plan.properties.clone() };
            Arc::new(Device::new(self.machine.clone(), units, Some(origin)))
        };
        Ok(plan.parts.iter().cloned().map(part).collect())
    }

    /// Returns the domains that the device can be partitioned by.
    pub fn affinity_domains(&self) -> u64 {
        let has_several = within(&self.units, &self.machine.layout.domains).len() > 1;
        if has_several { AFFINITY_DOMAINS as u64 } else { 0 }
    }

    /// Returns the schemes that the device can be partitioned by; a zero if there is none.
    pub fn partition_schemes(&self) -> Vec<isize> {
        let mut schemes = match self.compute_units() {
            1 => vec![0],
            _ => vec![CL_DEVICE_PARTITION_EQUALLY, CL_DEVICE_PARTITION_BY_COUNTS],
        };
        if self.affinity_domains() != 0 {
            schemes.push(CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN);
        }
        schemes
    }

    /// Returns the maximum number of parts of one partition.
    pub fn max_sub_devices(&self) -> u32 {
        if self.compute_units() == 1 { 0 } else { self.compute_units() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EQUALLY: isize = CL_DEVICE_PARTITION_EQUALLY;
    const BY_COUNTS: isize = CL_DEVICE_PARTITION_BY_COUNTS;
    const BY_DOMAIN: isize = CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN;
    const NEXT: isize = CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE as isize;

    fn parts(units: Range<u32>, domains: &[Range<u32>], properties: &[isize]) -> ClResult<Vec<Range<u32>>> {
        PartitionPlan::new(units, domains, properties).map(|plan| plan.parts)
    }

    #[test]
    fn parts_are_as_the_properties_say() {
        let one: &[Range<u32>] = &[Range { start: 0, end: 8 }];
        assert_eq!(parts(0..8, one, &[EQUALLY, 3, 0]), Ok(vec![0..3, 3..6]));
        assert_eq!(parts(2..6, one, &[EQUALLY, 3, 0]), Ok(vec![Range { start: 2, end: 5 }]));
        assert_eq!(parts(2..6, one, &[EQUALLY, 4, 0]), Err(ClError(CL_DEVICE_PARTITION_FAILED)));
        assert_eq!(parts(2..6, one, &[BY_COUNTS, 1, 2, 0]), Ok(vec![2..3, 3..5]));
        assert_eq!(parts(0..8, one, &[EQUALLY, 9, 0]), Err(ClError(CL_INVALID_DEVICE_PARTITION_COUNT)));
        assert_eq!(parts(0..1, one, &[EQUALLY, 1, 0]), Err(ClError(CL_DEVICE_PARTITION_FAILED)));
        assert_eq!(parts(0..8, one, &[BY_DOMAIN, 1, 0]), Err(ClError(CL_INVALID_VALUE)));
        for counts in [&[BY_COUNTS, 0][..], &[BY_COUNTS, 9, 0], &[BY_COUNTS, 4, 5, 0], &[BY_COUNTS, 1, -1]] {
            assert_eq!(parts(0..8, one, counts), Err(ClError(CL_INVALID_DEVICE_PARTITION_COUNT)));
        }
        for wrong in
            [&[][..], &[0], &[EQUALLY, 0, 0], &[EQUALLY, -1, 0], &[EQUALLY, 1, BY_COUNTS], &[1, 2, 0]]
        {
            assert_eq!(parts(0..8, one, wrong), Err(ClError(CL_INVALID_VALUE)), "{wrong:?}");
        }
    }

    #[test]
    fn domains_are_parts() {
        let domains = [0..4, 4..6, 6..8];
        let plan = PartitionPlan::new(0..8, &domains, &[BY_DOMAIN, NEXT, 0]);
        let properties = vec![BY_DOMAIN, CL_DEVICE_AFFINITY_DOMAIN_NUMA as isize, 0];
        assert_eq!(plan, Ok(PartitionPlan { parts: domains.to_vec(), properties }));
        assert_eq!(parts(3..7, &domains, &[BY_DOMAIN, 1, 0]), Ok(vec![3..4, 4..6, 6..7]));
        assert_eq!(parts(0..4, &domains, &[BY_DOMAIN, NEXT, 0]), Err(ClError(CL_INVALID_VALUE)));
        // Caches are no domains, and one is named at a time.
        for wrong in [0, 2, 1 | NEXT, 64] {
            assert_eq!(parts(0..8, &domains, &[BY_DOMAIN, wrong, 0]), Err(ClError(CL_INVALID_VALUE)));
        }
    }
}
