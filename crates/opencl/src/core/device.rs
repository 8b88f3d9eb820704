//! Devices: this machine's CPU, and parts of it.
//!
//! A device is a range of the machine's compute units; the root device has all of them. Threads of a part's pool are bound to the
//! processors of its units, where units and processors are one to one.

use crate::cl::*;
use crate::core::partition::DeviceOrigin;
use crate::core::registry::{ObjectHandle, publish};
use heddle_llvm::Cpu;
use heddle_runtime::environment::{options, threads};
use heddle_runtime::machine_memory::total_bytes;
use heddle_runtime::processor_layout::ProcessorLayout;
use heddle_runtime::{Pool, SUB_GROUP_SIZES};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Maximum number of work-items in a group.
pub const MAX_WORK_GROUP_SIZE: usize = 4096;
/// Local memory of a group, in bytes.
pub const LOCAL_MEMORY: usize = 256 << 10;
/// Maximum size of a kernel's arguments in bytes.
pub const MAX_PARAMETER_SIZE: usize = 4096;
/// The alignment of buffers in bytes, which is that of the largest type: sixteen doubles.
pub const BASE_ALIGN: usize = 128;
/// Maximum size of program-scope variables in bytes.
pub const MAX_GLOBAL_VARIABLE_SIZE: usize = 64 << 10;

/// Device: compute units of the machine.
#[derive(Debug)]
pub struct Device {
    pub(crate) handle: ObjectHandle<Device>,
    /// Machine that it is part of.
    pub machine: Arc<HostMachine>,
    /// Its compute units by their numbers in the machine.
    pub units: Range<u32>,
    /// Partition that made it; none for the root device.
    pub origin: Option<DeviceOrigin>,
    /// Threads of a part, started by its first launch.
    pool: OnceLock<Pool>,
}

/// Properties of the CPU.
#[derive(Debug)]
pub struct HostMachine {
    /// The name of its model.
    pub name: String,
    /// Its processors by compute unit.
    pub layout: ProcessorLayout,
    /// Its clock in MHz.
    pub clock: u32,
    /// The memory that the process may use, in bytes.
    pub memory: u64,
    /// The size of its outermost data cache in bytes.
    pub cache: u64,
    /// The bytes of a cache line.
    pub cache_line: u32,
}

crate::object!(Device, CL_INVALID_DEVICE);

/// Returns an identifier for a text: two FNV-1a hashes.
pub fn uuid_of(text: &str) -> [u8; 16] {
    let hash = |start: u64| {
        let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        text.as_bytes().iter().fold(start, step)
    };
    let [low, high] = [0xcbf2_9ce4_8422_2325, 0x6c62_272e_07bb_0142].map(hash);
    (u128::from(high) << 64 | u128::from(low)).to_le_bytes()
}

fn system(name: libc::c_int) -> Option<u64> {
    // SAFETY: asks for a number by a constant of the C library.
    let value = unsafe { libc::sysconf(name) };
    u64::try_from(value).ok().filter(|&value| value > 0)
}

fn processor_field(info: &str, field: &str) -> Option<String> {
    let line = info.lines().find(|line| line.split(':').next().is_some_and(|name| name.trim() == field))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

impl HostMachine {
    fn probe() -> HostMachine {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let clock = processor_field(&info, "cpu MHz").and_then(|text| text.parse::<f64>().ok());
        let level_3 = system(libc::_SC_LEVEL3_CACHE_SIZE);
        HostMachine {
            name: processor_field(&info, "model name").unwrap_or_else(|| std::env::consts::ARCH.into()),
            layout: ProcessorLayout::of_machine(threads()),
            clock: clock.map_or(1000, |clock| clock as u32),
            memory: total_bytes() as u64,
            cache: level_3.or_else(|| system(libc::_SC_LEVEL2_CACHE_SIZE)).unwrap_or(1 << 20),
            cache_line: system(libc::_SC_LEVEL1_DCACHE_LINESIZE).unwrap_or(64) as u32,
        }
    }
}

impl Device {
    /// Creates the device of these compute units.
    pub fn new(machine: Arc<HostMachine>, units: Range<u32>, origin: Option<DeviceOrigin>) -> Device {
        Device { handle: ObjectHandle::default(), machine, units, origin, pool: OnceLock::new() }
    }

    /// Returns the number of compute units.
    pub fn compute_units(&self) -> u32 {
        self.units.end - self.units.start
    }

    /// Returns the threads that work on a launch: one for each compute unit, the one that executes the command among them.
    pub fn pool(&self) -> &Pool {
        if self.origin.is_none() {
            return Pool::of_process();
        }
        let units = self.units.start as usize..self.units.end as usize;
        let processors = self.machine.layout.processors.get(units.clone()).unwrap_or_default();
        self.pool.get_or_init(|| Pool::on_processors(units.len(), processors))
    }

    /// Returns the sizes of sub-groups, each once: those that kernels may require, and the usual one.
    pub fn sub_group_sizes(&self) -> Vec<usize> {
        let mut sizes: Vec<usize> = SUB_GROUP_SIZES.map(|size| size as usize).to_vec();
        sizes.push(self.lanes());
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Returns the lanes that kernels are compiled for, which is the sub-group size.
    pub fn lanes(&self) -> usize {
        options().lanes_on(&Cpu::host()) as usize
    }

    /// Returns the identifier of the device: that of the machine and its model of CPU.
    pub fn uuid(&self) -> [u8; 16] {
        let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
        uuid_of(&format!("{machine}{}", self.machine.name))
    }

    /// Returns the maximum size of a buffer in bytes.
    pub fn max_allocation(&self) -> u64 {
        (self.machine.memory / 2).max(128 << 20)
    }
}

/// Returns the root device, with a published handle.
pub fn device() -> &'static Arc<Device> {
    static DEVICE: OnceLock<Arc<Device>> = OnceLock::new();
    DEVICE.get_or_init(|| {
        let machine = Arc::new(HostMachine::probe());
        let units = machine.layout.domains.last().map_or(1, |last| last.end);
        let device = Arc::new(Device::new(machine, 0..units, None));
        publish(device.clone());
        device
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_a_thread_for_each_unit() {
        let layout = ProcessorLayout { processors: vec![0; 5], domains: vec![Range { start: 0, end: 5 }] };
        let machine = Arc::new(HostMachine { layout, ..HostMachine::probe() });
        let root = Arc::new(Device::new(machine, 0..5, None));
        assert!(std::ptr::eq(root.pool(), Pool::of_process()));
        let parts = root.partition(&[CL_DEVICE_PARTITION_BY_COUNTS, 1, 3, 0]).expect("there are five units");
        assert_eq!([0, 1].map(|part: usize| parts[part].pool().threads()), [1, 3]);
        let smaller =
            parts[1].partition(&[CL_DEVICE_PARTITION_EQUALLY, 2, 0]).expect("there are three units");
        assert_eq!(smaller.len(), 1);
        assert_eq!((smaller[0].units.clone(), smaller[0].pool().threads()), (1..3, 2));
    }
}
