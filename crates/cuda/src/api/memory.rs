//! Memory: getting it, giving it back, asking about it.

use super::pointer::{In, Out};
use crate::core::context::{self, ensure_device};
use crate::core::error::{Answer, Error, ensure};
use crate::core::graph::Command;
use crate::core::memory::{self, Kind, POOLS, Pool};
use crate::core::stream::Stream;
use crate::cuda::*;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Rows of pitched memory start at a multiple of this.
const PITCH: usize = 512;

fn allocate(place: Out<CUdeviceptr>, bytes: usize, kind: Kind, flags: u32) -> Answer<()> {
    context::current()?;
    place.ensure()?;
    place.write(memory::allocate(bytes, kind, flags)?)
}

/// What is told of a pointer, by number: where to, a value of how many bytes.
fn pointer_attribute(data: Out<c_void>, number: u32, address: CUdeviceptr) -> Answer<()> {
    data.ensure()?;
    let at = data.address();
    let found = memory::find(address);
    let known = found.ok_or(Error(CUDA_ERROR_INVALID_VALUE));
    match number {
        1 => Out::at(at).write(known?.context),
        2 => {
            let ty = if known?.is_of_host() { CU_MEMORYTYPE_HOST } else { CU_MEMORYTYPE_DEVICE };
            Out::at(at).write(ty)
        }
        3 | 4 => {
            known?;
            Out::at(at).write(address)
        }
        6 => Out::at(at).write(1u32),
        7 | 20 => Out::at(at).write(known?.id),
        8 => Out::at(at).write(u8::from(known?.kind == Kind::Managed)),
        9 => {
            known?;
            Out::at(at).write(0i32)
        }
        10 | 15 => Out::at(at).write(0u8),
        11 | 19 => Out::at(at).write(known?.start as u64),
        12 | 18 => Out::at(at).write(known?.bytes),
        13 => Out::at(at).write(u8::from(found.is_some())),
        14 => Out::at(at).write(0u64),
        16 => {
            known?;
            Out::at(at).write(3u32)
        }
        17 => {
            let pool = if let Kind::Pool(pool) = known?.kind { pool } else { 0 };
            Out::at(at).write(pool)
        }
        21 => Out::at(at).write(0u8),
        _ => Err(Error(CUDA_ERROR_INVALID_VALUE)),
    }
}

fn pool(handle: Handle) -> Answer<Arc<Pool>> {
    context::ensure_initialized()?;
    POOLS.find(handle).map_err(|_| Error(CUDA_ERROR_INVALID_VALUE))
}

/// Allocates in the order of a stream; while it is captured, now: addresses of graphs are fixed.
fn allocate_in(stream: Handle, place: Out<CUdeviceptr>, bytes: usize, pool: Handle) -> Answer<()> {
    place.ensure()?;
    let stream = Stream::find(stream)?;
    let kind = Kind::Pool(pool);
    match stream.capture() {
        Some(_) => {
            let address = memory::allocate(bytes, kind, 0)?;
            stream.submit(Command::Empty)?;
            place.write(address)
        }
        None => place.write(stream.run(|| memory::allocate(bytes, kind, 0))?),
    }
}

