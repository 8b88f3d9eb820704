//! Entries for unsupported features: images, samplers, pipes, sub-devices, on-device queues, and memory of graphics
//! interfaces.

use super::device::devices;
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

/// Returns the error of a context without images.
fn no_images(context: ClHandle) -> ClResult<ClHandle> {
    find::<ClContext>(context)?;
    Err(ClError(CL_INVALID_OPERATION))
}

/// Returns the error of a queue whose device has no images.
fn no_image_commands(queue: ClHandle) -> ClResult<()> {
    find::<Queue>(queue)?;
    Err(ClError(CL_INVALID_OPERATION))
}

makers! {
    fn clCreateProgramWithBuiltInKernels(context: ClHandle, count: cl_uint, named: ClInput<ClHandle>, names: ClString) {
        find::<ClContext>(context)?;
        devices(count, named)?;
        ensure(names.get().is_some(), CL_INVALID_VALUE)?;
        // There are none.
        Err::<ClHandle, ClError>(ClError(CL_INVALID_VALUE))
    }

    fn clCreateImage(context: ClHandle, _flags: u64, _format: ClInput<c_void>, _shape: ClInput<c_void>, _host: ClInput<c_void>) {
        no_images(context)
    }

    fn clCreateImageWithProperties(
        context: ClHandle, _list: ClInput<u64>, _flags: u64, _format: ClInput<c_void>, _shape: ClInput<c_void>, _host: ClInput<c_void>,
    ) {
        no_images(context)
    }

    fn clCreateImage2D(
        context: ClHandle, _flags: u64, _format: ClInput<c_void>, _width: usize, _height: usize, _pitch: usize,
        _host: ClInput<c_void>,
    ) {
        no_images(context)
    }

    fn clCreateImage3D(
        context: ClHandle, _flags: u64, _format: ClInput<c_void>, _width: usize, _height: usize, _depth: usize,
        _row_pitch: usize, _slice_pitch: usize, _host: ClInput<c_void>,
    ) {
        no_images(context)
    }

    fn clCreateSampler(context: ClHandle, _normalized: cl_bool, _addressing: cl_uint, _filter: cl_uint) {
        no_images(context)
    }

    fn clCreateSamplerWithProperties(context: ClHandle, _list: ClInput<u64>) {
        no_images(context)
    }

    fn clCreatePipe(context: ClHandle, _flags: u64, _packet: cl_uint, _packets: cl_uint, _list: ClInput<isize>) {
        no_images(context)
    }

    fn clEnqueueMapImage(
        queue: ClHandle, _image: ClHandle, _blocking: cl_bool, _flags: u64, _origin: ClInput<[usize; 3]>,
        _region: ClInput<[usize; 3]>, _row_pitch: ClOutput<usize>, _slice_pitch: ClOutput<usize>, _waits: cl_uint,
        _list: ClInput<ClHandle>, _event: ClOutput<ClHandle>,
    ) {
        no_image_commands(queue).map(|()| std::ptr::null_mut())
    }

    fn clCreateFromGLBuffer(context: ClHandle, _flags: u64, _object: cl_uint) {
        no_images(context)
    }

    fn clCreateFromGLTexture(context: ClHandle, _flags: u64, _target: cl_uint, _level: cl_int, _texture: cl_uint) {
        no_images(context)
    }

    fn clCreateFromGLTexture2D(context: ClHandle, _flags: u64, _target: cl_uint, _level: cl_int, _texture: cl_uint) {
        no_images(context)
    }

    fn clCreateFromGLTexture3D(context: ClHandle, _flags: u64, _target: cl_uint, _level: cl_int, _texture: cl_uint) {
        no_images(context)
    }

    fn clCreateFromGLRenderbuffer(context: ClHandle, _flags: u64, _renderbuffer: cl_uint) {
        no_images(context)
    }

    fn clCreateEventFromGLsyncKHR(context: ClHandle, _sync: ClInput<c_void>) {
        no_images(context)
    }

    fn clCreateFromEGLImageKHR(
        context: ClHandle, _display: ClInput<c_void>, _image: ClInput<c_void>, _flags: u64, _list: ClInput<isize>,
    ) {
        no_images(context)
    }

    fn clCreateEventFromEGLSyncKHR(context: ClHandle, _sync: ClInput<c_void>, _display: ClInput<c_void>) {
        no_images(context)
    }
}

