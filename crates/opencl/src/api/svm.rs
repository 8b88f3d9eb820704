//! Shared virtual memory.

use super::Enqueuing;
use super::command_target::CommandTarget;
use super::pointer::{ClInput, ClOutput, UserData, is_true};
use crate::cl::*;
use crate::core::context::ClContext;
use crate::core::device::{BASE_ALIGN, device};
use crate::core::error::{ClResult, ensure};
use crate::core::memory::Address;
use crate::core::registry::find;
use crate::core::svm::{COARSE_GRAINED, FINE_GRAINED, SharedMemoryKind, SvmAttributes};
use std::ffi::c_void;

/// Callback that frees shared virtual memory instead of the driver.
pub type FreeFunction = unsafe extern "C" fn(ClHandle, cl_uint, *mut *mut c_void, *mut c_void);

const FLAGS: u64 = CL_MEM_READ_WRITE
    | CL_MEM_WRITE_ONLY
    | CL_MEM_READ_ONLY
    | CL_MEM_SVM_FINE_GRAIN_BUFFER
    | CL_MEM_SVM_ATOMICS;

/// Adds a copy between addresses that host and device share.
pub(super) fn copy(
    into: &impl CommandTarget,
    command: cl_uint,
    blocking: bool,
    to: ClOutput<c_void>,
    from: ClInput<c_void>,
    size: usize,
) -> ClResult<()> {
    ensure(size == 0 || !to.is_null() && !from.is_null(), CL_INVALID_VALUE)?;
    let (to, from) = (to.address(), from.address());
    ensure(to.number().abs_diff(from.number()) >= size, CL_MEM_COPY_OVERLAP)?;
    let copy = move || {
        // SAFETY: the application promises that both ranges exist until the command is complete.
        unsafe { to.copy_from(from, size) };
        Ok(())
    };
    into.add(command, blocking, Box::new(copy))
}

/// Adds a fill of memory that host and device share.
pub(super) fn fill(
    into: &impl CommandTarget,
    command: cl_uint,
    to: ClOutput<c_void>,
    pattern: ClInput<c_void>,
    pattern_size: usize,
    size: usize,
) -> ClResult<()> {
    let pattern = super::transfer::pattern(pattern, pattern_size)?;
    let is_aligned = to.address().number().is_multiple_of(pattern_size);
    ensure(size == 0 || !to.is_null() && is_aligned, CL_INVALID_VALUE)?;
    ensure(size.is_multiple_of(pattern_size), CL_INVALID_VALUE)?;
    let to = to.address();
    let fill = move || {
        // SAFETY: the application promises that the range exists until the command is complete.
        unsafe { to.fill(&pattern, size) };
        Ok(())
    };
    into.add(command, false, Box::new(fill))
}

/// True unless the memory at an address is of a type that the host cannot map.
fn is_mappable(context: &ClContext, pointer: ClOutput<c_void>) -> bool {
    let kind = context.svm.kind(pointer.address().number());
    let capabilities = kind.as_ref().and_then(SharedMemoryKind::svm).map(SvmAttributes::capabilities);
    capabilities.is_none_or(|of| of & CL_SVM_CAPABILITY_HOST_MAP_KHR != 0)
}

/// `clSVMAlloc` of the specification.
///
/// # Safety
/// Pointers are null or valid as the specification requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clSVMAlloc(
    context: ClHandle,
    flags: u64,
    size: usize,
    align: cl_uint,
) -> *mut c_void {
    super::made(ClOutput::NONE, || {
        let context = find::<ClContext>(context)?;
        let access = flags & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY);
        ensure(flags & !FLAGS == 0 && access.count_ones() <= 1, CL_INVALID_VALUE)?;
        let lonely = flags & CL_MEM_SVM_ATOMICS != 0 && flags & CL_MEM_SVM_FINE_GRAIN_BUFFER == 0;
        ensure(!lonely && size != 0 && size as u64 <= device().max_allocation(), CL_INVALID_VALUE)?;
        let align = if align == 0 { BASE_ALIGN } else { align as usize };
        ensure(align.is_power_of_two() && align <= BASE_ALIGN, CL_INVALID_VALUE)?;
        // A kernel may store vectors at the start.
        let is_fine = flags & CL_MEM_SVM_FINE_GRAIN_BUFFER != 0;
        let type_index = if is_fine { FINE_GRAINED } else { COARSE_GRAINED };
        let kind = SharedMemoryKind::Svm(SvmAttributes { type_index, ..SvmAttributes::default() });
        let address = context.svm.add(kind, size, BASE_ALIGN);
        Ok(address.map_or(std::ptr::null_mut(), |address| address.pointer().cast()))
    })
}

