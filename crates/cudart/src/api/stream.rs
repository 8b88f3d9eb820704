//! Streams and events.

use crate::driver::{self, Handle, Ptr};
use crate::errors::{INVALID_VALUE, done, ensure};
use crate::state::ready;

entries! {
    fn cudaStreamCreate(stream: *mut Handle) {
        ready()?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuStreamCreate(stream, 0) })
    }

    fn cudaEventCreate(event: *mut Handle) {
        ready()?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuEventCreate(event, 0) })
    }

    fn cudaEventRecordWithFlags | cudaEventRecordWithFlags_ptsz in stream (event: Handle, stream: Handle, flags: u32) {
        ready()?;
        ensure(flags <= 1, INVALID_VALUE)?;
        // SAFETY: it takes no pointer.
        done(unsafe { driver::cuEventRecord(event, stream) })
    }

    fn cudaStreamGetDevice | cudaStreamGetDevice_ptsz in stream (stream: Handle, device: *mut i32) {
        ready()?;
        let mut flags = 0;
        // SAFETY: the place is there.
        done(unsafe { driver::cuStreamGetFlags(stream, &mut flags) })?;
        // SAFETY: the caller's promise.
        unsafe { super::write(device, 0) }
    }
}

forward! {
    fn cudaStreamCreateWithFlags(stream: *mut Handle, flags: u32) => cuStreamCreate;
    fn cudaStreamCreateWithPriority(stream: *mut Handle, flags: u32, priority: i32) => cuStreamCreateWithPriority;
    fn cudaStreamDestroy(stream: Handle) => cuStreamDestroy_v2;
    fn cudaStreamQuery | cudaStreamQuery_ptsz in stream (stream: Handle) => cuStreamQuery;
    fn cudaStreamSynchronize | cudaStreamSynchronize_ptsz in stream (stream: Handle) => cuStreamSynchronize;
    fn cudaStreamWaitEvent | cudaStreamWaitEvent_ptsz in stream (
        stream: Handle, event: Handle, flags: u32,
    ) => cuStreamWaitEvent;
    fn cudaStreamAddCallback | cudaStreamAddCallback_ptsz in stream (
        stream: Handle, callback: Ptr, data: Ptr, flags: u32,
    ) => cuStreamAddCallback;
    fn cudaStreamAttachMemAsync | cudaStreamAttachMemAsync_ptsz in stream (
        stream: Handle, place: Ptr, bytes: usize, flags: u32,
    ) => cuStreamAttachMemAsync;
    fn cudaStreamGetPriority | cudaStreamGetPriority_ptsz in stream (
        stream: Handle, priority: *mut i32,
    ) => cuStreamGetPriority;
    fn cudaStreamGetFlags | cudaStreamGetFlags_ptsz in stream (stream: Handle, flags: *mut u32) => cuStreamGetFlags;
    fn cudaStreamGetId | cudaStreamGetId_ptsz in stream (stream: Handle, id: *mut u64) => cuStreamGetId;
    fn cudaStreamBeginCapture | cudaStreamBeginCapture_ptsz in stream (
        stream: Handle, mode: i32,
    ) => cuStreamBeginCapture_v2;
    fn cudaStreamEndCapture | cudaStreamEndCapture_ptsz in stream (
        stream: Handle, graph: *mut Handle,
    ) => cuStreamEndCapture;
    fn cudaStreamIsCapturing | cudaStreamIsCapturing_ptsz in stream (
        stream: Handle, status: *mut i32,
    ) => cuStreamIsCapturing;
    fn cudaStreamGetCaptureInfo_v2 | cudaStreamGetCaptureInfo_v2_ptsz in stream (
        stream: Handle, status: *mut i32, id: *mut u64, graph: *mut Handle, nodes: Ptr, count: *mut usize,
    ) => cuStreamGetCaptureInfo_v2;
    fn cudaThreadExchangeStreamCaptureMode(mode: *mut i32) => cuThreadExchangeStreamCaptureMode;
    fn cudaLaunchHostFunc | cudaLaunchHostFunc_ptsz in stream (
        stream: Handle, function: Ptr, data: Ptr,
    ) => cuLaunchHostFunc;
    fn cudaEventCreateWithFlags(event: *mut Handle, flags: u32) => cuEventCreate;
    fn cudaEventDestroy(event: Handle) => cuEventDestroy_v2;
    fn cudaEventQuery(event: Handle) => cuEventQuery;
    fn cudaEventSynchronize(event: Handle) => cuEventSynchronize;
    fn cudaEventRecord | cudaEventRecord_ptsz in stream (event: Handle, stream: Handle) => cuEventRecord;
    fn cudaEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle) => cuEventElapsedTime;
    fn cudaEventElapsedTime_v2(milliseconds: *mut f32, start: Handle, end: Handle) => cuEventElapsedTime;
}
