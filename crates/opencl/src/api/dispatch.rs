//! The dispatch table, which the first word of every object points to.
//!
//! The order is that of the loader's header. Entries that exist on other systems only return an error code, since the loader
//! calls every slot.

use super::{
    command_buffer, context, device, enqueue, event, image, kernel, memory, mutable_command, platform,
    program, queue, refused, sampler, svm, transfer, unified_svm, usm,
};
use crate::cl::{CL_INVALID_OPERATION, cl_int};
use std::ffi::c_void;

/// Support of an entry by the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntrySupport {
    /// Implemented.
    Done,
    /// Returns an error code that the specification allows.
    Refused,
}

/// Entry of the dispatch table.
#[derive(Debug)]
pub struct DispatchEntry {
    /// Exported name.
    pub name: &'static str,
    path: &'static str,
    address: *const (),
}

// SAFETY: the address of a function.
unsafe impl Sync for DispatchEntry {}

impl DispatchEntry {
    /// The function.
    pub fn address(&self) -> *const () {
        self.address
    }

    /// Returns whether the entry is implemented.
    pub fn verdict(&self) -> EntrySupport {
        if self.path.starts_with("refused") || self.path == "absent" {
            EntrySupport::Refused
        } else {
            EntrySupport::Done
        }
    }
}

/// The functions, in the loader's order.
#[derive(Debug)]
#[repr(transparent)]
pub struct DispatchTable([*const (); COUNT]);

// SAFETY: addresses of functions.
unsafe impl Sync for DispatchTable {}

/// Stub for the graphics interfaces of other systems.
extern "C" fn absent() -> cl_int {
    CL_INVALID_OPERATION
}

macro_rules! table {
    ($($name:ident => $function:path,)*) => {
        const COUNT: usize = [$(stringify!($name)),*].len();

        /// The one table.
        pub static TABLE: DispatchTable = DispatchTable([$($function as *const ()),*]);

        /// All entries of the table.
        pub static ENTRIES: [DispatchEntry; COUNT] = [$(DispatchEntry {
            name: stringify!($name),
            path: stringify!($function),
            address: $function as *const (),
        }),*];
    };
}

