//! Images and the commands that read, write, copy, fill and map them.

use super::Enqueuing;
use super::command_target::CommandTarget;
use super::info::Info;
use super::pointer::{ClInput, ClOutput, is_true};
use super::transfer::{Triple, copy_boxes, map};
use crate::cl::*;
use crate::core::buffer::ClBuffer;
use crate::core::context::ClContext;
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::image::{ImageDescription, ImageView, TexelBox};
use crate::core::image_format::ImageFormat;
use crate::core::memory::{Rows, fill_box};
use crate::core::registry::{find, handle_of, publish};
use std::ffi::c_void;
use std::sync::Arc;

/// Description of an image in the C interface.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ClImageDescription {
    object_type: cl_uint,
    size: Triple,
    layers: usize,
    row_pitch: usize,
    slice_pitch: usize,
    levels: cl_uint,
    samples: cl_uint,
    source: ClHandle,
}

fn format(pointer: ClInput<[u32; 2]>) -> ClResult<ImageFormat> {
    let [order, data_type] = pointer.read().ok_or(ClError(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR))?;
    Ok(ImageFormat { order, data_type })
}

fn create(
    context: ClHandle,
    properties: Vec<u64>,
    flags: u64,
    format_pointer: ClInput<[u32; 2]>,
    description: ClInput<ClImageDescription>,
    host: ClInput<c_void>,
) -> ClResult<ClHandle> {
    let context = find::<ClContext>(context)?;
    let format = format(format_pointer)?;
    let given = description.read().ok_or(ClError(CL_INVALID_IMAGE_DESCRIPTOR))?;
    let source = match given.source.is_null() {
        true => None,
        false => {
            let source = find::<ClBuffer>(given.source).map_err(|_| ClError(CL_INVALID_IMAGE_DESCRIPTOR))?;
            ensure(Arc::ptr_eq(&source.context, &context), CL_INVALID_IMAGE_DESCRIPTOR)?;
            Some(source)
        }
    };
    let description = ImageDescription {
        object_type: given.object_type,
        size: given.size,
        layers: given.layers,
        row_pitch: given.row_pitch,
        slice_pitch: given.slice_pitch,
        levels: given.levels,
        samples: given.samples,
    };
    // SAFETY: the application hands over as much memory as it describes, for as long as it is used.
    let image = unsafe {
        ClBuffer::create_image(&context, properties, flags, format, description, (host.address(), source))
    }?;
    Ok(publish(Arc::new(image)))
}

/// Creates an image as OpenCL 1.0 describes it.
fn create_plain(
    context: ClHandle,
    flags: u64,
    format_pointer: ClInput<[u32; 2]>,
    description: ImageDescription,
    host: ClInput<c_void>,
) -> ClResult<ClHandle> {
    let context = find::<ClContext>(context)?;
    let format = format(format_pointer)?;
    // SAFETY: as above.
    let image = unsafe {
        ClBuffer::create_image(&context, Vec::new(), flags, format, description, (host.address(), None))
    };
    // Their only code for a wrong description is that of the size.
    let image = image.map_err(|error| match error {
        ClError(CL_INVALID_IMAGE_DESCRIPTOR) => ClError(CL_INVALID_IMAGE_SIZE),
        other => other,
    })?;
    Ok(publish(Arc::new(image)))
}

