//! Streams and events.

use crate::driver::{self, DriverHandle, Ptr};
use crate::errors::{INVALID_VALUE, done, ensure};
use crate::state::ready;

entries! {
    fn cudaStreamCreate(stream: *mut DriverHandle) {
        ready()?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuStreamCreate(stream, 0) })
    }

    fn cudaEventCreate(event: *mut DriverHandle) {
        ready()?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuEventCreate(event, 0) })
    }

    fn cudaEventRecordWithFlags | cudaEventRecordWithFlags_ptsz in stream (event: DriverHandle, stream: DriverHandle, flags: u32) {
        ready()?;
        ensure(flags <= 1, INVALID_VALUE)?;
        // SAFETY: it takes no pointer.
        done(unsafe { driver::cuEventRecord(event, stream) })
    }

    fn cudaStreamGetDevice | cudaStreamGetDevice_ptsz in stream (stream: DriverHandle, device: *mut i32) {
        ready()?;
        let mut flags = 0;
        // SAFETY: the place is there.
        done(unsafe { driver::cuStreamGetFlags(stream, &mut flags) })?;
        // SAFETY: the caller's promise.
        unsafe { super::write(device, 0) }
    }
}

forward! {
    fn cudaStreamCreateWithFlags(stream: *mut DriverHandle, flags: u32) => cuStreamCreate;
    fn cudaStreamCreateWithPriority(stream: *mut DriverHandle, flags: u32, priority: i32) => cuStreamCreateWithPriority;
    fn cudaStreamDestroy(stream: DriverHandle) => cuStreamDestroy_v2;
    fn cudaStreamQuery | cudaStreamQuery_ptsz in stream (stream: DriverHandle) => cuStreamQuery;
    fn cudaStreamSynchronize | cudaStreamSynchronize_ptsz in stream (stream: DriverHandle) => cuStreamSynchronize;
    fn cudaStreamWaitEvent | cudaStreamWaitEvent_ptsz in stream (
        stream: DriverHandle, event: DriverHandle, flags: u32,
    ) => cuStreamWaitEvent;
    fn cudaStreamAddCallback | cudaStreamAddCallback_ptsz in stream (
        stream: DriverHandle, callback: Ptr, data: Ptr, flags: u32,
    ) => cuStreamAddCallback;
    fn cudaStreamAttachMemAsync | cudaStreamAttachMemAsync_ptsz in stream (
        stream: DriverHandle, place: Ptr, bytes: usize, flags: u32,
    ) => cuStreamAttachMemAsync;
    fn cudaStreamGetPriority | cudaStreamGetPriority_ptsz in stream (
        stream: DriverHandle, priority: *mut i32,
    ) => cuStreamGetPriority;
    fn cudaStreamGetFlags | cudaStreamGetFlags_ptsz in stream (stream: DriverHandle, flags: *mut u32) => cuStreamGetFlags;
    fn cudaStreamGetId | cudaStreamGetId_ptsz in stream (stream: DriverHandle, id: *mut u64) => cuStreamGetId;
    fn cudaStreamBeginCapture | cudaStreamBeginCapture_ptsz in stream (
        stream: DriverHandle, mode: i32,
    ) => cuStreamBeginCapture_v2;
    fn cudaStreamEndCapture | cudaStreamEndCapture_ptsz in stream (
        stream: DriverHandle, graph: *mut DriverHandle,
    ) => cuStreamEndCapture;
    fn cudaStreamIsCapturing | cudaStreamIsCapturing_ptsz in stream (
        stream: DriverHandle, status: *mut i32,
    ) => cuStreamIsCapturing;
    fn cudaStreamGetCaptureInfo_v2 | cudaStreamGetCaptureInfo_v2_ptsz in stream (
        stream: DriverHandle, status: *mut i32, id: *mut u64, graph: *mut DriverHandle, nodes: Ptr, count: *mut usize,
    ) => cuStreamGetCaptureInfo_v2;
    fn cudaThreadExchangeStreamCaptureMode(mode: *mut i32) => cuThreadExchangeStreamCaptureMode;
    fn cudaLaunchHostFunc | cudaLaunchHostFunc_ptsz in stream (
        stream: DriverHandle, function: Ptr, data: Ptr,
    ) => cuLaunchHostFunc;
    fn cudaEventCreateWithFlags(event: *mut DriverHandle, flags: u32) => cuEventCreate;
    fn cudaEventDestroy(event: DriverHandle) => cuEventDestroy_v2;
    fn cudaEventQuery(event: DriverHandle) => cuEventQuery;
    fn cudaEventSynchronize(event: DriverHandle) => cuEventSynchronize;
    fn cudaEventRecord | cudaEventRecord_ptsz in stream (event: DriverHandle, stream: DriverHandle) => cuEventRecord;
    fn cudaEventElapsedTime(milliseconds: *mut f32, start: DriverHandle, end: DriverHandle) => cuEventElapsedTime;
    fn cudaEventElapsedTime_v2(milliseconds: *mut f32, start: DriverHandle, end: DriverHandle) => cuEventElapsedTime;
}
