//! Entries for what the device does not have: images, samplers, pipes, sub-devices, queues of its own,
//! programs in an intermediate language, and memory of graphics interfaces.

use super::device::devices;
use super::pointer::{In, Out, Text, UserData};
use super::program::ProgramFunction;
use crate::cl::*;
use crate::core::context::Context;
use crate::core::device::Device;
use crate::core::error::{Answer, Error, ensure};
use crate::core::program::Program;
use crate::core::queue::Queue;
use crate::core::registry::find;
use std::ffi::c_void;

/// What a context without images answers.
fn no_images(context: Handle) -> Answer<Handle> {
    find::<Context>(context)?;
    Err(Error(CL_INVALID_OPERATION))
}

/// What a queue whose device has no images answers.
fn no_image_commands(queue: Handle) -> Answer<()> {
    find::<Queue>(queue)?;
    Err(Error(CL_INVALID_OPERATION))
}

makers! {
    fn clCreateProgramWithBuiltInKernels(context: Handle, count: cl_uint, named: In<Handle>, names: Text) {
        find::<Context>(context)?;
        devices(count, named)?;
        ensure(names.get().is_some(), CL_INVALID_VALUE)?;
        // There are none.
        Err(Error(CL_INVALID_VALUE))
    }

    fn clCreateProgramWithIL(context: Handle, il: In<c_void>, length: usize) {
        find::<Context>(context)?;
        let _ = (il, length);
        // No intermediate language is taken.
        Err(Error(CL_INVALID_OPERATION))
    }

    fn clCreateImage(context: Handle, _flags: u64, _format: In<c_void>, _shape: In<c_void>, _host: In<c_void>) {
        no_images(context)
    }

    fn clCreateImageWithProperties(
        context: Handle, _list: In<u64>, _flags: u64, _format: In<c_void>, _shape: In<c_void>, _host: In<c_void>,
    ) {
        no_images(context)
    }

    fn clCreateImage2D(
        context: Handle, _flags: u64, _format: In<c_void>, _width: usize, _height: usize, _pitch: usize,
        _host: In<c_void>,
    ) {
        no_images(context)
    }

    fn clCreateImage3D(
        context: Handle, _flags: u64, _format: In<c_void>, _width: usize, _height: usize, _depth: usize,
        _row_pitch: usize, _slice_pitch: usize, _host: In<c_void>,
    ) {
        no_images(context)
    }

    fn clCreateSampler(context: Handle, _normalized: cl_bool, _addressing: cl_uint, _filter: cl_uint) {
        no_images(context)
    }

    fn clCreateSamplerWithProperties(context: Handle, _list: In<u64>) {
        no_images(context)
    }

    fn clCreatePipe(context: Handle, _flags: u64, _packet: cl_uint, _packets: cl_uint, _list: In<isize>) {
        no_images(context)
    }

    fn clEnqueueMapImage(
        queue: Handle, _image: Handle, _blocking: cl_bool, _flags: u64, _origin: In<[usize; 3]>,
        _region: In<[usize; 3]>, _row_pitch: Out<usize>, _slice_pitch: Out<usize>, _waits: cl_uint,
        _list: In<Handle>, _event: Out<Handle>,
    ) {
        no_image_commands(queue).map(|()| std::ptr::null_mut())
    }

    fn clCreateFromGLBuffer(context: Handle, _flags: u64, _object: cl_uint) {
        no_images(context)
    }

    fn clCreateFromGLTexture(context: Handle, _flags: u64, _target: cl_uint, _level: cl_int, _texture: cl_uint) {
        no_images(context)
    }

    fn clCreateFromGLTexture2D(context: Handle, _flags: u64, _target: cl_uint, _level: cl_int, _texture: cl_uint) {
        no_images(context)
    }

    fn clCreateFromGLTexture3D(context: Handle, _flags: u64, _target: cl_uint, _level: cl_int, _texture: cl_uint) {
        no_images(context)
    }

    fn clCreateFromGLRenderbuffer(context: Handle, _flags: u64, _renderbuffer: cl_uint) {
        no_images(context)
    }

    fn clCreateEventFromGLsyncKHR(context: Handle, _sync: In<c_void>) {
        no_images(context)
    }

    fn clCreateFromEGLImageKHR(
        context: Handle, _display: In<c_void>, _image: In<c_void>, _flags: u64, _list: In<isize>,
    ) {
        no_images(context)
    }

    fn clCreateEventFromEGLSyncKHR(context: Handle, _sync: In<c_void>, _display: In<c_void>) {
        no_images(context)
    }
}

