//! Unified shared memory (`cl_intel_unified_shared_memory`). All memory is the host's, so that the three kinds differ in name
//! only.

use super::Enqueuing;
use super::device::device_among;
use super::info::Info;
use super::pointer::{ClInput, ClOutput, is_true};
use crate::cl::*;
use crate::core::context::ClContext;
use crate::core::device::{BASE_ALIGN, device};
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::kernel::ClKernel;
use crate::core::registry::{find, handle_of};
use crate::core::svm::SharedMemoryKind;
use std::ffi::c_void;

/// Maximum alignment of an allocation.
const MAX_ALIGN: usize = 1 << 16;

/// Allocates memory with the properties of a list.
fn allocate(
    context: &ClContext,
    properties: ClInput<u64>,
    kind: SharedMemoryKind,
    size: usize,
    align: cl_uint,
) -> ClResult<ClHandle> {
    let list = properties.until(|list| list.len() % 2 == 1 && list.last() == Some(&0));
    for pair in list.chunks_exact(2) {
        ensure(pair[0] == u64::from(CL_MEM_ALLOC_FLAGS_INTEL), CL_INVALID_PROPERTY)?;
        let placements =
            CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL | CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL;
        ensure(pair[1] & !(CL_MEM_ALLOC_WRITE_COMBINED_INTEL | placements) == 0, CL_INVALID_PROPERTY)?;
        ensure(pair[1] & placements != placements, CL_INVALID_PROPERTY)?;
    }
    ensure(size != 0 && size as u64 <= device().max_allocation(), CL_INVALID_BUFFER_SIZE)?;
    let align = align as usize;
    ensure(align == 0 || align.is_power_of_two() && align <= MAX_ALIGN, CL_INVALID_VALUE)?;
    let address = context.svm.add(kind, size, align.max(BASE_ALIGN)).ok_or(ClError(CL_OUT_OF_RESOURCES))?;
    Ok(address.pointer().cast())
}

/// Frees an allocation. A null pointer is ignored.
fn free(context: &ClContext, pointer: ClInput<c_void>) -> ClResult<()> {
    let address = pointer.address().number();
    ensure(address == 0 || context.svm.remove(address), CL_INVALID_VALUE)
}

makers! {
    fn clHostMemAllocINTEL(context: ClHandle, properties: ClInput<u64>, size: usize, align: cl_uint) {
        allocate(&*find::<ClContext>(context)?, properties, SharedMemoryKind::Host, size, align)
    }

    fn clDeviceMemAllocINTEL(context: ClHandle, on: ClHandle, properties: ClInput<u64>, size: usize, align: cl_uint) {
        let context = find::<ClContext>(context)?;
        let device = device_among(&context.devices, on)?;
        allocate(&context, properties, SharedMemoryKind::Device(device), size, align)
    }

    fn clSharedMemAllocINTEL(context: ClHandle, on: ClHandle, properties: ClInput<u64>, size: usize, align: cl_uint) {
        let context = find::<ClContext>(context)?;
        let device = if on.is_null() { None } else { Some(device_among(&context.devices, on)?) };
        allocate(&context, properties, SharedMemoryKind::Shared(device), size, align)
    }
}

entries! {
    fn clMemFreeINTEL(context: ClHandle, pointer: ClInput<c_void>) {
        free(&*find::<ClContext>(context)?, pointer)
    }

    fn clMemBlockingFreeINTEL(context: ClHandle, pointer: ClInput<c_void>) {
        let context = find::<ClContext>(context)?;
        context.finish();
        free(&context, pointer)
    }

    fn clGetMemAllocInfoINTEL(
        context: ClHandle, pointer: ClInput<c_void>, name: cl_uint, size: usize, value: ClOutput<c_void>,
        needed: ClOutput<usize>,
    ) {
        let context = find::<ClContext>(context)?;
        let info = Info::new(size, value, needed);
        let address = pointer.address();
        let kind = context.svm.kind(address.number());
        let (start, bytes) = context.svm.find(address.number()).unwrap_or_default();
        match name {
            CL_MEM_ALLOC_TYPE_INTEL => info.value(match kind {
                Some(SharedMemoryKind::Host) => CL_MEM_TYPE_HOST_INTEL,
                Some(SharedMemoryKind::Device(_)) => CL_MEM_TYPE_DEVICE_INTEL,
                Some(SharedMemoryKind::Shared(_)) => CL_MEM_TYPE_SHARED_INTEL,
                Some(SharedMemoryKind::Svm(_)) | None => CL_MEM_TYPE_UNKNOWN_INTEL,
            }),
            CL_MEM_ALLOC_BASE_PTR_INTEL => match kind {
                Some(_) => info.value(address.minus(address.number() - start).pointer().cast::<c_void>()),
                None => info.value(std::ptr::null_mut::<c_void>()),
            },
            CL_MEM_ALLOC_SIZE_INTEL => info.value(bytes),
            CL_MEM_ALLOC_DEVICE_INTEL => match kind {
                Some(SharedMemoryKind::Device(device) | SharedMemoryKind::Shared(Some(device))) => {
                    info.value(handle_of(&*device))
                }
                _ => info.value(std::ptr::null_mut::<c_void>()),
            },
            _ => Err(ClError(CL_INVALID_VALUE)),
        }
    }

    fn clSetKernelArgMemPointerINTEL(of: ClHandle, index: cl_uint, pointer: ClInput<c_void>) {
        find::<ClKernel>(of)?.set_address(index, pointer.address())
    }

    fn clEnqueueMemFillINTEL(
        queue: ClHandle, to: ClOutput<c_void>, pattern: ClInput<c_void>, pattern_size: usize, size: usize,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        super::svm::fill(&into, CL_COMMAND_MEMFILL_INTEL, to, pattern, pattern_size, size)
    }

    fn clEnqueueMemcpyINTEL(
        queue: ClHandle, blocking: cl_bool, to: ClOutput<c_void>, from: ClInput<c_void>, size: usize,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        super::svm::copy(&into, CL_COMMAND_MEMCPY_INTEL, is_true(blocking), to, from, size)
    }

    fn clEnqueueMigrateMemINTEL(
        queue: ClHandle, pointer: ClInput<c_void>, _size: usize, flags: u64,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        ensure(!pointer.is_null(), CL_INVALID_VALUE)?;
        super::transfer::migration_flags(flags)?;
        into.command(CL_COMMAND_MIGRATEMEM_INTEL, false, Box::new(|| Ok(())))
    }

    fn clEnqueueMemAdviseINTEL(
        queue: ClHandle, pointer: ClInput<c_void>, _size: usize, _advice: cl_uint,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        ensure(!pointer.is_null(), CL_INVALID_VALUE)?;
        into.command(CL_COMMAND_MEMADVISE_INTEL, false, Box::new(|| Ok(())))
    }
}