makers! {
    fn clCreateImage(
        context: ClHandle, flags: u64, format: ClInput<[u32; 2]>, shape: ClInput<ClImageDescription>, host: ClInput<c_void>,
    ) {
        create(context, Vec::new(), flags, format, shape, host)
    }

    fn clCreateImageWithProperties(
        context: ClHandle, list: ClInput<u64>, flags: u64, format: ClInput<[u32; 2]>, shape: ClInput<ClImageDescription>,
        host: ClInput<c_void>,
    ) {
        find::<ClContext>(context)?;
        let properties = list.until(|list| list.len() % 2 == 1 && list.last() == Some(&0));
        ensure(properties.len() <= 1, CL_INVALID_PROPERTY)?;
        create(context, properties, flags, format, shape, host)
    }

    fn clCreateImage2D(
        context: ClHandle, flags: u64, format: ClInput<[u32; 2]>, width: usize, height: usize, row_pitch: usize,
        host: ClInput<c_void>,
    ) {
        let size = [width, height, 1];
        let object_type = CL_MEM_OBJECT_IMAGE2D;
        let shape =
            ImageDescription { object_type, size, layers: 1, row_pitch, slice_pitch: 0, levels: 0, samples: 0 };
        create_plain(context, flags, format, shape, host)
    }

    fn clCreateImage3D(
        context: ClHandle, flags: u64, format: ClInput<[u32; 2]>, width: usize, height: usize, depth: usize,
        row_pitch: usize, slice_pitch: usize, host: ClInput<c_void>,
    ) {
        let size = [width, height, depth];
        let object_type = CL_MEM_OBJECT_IMAGE3D;
        let shape = ImageDescription { object_type, size, layers: 1, row_pitch, slice_pitch, levels: 0, samples: 0 };
        create_plain(context, flags, format, shape, host)
    }

    fn clEnqueueMapImage(
        queue: ClHandle, of: ClHandle, blocking: cl_bool, flags: u64, origin: ClInput<Triple>,
        region: ClInput<Triple>, row_pitch: ClOutput<usize>, slice_pitch: ClOutput<usize>, waits: cl_uint,
        list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        let memory = into.memory(of)?;
        let view = memory.view()?;
        let TexelBox { rows, .. } = texels(view, origin, region)?;
        ensure(!row_pitch.is_null(), CL_INVALID_VALUE)?;
        ensure(!view.has_slices() || !slice_pitch.is_null(), CL_INVALID_VALUE)?;
        let address = map(&into, CL_COMMAND_MAP_IMAGE, is_true(blocking), flags, (&memory, memory.base().plus(rows.start)))?;
        row_pitch.write(view.row_pitch);
        slice_pitch.write(if view.has_slices() { view.slice_pitch } else { 0 });
        Ok(address)
    }
}

fn texels(view: &ImageView, origin: ClInput<Triple>, region: ClInput<Triple>) -> ClResult<TexelBox> {
    let (origin, region) = (origin.read(), region.read());
    let missing = ClError(CL_INVALID_VALUE);
    view.texels(origin.ok_or(missing)?, region.ok_or(missing)?)
}

/// A region of an image and the box of the application's memory that it is read into or written from.
struct HostTexels {
    memory: Arc<ClBuffer>,
    inside: TexelBox,
    host: Rows,
}

impl HostTexels {
    fn new(
        memory: Arc<ClBuffer>,
        (origin, region): (ClInput<Triple>, ClInput<Triple>),
        pitches: [usize; 2],
        has_host: bool,
        writes: bool,
    ) -> ClResult<HostTexels> {
        let view = memory.view()?;
        let inside = texels(view, origin, region)?;
        let host = view.host_rows(region.read().unwrap_or_default(), pitches[0], pitches[1])?;
        ensure(has_host, CL_INVALID_VALUE)?;
        ensure(memory.allows_host(writes), CL_INVALID_OPERATION)?;
        Ok(HostTexels { memory, inside, host })
    }
}

/// Returns a region of an image and the box of a buffer, from an offset on, that it is copied to or from.
fn buffer_texels(
    image: &ClBuffer,
    (origin, region): (ClInput<Triple>, ClInput<Triple>),
    buffer: &ClBuffer,
    offset: usize,
) -> ClResult<(TexelBox, Rows)> {
    let inside = texels(image.view()?, origin, region)?;
    let [row, rows, _] = inside.region;
    let packed = Rows { start: offset, row_pitch: row, slice_pitch: row * rows };
    ensure(packed.end(inside.region).is_some_and(|end| end <= buffer.size), CL_INVALID_VALUE)?;
    Ok((inside, packed))
}

/// Adds a fill of a region of an image by a color.
pub(super) fn fill_image(
    into: &impl CommandTarget,
    target: ClHandle,
    color: ClInput<c_void>,
    (origin, region): (ClInput<Triple>, ClInput<Triple>),
) -> ClResult<()> {
    let memory = into.memory(target)?;
    let view = memory.view()?;
    let missing = ClError(CL_INVALID_VALUE);
    // The color of a depth image is one number.
    let color = match view.format.order {
        CL_DEPTH => [ClInput::<u32>::of_input(color).read().ok_or(missing)?, 0, 0, 0],
        _ => ClInput::<[u32; 4]>::of_input(color).read().ok_or(missing)?,
    };
    let inside = texels(view, origin, region)?;
    let pattern = view.layout.encode(color);
    let fill = move || {
        // SAFETY: a box of the image, which is kept alive.
        unsafe { fill_box(memory.base(), inside.rows, &pattern, inside.region) };
        Ok(())
    };
    into.add(CL_COMMAND_FILL_IMAGE, false, Box::new(fill))
}

