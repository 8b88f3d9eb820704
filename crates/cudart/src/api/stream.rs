//! Streams and events.

use super::{edges_and_next, own_stream};
use crate::MAJOR;
use crate::driver::{self, DriverHandle, Ptr};
use crate::errors::done;
use crate::state::ready;
use std::ffi::c_void;
use std::ptr::null_mut;

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
        // SAFETY: it takes no pointer.
        done(unsafe { driver::cuEventRecordWithFlags(event, stream, flags) })
    }

    fn cudaStreamCopyAttributes(to: DriverHandle, from: DriverHandle) {
        ready()?;
        // SAFETY: it takes no pointer.
        done(unsafe { driver::cuStreamCopyAttributes(to, from) })
    }

    fn cudaStreamCopyAttributes_ptsz(to: DriverHandle, from: DriverHandle) {
        ready()?;
        // SAFETY: it takes no pointer.
        done(unsafe { driver::cuStreamCopyAttributes(own_stream(to), own_stream(from)) })
    }

    fn cudaStreamGetCaptureInfo | cudaStreamGetCaptureInfo_ptsz in stream (
        stream: DriverHandle, status: *mut i32, id: *mut u64, graph: *mut DriverHandle, nodes: Ptr, edges: Ptr, count: *mut usize,
    ) {
        ready()?;
        // Programs of CUDA 12 pass the first three arguments only.
        let (graph, nodes, edges, count) =
            if MAJOR > 12 { (graph, nodes, edges, count) } else { (null_mut(), null_mut(), null_mut(), null_mut()) };
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, edges, count) })
    }

    fn cudaStreamUpdateCaptureDependencies | cudaStreamUpdateCaptureDependencies_ptsz in stream (
        stream: DriverHandle, nodes: *const DriverHandle, at_edges: usize, after: usize, last: u32,
    ) {
        ready()?;
        let (edges, count) = edges_and_next(at_edges, after);
        let flags = if MAJOR > 12 { last } else { after as u32 };
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuStreamUpdateCaptureDependencies_v2(stream, nodes, edges, count, flags) })
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
    fn cudaStreamGetAttribute | cudaStreamGetAttribute_ptsz in stream (
        stream: DriverHandle, id: u32, value: Ptr,
    ) => cuStreamGetAttribute;
    fn cudaStreamSetAttribute | cudaStreamSetAttribute_ptsz in stream (
        stream: DriverHandle, id: u32, value: *const c_void,
    ) => cuStreamSetAttribute;
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
    fn cudaStreamGetCaptureInfo_v3 | cudaStreamGetCaptureInfo_v3_ptsz in stream (
        stream: DriverHandle, status: *mut i32, id: *mut u64, graph: *mut DriverHandle, nodes: Ptr, edges: Ptr, count: *mut usize,
    ) => cuStreamGetCaptureInfo_v3;
    fn cudaStreamBeginCaptureToGraph | cudaStreamBeginCaptureToGraph_ptsz in stream (
        stream: DriverHandle, graph: DriverHandle, nodes: *const DriverHandle, edges: *const c_void, count: usize, mode: i32,
    ) => cuStreamBeginCaptureToGraph;
    fn cudaStreamUpdateCaptureDependencies_v2 | cudaStreamUpdateCaptureDependencies_v2_ptsz in stream (
        stream: DriverHandle, nodes: *const DriverHandle, edges: *const c_void, count: usize, flags: u32,
    ) => cuStreamUpdateCaptureDependencies_v2;
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
