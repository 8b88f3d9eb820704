//! Images: shapes, descriptors that kernels read, and boxes of texels.

use crate::cl::*;
use crate::core::buffer::{ClBuffer, check_access};
use crate::core::context::ClContext;
use crate::core::device::{BASE_ALIGN, device};
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::image_format::{ImageFormat, TexelLayout};
use crate::core::memory::{Address, ClMemory, Rows};
use heddle_builtins::texel::{ImageDescriptor, srgb_table};
use heddle_llvm::ImageType;
use heddle_runtime::{DescriptorFields, descriptor_offsets};
use std::mem::offset_of;
use std::sync::Arc;

const _: () = assert!(offset_of!(ImageDescriptor, layout) == descriptor_offsets::LAYOUT);
const _: () = assert!(offset_of!(ImageDescriptor, order) == descriptor_offsets::ORDER);

/// Maximum width and height of an image that is no volume.
pub const MAX_PLANE: usize = 16384;
/// Maximum width, height and depth of a volume.
pub const MAX_VOLUME: usize = 2048;
/// Maximum number of layers of an array.
pub const MAX_LAYERS: usize = 2048;
/// Maximum width of an image of a buffer.
pub const MAX_BUFFER_WIDTH: usize = 1 << 27;
/// Maximum bytes of an image: kernels compute offsets in 32 bits.
const MAX_BYTES: usize = i32::MAX as usize;

/// Shape of an image as the application describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageDescription {
    /// `CL_MEM_OBJECT_IMAGE…`.
    pub object_type: u32,
    /// Width, height and depth in texels.
    pub size: [usize; 3],
    /// Layers of an array.
    pub layers: usize,
    /// Bytes from row to row; 0 if they follow from the width.
    pub row_pitch: usize,
    /// Bytes from slice to slice, or from layer to layer; 0 if they follow from the rows.
    pub slice_pitch: usize,
    /// Levels of detail, which must be 0.
    pub levels: u32,
    /// Samples of a texel, which must be 0.
    pub samples: u32,
}

/// Format, shape and descriptor of a memory object that is an image.
#[derive(Debug)]
pub struct ImageView {
    /// Format of the texels.
    pub format: ImageFormat,
    /// Layout of the texels.
    pub layout: TexelLayout,
    /// `CL_MEM_OBJECT_IMAGE…`.
    pub object_type: u32,
    /// Width, height and depth; 1 along dimensions that it lacks.
    pub size: [usize; 3],
    /// Layers; 1 if it is no array.
    pub layers: usize,
    /// Bytes from row to row.
    pub row_pitch: usize,
    /// Bytes from slice to slice, or from layer to layer.
    pub slice_pitch: usize,
    descriptor: Box<ImageDescriptor>,
}

/// Box of texels in an image.
#[derive(Clone, Copy, Debug)]
pub struct TexelBox {
    /// Its bytes in memory.
    pub rows: Rows,
    /// Bytes of a row, rows, and slices.
    pub region: [usize; 3],
}

impl ImageDescription {
    fn is_array(&self) -> bool {
        matches!(self.object_type, CL_MEM_OBJECT_IMAGE1D_ARRAY | CL_MEM_OBJECT_IMAGE2D_ARRAY)
    }

    fn dims(&self) -> usize {
        match self.object_type {
            CL_MEM_OBJECT_IMAGE3D => 3,
            CL_MEM_OBJECT_IMAGE2D | CL_MEM_OBJECT_IMAGE2D_ARRAY => 2,
            _ => 1,
        }
    }

    /// Checks the dimensions, and clears those that the type lacks.
    fn checked(mut self) -> ClResult<ImageDescription> {
        let is_known = matches!(
            self.object_type,
            CL_MEM_OBJECT_IMAGE1D
                | CL_MEM_OBJECT_IMAGE1D_ARRAY
                | CL_MEM_OBJECT_IMAGE1D_BUFFER
                | CL_MEM_OBJECT_IMAGE2D
                | CL_MEM_OBJECT_IMAGE2D_ARRAY
                | CL_MEM_OBJECT_IMAGE3D
        );
        ensure(is_known && self.levels == 0 && self.samples == 0, CL_INVALID_IMAGE_DESCRIPTOR)?;
        let dims = self.dims();
        self.size[dims..].fill(1);
        if !self.is_array() {
            self.layers = 1;
        }
        ensure(!self.size.contains(&0) && self.layers != 0, CL_INVALID_IMAGE_SIZE)?;
        let maximum = match self.object_type {
            CL_MEM_OBJECT_IMAGE1D_BUFFER => MAX_BUFFER_WIDTH,
            CL_MEM_OBJECT_IMAGE3D => MAX_VOLUME,
            _ => MAX_PLANE,
        };
        ensure(
            self.size.iter().all(|&size| size <= maximum) && self.layers <= MAX_LAYERS,
            CL_INVALID_IMAGE_SIZE,
        )?;
        Ok(self)
    }

