//! Commands that read, write, copy, fill and map buffers.

use super::Enqueuing;
use super::command_target::CommandTarget;
use super::pointer::{ClInput, ClOutput, is_true};
use crate::cl::*;
use crate::core::buffer::ClBuffer;
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::memory::{Address, Rows, copy_box};
use crate::core::registry::{find, publish};
use std::ffi::c_void;
use std::sync::Arc;

/// Origin or size of a box.
pub(super) type Triple = [usize; 3];

/// Reads the bytes of a fill pattern.
pub(super) fn pattern(pattern: ClInput<c_void>, size: usize) -> ClResult<Vec<u8>> {
    ensure(size.is_power_of_two() && size <= 128, CL_INVALID_VALUE)?;
    Ok(pattern.bytes(size).ok_or(ClError(CL_INVALID_VALUE))?.to_vec())
}

/// Checks the flags of a map.
pub(super) fn map_flags(flags: u64) -> ClResult<()> {
    let invalidates = flags & CL_MAP_WRITE_INVALIDATE_REGION != 0;
    ensure(flags & !(CL_MAP_READ | CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION) == 0, CL_INVALID_VALUE)?;
    ensure(!invalidates || flags & (CL_MAP_READ | CL_MAP_WRITE) == 0, CL_INVALID_VALUE)
}

/// Enqueues a map of a memory object at an address in it, which it returns.
pub(super) fn map(
    into: &Enqueuing,
    command: u32,
    blocking: bool,
    flags: u64,
    (memory, at): (&Arc<ClBuffer>, Address),
) -> ClResult<ClHandle> {
    map_flags(flags)?;
    let writes = flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION) != 0;
    ensure(flags & CL_MAP_READ == 0 || memory.allows_host(false), CL_INVALID_OPERATION)?;
    ensure(!writes || memory.allows_host(true), CL_INVALID_OPERATION)?;
    memory.add_map(at);
    let kept = memory.clone();
    let work = Box::new(move || {
        drop(kept);
        Ok(())
    });
    let done = into.command(command, blocking, work);
    if done.is_err() {
        memory.take_map(at);
    }
    done.map(|()| at.pointer().cast())
}

/// Checks the flags of a migration.
pub(super) fn migration_flags(flags: u64) -> ClResult<()> {
    let known = CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
    ensure(flags & !known == 0, CL_INVALID_VALUE)
}

/// Adds a copy of bytes and keeps both memory objects alive.
fn copy(
    into: &impl CommandTarget,
    command: u32,
    blocking: bool,
    (to, from, size): (Address, Address, usize),
    kept: Vec<Arc<ClBuffer>>,
) -> ClResult<()> {
    into.add(
        command,
        blocking,
        Box::new(move || {
            let _kept = &kept;
            // SAFETY: ranges of buffers that are kept alive, or memory that the application says is there until the
            // command is complete.
            unsafe { to.copy_from(from, size) };
            Ok(())
        }),
    )
}

/// Adds a copy of boxes.
pub(super) fn copy_boxes(
    into: &impl CommandTarget,
    command: u32,
    blocking: bool,
    (to, from, region): ((Address, Rows), (Address, Rows), Triple),
    kept: Vec<Arc<ClBuffer>>,
) -> ClResult<()> {
    into.add(
        command,
        blocking,
        Box::new(move || {
            let _kept = &kept;
            // SAFETY: boxes in buffers that are kept alive, or in memory that the application says is there until the
            // command is complete.
            unsafe { copy_box(to.0, to.1, from.0, from.1, region) };
            Ok(())
        }),
    )
}

fn region(region: ClInput<Triple>) -> ClResult<Triple> {
    let region = region.read().ok_or(ClError(CL_INVALID_VALUE))?;
    ensure(!region.contains(&0), CL_INVALID_VALUE)?;
    Ok(region)
}

fn rows(origin: ClInput<Triple>, region: Triple, row_pitch: usize, slice_pitch: usize) -> ClResult<Rows> {
    let origin = origin.read().ok_or(ClError(CL_INVALID_VALUE))?;
    Rows::new(origin, region, row_pitch, slice_pitch).ok_or(ClError(CL_INVALID_VALUE))
}

fn fits(rows: &Rows, region: Triple, buffer: &ClBuffer) -> ClResult<()> {
    ensure(rows.end(region).is_some_and(|end| end <= buffer.size), CL_INVALID_VALUE)
}

