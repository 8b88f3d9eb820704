//! Memory: getting it, giving it back, asking about it.

use super::pointer::{CudaInput, CudaOutput};
use crate::attributes::PointerAttribute;
use crate::core::command::StreamCommand;
use crate::core::context::{self, ensure_device};
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::graph_memory::GraphMemory;
use crate::core::memory::{self, AllocationKind, CudaMemoryPool, POOLS, RangeAccess};
use crate::core::range_advice::{self, RangeLocation};
use crate::core::stream::CudaStream;
use crate::core::virtual_memory;
use crate::cuda::*;
use heddle_runtime::machine_memory;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Access flags of a pointer that the device reads only.
const CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ: u32 = 1;

/// Rows of pitched memory start at a multiple of this.
const PITCH: usize = 512;

fn allocate(
    place: CudaOutput<CUdeviceptr>,
    bytes: usize,
    kind: AllocationKind,
    flags: u32,
) -> CudaResult<()> {
    context::current()?;
    place.ensure()?;
    place.write(memory::allocate(bytes, kind, flags)?)
}

/// Returns the pointer attribute of a number.
fn attribute_of(number: u32) -> CudaResult<PointerAttribute> {
    PointerAttribute::from_number(number).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))
}

/// Writes an attribute of a pointer.
fn write_attribute(
    data: CudaOutput<c_void>,
    attribute: PointerAttribute,
    address: CUdeviceptr,
) -> CudaResult<()> {
    use PointerAttribute::*;
    data.ensure()?;
    let at = data.address();
    let found = memory::find(address);
    let known = found.ok_or(CudaError(CUDA_ERROR_INVALID_VALUE));
    match attribute {
        Context => CudaOutput::at(at).write(known?.context),
        MemoryType => {
            let ty = if known?.is_of_host() { CU_MEMORYTYPE_HOST } else { CU_MEMORYTYPE_DEVICE };
            CudaOutput::at(at).write(ty)
        }
        DevicePointer | HostPointer => known.and_then(|_| CudaOutput::at(at).write(address)),
        SyncMemops => CudaOutput::at(at).write(1u32),
        BufferId | MemoryBlockId => CudaOutput::at(at).write(known?.id),
        IsManaged => CudaOutput::at(at).write(u8::from(known?.kind == AllocationKind::Managed)),
        DeviceOrdinal => known.and_then(|_| CudaOutput::at(at).write(0i32)),
        IsLegacyIpcCapable | IsGpuDirectRdmaCapable | IsHwDecompressCapable => CudaOutput::at(at).write(0u8),
        RangeStart | MappingBase => CudaOutput::at(at).write(known?.start as u64),
        RangeSize | MappingSize => CudaOutput::at(at).write(known?.bytes),
        Mapped => CudaOutput::at(at).write(u8::from(found.is_some())),
        AllowedHandleTypes => CudaOutput::at(at).write(0u64),
        AccessFlags => CudaOutput::at(at).write(match known?.access() {
            RangeAccess::None => 0,
            RangeAccess::Read => CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ,
            RangeAccess::ReadWrite => CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE,
        }),
        MempoolHandle => {
            let pool = if let AllocationKind::Pool(pool) = known?.kind { pool } else { 0 };
            CudaOutput::at(at).write(pool)
        }
        P2pTokens => Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
    }
}

/// Writes an attribute of a pointer that no allocation holds, which is no error: most are zero.
fn write_unknown(place: u64, attribute: PointerAttribute, address: CUdeviceptr) -> CudaResult<()> {
    use PointerAttribute::*;
    match attribute {
        SyncMemops
        | IsLegacyIpcCapable
        | Mapped
        | AllowedHandleTypes
        | IsGpuDirectRdmaCapable
        | IsHwDecompressCapable => write_attribute(CudaOutput::at(place), attribute, address),
        MemoryType | AccessFlags => CudaOutput::at(place).write(0u32),
        DeviceOrdinal => CudaOutput::at(place).write(CU_DEVICE_INVALID),
        IsManaged => CudaOutput::at(place).write(0u8),
        HostPointer => CudaOutput::at(place).write(address),
        Context | DevicePointer | P2pTokens | BufferId | RangeStart | RangeSize | MempoolHandle
        | MappingSize | MappingBase | MemoryBlockId => CudaOutput::at(place).write(0u64),
    }
}

fn pool(handle: CudaHandle) -> CudaResult<Arc<CudaMemoryPool>> {
    context::ensure_initialized()?;
    POOLS.find(handle).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))
}