/// Adds a copy between images, each with its origin.
pub(super) fn copy_image(
    into: &impl CommandTarget,
    (source, from): (ClHandle, ClInput<Triple>),
    (target, to): (ClHandle, ClInput<Triple>),
    region: ClInput<Triple>,
) -> ClResult<()> {
    let (source, target) = (into.memory(source)?, into.memory(target)?);
    let (source_view, target_view) = (source.view()?, target.view()?);
    ensure(source_view.format == target_view.format, CL_IMAGE_FORMAT_MISMATCH)?;
    let from = texels(source_view, from, region)?;
    let to = texels(target_view, to, region)?;
    if source.shares_memory(&target) {
        ensure(!from.rows.overlaps(&to.rows, from.region), CL_MEM_COPY_OVERLAP)?;
    }
    let boxes = ((target.base(), to.rows), (source.base(), from.rows), from.region);
    copy_boxes(into, CL_COMMAND_COPY_IMAGE, false, boxes, vec![source, target])
}

/// Adds a copy of a region of an image to a buffer.
pub(super) fn copy_image_to_buffer(
    into: &impl CommandTarget,
    (source, from): (ClHandle, ClInput<Triple>),
    (target, to): (ClHandle, usize),
    region: ClInput<Triple>,
) -> ClResult<()> {
    let (source, target) = (into.memory(source)?, into.buffer(target)?);
    let (inside, packed) = buffer_texels(&source, (from, region), &target, to)?;
    let boxes = ((target.base(), packed), (source.base(), inside.rows), inside.region);
    copy_boxes(into, CL_COMMAND_COPY_IMAGE_TO_BUFFER, false, boxes, vec![source, target])
}

/// Adds a copy of a buffer to a region of an image.
pub(super) fn copy_buffer_to_image(
    into: &impl CommandTarget,
    (source, from): (ClHandle, usize),
    (target, to): (ClHandle, ClInput<Triple>),
    region: ClInput<Triple>,
) -> ClResult<()> {
    let (source, target) = (into.buffer(source)?, into.memory(target)?);
    let (inside, packed) = buffer_texels(&target, (to, region), &source, from)?;
    let boxes = ((target.base(), inside.rows), (source.base(), packed), inside.region);
    copy_boxes(into, CL_COMMAND_COPY_BUFFER_TO_IMAGE, false, boxes, vec![source, target])
}