table! {
    clGetPlatformIDs => platform::clGetPlatformIDs,
    clGetPlatformInfo => platform::clGetPlatformInfo,
    clGetDeviceIDs => device::clGetDeviceIDs,
    clGetDeviceInfo => device::clGetDeviceInfo,
    clCreateContext => context::clCreateContext,
    clCreateContextFromType => context::clCreateContextFromType,
    clRetainContext => context::clRetainContext,
    clReleaseContext => context::clReleaseContext,
    clGetContextInfo => context::clGetContextInfo,
    clCreateCommandQueue => queue::clCreateCommandQueue,
    clRetainCommandQueue => queue::clRetainCommandQueue,
    clReleaseCommandQueue => queue::clReleaseCommandQueue,
    clGetCommandQueueInfo => queue::clGetCommandQueueInfo,
    clSetCommandQueueProperty => refused::clSetCommandQueueProperty,
    clCreateBuffer => memory::clCreateBuffer,
    clCreateImage2D => image::clCreateImage2D,
    clCreateImage3D => image::clCreateImage3D,
    clRetainMemObject => memory::clRetainMemObject,
    clReleaseMemObject => memory::clReleaseMemObject,
    clGetSupportedImageFormats => image::clGetSupportedImageFormats,
    clGetMemObjectInfo => memory::clGetMemObjectInfo,
    clGetImageInfo => image::clGetImageInfo,
    clCreateSampler => sampler::clCreateSampler,
    clRetainSampler => sampler::clRetainSampler,
    clReleaseSampler => sampler::clReleaseSampler,
    clGetSamplerInfo => sampler::clGetSamplerInfo,
    clCreateProgramWithSource => program::clCreateProgramWithSource,
    clCreateProgramWithBinary => program::clCreateProgramWithBinary,
    clRetainProgram => program::clRetainProgram,
    clReleaseProgram => program::clReleaseProgram,
    clBuildProgram => program::clBuildProgram,
    clUnloadCompiler => platform::clUnloadCompiler,
    clGetProgramInfo => program::clGetProgramInfo,
    clGetProgramBuildInfo => program::clGetProgramBuildInfo,
    clCreateKernel => kernel::clCreateKernel,
    clCreateKernelsInProgram => kernel::clCreateKernelsInProgram,
    clRetainKernel => kernel::clRetainKernel,
    clReleaseKernel => kernel::clReleaseKernel,
    clSetKernelArg => kernel::clSetKernelArg,
    clGetKernelInfo => kernel::clGetKernelInfo,
    clGetKernelWorkGroupInfo => kernel::clGetKernelWorkGroupInfo,
    clWaitForEvents => event::clWaitForEvents,
    clGetEventInfo => event::clGetEventInfo,
    clRetainEvent => event::clRetainEvent,
    clReleaseEvent => event::clReleaseEvent,
    clGetEventProfilingInfo => event::clGetEventProfilingInfo,
    clFlush => queue::clFlush,
    clFinish => queue::clFinish,
    clEnqueueReadBuffer => transfer::clEnqueueReadBuffer,
    clEnqueueWriteBuffer => transfer::clEnqueueWriteBuffer,
    clEnqueueCopyBuffer => transfer::clEnqueueCopyBuffer,
    clEnqueueReadImage => image::clEnqueueReadImage,
    clEnqueueWriteImage => image::clEnqueueWriteImage,
    clEnqueueCopyImage => image::clEnqueueCopyImage,
    clEnqueueCopyImageToBuffer => image::clEnqueueCopyImageToBuffer,
    clEnqueueCopyBufferToImage => image::clEnqueueCopyBufferToImage,
    clEnqueueMapBuffer => transfer::clEnqueueMapBuffer,
    clEnqueueMapImage => image::clEnqueueMapImage,
    clEnqueueUnmapMemObject => transfer::clEnqueueUnmapMemObject,
    clEnqueueNDRangeKernel => enqueue::clEnqueueNDRangeKernel,
    clEnqueueTask => enqueue::clEnqueueTask,
    clEnqueueNativeKernel => enqueue::clEnqueueNativeKernel,
    clEnqueueMarker => queue::clEnqueueMarker,
    clEnqueueWaitForEvents => queue::clEnqueueWaitForEvents,
    clEnqueueBarrier => queue::clEnqueueBarrier,
    clGetExtensionFunctionAddress => platform::clGetExtensionFunctionAddress,
    clCreateFromGLBuffer => refused::clCreateFromGLBuffer,
    clCreateFromGLTexture2D => refused::clCreateFromGLTexture2D,
    clCreateFromGLTexture3D => refused::clCreateFromGLTexture3D,
    clCreateFromGLRenderbuffer => refused::clCreateFromGLRenderbuffer,
    clGetGLObjectInfo => refused::clGetGLObjectInfo,
    clGetGLTextureInfo => refused::clGetGLTextureInfo,
    clEnqueueAcquireGLObjects => refused::clEnqueueAcquireGLObjects,
    clEnqueueReleaseGLObjects => refused::clEnqueueReleaseGLObjects,
    clGetGLContextInfoKHR => refused::clGetGLContextInfoKHR,
    clGetDeviceIDsFromD3D10KHR => absent,
    clCreateFromD3D10BufferKHR => absent,
    clCreateFromD3D10Texture2DKHR => absent,
    clCreateFromD3D10Texture3DKHR => absent,
    clEnqueueAcquireD3D10ObjectsKHR => absent,
    clEnqueueReleaseD3D10ObjectsKHR => absent,
    clSetEventCallback => event::clSetEventCallback,
    clCreateSubBuffer => memory::clCreateSubBuffer,
    clSetMemObjectDestructorCallback => memory::clSetMemObjectDestructorCallback,
    clCreateUserEvent => transfer::clCreateUserEvent,
    clSetUserEventStatus => event::clSetUserEventStatus,
    clEnqueueReadBufferRect => transfer::clEnqueueReadBufferRect,
    clEnqueueWriteBufferRect => transfer::clEnqueueWriteBufferRect,
    clEnqueueCopyBufferRect => transfer::clEnqueueCopyBufferRect,
    clCreateSubDevicesEXT => refused::clCreateSubDevicesEXT,
    clRetainDeviceEXT => device::clRetainDevice,
    clReleaseDeviceEXT => device::clReleaseDevice,
    clCreateEventFromGLsyncKHR => refused::clCreateEventFromGLsyncKHR,
    clCreateSubDevices => device::clCreateSubDevices,
    clRetainDevice => device::clRetainDevice,
    clReleaseDevice => device::clReleaseDevice,
    clCreateImage => image::clCreateImage,
    clCreateProgramWithBuiltInKernels => refused::clCreateProgramWithBuiltInKernels,
    clCompileProgram => program::clCompileProgram,
    clLinkProgram => program::clLinkProgram,
    clUnloadPlatformCompiler => platform::clUnloadPlatformCompiler,
    clGetKernelArgInfo => kernel::clGetKernelArgInfo,
    clEnqueueFillBuffer => transfer::clEnqueueFillBuffer,
    clEnqueueFillImage => image::clEnqueueFillImage,
    clEnqueueMigrateMemObjects => transfer::clEnqueueMigrateMemObjects,
    clEnqueueMarkerWithWaitList => queue::clEnqueueMarkerWithWaitList,
    clEnqueueBarrierWithWaitList => queue::clEnqueueBarrierWithWaitList,
    clGetExtensionFunctionAddressForPlatform => platform::clGetExtensionFunctionAddressForPlatform,
    clCreateFromGLTexture => refused::clCreateFromGLTexture,
    clGetDeviceIDsFromD3D11KHR => absent,
    clCreateFromD3D11BufferKHR => absent,
    clCreateFromD3D11Texture2DKHR => absent,
    clCreateFromD3D11Texture3DKHR => absent,
    clCreateFromDX9MediaSurfaceKHR => absent,
    clEnqueueAcquireD3D11ObjectsKHR => absent,
    clEnqueueReleaseD3D11ObjectsKHR => absent,
    clGetDeviceIDsFromDX9MediaAdapterKHR => absent,
    clEnqueueAcquireDX9MediaSurfacesKHR => absent,
    clEnqueueReleaseDX9MediaSurfacesKHR => absent,
    clCreateFromEGLImageKHR => refused::clCreateFromEGLImageKHR,
    clEnqueueAcquireEGLObjectsKHR => refused::clEnqueueAcquireEGLObjectsKHR,
    clEnqueueReleaseEGLObjectsKHR => refused::clEnqueueReleaseEGLObjectsKHR,
    clCreateEventFromEGLSyncKHR => refused::clCreateEventFromEGLSyncKHR,
    clCreateCommandQueueWithProperties => queue::clCreateCommandQueueWithProperties,
    clCreatePipe => refused::clCreatePipe,
    clGetPipeInfo => refused::clGetPipeInfo,
    clSVMAlloc => svm::clSVMAlloc,
    clSVMFree => svm::clSVMFree,
    clEnqueueSVMFree => svm::clEnqueueSVMFree,
    clEnqueueSVMMemcpy => svm::clEnqueueSVMMemcpy,
    clEnqueueSVMMemFill => svm::clEnqueueSVMMemFill,
    clEnqueueSVMMap => svm::clEnqueueSVMMap,
    clEnqueueSVMUnmap => svm::clEnqueueSVMUnmap,
    clCreateSamplerWithProperties => sampler::clCreateSamplerWithProperties,
    clSetKernelArgSVMPointer => kernel::clSetKernelArgSVMPointer,
    clSetKernelExecInfo => kernel::clSetKernelExecInfo,
    clGetKernelSubGroupInfoKHR => kernel::clGetKernelSubGroupInfo,
    clCloneKernel => kernel::clCloneKernel,
    clCreateProgramWithIL => program::clCreateProgramWithIL,
    clEnqueueSVMMigrateMem => svm::clEnqueueSVMMigrateMem,
    clGetDeviceAndHostTimer => device::clGetDeviceAndHostTimer,
    clGetHostTimer => device::clGetHostTimer,
    clGetKernelSubGroupInfo => kernel::clGetKernelSubGroupInfo,
    clSetDefaultDeviceCommandQueue => refused::clSetDefaultDeviceCommandQueue,
    clSetProgramReleaseCallback => refused::clSetProgramReleaseCallback,
    clSetProgramSpecializationConstant => program::clSetProgramSpecializationConstant,
    clCreateBufferWithProperties => memory::clCreateBufferWithProperties,
    clCreateImageWithProperties => image::clCreateImageWithProperties,
    clSetContextDestructorCallback => context::clSetContextDestructorCallback,
    clGetKernelSuggestedLocalWorkSizeKHR => kernel::clGetKernelSuggestedLocalWorkSizeKHR,
}

