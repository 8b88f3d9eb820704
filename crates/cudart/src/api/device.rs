//! The device, and errors.

use super::{read, write};
use crate::MAJOR;
use crate::driver::{self, DriverHandle, Ptr};
use crate::errors::{
    self, CudartCode, CudartError, CudartResult, INVALID_DEVICE, INVALID_VALUE, SUCCESS, done, ensure,
};
use crate::state::{initialize, last_error, ready};
use std::ffi::c_char;

/// A part of what `cudaGetDeviceProperties` tells.
#[derive(Clone, Copy, Debug)]
enum Field {
    /// So many bytes of zero.
    Zero(usize),
    /// An attribute of the device.
    Int(i32),
    /// An attribute of the device, as a size.
    Size(i32),
    /// An attribute that programs of CUDA 13 do not see any more.
    Old(i32),
    /// The bytes of memory.
    Memory,
}

/// All of them after the name and the two identifiers, in the order of the structure.
const FIELDS: &[Field] = {
    use Field::{Int, Memory, Old, Size, Zero};
    &[
        Zero(8),
        Zero(4),
        Memory,
        Size(8),
        Int(12),
        Int(10),
        Size(11),
        Int(1),
        Int(2),
        Int(3),
        Int(4),
        Int(5),
        Int(6),
        Int(7),
        Old(13),
        Size(9),
        Int(75),
        Int(76),
        Size(14),
        Size(51),
        Old(15),
        Int(16),
        Old(17),
        Int(18),
        Int(19),
        Old(20),
        // Textures and surfaces.
        Int(21),
        Int(77),
        Old(69),
        Int(22),
        Int(23),
        Int(73),
        Int(74),
        Int(70),
        Int(71),
        Int(72),
        Int(45),
        Int(46),
        Int(24),
        Int(25),
        Int(26),
        Int(47),
        Int(48),
        Int(49),
        Int(52),
        Int(42),
        Int(43),
        Int(27),
        Int(28),
        Int(29),
        Int(53),
        Int(54),
        Int(55),
        Int(56),
        Int(57),
        Int(58),
        Int(59),
        Int(60),
        Int(61),
        Int(62),
        Int(63),
        Int(64),
        Int(65),
        Int(66),
        Int(67),
        Int(68),
        Size(30),
        Int(31),
        Int(32),
        Int(33),
        Int(34),
        Int(50),
        Int(35),
        Int(40),
        Int(41),
        Old(36),
        Int(37),
        Int(38),
        Int(108),
        Int(39),
        Int(78),
        Int(79),
        Int(80),
        Size(81),
        Int(82),
        Int(83),
        Int(84),
        Int(85),
        Int(86),
        Old(87),
        Int(88),
        Int(89),
        Int(90),
        Int(91),
        Int(95),
        Old(96),
        Size(97),
        Int(100),
        Int(101),
        Int(106),
        Int(109),
        Size(111),
        Int(99),
        Int(112),
        Int(113),
        Int(114),
        Int(115),
        Int(116),
        Int(117),
        Int(118),
        Int(119),
        Int(121),
        Int(125),
        Int(120),
        Int(129),
        // Reserved fields at the end of the structure.
        Zero(4 * 63),
    ]
};

/// The bytes of the name, and of the identifier after it.
const NAME: usize = 256;
const UUID: usize = 16;

fn ensure_device(device: i32) -> CudartResult<()> {
    initialize()?;
    ensure(device == 0, INVALID_DEVICE)
}