entries! {
    fn clCreateSubDevices(
        of: ClHandle, properties: ClInput<isize>, _count: cl_uint, _devices: ClOutput<ClHandle>, _there: ClOutput<cl_uint>,
    ) {
        find::<Device>(of)?;
        // The device supports no partitioning.
        let _ = properties;
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

    fn clGetSupportedImageFormats(
        context: ClHandle, _flags: u64, _kind: cl_uint, count: cl_uint, formats: ClOutput<c_void>, there: ClOutput<cl_uint>,
    ) {
        find::<ClContext>(context)?;
        ensure(count != 0 || formats.is_null(), CL_INVALID_VALUE)?;
        there.write(0);
        Ok(())
    }

    fn clGetImageInfo(_of: ClHandle, _name: cl_uint, _size: usize, _value: ClOutput<c_void>, _needed: ClOutput<usize>) {
        Err(ClError(CL_INVALID_MEM_OBJECT))
    }

    fn clGetPipeInfo(_of: ClHandle, _name: cl_uint, _size: usize, _value: ClOutput<c_void>, _needed: ClOutput<usize>) {
        Err(ClError(CL_INVALID_MEM_OBJECT))
    }

    fn clRetainSampler(_of: ClHandle) {
        Err(ClError(CL_INVALID_SAMPLER))
    }

    fn clReleaseSampler(_of: ClHandle) {
        Err(ClError(CL_INVALID_SAMPLER))
    }

    fn clGetSamplerInfo(_of: ClHandle, _name: cl_uint, _size: usize, _value: ClOutput<c_void>, _needed: ClOutput<usize>) {
        Err(ClError(CL_INVALID_SAMPLER))
    }

    fn clEnqueueReadImage(
        queue: ClHandle, _image: ClHandle, _blocking: cl_bool, _origin: ClInput<[usize; 3]>, _region: ClInput<[usize; 3]>,
        _row_pitch: usize, _slice_pitch: usize, _to: ClOutput<c_void>, _waits: cl_uint, _list: ClInput<ClHandle>,
        _event: ClOutput<ClHandle>,
    ) {
        no_image_commands(queue)
    }

    fn clEnqueueWriteImage(
        queue: ClHandle, _image: ClHandle, _blocking: cl_bool, _origin: ClInput<[usize; 3]>, _region: ClInput<[usize; 3]>,
        _row_pitch: usize, _slice_pitch: usize, _from: ClInput<c_void>, _waits: cl_uint, _list: ClInput<ClHandle>,
        _event: ClOutput<ClHandle>,
    ) {
        no_image_commands(queue)
    }

    fn clEnqueueFillImage(
        queue: ClHandle, _image: ClHandle, _color: ClInput<c_void>, _origin: ClInput<[usize; 3]>, _region: ClInput<[usize; 3]>,
        _waits: cl_uint, _list: ClInput<ClHandle>, _event: ClOutput<ClHandle>,
    ) {
        no_image_commands(queue)
    }

    fn clEnqueueCopyImage(
        queue: ClHandle, _source: ClHandle, _target: ClHandle, _from: ClInput<[usize; 3]>, _to: ClInput<[usize; 3]>,
        _region: ClInput<[usize; 3]>, _waits: cl_uint, _list: ClInput<ClHandle>, _event: ClOutput<ClHandle>,
    ) {
        no_image_commands(queue)
    }

    fn clEnqueueCopyImageToBuffer(
        queue: ClHandle, _source: ClHandle, _target: ClHandle, _from: ClInput<[usize; 3]>, _region: ClInput<[usize; 3]>, _to: usize,
        _waits: cl_uint, _list: ClInput<ClHandle>, _event: ClOutput<ClHandle>,
    ) {
        no_image_commands(queue)
    }

    fn clEnqueueCopyBufferToImage(
        queue: ClHandle, _source: ClHandle, _target: ClHandle, _from: usize, _to: ClInput<[usize; 3]>, _region: ClInput<[usize; 3]>,
        _waits: cl_uint, _list: ClInput<ClHandle>, _event: ClOutput<ClHandle>,
    ) {
        no_image_commands(queue)
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
        no_image_commands(queue)
    }

    fn clEnqueueReleaseGLObjects(
        queue: ClHandle, _count: cl_uint, _objects: ClInput<ClHandle>, _waits: cl_uint, _list: ClInput<ClHandle>, _event: ClOutput<ClHandle>,
    ) {
        no_image_commands(queue)
    }

    fn clEnqueueAcquireEGLObjectsKHR(
        queue: ClHandle, _count: cl_uint, _objects: ClInput<ClHandle>, _waits: cl_uint, _list: ClInput<ClHandle>, _event: ClOutput<ClHandle>,
    ) {
        no_image_commands(queue)
    }

    fn clEnqueueReleaseEGLObjectsKHR(
        queue: ClHandle, _count: cl_uint, _objects: ClInput<ClHandle>, _waits: cl_uint, _list: ClInput<ClHandle>, _event: ClOutput<ClHandle>,
    ) {
        no_image_commands(queue)
    }
}
