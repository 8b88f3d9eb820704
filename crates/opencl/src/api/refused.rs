//! Entries for unsupported features: pipes, sub-devices by their older interface, on-device queues, and memory of graphics
//! interfaces.

use super::device::devices_among;
use super::pointer::{ClInput, ClOutput, ClString, UserData};
use super::program::ProgramFunction;
use crate::cl::*;
use crate::core::context::ClContext;
use crate::core::device::Device;
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::program::ClProgram;
use crate::core::queue::Queue;
use crate::core::registry::find;
use std::ffi::c_void;

/// Returns the error of a context without pipes and memory of graphics interfaces.
fn not_supported(context: ClHandle) -> ClResult<ClHandle> {
    find::<ClContext>(context)?;
    Err(ClError(CL_INVALID_OPERATION))
}

/// Returns the error of a queue whose device shares no memory with graphics interfaces.
fn no_graphics_commands(queue: ClHandle) -> ClResult<()> {
    find::<Queue>(queue)?;
    Err(ClError(CL_INVALID_OPERATION))
}

makers! {
    fn clCreateProgramWithBuiltInKernels(context: ClHandle, count: cl_uint, named: ClInput<ClHandle>, names: ClString) {
        let context = find::<ClContext>(context)?;
        ensure(!named.is_null(), CL_INVALID_VALUE)?;
        devices_among(&context.devices, count, named)?;
        ensure(names.get().is_some(), CL_INVALID_VALUE)?;
        // There are none.
        Err::<ClHandle, ClError>(ClError(CL_INVALID_VALUE))
    }

    fn clCreatePipe(context: ClHandle, _flags: u64, _packet: cl_uint, _packets: cl_uint, _list: ClInput<isize>) {
        not_supported(context)
    }

    fn clCreateFromGLBuffer(context: ClHandle, _flags: u64, _object: cl_uint) {
        not_supported(context)
    }

    fn clCreateFromGLTexture(context: ClHandle, _flags: u64, _target: cl_uint, _level: cl_int, _texture: cl_uint) {
        not_supported(context)
    }

    fn clCreateFromGLTexture2D(context: ClHandle, _flags: u64, _target: cl_uint, _level: cl_int, _texture: cl_uint) {
        not_supported(context)
    }

    fn clCreateFromGLTexture3D(context: ClHandle, _flags: u64, _target: cl_uint, _level: cl_int, _texture: cl_uint) {
        not_supported(context)
    }

    fn clCreateFromGLRenderbuffer(context: ClHandle, _flags: u64, _renderbuffer: cl_uint) {
        not_supported(context)
    }

    fn clCreateEventFromGLsyncKHR(context: ClHandle, _sync: ClInput<c_void>) {
        not_supported(context)
    }

    fn clCreateFromEGLImageKHR(
        context: ClHandle, _display: ClInput<c_void>, _image: ClInput<c_void>, _flags: u64, _list: ClInput<isize>,
    ) {
        not_supported(context)
    }

    fn clCreateEventFromEGLSyncKHR(context: ClHandle, _sync: ClInput<c_void>, _display: ClInput<c_void>) {
        not_supported(context)
    }
}

entries! {
    fn clCreateSubDevicesEXT(
        of: ClHandle, _properties: ClInput<u64>, _count: cl_uint, _devices: ClOutput<ClHandle>, _there: ClOutput<cl_uint>,
    ) {
        find::<Device>(of)?;
        // The lists of `cl_ext_device_fission` have other numbers than those of `clCreateSubDevices`.
        Err(ClError(CL_INVALID_VALUE))
    }

    fn clSetDefaultDeviceCommandQueue(context: ClHandle, of: ClHandle, _queue: ClHandle) {
        find::<ClContext>(context)?;
        find::<Device>(of)?;
        // Queues of the device itself are an optional feature.
        Err(ClError(CL_INVALID_OPERATION))
    }

    fn clSetProgramReleaseCallback(of: ClHandle, function: Option<ProgramFunction>, _data: UserData) {
        find::<ClProgram>(of)?;
        ensure(function.is_some(), CL_INVALID_VALUE)?;
        // Programs have no constructors and destructors at program scope.
        Err(ClError(CL_INVALID_OPERATION))
    }

    fn clSetCommandQueueProperty(of: ClHandle, _flags: u64, _enable: cl_bool, _old: ClOutput<u64>) {
        find::<Queue>(of)?;
        // Queues keep the properties that they were made with.
        Err(ClError(CL_INVALID_OPERATION))
    }

    fn clGetPipeInfo(_of: ClHandle, _name: cl_uint, _size: usize, _value: ClOutput<c_void>, _needed: ClOutput<usize>) {
        Err(ClError(CL_INVALID_MEM_OBJECT))
    }

    fn clGetGLObjectInfo(_of: ClHandle, _kind: ClOutput<cl_uint>, _name: ClOutput<cl_uint>) {
        Err(ClError(CL_INVALID_MEM_OBJECT))
    }

    fn clGetGLTextureInfo(_of: ClHandle, _name: cl_uint, _size: usize, _value: ClOutput<c_void>, _needed: ClOutput<usize>) {
        Err(ClError(CL_INVALID_MEM_OBJECT))
    }

    fn clGetGLContextInfoKHR(
        _list: ClInput<isize>, _name: cl_uint, _size: usize, _value: ClOutput<c_void>, _needed: ClOutput<usize>,
    ) {
        Err(ClError(CL_INVALID_OPERATION))
    }

    fn clEnqueueAcquireGLObjects(
        queue: ClHandle, _count: cl_uint, _objects: ClInput<ClHandle>, _waits: cl_uint, _list: ClInput<ClHandle>, _event: ClOutput<ClHandle>,
    ) {
        no_graphics_commands(queue)
    }

    fn clEnqueueReleaseGLObjects(
        queue: ClHandle, _count: cl_uint, _objects: ClInput<ClHandle>, _waits: cl_uint, _list: ClInput<ClHandle>, _event: ClOutput<ClHandle>,
    ) {
        no_graphics_commands(queue)
    }

    fn clEnqueueAcquireEGLObjectsKHR(
        queue: ClHandle, _count: cl_uint, _objects: ClInput<ClHandle>, _waits: cl_uint, _list: ClInput<ClHandle>, _event: ClOutput<ClHandle>,
    ) {
        no_graphics_commands(queue)
    }

    fn clEnqueueReleaseEGLObjectsKHR(
        queue: ClHandle, _count: cl_uint, _objects: ClInput<ClHandle>, _waits: cl_uint, _list: ClInput<ClHandle>, _event: ClOutput<ClHandle>,
    ) {
        no_graphics_commands(queue)
    }
}