/// Adds a copy between buffers, each with its offset.
pub(super) fn copy_buffer(
    into: &impl CommandTarget,
    (source, from): (ClHandle, usize),
    (target, to): (ClHandle, usize),
    size: usize,
) -> ClResult<()> {
    let (source, target) = (into.buffer(source)?, into.buffer(target)?);
    ensure(size != 0, CL_INVALID_VALUE)?;
    let (from, to) = (source.range(from, size)?, target.range(to, size)?);
    let apart = from.number().abs_diff(to.number()) >= size;
    ensure(!source.shares_memory(&target) || apart, CL_MEM_COPY_OVERLAP)?;
    copy(into, CL_COMMAND_COPY_BUFFER, false, (to, from, size), vec![source, target])
}

/// Box of a buffer as the application gives it.
pub(super) struct BufferBox {
    /// Buffer.
    pub(super) buffer: ClHandle,
    /// Origin.
    pub(super) origin: ClInput<Triple>,
    /// Pitches of rows and of slices.
    pub(super) pitches: [usize; 2],
}

/// Adds a copy between boxes of buffers.
pub(super) fn copy_buffer_box(
    into: &impl CommandTarget,
    from: &BufferBox,
    to: &BufferBox,
    size: ClInput<Triple>,
) -> ClResult<()> {
    let (source, target) = (into.buffer(from.buffer)?, into.buffer(to.buffer)?);
    let region = region(size)?;
    let [from, to] = [from, to].map(|it| rows(it.origin, region, it.pitches[0], it.pitches[1]));
    let (from, to) = (from?, to?);
    fits(&from, region, &source)?;
    fits(&to, region, &target)?;
    if Arc::ptr_eq(&source, &target) {
        let same = (from.row_pitch, from.slice_pitch) == (to.row_pitch, to.slice_pitch);
        ensure(same, CL_INVALID_VALUE)?;
    }
    if source.shares_memory(&target) {
        let inside = |rows: Rows, buffer: &ClBuffer| Rows { start: rows.start + buffer.origin, ..rows };
        ensure(!inside(from, &source).overlaps(&inside(to, &target), region), CL_MEM_COPY_OVERLAP)?;
    }
    let boxes = ((target.base(), to), (source.base(), from), region);
    copy_boxes(into, CL_COMMAND_COPY_BUFFER_RECT, false, boxes, vec![source, target])
}

/// Adds a fill of a buffer by a pattern of a size.
pub(super) fn fill_buffer(
    into: &impl CommandTarget,
    target: ClHandle,
    (what, pattern_size): (ClInput<c_void>, usize),
    offset: usize,
    size: usize,
) -> ClResult<()> {
    let buffer = into.buffer(target)?;
    let pattern = pattern(what, pattern_size)?;
    ensure(offset.is_multiple_of(pattern_size) && size.is_multiple_of(pattern_size), CL_INVALID_VALUE)?;
    let to = buffer.range(offset, size)?;
    let fill = move || {
        let _kept = &buffer;
        // SAFETY: a range of the buffer, which is kept alive.
        unsafe { to.fill(&pattern, size) };
        Ok(())
    };
    into.add(CL_COMMAND_FILL_BUFFER, false, Box::new(fill))
}

/// A box of a buffer, and the one in memory of the host that it is read to or written from.
struct HostBoxes {
    buffer: Arc<ClBuffer>,
    inside: Rows,
    host: Rows,
    region: Triple,
}

impl HostBoxes {
    /// Origins and pitches (of rows, then of slices) are of the buffer and of the host.
    fn new(
        buffer: Arc<ClBuffer>,
        origins: [ClInput<Triple>; 2],
        size: ClInput<Triple>,
        pitches: [[usize; 2]; 2],
        has_host: bool,
        writes: bool,
    ) -> ClResult<HostBoxes> {
        let region = region(size)?;
        let [inside, host] = [0, 1].map(|at| rows(origins[at], region, pitches[at][0], pitches[at][1]));
        let (inside, host) = (inside?, host?);
        fits(&inside, region, &buffer)?;
        ensure(has_host, CL_INVALID_VALUE)?;
        ensure(buffer.allows_host(writes), CL_INVALID_OPERATION)?;
        Ok(HostBoxes { buffer, inside, host, region })
    }
}