/// Allocates in stream order; immediately during a capture, since a graph's addresses are fixed.
fn allocate_in(
    stream: CudaHandle,
    place: CudaOutput<CUdeviceptr>,
    bytes: usize,
    pool: CudaHandle,
) -> CudaResult<()> {
    place.ensure()?;
    let stream = CudaStream::find(stream)?;
    match stream.capture() {
        Some(_) => {
            let memory = Arc::new(GraphMemory::reserve(bytes)?);
            let start = memory.start;
            stream.submit(StreamCommand::Allocate(memory))?;
            place.write(start)
        }
        None => place.write(stream.run(|| memory::allocate(bytes, AllocationKind::Pool(pool), 0))?),
    }
}

/// True if advice on the memory is kept.
fn is_managed(address: CUdeviceptr) -> bool {
    let kind = memory::find(address).map(|found| found.kind);
    matches!(kind, Some(AllocationKind::Managed | AllocationKind::Variable))
}

fn prefetch(address: CUdeviceptr, bytes: usize, to: RangeLocation) -> CudaResult<()> {
    to.check()?;
    memory::ensure_range(address, bytes)?;
    if is_managed(address) {
        range_advice::note_prefetch(address, bytes, to);
    }
    Ok(())
}

fn advise(address: CUdeviceptr, bytes: usize, advice: u32, location: RangeLocation) -> CudaResult<()> {
    context::current()?;
    ensure(matches!(advice, 1..=6), CUDA_ERROR_INVALID_VALUE)?;
    memory::ensure_range(address, bytes)?;
    if is_managed(address) {
        range_advice::advise(address, bytes, advice, location)?;
    }
    Ok(())
}

/// Writes an attribute of a range of managed memory as numbers of 32 bits.
fn write_range_attribute(
    data: CudaOutput<i32>,
    size: usize,
    number: u32,
    address: CUdeviceptr,
    bytes: usize,
) -> CudaResult<()> {
    data.ensure()?;
    ensure(bytes > 0 && size.is_multiple_of(size_of::<i32>()), CUDA_ERROR_INVALID_VALUE)?;
    memory::ensure_range(address, bytes)?;
    ensure(is_managed(address), CUDA_ERROR_INVALID_VALUE)?;
    let values = range_advice::attribute(address, bytes, number, size / size_of::<i32>())?;
    values.into_iter().enumerate().for_each(|(index, value)| data.write_at(index, value));
    Ok(())
}

