//! Virtual memory management: addresses, memory, and mappings of memory to addresses.

use super::pointer::{CudaInput, CudaOutput};
use crate::core::context;
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::memory::RangeAccess;
use crate::core::stream::CudaStream;
use crate::core::virtual_memory::{self, GRANULARITY, LocationAccess, MemoryProperties, PhysicalMemory};
use crate::cuda::*;
use std::ffi::c_void;

/// `CUmemAccessDesc`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AccessDescription {
    location: LocationWords,
    flags: u32,
}

/// `CUmemLocation`: kind and number.
type LocationWords = [u32; 2];

/// Kind of memory that does not move.
const PINNED: u32 = 1;
/// Kinds of locations.
const DEVICE: u32 = 1;
const HOST: u32 = 2;
const HOST_NUMA: u32 = 3;

/// Returns the access of flags (`CU_MEM_ACCESS_FLAGS_PROT_…`).
fn access_of(flags: u32) -> CudaResult<RangeAccess> {
    match flags {
        0 => Ok(RangeAccess::None),
        1 => Ok(RangeAccess::Read),
        3 => Ok(RangeAccess::ReadWrite),
        _ => Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
    }
}

fn flags_of(access: RangeAccess) -> u64 {
    match access {
        RangeAccess::None => 0,
        RangeAccess::Read => 1,
        RangeAccess::ReadWrite => 3,
    }
}

/// True for the device, false for the host; other locations are errors.
fn is_device([kind, id]: LocationWords) -> CudaResult<bool> {
    match kind {
        DEVICE => ensure(id == 0, CUDA_ERROR_INVALID_DEVICE).map(|()| true),
        HOST | HOST_NUMA => Ok(false),
        _ => Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
    }
}

/// Reads properties of memory that can be created.
fn properties_of(properties: CudaInput<MemoryProperties>) -> CudaResult<MemoryProperties> {
    let all @ [kinds, location, metadata, _] = properties.read()?;
    let (kind, handle_types) = (kinds as u32, (kinds >> 32) as u32);
    ensure(kind == PINNED && metadata == 0, CUDA_ERROR_INVALID_VALUE)?;
    let location = [location as u32, (location >> 32) as u32];
    ensure(location[0] != HOST, CUDA_ERROR_INVALID_VALUE)?;
    is_device(location)?;
    // No other process can open it.
    ensure(handle_types == 0, CUDA_ERROR_NOT_SUPPORTED)?;
    Ok(all)
}

entries! {
    fn cuMemGetAllocationGranularity(bytes: CudaOutput<usize>, properties: CudaInput<MemoryProperties>, option: u32) {
        context::ensure_initialized()?;
        properties_of(properties)?;
        ensure(option <= 1, CUDA_ERROR_INVALID_VALUE)?;
        bytes.write(GRANULARITY)
    }

    fn cuMemAddressReserve(
        start: CudaOutput<CUdeviceptr>, bytes: usize, alignment: usize, hint: CUdeviceptr, flags: u64,
    ) {
        context::ensure_initialized()?;
        start.ensure()?;
        ensure(flags == 0, CUDA_ERROR_INVALID_VALUE)?;
        start.write(virtual_memory::reserve(bytes, alignment, hint)?)
    }

    fn cuMemAddressFree(start: CUdeviceptr, bytes: usize) {
        context::ensure_initialized()?;
        virtual_memory::free(start, bytes)
    }

    fn cuMemCreate(handle: CudaOutput<CudaHandle>, bytes: usize, properties: CudaInput<MemoryProperties>, flags: u64) {
        context::ensure_initialized()?;
        handle.ensure()?;
        ensure(flags == 0, CUDA_ERROR_INVALID_VALUE)?;
        handle.write(PhysicalMemory::create(bytes, properties_of(properties)?)?)
    }

    fn cuMemRelease(handle: CudaHandle) {
        context::ensure_initialized()?;
        PhysicalMemory::release(handle)
    }

    fn cuMemMap(start: CUdeviceptr, bytes: usize, offset: usize, handle: CudaHandle, flags: u64) {
        context::ensure_initialized()?;
        ensure(flags == 0, CUDA_ERROR_INVALID_VALUE)?;
        virtual_memory::map(start, bytes, offset, handle)
    }

    fn cuMemUnmap(start: CUdeviceptr, bytes: usize) {
        context::ensure_initialized()?;
        // Streams may still use the memory.
        CudaStream::synchronize_all();
        virtual_memory::unmap(start, bytes)
    }

    fn cuMemSetAccess(start: CUdeviceptr, bytes: usize, list: CudaInput<AccessDescription>, count: usize) {
        context::ensure_initialized()?;
        ensure(count > 0, CUDA_ERROR_INVALID_VALUE)?;
        let (mut device, mut host) = (None, None);
        for AccessDescription { location, flags } in list.list(count)? {
            let access = Some(access_of(flags)?);
            if is_device(location)? { device = access } else { host = access }
        }
        CudaStream::synchronize_all();
        virtual_memory::set_access(start, bytes, |before| LocationAccess {
            device: device.unwrap_or(before.device),
            host: host.unwrap_or(before.host),
        })
    }

    fn cuMemGetAccess(flags: CudaOutput<u64>, location: CudaInput<LocationWords>, address: CUdeviceptr) {
        context::ensure_initialized()?;
        flags.ensure()?;
        let is_device = is_device(location.read()?)?;
        let LocationAccess { device, host } = virtual_memory::access_at(address)?;
        flags.write(flags_of(if is_device { device } else { host }))
    }

    fn cuMemGetAllocationPropertiesFromHandle(properties: CudaOutput<MemoryProperties>, handle: CudaHandle) {
        context::ensure_initialized()?;
        properties.write(PhysicalMemory::find(handle)?.properties)
    }

    fn cuMemRetainAllocationHandle(handle: CudaOutput<CudaHandle>, address: CudaInput<c_void>) {
        context::ensure_initialized()?;
        handle.ensure()?;
        handle.write(PhysicalMemory::retain_at(address.address())?)
    }
}
