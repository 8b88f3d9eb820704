//! The driver's entries as a program calls them.

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

pub(crate) type Handle = *mut c_void;

/// Shape of an image in the C interface.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Description {
    pub(crate) object_type: u32,
    pub(crate) size: [usize; 3],
    pub(crate) layers: usize,
    pub(crate) row_pitch: usize,
    pub(crate) slice_pitch: usize,
    pub(crate) levels: u32,
    pub(crate) samples: u32,
    pub(crate) source: Handle,
}

#[rustfmt::skip]
// SAFETY: as the specification declares them.
unsafe extern "C" {
    fn clGetPlatformIDs(count: u32, platforms: *mut Handle, there: *mut u32) -> i32;
    fn clGetDeviceIDs(of: Handle, kinds: u64, count: u32, devices: *mut Handle, there: *mut u32) -> i32;
    fn clCreateContext(list: *const isize, count: u32, devices: *const Handle, f: *const c_void, data: *mut c_void, code: *mut i32) -> Handle;
    fn clCreateCommandQueue(context: Handle, device: Handle, flags: u64, code: *mut i32) -> Handle;
    fn clCreateProgramWithSource(context: Handle, count: u32, texts: *const *const i8, sizes: *const usize, code: *mut i32) -> Handle;
    fn clBuildProgram(of: Handle, count: u32, devices: *const Handle, options: *const i8, f: *const c_void, data: *mut c_void) -> i32;
    fn clGetProgramBuildInfo(of: Handle, device: Handle, name: u32, size: usize, value: *mut c_void, needed: *mut usize) -> i32;
    fn clCreateKernel(of: Handle, name: *const i8, code: *mut i32) -> Handle;
    fn clSetKernelArg(of: Handle, index: u32, size: usize, value: *const c_void) -> i32;
    fn clCreateBuffer(context: Handle, flags: u64, size: usize, host: *mut c_void, code: *mut i32) -> Handle;
    fn clCreateImage(context: Handle, flags: u64, format: *const [u32; 2], shape: *const Description, host: *mut c_void, code: *mut i32) -> Handle;
    fn clCreateSampler(context: Handle, normalized: u32, addressing: u32, filter: u32, code: *mut i32) -> Handle;
    fn clReleaseMemObject(of: Handle) -> i32;
    fn clReleaseSampler(of: Handle) -> i32;
    fn clReleaseKernel(of: Handle) -> i32;
    fn clReleaseProgram(of: Handle) -> i32;
    fn clEnqueueNDRangeKernel(queue: Handle, of: Handle, dims: u32, offset: *const usize, global: *const usize, local: *const usize, waits: u32, list: *const Handle, event: *mut Handle) -> i32;
    fn clEnqueueReadBuffer(queue: Handle, of: Handle, blocking: u32, offset: usize, size: usize, to: *mut c_void, waits: u32, list: *const Handle, event: *mut Handle) -> i32;
    fn clEnqueueReadImage(queue: Handle, of: Handle, blocking: u32, origin: *const usize, region: *const usize, row: usize, slice: usize, to: *mut c_void, waits: u32, list: *const Handle, event: *mut Handle) -> i32;
    fn clEnqueueFillImage(queue: Handle, of: Handle, color: *const c_void, origin: *const usize, region: *const usize, waits: u32, list: *const Handle, event: *mut Handle) -> i32;
}

const COPY: u64 = 1 << 5;

/// A context with a queue.
pub(crate) struct Host {
    device: Handle,
    pub(crate) context: Handle,
    queue: Handle,
}

/// A memory object, released at its end.
pub(crate) struct Memory(pub(crate) Handle);

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: a live handle, released once.
        assert_eq!(unsafe { clReleaseMemObject(self.0) }, 0);
    }
}

/// A sampler, released at its end.
pub(crate) struct Sampler(pub(crate) Handle);

impl Drop for Sampler {
    fn drop(&mut self) {
        // SAFETY: a live handle, released once.
        assert_eq!(unsafe { clReleaseSampler(self.0) }, 0);
    }
}

impl Host {
    pub(crate) fn new() -> Host {
        let (mut platform, mut device, mut code) = (null_mut(), null_mut(), 1);
        // SAFETY: all places are live during the calls.
        unsafe {
            assert_eq!(clGetPlatformIDs(1, &mut platform, null_mut()), 0);
            assert_eq!(clGetDeviceIDs(platform, 2, 1, &mut device, null_mut()), 0);
            let context = clCreateContext(null(), 1, &device, null(), null_mut(), &mut code);
            assert_eq!(code, 0);
            let queue = clCreateCommandQueue(context, device, 0, &mut code);
            assert_eq!(code, 0);
            Host { device, context, queue }
        }
    }