entries! {
    fn cuMemGetInfo_v2(free: CudaOutput<usize>, total: CudaOutput<usize>) {
        context::current()?;
        let total_left = machine_memory::total_bytes().saturating_sub(virtual_memory::created_bytes());
        free.write_if(machine_memory::free_bytes().min(total_left));
        total.write_if(machine_memory::total_bytes());
        Ok(())
    }

    fn cuMemAlloc_v2(address: CudaOutput<CUdeviceptr>, bytes: usize) {
        allocate(address, bytes, AllocationKind::Device, 0)
    }

    fn cuMemAllocPitch_v2(
        address: CudaOutput<CUdeviceptr>, pitch: CudaOutput<usize>, width: usize, height: usize, element: u32,
    ) {
        pitch.ensure()?;
        ensure(matches!(element, 4 | 8 | 16), CUDA_ERROR_INVALID_VALUE)?;
        let row = width.checked_next_multiple_of(PITCH).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
        let bytes = row.checked_mul(height).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
        allocate(address, bytes, AllocationKind::Device, 0)?;
        pitch.write(row)
    }

    fn cuMemAllocManaged(address: CudaOutput<CUdeviceptr>, bytes: usize, flags: u32) {
        ensure(matches!(flags, 1 | 2), CUDA_ERROR_INVALID_VALUE)?;
        allocate(address, bytes, AllocationKind::Managed, flags)
    }

    fn cuMemFree_v2(address: CUdeviceptr) {
        context::ensure_initialized()?;
        if address == 0 {
            return Ok(());
        }
        // Streams may still use the memory: synchronize before freeing.
        CudaStream::synchronize_all();
        memory::free(address, |kind| matches!(kind, AllocationKind::Device | AllocationKind::Managed | AllocationKind::Pool(_) | AllocationKind::Graph { .. }))
    }

    fn cuMemAllocHost_v2(address: CudaOutput<CUdeviceptr>, bytes: usize) {
        allocate(address, bytes, AllocationKind::Host, 0)
    }

    fn cuMemHostAlloc(address: CudaOutput<CUdeviceptr>, bytes: usize, flags: u32) {
        ensure(flags & !7 == 0, CUDA_ERROR_INVALID_VALUE)?;
        allocate(address, bytes, AllocationKind::Host, flags)
    }

    fn cuMemFreeHost(address: CUdeviceptr) {
        context::ensure_initialized()?;
        if address == 0 {
            return Ok(());
        }
        CudaStream::synchronize_all();
        memory::free(address, |kind| kind == AllocationKind::Host)
    }

    fn cuMemHostRegister_v2 | cuMemHostRegister (start: CudaInput<c_void>, bytes: usize, flags: u32) {
        context::current()?;
        ensure(flags & !15 == 0, CUDA_ERROR_INVALID_VALUE)?;
        memory::register(start.address() as usize, bytes, flags)
    }

    fn cuMemHostUnregister(start: CudaInput<c_void>) {
        context::current()?;
        CudaStream::synchronize_all();
        memory::unregister(start.address() as usize)
    }

    fn cuMemHostGetDevicePointer_v2(address: CudaOutput<CUdeviceptr>, host: CudaInput<c_void>, flags: u32) {
        context::current()?;
        ensure(flags == 0, CUDA_ERROR_INVALID_VALUE)?;
        memory::find(host.address()).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
        address.write(host.address())
    }

    fn cuMemHostGetFlags(flags: CudaOutput<u32>, host: CudaInput<c_void>) {
        context::current()?;
        let found = memory::find(host.address()).filter(|it| it.is_of_host());
        flags.write(found.ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?.flags)
    }

    fn cuMemGetAddressRange_v2(start: CudaOutput<CUdeviceptr>, bytes: CudaOutput<usize>, address: CUdeviceptr) {
        context::current()?;
        let found = memory::find(address).ok_or(CudaError(CUDA_ERROR_NOT_FOUND))?;
        start.write_if(found.start as u64);
        bytes.write_if(found.bytes);
        Ok(())
    }

    fn cuPointerGetAttribute(data: CudaOutput<c_void>, number: u32, address: CUdeviceptr) {
        context::ensure_initialized()?;
        write_attribute(data, attribute_of(number)?, address)
    }

    fn cuPointerGetAttributes(count: u32, numbers: CudaInput<u32>, places: CudaInput<u64>, address: CUdeviceptr) {
        context::ensure_initialized()?;
        ensure(count > 0, CUDA_ERROR_INVALID_VALUE)?;
        let numbers = numbers.list(count as usize)?;
        for (number, place) in numbers.into_iter().zip(places.list(count as usize)?) {
            let attribute = attribute_of(number)?;
            match memory::find(address) {
                Some(_) => write_attribute(CudaOutput::at(place), attribute, address)?,
                None => write_unknown(place, attribute, address)?,
            }
        }
        Ok(())
    }

    fn cuPointerSetAttribute(value: CudaInput<c_void>, number: u32, address: CUdeviceptr) {
        context::ensure_initialized()?;
        let is_settable = attribute_of(number)? == PointerAttribute::SyncMemops;
        ensure(is_settable && !value.is_null(), CUDA_ERROR_INVALID_VALUE)?;
        memory::find(address).map(|_| ()).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))
    }

    fn cuMemAllocAsync | cuMemAllocAsync_ptsz (address: CudaOutput<CUdeviceptr>, bytes: usize, stream: CudaHandle) {
        allocate_in(stream, address, bytes, memory::default_pool())
    }

    fn cuMemAllocFromPoolAsync | cuMemAllocFromPoolAsync_ptsz (
        address: CudaOutput<CUdeviceptr>, bytes: usize, from: CudaHandle, stream: CudaHandle,
    ) {
        pool(from)?;
        allocate_in(stream, address, bytes, from)
    }

    fn cuMemFreeAsync | cuMemFreeAsync_ptsz (address: CUdeviceptr, stream: CudaHandle) {
        CudaStream::find(stream)?.submit(StreamCommand::Free(address))
    }

    fn cuMemPoolCreate(handle: CudaOutput<CudaHandle>, properties: CudaInput<[u64; 11]>) {
        context::ensure_initialized()?;
        handle.ensure()?;
        // Pinned memory, no handle for other processes.
        ensure(properties.read()?[0] == 1, CUDA_ERROR_NOT_SUPPORTED)?;
        handle.write(POOLS.publish(Arc::default()))
    }

    fn cuMemPoolDestroy(handle: CudaHandle) {
        pool(handle)?;
        ensure(handle != memory::default_pool(), CUDA_ERROR_INVALID_VALUE)?;
        POOLS.remove(handle).map(|_| ())
    }

    fn cuMemPoolTrimTo(handle: CudaHandle, _bytes: usize) {
        pool(handle).map(|_| ())
    }

    fn cuMemPoolSetAttribute(handle: CudaHandle, number: u32, value: CudaInput<c_void>) {
        let pool = pool(handle)?;
        let at = value.address();
        let value = match number {
            1..=3 => u64::from(CudaInput::<u32>::at(at).read()?),
            4 => CudaInput::<u64>::at(at).read()?,
            6 | 8 => {
                // Writing 0 resets the high-water mark.
                ensure(CudaInput::<u64>::at(at).read()? == 0, CUDA_ERROR_INVALID_VALUE)?;
                pool.used[1].store(pool.used[0].load(Ordering::Relaxed), Ordering::Relaxed);
                0
            }
            _ => return Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
        };
        pool.attributes[number as usize].store(value, Ordering::Relaxed);
        Ok(())
    }

    fn cuMemPoolGetAttribute(handle: CudaHandle, number: u32, value: CudaOutput<c_void>) {
        let pool = pool(handle)?;
        value.ensure()?;
        let at = value.address();
        match number {
            1..=3 => CudaOutput::at(at).write(pool.attributes[number as usize].load(Ordering::Relaxed) as u32),
            4 => CudaOutput::at(at).write(pool.attributes[4].load(Ordering::Relaxed)),
            5 | 7 => CudaOutput::at(at).write(pool.used[0].load(Ordering::Relaxed)),
            6 | 8 => CudaOutput::at(at).write(pool.used[1].load(Ordering::Relaxed)),
            _ => Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
        }
    }

    fn cuMemPoolSetAccess(handle: CudaHandle, map: CudaInput<[u32; 3]>, count: usize) {
        pool(handle)?;
        // The only device has access, and keeps it.
        let all = map.list(count)?;
        ensure(all.iter().all(|&[_, device, access]| device == 0 && access == 3), CUDA_ERROR_INVALID_VALUE)
    }

    fn cuMemPoolGetAccess(flags: CudaOutput<u32>, handle: CudaHandle, location: CudaInput<[u32; 2]>) {
        pool(handle)?;
        location.read()?;
        flags.write(3)
    }

    fn cuMemPrefetchAsync | cuMemPrefetchAsync_ptsz (
        address: CUdeviceptr, bytes: usize, to: CUdevice, stream: CudaHandle,
    ) {
        CudaStream::find(stream)?;
        prefetch(address, bytes, RangeLocation::of_device(to))
    }

    fn cuMemPrefetchAsync_v2 | cuMemPrefetchAsync_v2_ptsz (
        address: CUdeviceptr, bytes: usize, to: RangeLocation, flags: u32, stream: CudaHandle,
    ) {
        CudaStream::find(stream)?;
        ensure(flags == 0, CUDA_ERROR_INVALID_VALUE)?;
        prefetch(address, bytes, to)
    }

    fn cuMemAdvise(address: CUdeviceptr, bytes: usize, advice: u32, device: CUdevice) {
        advise(address, bytes, advice, RangeLocation::of_device(device))
    }

    fn cuMemAdvise_v2(address: CUdeviceptr, bytes: usize, advice: u32, location: RangeLocation) {
        advise(address, bytes, advice, location)
    }

    fn cuMemRangeGetAttribute(data: CudaOutput<i32>, size: usize, number: u32, address: CUdeviceptr, bytes: usize) {
        context::current()?;
        write_range_attribute(data, size, number, address, bytes)
    }

    fn cuMemRangeGetAttributes(
        data: CudaInput<u64>, sizes: CudaInput<usize>, numbers: CudaInput<u32>, count: usize, address: CUdeviceptr, bytes: usize,
    ) {
        context::current()?;
        ensure(count > 0, CUDA_ERROR_INVALID_VALUE)?;
        let (data, sizes, numbers) = (data.list(count)?, sizes.list(count)?, numbers.list(count)?);
        for ((place, size), number) in data.into_iter().zip(sizes).zip(numbers) {
            write_range_attribute(CudaOutput::at(place), size, number, address, bytes)?;
        }
        Ok(())
    }

    fn cuDeviceSetMemPool(device: CUdevice, handle: CudaHandle) {
        ensure_device(device)?;
        pool(handle)?;
        ensure(handle == memory::default_pool(), CUDA_ERROR_NOT_SUPPORTED)
    }

    fn cuStreamAttachMemAsync | cuStreamAttachMemAsync_ptsz (
        stream: CudaHandle, address: CUdeviceptr, _bytes: usize, flags: u32,
    ) {
        CudaStream::find(stream)?;
        ensure(matches!(flags, 1 | 2 | 4), CUDA_ERROR_INVALID_VALUE)?;
        memory::find(address).map(|_| ()).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))
    }
}