macro_rules! extension_table {
    ($($name:ident => $function:path,)*) => {
        /// Entries of extensions, which are found by name only.
        pub static EXTENSION_ENTRIES: &[DispatchEntry] = &[$(DispatchEntry {
            name: stringify!($name),
            path: stringify!($function),
            address: $function as *const (),
        }),*];
    };
}

extension_table! {
    clCreateProgramWithILKHR => program::clCreateProgramWithIL,
    clHostMemAllocINTEL => usm::clHostMemAllocINTEL,
    clDeviceMemAllocINTEL => usm::clDeviceMemAllocINTEL,
    clSharedMemAllocINTEL => usm::clSharedMemAllocINTEL,
    clMemFreeINTEL => usm::clMemFreeINTEL,
    clMemBlockingFreeINTEL => usm::clMemBlockingFreeINTEL,
    clGetMemAllocInfoINTEL => usm::clGetMemAllocInfoINTEL,
    clSetKernelArgMemPointerINTEL => usm::clSetKernelArgMemPointerINTEL,
    clEnqueueMemFillINTEL => usm::clEnqueueMemFillINTEL,
    clEnqueueMemcpyINTEL => usm::clEnqueueMemcpyINTEL,
    clEnqueueMigrateMemINTEL => usm::clEnqueueMigrateMemINTEL,
    clEnqueueMemAdviseINTEL => usm::clEnqueueMemAdviseINTEL,
    clSetKernelArgDevicePointerEXT => kernel::clSetKernelArgDevicePointerEXT,
    clSVMAllocWithPropertiesKHR => unified_svm::clSVMAllocWithPropertiesKHR,
    clSVMFreeWithPropertiesKHR => unified_svm::clSVMFreeWithPropertiesKHR,
    clGetSVMPointerInfoKHR => unified_svm::clGetSVMPointerInfoKHR,
    clGetSVMSuggestedTypeIndexKHR => unified_svm::clGetSVMSuggestedTypeIndexKHR,
    clCreateCommandBufferKHR => command_buffer::clCreateCommandBufferKHR,
    clFinalizeCommandBufferKHR => command_buffer::clFinalizeCommandBufferKHR,
    clRetainCommandBufferKHR => command_buffer::clRetainCommandBufferKHR,
    clReleaseCommandBufferKHR => command_buffer::clReleaseCommandBufferKHR,
    clEnqueueCommandBufferKHR => command_buffer::clEnqueueCommandBufferKHR,
    clGetCommandBufferInfoKHR => command_buffer::clGetCommandBufferInfoKHR,
    clCommandBarrierWithWaitListKHR => command_buffer::clCommandBarrierWithWaitListKHR,
    clCommandNDRangeKernelKHR => command_buffer::clCommandNDRangeKernelKHR,
    clCommandCopyBufferKHR => command_buffer::clCommandCopyBufferKHR,
    clCommandCopyBufferRectKHR => command_buffer::clCommandCopyBufferRectKHR,
    clCommandCopyBufferToImageKHR => command_buffer::clCommandCopyBufferToImageKHR,
    clCommandCopyImageKHR => command_buffer::clCommandCopyImageKHR,
    clCommandCopyImageToBufferKHR => command_buffer::clCommandCopyImageToBufferKHR,
    clCommandFillBufferKHR => command_buffer::clCommandFillBufferKHR,
    clCommandFillImageKHR => command_buffer::clCommandFillImageKHR,
    clCommandSVMMemcpyKHR => command_buffer::clCommandSVMMemcpyKHR,
    clCommandSVMMemFillKHR => command_buffer::clCommandSVMMemFillKHR,
    clUpdateMutableCommandsKHR => mutable_command::clUpdateMutableCommandsKHR,
    clGetMutableCommandInfoKHR => mutable_command::clGetMutableCommandInfoKHR,
    clGetKernelSuggestedLocalWorkSize => kernel::clGetKernelSuggestedLocalWorkSizeKHR,
    clCreateCommandQueueWithPropertiesKHR => queue::clCreateCommandQueueWithProperties,
}

/// Returns the address of an extension entry by name.
pub fn extension(name: &str) -> *mut c_void {
    if name == "clIcdGetPlatformIDsKHR" {
        return platform::clIcdGetPlatformIDsKHR as *mut c_void;
    }
    let known = ENTRIES
        .iter()
        .chain(EXTENSION_ENTRIES)
        .find(|entry| entry.name == name && entry.verdict() == EntrySupport::Done);
    known.map_or(std::ptr::null_mut(), |entry| entry.address.cast_mut().cast())
}