/// `clSVMFree` of the specification.
///
/// # Safety
/// Pointers are null or valid as the specification requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clSVMFree(context: ClHandle, pointer: ClInput<c_void>) {
    super::answer(|| {
        find::<ClContext>(context)?.svm.remove(pointer.address().number());
        Ok(())
    });
}

entries! {
    fn clEnqueueSVMFree(
        queue: ClHandle, count: cl_uint, pointers: ClInput<*mut c_void>, function: Option<FreeFunction>, data: UserData,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        let addresses: Vec<Address> = pointers.list(count as usize)?.into_iter().map(|pointer| Address::new(pointer)).collect();
        let context = into.queue.context.clone();
        let queue = queue.addr();
        into.command(CL_COMMAND_SVM_FREE, false, Box::new(move || {
            match function {
                None => addresses.iter().for_each(|address| {
                    context.svm.remove(address.number());
                }),
                Some(function) => {
                    let mut pointers: Vec<*mut c_void> =
                        addresses.iter().map(|address| address.pointer().cast()).collect();
                    let queue = std::ptr::without_provenance_mut(queue);
                    // SAFETY: the application's function, with the list that it gave.
                    unsafe { function(queue, pointers.len() as cl_uint, pointers.as_mut_ptr(), data.get()) };
                }
            }
            Ok(())
        }))
    }

    fn clEnqueueSVMMemcpy(
        queue: ClHandle, blocking: cl_bool, to: ClOutput<c_void>, from: ClInput<c_void>, size: usize,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        copy(&into, CL_COMMAND_SVM_MEMCPY, is_true(blocking), to, from, size)
    }

    fn clEnqueueSVMMemFill(
        queue: ClHandle, to: ClOutput<c_void>, pattern: ClInput<c_void>, pattern_size: usize, size: usize,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        fill(&into, CL_COMMAND_SVM_MEMFILL, to, pattern, pattern_size, size)
    }

    fn clEnqueueSVMMap(
        queue: ClHandle, blocking: cl_bool, flags: u64, pointer: ClOutput<c_void>, size: usize,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        ensure(!pointer.is_null() && size != 0, CL_INVALID_VALUE)?;
        ensure(is_mappable(&into.queue.context, pointer), CL_INVALID_VALUE)?;
        super::transfer::map_flags(flags)?;
        into.command(CL_COMMAND_SVM_MAP, is_true(blocking), Box::new(|| Ok(())))
    }

    fn clEnqueueSVMUnmap(
        queue: ClHandle, pointer: ClOutput<c_void>, waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        ensure(!pointer.is_null(), CL_INVALID_VALUE)?;
        ensure(is_mappable(&into.queue.context, pointer), CL_INVALID_VALUE)?;
        into.command(CL_COMMAND_SVM_UNMAP, false, Box::new(|| Ok(())))
    }

    fn clEnqueueSVMMigrateMem(
        queue: ClHandle, count: cl_uint, pointers: ClInput<*const c_void>, sizes: ClInput<usize>, flags: u64,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        let pointers = pointers.list(count as usize)?;
        ensure(!pointers.is_empty(), CL_INVALID_VALUE)?;
        super::transfer::migration_flags(flags)?;
        let sizes = if sizes.is_null() { vec![0; pointers.len()] } else { sizes.list(pointers.len())? };
        for (pointer, size) in pointers.into_iter().zip(sizes) {
            let is_none = pointer.is_null() && size == 0;
            ensure(is_none || into.queue.context.svm.holds(pointer.addr(), size), CL_INVALID_VALUE)?;
        }
        into.command(CL_COMMAND_SVM_MIGRATE_MEM, false, Box::new(|| Ok(())))
    }
}