    /// Fills in pitches that are 0 and checks the others. Only memory of the application (`is_given`) has pitches of
    /// its own.
    fn with_pitches(mut self, texel: usize, is_given: bool) -> ClResult<ImageDescription> {
        let wrong = CL_INVALID_IMAGE_DESCRIPTOR;
        ensure(is_given || (self.row_pitch == 0 && self.slice_pitch == 0), wrong)?;
        let row = self.size[0] * texel;
        if self.row_pitch == 0 {
            self.row_pitch = row;
        }
        ensure(self.row_pitch >= row && self.row_pitch.is_multiple_of(texel), wrong)?;
        let slice = self.row_pitch.checked_mul(self.size[1]).ok_or(ClError(wrong))?;
        let has_slices = self.is_array() || self.dims() == 3;
        if self.slice_pitch == 0 || !has_slices {
            self.slice_pitch = slice;
        }
        ensure(self.slice_pitch >= slice && self.slice_pitch.is_multiple_of(self.row_pitch), wrong)?;
        Ok(self)
    }

    /// Returns the bytes from the first texel to the end.
    fn bytes(&self) -> Option<usize> {
        self.slice_pitch.checked_mul(self.size[2].max(self.layers))
    }
}

impl ImageView {
    fn new(format: ImageFormat, shape: &ImageDescription, base: Address) -> ClResult<ImageView> {
        let layout = format.layout()?;
        let small = |value: usize| i32::try_from(value).unwrap_or(i32::MAX);
        let texels = base.pointer().expose_provenance() as u64;
        let descriptor = ImageDescriptor {
            data: texels,
            texels,
            srgb: srgb_table().as_ptr().expose_provenance() as u64,
            row_pitch: small(shape.row_pitch),
            slice_pitch: small(shape.slice_pitch),
            size: shape.size.map(small),
            layers: small(shape.layers),
            layout: layout.code(),
            order: layout.order_code(),
            border_alpha: layout.border_alpha,
            channel_type: format.data_type,
            channel_order: format.order,
        };
        Ok(ImageView {
            format,
            layout,
            object_type: shape.object_type,
            size: shape.size,
            layers: shape.layers,
            row_pitch: shape.row_pitch,
            slice_pitch: shape.slice_pitch,
            descriptor: Box::new(descriptor),
        })
    }

    /// Returns the address of the descriptor, which kernels take in place of the image.
    pub fn address(&self) -> Address {
        Address::new(&raw const *self.descriptor)
    }

    /// Returns the fields of the descriptor that code may know.
    pub fn fields(&self) -> DescriptorFields {
        DescriptorFields { layout: self.descriptor.layout, order: self.descriptor.order, modes: None }
    }

    /// True if a kernel may take the image for a parameter of a type.
    pub fn is_of_type(&self, ty: ImageType) -> bool {
        let is_depth = self.format.order == CL_DEPTH;
        let (object_type, of_depth) = match ty {
            ImageType::Line => (CL_MEM_OBJECT_IMAGE1D, false),
            ImageType::LineOfBuffer => (CL_MEM_OBJECT_IMAGE1D_BUFFER, false),
            ImageType::LineArray => (CL_MEM_OBJECT_IMAGE1D_ARRAY, false),
            ImageType::Plane => (CL_MEM_OBJECT_IMAGE2D, false),
            ImageType::PlaneArray => (CL_MEM_OBJECT_IMAGE2D_ARRAY, false),
            ImageType::DepthPlane => (CL_MEM_OBJECT_IMAGE2D, true),
            ImageType::DepthPlaneArray => (CL_MEM_OBJECT_IMAGE2D_ARRAY, true),
            ImageType::Volume => (CL_MEM_OBJECT_IMAGE3D, false),
        };
        self.object_type == object_type && is_depth == of_depth
    }