entries! {
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        context::current()?;
        free.write_if(memory::free_bytes());
        total.write_if(memory::total());
        Ok(())
    }

    fn cuMemAlloc_v2(address: Out<CUdeviceptr>, bytes: usize) {
        allocate(address, bytes, Kind::Device, 0)
    }

    fn cuMemAllocPitch_v2(
        address: Out<CUdeviceptr>, pitch: Out<usize>, width: usize, height: usize, element: u32,
    ) {
        pitch.ensure()?;
        ensure(matches!(element, 4 | 8 | 16), CUDA_ERROR_INVALID_VALUE)?;
        let row = width.checked_next_multiple_of(PITCH).ok_or(Error(CUDA_ERROR_INVALID_VALUE))?;
        let bytes = row.checked_mul(height).ok_or(Error(CUDA_ERROR_INVALID_VALUE))?;
        allocate(address, bytes, Kind::Device, 0)?;
        pitch.write(row)
    }

    fn cuMemAllocManaged(address: Out<CUdeviceptr>, bytes: usize, flags: u32) {
        ensure(matches!(flags, 1 | 2), CUDA_ERROR_INVALID_VALUE)?;
        allocate(address, bytes, Kind::Managed, flags)
    }

    fn cuMemFree_v2(address: CUdeviceptr) {
        context::ensure_initialized()?;
        if address == 0 {
            return Ok(());
        }
        // What streams still do with it is done first.
        Stream::synchronize_all();
        memory::free(address, |kind| matches!(kind, Kind::Device | Kind::Managed | Kind::Pool(_)))
    }

    fn cuMemAllocHost_v2(address: Out<CUdeviceptr>, bytes: usize) {
        allocate(address, bytes, Kind::Host, 0)
    }

    fn cuMemHostAlloc(address: Out<CUdeviceptr>, bytes: usize, flags: u32) {
        ensure(flags & !7 == 0, CUDA_ERROR_INVALID_VALUE)?;
        allocate(address, bytes, Kind::Host, flags)
    }

    fn cuMemFreeHost(address: CUdeviceptr) {
        context::ensure_initialized()?;
        if address == 0 {
            return Ok(());
        }
        Stream::synchronize_all();
        memory::free(address, |kind| kind == Kind::Host)
    }

    fn cuMemHostRegister_v2 | cuMemHostRegister (start: In<c_void>, bytes: usize, flags: u32) {
        context::current()?;
        ensure(flags & !15 == 0, CUDA_ERROR_INVALID_VALUE)?;
        memory::register(start.address() as usize, bytes, flags)
    }

    fn cuMemHostUnregister(start: In<c_void>) {
        context::current()?;
        Stream::synchronize_all();
        memory::unregister(start.address() as usize)
    }

    fn cuMemHostGetDevicePointer_v2(address: Out<CUdeviceptr>, host: In<c_void>, flags: u32) {
        context::current()?;
        ensure(flags == 0, CUDA_ERROR_INVALID_VALUE)?;
        memory::find(host.address()).ok_or(Error(CUDA_ERROR_INVALID_VALUE))?;
        address.write(host.address())
    }

    fn cuMemHostGetFlags(flags: Out<u32>, host: In<c_void>) {
        context::current()?;
        let found = memory::find(host.address()).filter(|it| it.is_of_host());
        flags.write(found.ok_or(Error(CUDA_ERROR_INVALID_VALUE))?.flags)
    }

    fn cuMemGetAddressRange_v2(start: Out<CUdeviceptr>, bytes: Out<usize>, address: CUdeviceptr) {
        context::current()?;
        let found = memory::find(address).ok_or(Error(CUDA_ERROR_NOT_FOUND))?;
        start.write_if(found.start as u64);
        bytes.write_if(found.bytes);
        Ok(())
    }

    fn cuPointerGetAttribute(data: Out<c_void>, number: u32, address: CUdeviceptr) {
        context::ensure_initialized()?;
        pointer_attribute(data, number, address)
    }

    fn cuPointerGetAttributes(count: u32, numbers: In<u32>, places: In<u64>, address: CUdeviceptr) {
        context::ensure_initialized()?;
        ensure(count > 0, CUDA_ERROR_INVALID_VALUE)?;
        let numbers = numbers.list(count as usize)?;
        for (number, place) in numbers.into_iter().zip(places.list(count as usize)?) {
            ensure(matches!(number, 1..=21), CUDA_ERROR_INVALID_VALUE)?;
            if memory::find(address).is_none() && !matches!(number, 6 | 10 | 13 | 14 | 15 | 21) {
                // Of what is not known each attribute is its zero, and no error.
                match number {
                    2 | 9 | 16 => Out::<u32>::at(place).write(if number == 9 { (-2i32) as u32 } else { 0 })?,
                    8 => Out::<u8>::at(place).write(0)?,
                    4 => Out::at(place).write(address)?,
                    _ => Out::<u64>::at(place).write(0)?,
                }
                continue;
            }
            pointer_attribute(Out::at(place), number, address)?;
        }
        Ok(())
    }

    fn cuPointerSetAttribute(value: In<c_void>, number: u32, address: CUdeviceptr) {
        context::ensure_initialized()?;
        ensure(number == 6 && !value.is_null(), CUDA_ERROR_INVALID_VALUE)?;
        memory::find(address).map(|_| ()).ok_or(Error(CUDA_ERROR_INVALID_VALUE))
    }

    fn cuMemAllocAsync | cuMemAllocAsync_ptsz (address: Out<CUdeviceptr>, bytes: usize, stream: Handle) {
        allocate_in(stream, address, bytes, memory::default_pool())
    }

    fn cuMemAllocFromPoolAsync | cuMemAllocFromPoolAsync_ptsz (
        address: Out<CUdeviceptr>, bytes: usize, from: Handle, stream: Handle,
    ) {
        pool(from)?;
        allocate_in(stream, address, bytes, from)
    }

    fn cuMemFreeAsync | cuMemFreeAsync_ptsz (address: CUdeviceptr, stream: Handle) {
        Stream::find(stream)?.submit(Command::Free(address))
    }

    fn cuMemPoolCreate(handle: Out<Handle>, properties: In<[u64; 11]>) {
        context::ensure_initialized()?;
        handle.ensure()?;
        // Pinned memory, no handle for other processes.
        ensure(properties.read()?[0] == 1, CUDA_ERROR_NOT_SUPPORTED)?;
        handle.write(POOLS.publish(Arc::default()))
    }

    fn cuMemPoolDestroy(handle: Handle) {
        pool(handle)?;
        ensure(handle != memory::default_pool(), CUDA_ERROR_INVALID_VALUE)?;
        POOLS.remove(handle).map(|_| ())
    }

    fn cuMemPoolTrimTo(handle: Handle, _bytes: usize) {
        pool(handle).map(|_| ())
    }

    fn cuMemPoolSetAttribute(handle: Handle, number: u32, value: In<c_void>) {
        let pool = pool(handle)?;
        let at = value.address();
        let value = match number {
            1..=3 => u64::from(In::<u32>::at(at).read()?),
            4 => In::<u64>::at(at).read()?,
            6 | 8 => {
                // The most so far begins again.
                ensure(In::<u64>::at(at).read()? == 0, CUDA_ERROR_INVALID_VALUE)?;
                pool.used[1].store(pool.used[0].load(Ordering::Relaxed), Ordering::Relaxed);
                0
            }
            _ => return Err(Error(CUDA_ERROR_INVALID_VALUE)),
        };
        pool.attributes[number as usize].store(value, Ordering::Relaxed);
        Ok(())
    }

    fn cuMemPoolGetAttribute(handle: Handle, number: u32, value: Out<c_void>) {
        let pool = pool(handle)?;
        value.ensure()?;
        let at = value.address();
        match number {
            1..=3 => Out::at(at).write(pool.attributes[number as usize].load(Ordering::Relaxed) as u32),
            4 => Out::at(at).write(pool.attributes[4].load(Ordering::Relaxed)),
            5 | 7 => Out::at(at).write(pool.used[0].load(Ordering::Relaxed)),
            6 | 8 => Out::at(at).write(pool.used[1].load(Ordering::Relaxed)),
            _ => Err(Error(CUDA_ERROR_INVALID_VALUE)),
        }
    }

    fn cuMemPoolSetAccess(handle: Handle, map: In<[u32; 3]>, count: usize) {
        pool(handle)?;
        // The only device has access, and keeps it.
        let all = map.list(count)?;
        ensure(all.iter().all(|&[_, device, access]| device == 0 && access == 3), CUDA_ERROR_INVALID_VALUE)
    }

    fn cuMemPoolGetAccess(flags: Out<u32>, handle: Handle, location: In<[u32; 2]>) {
        pool(handle)?;
        location.read()?;
        flags.write(3)
    }

    fn cuMemPrefetchAsync | cuMemPrefetchAsync_ptsz (
        address: CUdeviceptr, bytes: usize, _to: CUdevice, stream: Handle,
    ) {
        Stream::find(stream)?;
        memory::ensure_range(address, bytes)
    }

    fn cuMemPrefetchAsync_v2 | cuMemPrefetchAsync_v2_ptsz (
        address: CUdeviceptr, bytes: usize, _to: u64, flags: u32, stream: Handle,
    ) {
        Stream::find(stream)?;
        ensure(flags == 0, CUDA_ERROR_INVALID_VALUE)?;
        memory::ensure_range(address, bytes)
    }

    fn cuMemAdvise(address: CUdeviceptr, bytes: usize, advice: u32, _device: CUdevice) {
        context::current()?;
        ensure(matches!(advice, 1..=6), CUDA_ERROR_INVALID_VALUE)?;
        memory::ensure_range(address, bytes)
    }

    fn cuMemAdvise_v2(address: CUdeviceptr, bytes: usize, advice: u32, _location: u64) {
        context::current()?;
        ensure(matches!(advice, 1..=6), CUDA_ERROR_INVALID_VALUE)?;
        memory::ensure_range(address, bytes)
    }

    fn cuDeviceSetMemPool(device: CUdevice, handle: Handle) {
        ensure_device(device)?;
        pool(handle)?;
        ensure(handle == memory::default_pool(), CUDA_ERROR_NOT_SUPPORTED)
    }

    fn cuStreamAttachMemAsync | cuStreamAttachMemAsync_ptsz (
        stream: Handle, address: CUdeviceptr, _bytes: usize, flags: u32,
    ) {
        Stream::find(stream)?;
        ensure(matches!(flags, 1 | 2 | 4), CUDA_ERROR_INVALID_VALUE)?;
        memory::find(address).map(|_| ()).ok_or(Error(CUDA_ERROR_INVALID_VALUE))
    }
}