    pub(crate) fn build(&self, source: &CStr, options: &CStr) -> Handle {
        let (text, mut code) = (source.as_ptr(), 1);
        // SAFETY: all texts and places are live during the calls.
        unsafe {
            let program = clCreateProgramWithSource(self.context, 1, &text, null(), &mut code);
            assert_eq!(code, 0);
            let built = clBuildProgram(program, 1, &self.device, options.as_ptr(), null(), null_mut());
            if built != 0 {
                let mut log = vec![0u8; 1 << 16];
                clGetProgramBuildInfo(
                    program,
                    self.device,
                    0x1183,
                    log.len(),
                    log.as_mut_ptr().cast(),
                    null_mut(),
                );
                panic!("{}", String::from_utf8_lossy(&log));
            }
            program
        }
    }

    pub(crate) fn release_program(&self, program: Handle) {
        // SAFETY: a live handle.
        assert_eq!(unsafe { clReleaseProgram(program) }, 0);
    }

    pub(crate) fn buffer<T>(&self, contents: &[T]) -> Memory {
        let mut code = 1;
        let host = contents.as_ptr().cast_mut().cast();
        // SAFETY: the contents are copied during the call.
        let made = unsafe { clCreateBuffer(self.context, COPY, size_of_val(contents), host, &mut code) };
        assert_eq!(code, 0);
        Memory(made)
    }

    pub(crate) fn image(&self, format: [u32; 2], shape: &Description, contents: &[u8]) -> Memory {
        let mut code = 1;
        let (flags, host) =
            if contents.is_empty() { (0, null_mut()) } else { (COPY, contents.as_ptr().cast_mut().cast()) };
        // SAFETY: format and shape are live, and the contents have the size that they describe.
        let made = unsafe { clCreateImage(self.context, flags, &format, shape, host, &mut code) };
        assert_eq!(code, 0, "{format:x?}");
        Memory(made)
    }

    pub(crate) fn sampler(&self, normalized: bool, addressing: u32, filter: u32) -> Sampler {
        let mut code = 1;
        // SAFETY: the place of the code is live.
        let made = unsafe { clCreateSampler(self.context, normalized.into(), addressing, filter, &mut code) };
        assert_eq!(code, 0);
        Sampler(made)
    }

    /// Runs a kernel with handles as its arguments.
    pub(crate) fn run(&self, program: Handle, kernel: &CStr, arguments: &[Handle], items: usize) {
        let mut code = 1;
        // SAFETY: handles are live, and the kernel stays within its arguments.
        unsafe {
            let made = clCreateKernel(program, kernel.as_ptr(), &mut code);
            assert_eq!(code, 0, "{kernel:?}");
            for (index, handle) in arguments.iter().enumerate() {
                let value: *const Handle = handle;
                assert_eq!(clSetKernelArg(made, index as u32, 8, value.cast()), 0, "{kernel:?} {index}");
            }
            let done =
                clEnqueueNDRangeKernel(self.queue, made, 1, null(), &items, null(), 0, null(), null_mut());
            assert_eq!(done, 0);
            assert_eq!(clReleaseKernel(made), 0);
        }
    }

    pub(crate) fn read<T: Copy + Default>(&self, buffer: &Memory, count: usize) -> Vec<T> {
        let mut contents = vec![T::default(); count];
        let bytes = size_of_val(&contents[..]);
        // SAFETY: there are as many bytes.
        let done = unsafe {
            clEnqueueReadBuffer(
                self.queue,
                buffer.0,
                1,
                0,
                bytes,
                contents.as_mut_ptr().cast(),
                0,
                null(),
                null_mut(),
            )
        };
        assert_eq!(done, 0);
        contents
    }

    pub(crate) fn read_image(&self, image: &Memory, region: [usize; 3], texel: usize) -> Vec<u8> {
        let mut contents = vec![0u8; region.iter().product::<usize>() * texel];
        let origin = [0usize; 3];
        // SAFETY: there are as many bytes.
        let done = unsafe {
            let (origin, region) = (origin.as_ptr(), region.as_ptr());
            let to = contents.as_mut_ptr().cast();
            clEnqueueReadImage(self.queue, image.0, 1, origin, region, 0, 0, to, 0, null(), null_mut())
        };
        assert_eq!(done, 0);
        contents
    }

    pub(crate) fn fill(&self, image: &Memory, color: [u32; 4], region: [usize; 3]) {
        let origin = [0usize; 3];
        // SAFETY: all places are live; the color is copied during the call.
        let done = unsafe {
            let (origin, region) = (origin.as_ptr(), region.as_ptr());
            clEnqueueFillImage(
                self.queue,
                image.0,
                color.as_ptr().cast(),
                origin,
                region,
                0,
                null(),
                null_mut(),
            )
        };
        assert_eq!(done, 0);
    }
}
