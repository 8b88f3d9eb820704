//! Commands that run kernels.

use super::Enqueuing;
use super::pointer::{ClInput, ClOutput};
use crate::cl::*;
use crate::core::buffer::ClBuffer;
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::kernel::ClKernel;
use crate::core::launch::ClNdRange;
use crate::core::memory::Address;
use crate::core::queue::{CommandOrder, CommandRequest, CommandThreads};
use crate::core::registry::find;
use std::ffi::c_void;
use std::sync::Arc;

/// A function of the application that runs as a command.
pub type NativeFunction = unsafe extern "C" fn(*mut c_void);

fn sizes(dims: cl_uint, list: ClInput<usize>) -> ClResult<Option<Vec<usize>>> {
    if list.is_null() { Ok(None) } else { list.list(dims as usize).map(Some) }
}

/// Reads and checks the index space of a launch.
pub(super) fn range(
    kernel: &ClKernel,
    dims: cl_uint,
    offset: ClInput<usize>,
    global: ClInput<usize>,
    local: ClInput<usize>,
) -> ClResult<ClNdRange> {
    ensure((1..=3).contains(&dims), CL_INVALID_WORK_DIMENSION)?;
    let global = sizes(dims, global)?.unwrap_or_else(|| vec![0; dims as usize]);
    kernel.range(dims, sizes(dims, offset)?.as_deref(), &global, sizes(dims, local)?.as_deref())
}

fn enqueue(
    into: &Enqueuing,
    of: ClHandle,
    command: u32,
    range: impl Fn(&ClKernel) -> ClResult<ClNdRange>,
) -> ClResult<()> {
    let kernel = find::<ClKernel>(of)?;
    ensure(Arc::ptr_eq(&kernel.program.context, &into.queue.context), CL_INVALID_CONTEXT)?;
    let launch = kernel.launch(range(&kernel)?, &into.queue.device)?;
    let doer = launch.doer();
    if doer == CommandThreads::Caller
        && into.event.is_null()
        && let Some(done) = into.queue.at_once(&into.waits, || launch.run_quietly())
    {
        // No event carries the failure.
        let _ = done.map_err(|reason| launch.report(&reason));
        return Ok(());
    }
    // Compile before the command starts: its profiling times exclude compilation.
    launch.prepare()?;
    let request =
        CommandRequest { command, wait_list: &into.waits, order: CommandOrder::Queue, blocking: false, doer };
    into.request(&request, Box::new(move || launch.run()))
}

entries! {
    fn clEnqueueNDRangeKernel(
        queue: ClHandle, of: ClHandle, dims: cl_uint, offset: ClInput<usize>, global: ClInput<usize>, local: ClInput<usize>,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        enqueue(&into, of, CL_COMMAND_NDRANGE_KERNEL, |kernel| range(kernel, dims, offset, global, local))
    }

    fn clEnqueueTask(queue: ClHandle, of: ClHandle, waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        enqueue(&into, of, CL_COMMAND_TASK, |kernel| kernel.range(1, None, &[1], Some(&[1])))
    }

    fn clEnqueueNativeKernel(
        queue: ClHandle, function: Option<NativeFunction>, arguments: ClInput<c_void>, size: usize, count: cl_uint,
        objects: ClInput<ClHandle>, places: ClInput<*const c_void>, waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        let function = function.ok_or(ClError(CL_INVALID_VALUE))?;
        ensure(arguments.is_null() == (size == 0), CL_INVALID_VALUE)?;
        ensure(!arguments.is_null() || count == 0, CL_INVALID_VALUE)?;
        let start = arguments.address();
        // The copied arguments are aligned for every type.
        let mut copy = vec![0u128; size.div_ceil(16)];
        // SAFETY: the application says that there are as many bytes; the copy is as long.
        unsafe { Address::new(copy.as_mut_ptr()).copy_from(start, size) };
        let objects = objects.list(count as usize)?;
        let places = places.list(count as usize)?;
        let mut kept = Vec::new();
        for (object, place) in objects.into_iter().zip(places) {
            let buffer = find::<ClBuffer>(object)?;
            let offset = place.addr().wrapping_sub(start.number());
            let fits = offset.checked_add(size_of::<usize>()).is_some_and(|end| end <= size);
            ensure(fits, CL_INVALID_VALUE)?;
            let base = buffer.base();
            let bytes = base.number().to_ne_bytes();
            // SAFETY: eight bytes within the copy.
            unsafe { Address::new(copy.as_mut_ptr()).plus(offset).copy_from(Address::new(bytes.as_ptr()), bytes.len()) };
            base.pointer().expose_provenance();
            kept.push(buffer);
        }
        into.command(CL_COMMAND_NATIVE_KERNEL, false, Box::new(move || {
            let arguments = if size == 0 { std::ptr::null_mut() } else { copy.as_mut_ptr().cast() };
            // SAFETY: the application's function, with a copy of its arguments.
            unsafe { function(arguments) };
            drop(kept);
            Ok(())
        }))
    }
}