entries! {
    fn clCreateSubDevices(
        of: Handle, properties: In<isize>, _count: cl_uint, _devices: Out<Handle>, _there: Out<cl_uint>,
    ) {
        find::<Device>(of)?;
        // The device has no ways to be parted.
        let _ = properties;
        Err(Error(CL_INVALID_VALUE))
    }

    fn clSetDefaultDeviceCommandQueue(context: Handle, of: Handle, _queue: Handle) {
        find::<Context>(context)?;
        find::<Device>(of)?;
        // Queues of the device itself are an optional feature.
        Err(Error(CL_INVALID_OPERATION))
    }

    fn clSetProgramReleaseCallback(of: Handle, function: Option<ProgramFunction>, _data: UserData) {
        find::<Program>(of)?;
        ensure(function.is_some(), CL_INVALID_VALUE)?;
        // Programs have no constructors and destructors at program scope.
        Err(Error(CL_INVALID_OPERATION))
    }

    fn clSetProgramSpecializationConstant(of: Handle, _id: cl_uint, _size: usize, _value: In<c_void>) {
        find::<Program>(of)?;
        // Programs of an intermediate language have such, which are not taken.
        Err(Error(CL_INVALID_OPERATION))
    }

    fn clSetCommandQueueProperty(of: Handle, _flags: u64, _enable: cl_bool, _old: Out<u64>) {
        find::<Queue>(of)?;
        // Queues keep the properties that they were made with.
        Err(Error(CL_INVALID_OPERATION))
    }

    fn clGetSupportedImageFormats(
        context: Handle, _flags: u64, _kind: cl_uint, count: cl_uint, formats: Out<c_void>, there: Out<cl_uint>,
    ) {
        find::<Context>(context)?;
        ensure(count != 0 || formats.is_null(), CL_INVALID_VALUE)?;
        there.write(0);
        Ok(())
    }

    fn clGetImageInfo(_of: Handle, _name: cl_uint, _size: usize, _value: Out<c_void>, _needed: Out<usize>) {
        Err(Error(CL_INVALID_MEM_OBJECT))
    }

    fn clGetPipeInfo(_of: Handle, _name: cl_uint, _size: usize, _value: Out<c_void>, _needed: Out<usize>) {
        Err(Error(CL_INVALID_MEM_OBJECT))
    }

    fn clRetainSampler(_of: Handle) {
        Err(Error(CL_INVALID_SAMPLER))
    }

    fn clReleaseSampler(_of: Handle) {
        Err(Error(CL_INVALID_SAMPLER))
    }

    fn clGetSamplerInfo(_of: Handle, _name: cl_uint, _size: usize, _value: Out<c_void>, _needed: Out<usize>) {
        Err(Error(CL_INVALID_SAMPLER))
    }

    fn clEnqueueReadImage(
        queue: Handle, _image: Handle, _blocking: cl_bool, _origin: In<[usize; 3]>, _region: In<[usize; 3]>,
        _row_pitch: usize, _slice_pitch: usize, _to: Out<c_void>, _waits: cl_uint, _list: In<Handle>,
        _event: Out<Handle>,
    ) {
        no_image_commands(queue)
    }

    fn clEnqueueWriteImage(
        queue: Handle, _image: Handle, _blocking: cl_bool, _origin: In<[usize; 3]>, _region: In<[usize; 3]>,
        _row_pitch: usize, _slice_pitch: usize, _from: In<c_void>, _waits: cl_uint, _list: In<Handle>,
        _event: Out<Handle>,
    ) {
        no_image_commands(queue)
    }

    fn clEnqueueFillImage(
        queue: Handle, _image: Handle, _color: In<c_void>, _origin: In<[usize; 3]>, _region: In<[usize; 3]>,
        _waits: cl_uint, _list: In<Handle>, _event: Out<Handle>,
    ) {
        no_image_commands(queue)
    }

    fn clEnqueueCopyImage(
        queue: Handle, _source: Handle, _target: Handle, _from: In<[usize; 3]>, _to: In<[usize; 3]>,
        _region: In<[usize; 3]>, _waits: cl_uint, _list: In<Handle>, _event: Out<Handle>,
    ) {
        no_image_commands(queue)
    }

    fn clEnqueueCopyImageToBuffer(
        queue: Handle, _source: Handle, _target: Handle, _from: In<[usize; 3]>, _region: In<[usize; 3]>, _to: usize,
        _waits: cl_uint, _list: In<Handle>, _event: Out<Handle>,
    ) {
        no_image_commands(queue)
    }

    fn clEnqueueCopyBufferToImage(
        queue: Handle, _source: Handle, _target: Handle, _from: usize, _to: In<[usize; 3]>, _region: In<[usize; 3]>,
        _waits: cl_uint, _list: In<Handle>, _event: Out<Handle>,
    ) {
        no_image_commands(queue)
    }

    fn clGetGLObjectInfo(_of: Handle, _kind: Out<cl_uint>, _name: Out<cl_uint>) {
        Err(Error(CL_INVALID_MEM_OBJECT))
    }

    fn clGetGLTextureInfo(_of: Handle, _name: cl_uint, _size: usize, _value: Out<c_void>, _needed: Out<usize>) {
        Err(Error(CL_INVALID_MEM_OBJECT))
    }

    fn clGetGLContextInfoKHR(
        _list: In<isize>, _name: cl_uint, _size: usize, _value: Out<c_void>, _needed: Out<usize>,
    ) {
        Err(Error(CL_INVALID_OPERATION))
    }

    fn clEnqueueAcquireGLObjects(
        queue: Handle, _count: cl_uint, _objects: In<Handle>, _waits: cl_uint, _list: In<Handle>, _event: Out<Handle>,
    ) {
        no_image_commands(queue)
    }

    fn clEnqueueReleaseGLObjects(
        queue: Handle, _count: cl_uint, _objects: In<Handle>, _waits: cl_uint, _list: In<Handle>, _event: Out<Handle>,
    ) {
        no_image_commands(queue)
    }

    fn clEnqueueAcquireEGLObjectsKHR(
        queue: Handle, _count: cl_uint, _objects: In<Handle>, _waits: cl_uint, _list: In<Handle>, _event: Out<Handle>,
    ) {
        no_image_commands(queue)
    }

    fn clEnqueueReleaseEGLObjectsKHR(
        queue: Handle, _count: cl_uint, _objects: In<Handle>, _waits: cl_uint, _list: In<Handle>, _event: Out<Handle>,
    ) {
        no_image_commands(queue)
    }
}