entries! {
    fn clEnqueueReadBuffer(
        queue: ClHandle, of: ClHandle, blocking: cl_bool, offset: usize, size: usize, to: ClOutput<c_void>,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        let buffer = into.buffer(of)?;
        let from = buffer.range(offset, size)?;
        ensure(!to.is_null() && size != 0, CL_INVALID_VALUE)?;
        ensure(buffer.allows_host(false), CL_INVALID_OPERATION)?;
        copy(&into, CL_COMMAND_READ_BUFFER, is_true(blocking), (to.address(), from, size), vec![buffer])
    }

    fn clEnqueueWriteBuffer(
        queue: ClHandle, of: ClHandle, blocking: cl_bool, offset: usize, size: usize, from: ClInput<c_void>,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        let buffer = into.buffer(of)?;
        let to = buffer.range(offset, size)?;
        ensure(!from.is_null() && size != 0, CL_INVALID_VALUE)?;
        ensure(buffer.allows_host(true), CL_INVALID_OPERATION)?;
        copy(&into, CL_COMMAND_WRITE_BUFFER, is_true(blocking), (to, from.address(), size), vec![buffer])
    }

    fn clEnqueueCopyBuffer(
        queue: ClHandle, source: ClHandle, target: ClHandle, from: usize, to: usize, size: usize,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        copy_buffer(&into, (source, from), (target, to), size)
    }

    fn clEnqueueReadBufferRect(
        queue: ClHandle, of: ClHandle, blocking: cl_bool, origin: ClInput<Triple>, host_origin: ClInput<Triple>, size: ClInput<Triple>,
        row_pitch: usize, slice_pitch: usize, host_row_pitch: usize, host_slice_pitch: usize, to: ClOutput<c_void>,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        let pitches = [[row_pitch, slice_pitch], [host_row_pitch, host_slice_pitch]];
        let buffer = into.buffer(of)?;
        let HostBoxes { buffer, inside, host, region } =
            HostBoxes::new(buffer, [origin, host_origin], size, pitches, !to.is_null(), false)?;
        let boxes = ((to.address(), host), (buffer.base(), inside), region);
        copy_boxes(&into, CL_COMMAND_READ_BUFFER_RECT, is_true(blocking), boxes, vec![buffer])
    }

    fn clEnqueueWriteBufferRect(
        queue: ClHandle, of: ClHandle, blocking: cl_bool, origin: ClInput<Triple>, host_origin: ClInput<Triple>, size: ClInput<Triple>,
        row_pitch: usize, slice_pitch: usize, host_row_pitch: usize, host_slice_pitch: usize, from: ClInput<c_void>,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        let pitches = [[row_pitch, slice_pitch], [host_row_pitch, host_slice_pitch]];
        let buffer = into.buffer(of)?;
        let HostBoxes { buffer, inside, host, region } =
            HostBoxes::new(buffer, [origin, host_origin], size, pitches, !from.is_null(), true)?;
        let boxes = ((buffer.base(), inside), (from.address(), host), region);
        copy_boxes(&into, CL_COMMAND_WRITE_BUFFER_RECT, is_true(blocking), boxes, vec![buffer])
    }

    fn clEnqueueCopyBufferRect(
        queue: ClHandle, source: ClHandle, target: ClHandle, from: ClInput<Triple>, to: ClInput<Triple>, size: ClInput<Triple>,
        from_row: usize, from_slice: usize, to_row: usize, to_slice: usize,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        let from = BufferBox { buffer: source, origin: from, pitches: [from_row, from_slice] };
        let to = BufferBox { buffer: target, origin: to, pitches: [to_row, to_slice] };
        copy_buffer_box(&into, &from, &to, size)
    }

    fn clEnqueueFillBuffer(
        queue: ClHandle, of: ClHandle, what: ClInput<c_void>, pattern_size: usize, offset: usize, size: usize,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        fill_buffer(&into, of, (what, pattern_size), offset, size)
    }

    fn clEnqueueUnmapMemObject(
        queue: ClHandle, of: ClHandle, mapped: ClOutput<c_void>, waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        let buffer = into.memory(of)?;
        ensure(buffer.take_map(mapped.address()), CL_INVALID_VALUE)?;
        // Maps are pointers into the buffer itself: unmapping moves no data.
        into.command(CL_COMMAND_UNMAP_MEM_OBJECT, false, Box::new(move || {
            drop(buffer);
            Ok(())
        }))
    }

    fn clEnqueueMigrateMemObjects(
        queue: ClHandle, count: cl_uint, objects: ClInput<ClHandle>, flags: u64,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        let objects = objects.list(count as usize)?;
        ensure(!objects.is_empty(), CL_INVALID_VALUE)?;
        migration_flags(flags)?;
        objects.into_iter().try_for_each(|object| into.memory(object).map(|_| ()))?;
        into.command(CL_COMMAND_MIGRATE_MEM_OBJECTS, false, Box::new(|| Ok(())))
    }
}

makers! {
    fn clEnqueueMapBuffer(
        queue: ClHandle, of: ClHandle, blocking: cl_bool, flags: u64, offset: usize, size: usize,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        let buffer = into.buffer(of)?;
        let at = buffer.range(offset, size)?;
        ensure(size != 0, CL_INVALID_VALUE)?;
        map(&into, CL_COMMAND_MAP_BUFFER, is_true(blocking), flags, (&buffer, at))
    }

    fn clCreateUserEvent(context: ClHandle) {
        let context = find::<crate::core::context::ClContext>(context)?;
        Ok(publish(Arc::new(crate::core::event::ClEvent::of_user(&context))))
    }
}