entries! {
    fn clGetSupportedImageFormats(
        context: ClHandle, flags: u64, kind: cl_uint, count: cl_uint, formats: ClOutput<[u32; 2]>, there: ClOutput<cl_uint>,
    ) {
        find::<ClContext>(context)?;
        crate::core::buffer::check_access(flags & !CL_MEM_KERNEL_READ_AND_WRITE)?;
        let is_image = (CL_MEM_OBJECT_IMAGE2D..=CL_MEM_OBJECT_IMAGE1D_BUFFER).contains(&kind);
        ensure(is_image && (count != 0 || formats.is_null()), CL_INVALID_VALUE)?;
        let reads_only = flags & CL_MEM_READ_ONLY != 0 && flags & CL_MEM_KERNEL_READ_AND_WRITE == 0;
        let has_depth = matches!(kind, CL_MEM_OBJECT_IMAGE2D | CL_MEM_OBJECT_IMAGE2D_ARRAY);
        let all: Vec<ImageFormat> = ImageFormat::all()
            .filter(|(format, layout)| {
                (layout.is_writable || reads_only) && (format.order != CL_DEPTH || has_depth)
            })
            .map(|(format, _)| format)
            .collect();
        for (index, format) in all.iter().take(count as usize).enumerate() {
            formats.write_at(index, [format.order, format.data_type]);
        }
        there.write(all.len() as cl_uint);
        Ok(())
    }

    fn clGetImageInfo(of: ClHandle, name: cl_uint, size: usize, value: ClOutput<c_void>, needed: ClOutput<usize>) {
        let memory = find::<ClBuffer>(of)?;
        let view = memory.view()?;
        let info = Info::new(size, value, needed);
        let (is_volume, is_array) = (view.object_type == CL_MEM_OBJECT_IMAGE3D, view.is_array());
        let is_plane = matches!(view.object_type, CL_MEM_OBJECT_IMAGE2D | CL_MEM_OBJECT_IMAGE2D_ARRAY);
        let only = |is_there: bool, value: usize| info.value(if is_there { value } else { 0 });
        match name {
            CL_IMAGE_FORMAT => info.list(&[view.format.order, view.format.data_type]),
            CL_IMAGE_ELEMENT_SIZE => info.value(view.layout.bytes()),
            CL_IMAGE_ROW_PITCH => info.value(view.row_pitch),
            CL_IMAGE_SLICE_PITCH => only(view.has_slices(), view.slice_pitch),
            CL_IMAGE_WIDTH => info.value(view.size[0]),
            CL_IMAGE_HEIGHT => only(is_plane || is_volume, view.size[1]),
            CL_IMAGE_DEPTH => only(is_volume, view.size[2]),
            CL_IMAGE_ARRAY_SIZE => only(is_array, view.layers),
            CL_IMAGE_BUFFER => {
                let buffer = memory.parent.as_ref().filter(|parent| parent.image.is_none());
                info.value(buffer.map_or(std::ptr::null_mut(), |buffer| handle_of(&**buffer)))
            }
            CL_IMAGE_NUM_MIP_LEVELS | CL_IMAGE_NUM_SAMPLES => info.value(0u32),
            _ => Err(ClError(CL_INVALID_VALUE)),
        }
    }

    fn clEnqueueReadImage(
        queue: ClHandle, of: ClHandle, blocking: cl_bool, origin: ClInput<Triple>, region: ClInput<Triple>,
        row_pitch: usize, slice_pitch: usize, to: ClOutput<c_void>, waits: cl_uint, list: ClInput<ClHandle>,
        event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        let given = HostTexels::new(into.memory(of)?, (origin, region), [row_pitch, slice_pitch], !to.is_null(), false)?;
        let HostTexels { memory, inside, host } = given;
        let boxes = ((to.address(), host), (memory.base(), inside.rows), inside.region);
        copy_boxes(&into, CL_COMMAND_READ_IMAGE, is_true(blocking), boxes, vec![memory])
    }

    fn clEnqueueWriteImage(
        queue: ClHandle, of: ClHandle, blocking: cl_bool, origin: ClInput<Triple>, region: ClInput<Triple>,
        row_pitch: usize, slice_pitch: usize, from: ClInput<c_void>, waits: cl_uint, list: ClInput<ClHandle>,
        event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        let given = HostTexels::new(into.memory(of)?, (origin, region), [row_pitch, slice_pitch], !from.is_null(), true)?;
        let HostTexels { memory, inside, host } = given;
        let boxes = ((memory.base(), inside.rows), (from.address(), host), inside.region);
        copy_boxes(&into, CL_COMMAND_WRITE_IMAGE, is_true(blocking), boxes, vec![memory])
    }

    fn clEnqueueFillImage(
        queue: ClHandle, of: ClHandle, color: ClInput<c_void>, origin: ClInput<Triple>, region: ClInput<Triple>,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        fill_image(&into, of, color, (origin, region))
    }

    fn clEnqueueCopyImage(
        queue: ClHandle, source: ClHandle, target: ClHandle, from: ClInput<Triple>, to: ClInput<Triple>,
        region: ClInput<Triple>, waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        copy_image(&into, (source, from), (target, to), region)
    }

    fn clEnqueueCopyImageToBuffer(
        queue: ClHandle, source: ClHandle, target: ClHandle, from: ClInput<Triple>, region: ClInput<Triple>, to: usize,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        copy_image_to_buffer(&into, (source, from), (target, to), region)
    }

    fn clEnqueueCopyBufferToImage(
        queue: ClHandle, source: ClHandle, target: ClHandle, from: usize, to: ClInput<Triple>, region: ClInput<Triple>,
        waits: cl_uint, list: ClInput<ClHandle>, event: ClOutput<ClHandle>,
    ) {
        let into = Enqueuing::new(queue, waits, list, event)?;
        copy_buffer_to_image(&into, (source, from), (target, to), region)
    }
}