/// Fills in the device properties structure.
fn properties(device: i32) -> CudartResult<Vec<u8>> {
    ensure_device(device)?;
    let mut bytes = vec![0; NAME + UUID];
    let attribute = |number| {
        let mut value = 0;
        // SAFETY: the place is there. What the driver does not know is 0.
        unsafe { driver::cuDeviceGetAttribute(&mut value, number, device) };
        value
    };
    // SAFETY: both places are there, of the stated size.
    unsafe {
        done(driver::cuDeviceGetName(bytes.as_mut_ptr().cast(), NAME as i32, device))?;
        done(driver::cuDeviceGetUuid_v2(bytes[NAME..].as_mut_ptr(), device))?;
    }
    for &field in FIELDS {
        match field {
            Field::Zero(count) => bytes.resize(bytes.len() + count, 0),
            Field::Old(_) if MAJOR > 12 => {}
            Field::Int(number) | Field::Old(number) => bytes.extend(attribute(number).to_ne_bytes()),
            Field::Size(number) => {
                bytes.resize(bytes.len().next_multiple_of(8), 0);
                bytes.extend(i64::from(attribute(number)).to_ne_bytes());
            }
            Field::Memory => {
                let mut total = 0;
                // SAFETY: the place is there.
                done(unsafe { driver::cuDeviceTotalMem_v2(&mut total, device) })?;
                bytes.resize(bytes.len().next_multiple_of(8), 0);
                bytes.extend(total.to_ne_bytes());
            }
        }
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    Ok(bytes)
}

fn write_properties(place: *mut u8, device: i32) -> CudartResult<()> {
    let bytes = properties(device)?;
    ensure(!place.is_null(), INVALID_VALUE)?;
    // SAFETY: the caller has room for the structure.
    unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    Ok(())
}

entries! {
    fn cudaGetDeviceCount(count: *mut i32) {
        initialize()?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuDeviceGetCount(count) })
    }

    fn cudaGetDevice(device: *mut i32) {
        initialize()?;
        // SAFETY: the caller's promise.
        unsafe { write(device, 0) }
    }

    fn cudaSetDevice(device: i32) {
        ensure_device(device)?;
        ready()
    }

    fn cudaInitDevice(device: i32, _flags: u32, _device_flags: u32) {
        ensure_device(device)?;
        ready()
    }

    fn cudaSetValidDevices(devices: *const i32, count: i32) {
        for index in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: the caller's promise.
            ensure_device(unsafe { read(devices.wrapping_add(index)) }?)?;
        }
        Ok(())
    }

    fn cudaChooseDevice(device: *mut i32, _about: Ptr) {
        initialize()?;
        // SAFETY: the caller's promise.
        unsafe { write(device, 0) }
    }

    fn cudaGetDeviceProperties(about: *mut u8, device: i32) {
        write_properties(about, device)
    }

    fn cudaGetDeviceProperties_v2(about: *mut u8, device: i32) {
        write_properties(about, device)
    }

    fn cudaDeviceGetAttribute(value: *mut i32, number: i32, device: i32) {
        ensure_device(device)?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuDeviceGetAttribute(value, number, device) })
    }

    fn cudaDeviceGetPCIBusId(name: *mut c_char, room: i32, device: i32) {
        ensure_device(device)?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuDeviceGetPCIBusId(name, room, device) })
    }

    fn cudaDeviceGetByPCIBusId(device: *mut i32, name: *const c_char) {
        initialize()?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuDeviceGetByPCIBusId(device, name) })
    }

    fn cudaDeviceReset() {
        initialize()?;
        // SAFETY: it takes no pointer.
        done(unsafe { driver::cuDevicePrimaryCtxReset_v2(0) })
    }

    fn cudaSetDeviceFlags(flags: u32) {
        initialize()?;
        // SAFETY: it takes no pointer.
        done(unsafe { driver::cuDevicePrimaryCtxSetFlags_v2(0, flags) })
    }

    fn cudaGetDeviceFlags(flags: *mut u32) {
        initialize()?;
        let mut is_active = 0;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuDevicePrimaryCtxGetState(0, flags, &mut is_active) })
    }

    fn cudaDriverGetVersion(version: *mut i32) {
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuDriverGetVersion(version) })
    }

    fn cudaRuntimeGetVersion(version: *mut i32) {
        // SAFETY: the caller's promise.
        unsafe { write(version, if MAJOR == 12 { 12090 } else { 13000 }) }
    }

    fn cudaDeviceSetCacheConfig(config: i32) {
        ensure((0..=3).contains(&config), INVALID_VALUE)
    }

    fn cudaDeviceGetCacheConfig(config: *mut i32) {
        // SAFETY: the caller's promise.
        unsafe { write(config, 0) }
    }

    fn cudaDeviceSetSharedMemConfig(config: i32) {
        ensure((0..=2).contains(&config), INVALID_VALUE)
    }

    fn cudaDeviceGetSharedMemConfig(config: *mut i32) {
        // SAFETY: the caller's promise.
        unsafe { write(config, 1) }
    }

    fn cudaDeviceCanAccessPeer(can: *mut i32, device: i32, peer: i32) {
        ensure_device(device)?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuDeviceCanAccessPeer(can, device, peer) })
    }

    fn cudaDeviceEnablePeerAccess(_peer: i32, flags: u32) {
        initialize()?;
        ensure(flags == 0, INVALID_VALUE)?;
        // There is no other device.
        Err(CudartError(INVALID_DEVICE))
    }

    fn cudaDeviceDisablePeerAccess(_peer: i32) {
        initialize()?;
        Err(CudartError(INVALID_DEVICE))
    }

    fn cudaDeviceGetP2PAttribute(value: *mut i32, number: i32, device: i32, peer: i32) {
        initialize()?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuDeviceGetP2PAttribute(value, number, device, peer) })
    }

    fn cudaThreadExit() {
        initialize()?;
        // SAFETY: it takes no pointer.
        done(unsafe { driver::cuDevicePrimaryCtxReset_v2(0) })
    }

    fn cudaThreadSetCacheConfig(config: i32) {
        ensure((0..=3).contains(&config), INVALID_VALUE)
    }

    fn cudaThreadGetCacheConfig(config: *mut i32) {
        // SAFETY: the caller's promise.
        unsafe { write(config, 0) }
    }

    fn cudaCtxResetPersistingL2Cache() {
        Ok(())
    }

    fn cudaGetDriverEntryPoint | cudaGetDriverEntryPoint_ptsz (
        name: *const c_char, place: *mut Ptr, flags: u64, status: *mut i32,
    ) {
        entry_point(name, place, 12090, flags, status)
    }

    fn cudaGetDriverEntryPointByVersion | cudaGetDriverEntryPointByVersion_ptsz (
        name: *const c_char, place: *mut Ptr, version: u32, flags: u64, status: *mut i32,
    ) {
        entry_point(name, place, version as i32, flags, status)
    }
}