    /// True for an array of images.
    pub fn is_array(&self) -> bool {
        matches!(self.object_type, CL_MEM_OBJECT_IMAGE1D_ARRAY | CL_MEM_OBJECT_IMAGE2D_ARRAY)
    }

    /// True if regions have a pitch from slice to slice, or from layer to layer.
    pub fn has_slices(&self) -> bool {
        self.is_array() || self.object_type == CL_MEM_OBJECT_IMAGE3D
    }

    /// Returns the texels along the dimensions that regions have; the layers of an array are the last.
    fn extent(&self) -> [usize; 3] {
        match self.object_type {
            CL_MEM_OBJECT_IMAGE1D_ARRAY => [self.size[0], self.layers, 1],
            CL_MEM_OBJECT_IMAGE2D_ARRAY => [self.size[0], self.size[1], self.layers],
            _ => self.size,
        }
    }

    /// Returns the pitches along the second and third dimension of regions.
    fn pitches(&self) -> (usize, usize) {
        match self.object_type {
            CL_MEM_OBJECT_IMAGE1D_ARRAY => (self.slice_pitch, self.slice_pitch * self.layers),
            _ => (self.row_pitch, self.slice_pitch),
        }
    }

    /// Returns the bytes of a region, which lies within the image.
    pub fn texels(&self, origin: [usize; 3], region: [usize; 3]) -> ClResult<TexelBox> {
        let extent = self.extent();
        let fits = |way: usize| origin[way].checked_add(region[way]).is_some_and(|end| end <= extent[way]);
        ensure(!region.contains(&0) && (0..3).all(fits), CL_INVALID_VALUE)?;
        let (row_pitch, slice_pitch) = self.pitches();
        let texel = self.layout.bytes();
        let start = origin[0] * texel + origin[1] * row_pitch + origin[2] * slice_pitch;
        Ok(TexelBox {
            rows: Rows { start, row_pitch, slice_pitch },
            region: [region[0] * texel, region[1], region[2]],
        })
    }

    /// Returns how a region lies in memory of the application with these pitches.
    pub fn host_rows(&self, region: [usize; 3], row_pitch: usize, slice_pitch: usize) -> ClResult<Rows> {
        let row = region[0] * self.layout.bytes();
        let row_pitch = if row_pitch == 0 { row } else { row_pitch };
        ensure(row_pitch >= row && row_pitch.is_multiple_of(self.layout.bytes()), CL_INVALID_VALUE)?;
        let is_line_array = self.object_type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
        let rows = if is_line_array { 1 } else { region[1] };
        let slice = row_pitch.checked_mul(rows).ok_or(ClError(CL_INVALID_VALUE))?;
        ensure(self.has_slices() || slice_pitch == 0, CL_INVALID_VALUE)?;
        let slice_pitch = if slice_pitch == 0 { slice } else { slice_pitch };
        ensure(slice_pitch >= slice, CL_INVALID_VALUE)?;
        let (row_pitch, slice_pitch) = match is_line_array {
            true => (slice_pitch, slice_pitch.saturating_mul(region[1])),
            false => (row_pitch, slice_pitch),
        };
        Ok(Rows { start: 0, row_pitch, slice_pitch })
    }
}

impl ClBuffer {
    /// Creates an image in memory of its own or of the application, or in that of a buffer or another image.
    ///
    /// # Safety
    /// A host pointer that is not null leads to the described texels, which stay as long as the image if it is to use
    /// them.
    pub unsafe fn create_image(
        context: &Arc<ClContext>,
        properties: Vec<u64>,
        flags: u64,
        format: ImageFormat,
        description: ImageDescription,
        (host_pointer, source): (Address, Option<Arc<ClBuffer>>),
    ) -> ClResult<ClBuffer> {
        check_access(flags)?;
        let layout = format.layout()?;
        let is_plane = matches!(description.object_type, CL_MEM_OBJECT_IMAGE2D | CL_MEM_OBJECT_IMAGE2D_ARRAY);
        ensure(format.order != CL_DEPTH || is_plane, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR)?;
        if let Some(source) = source {
            ensure(host_pointer.pointer().is_null(), CL_INVALID_HOST_PTR)?;
            return source.image_of(properties, flags, format, description);
        }
        ensure(description.object_type != CL_MEM_OBJECT_IMAGE1D_BUFFER, CL_INVALID_IMAGE_DESCRIPTOR)?;
        let uses_host = flags & CL_MEM_USE_HOST_PTR != 0;
        let wants_pointer = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0;
        let is_given = !host_pointer.pointer().is_null();
        let shape = description.checked()?;
        let given = shape.with_pitches(layout.bytes(), is_given)?;
        ensure(wants_pointer == is_given, CL_INVALID_HOST_PTR)?;
        // Memory of its own has no gaps.
        let shape = match uses_host {
            true => given,
            false => ImageDescription { row_pitch: 0, slice_pitch: 0, ..shape }
                .with_pitches(layout.bytes(), false)?,
        };
        let bytes =
            shape.bytes().filter(|&bytes| bytes <= MAX_BYTES && bytes as u64 <= device().max_allocation());
        let bytes = bytes.ok_or(ClError(CL_MEM_OBJECT_ALLOCATION_FAILURE))?;
        let memory = if uses_host {
            ClMemory::of_host(host_pointer)
        } else {
            ClMemory::allocate(bytes, BASE_ALIGN).ok_or(ClError(CL_MEM_OBJECT_ALLOCATION_FAILURE))?
        };
        let image = ImageView::new(format, &shape, memory.base())?;
        if flags & CL_MEM_COPY_HOST_PTR != 0 {
            let all = image.texels([0; 3], image.extent())?;
            let host = image.host_rows(
                image.extent(),
                given.row_pitch,
                if image.has_slices() { given.slice_pitch } else { 0 },
            )?;
            // SAFETY: the caller's promise for the host's texels; the image has as many.
            unsafe { crate::core::memory::copy_box(memory.base(), all.rows, host_pointer, host, all.region) };
        }
        let host_pointer = if uses_host { host_pointer } else { Address::new::<u8>(std::ptr::null()) };
        Ok(ClBuffer::of_image(context, properties, flags, (bytes, host_pointer), Arc::new(memory), image))
    }

    /// Creates an image in the memory of this buffer or image.
    fn image_of(
        self: &Arc<ClBuffer>,
        properties: Vec<u64>,
        flags: u64,
        format: ImageFormat,
        description: ImageDescription,
    ) -> ClResult<ClBuffer> {
        let layout = format.layout()?;
        let is_line = description.object_type == CL_MEM_OBJECT_IMAGE1D_BUFFER;
        ensure(is_line || description.object_type == CL_MEM_OBJECT_IMAGE2D, CL_INVALID_IMAGE_DESCRIPTOR)?;
        let flags = self.inherited(flags)?;
        let shape = match &self.image {
            None => description.checked()?.with_pitches(layout.bytes(), true)?,
            Some(view) => {
                // Another interpretation of the same texels.
                let is_same = !is_line
                    && view.object_type == CL_MEM_OBJECT_IMAGE2D
                    && view.size[..2] == description.size[..2]
                    && (description.levels, description.samples) == (0, 0);
                ensure(is_same, CL_INVALID_IMAGE_DESCRIPTOR)?;
                let kin = [CL_RGBA, CL_BGRA, CL_SRGBA, CL_SBGRA];
                let depth = [CL_R, CL_DEPTH];
                let orders = [format.order, view.format.order];
                let compatible = format.data_type == view.format.data_type
                    && (orders[0] == orders[1]
                        || [&kin[..], &depth[..]]
                            .iter()
                            .any(|set| orders.iter().all(|order| set.contains(order))));
                ensure(compatible, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR)?;
                let pitch_fits = [0, view.row_pitch].contains(&description.row_pitch);
                ensure(pitch_fits, CL_INVALID_IMAGE_DESCRIPTOR)?;
                ImageDescription { row_pitch: view.row_pitch, ..description }
                    .checked()?
                    .with_pitches(layout.bytes(), true)?
            }
        };
        let bytes = shape.bytes().filter(|&bytes| bytes <= MAX_BYTES && bytes <= self.size);
        let wrong = if is_line { CL_INVALID_IMAGE_SIZE } else { CL_INVALID_IMAGE_DESCRIPTOR };
        let bytes = bytes.ok_or(ClError(wrong))?;
        let image = ImageView::new(format, &shape, self.base())?;
        Ok(self.sharing(properties, flags, bytes, Some(image)))
    }

    /// Returns the image; an error for a buffer.
    pub fn view(&self) -> ClResult<&ImageView> {
        self.image.as_ref().ok_or(ClError(CL_INVALID_MEM_OBJECT))
    }
}