fn entry_point(
    name: *const c_char,
    place: *mut Ptr,
    version: i32,
    flags: u64,
    status: *mut i32,
) -> CudartResult<()> {
    initialize()?;
    let mut found = 0;
    // SAFETY: the caller's promise.
    let code = unsafe { driver::cuGetProcAddress_v2(name, place, version, flags, &mut found) };
    if !status.is_null() {
        // SAFETY: as above.
        unsafe { status.write(found) };
    }
    done(code)?;
    if found == 0 || !status.is_null() { Ok(()) } else { Err(CudartError(errors::INVALID_SYMBOL)) }
}

forward! {
    fn cudaDeviceSynchronize() => cuCtxSynchronize;
    fn cudaThreadSynchronize() => cuCtxSynchronize;
    fn cudaDeviceGetLimit(value: *mut usize, limit: i32) => cuCtxGetLimit;
    fn cudaDeviceSetLimit(limit: i32, value: usize) => cuCtxSetLimit;
    fn cudaThreadGetLimit(value: *mut usize, limit: i32) => cuCtxGetLimit;
    fn cudaThreadSetLimit(limit: i32, value: usize) => cuCtxSetLimit;
    fn cudaDeviceFlushGPUDirectRDMAWrites(target: i32, scope: i32) => cuFlushGPUDirectRDMAWrites;
    fn cudaDeviceGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) => cuCtxGetStreamPriorityRange;
    fn cudaDeviceGetDefaultMemPool(pool: *mut DriverHandle, device: i32) => cuDeviceGetDefaultMemPool;
    fn cudaDeviceGetMemPool(pool: *mut DriverHandle, device: i32) => cuDeviceGetMemPool;
    fn cudaDeviceSetMemPool(device: i32, pool: DriverHandle) => cuDeviceSetMemPool;
    fn cudaProfilerStart() => cuProfilerStart;
    fn cudaProfilerStop() => cuProfilerStop;
}

/// `cudaGetLastError` of the runtime.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> CudartCode {
    last_error(true)
}

/// `cudaPeekAtLastError` of the runtime.
#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> CudartCode {
    last_error(false)
}

/// `cudaGetErrorName` of the runtime.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(code: CudartCode) -> *const c_char {
    errors::name(code)
}

/// `cudaGetErrorString` of the runtime.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(code: CudartCode) -> *const c_char {
    if code == SUCCESS { c"no error".as_ptr() } else { errors::words(code) }
}
