//! Streams and events.

use super::pointer::{CudaInput, CudaOutput};
use crate::core::context;
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::event::{CudaEvent, EVENTS};
use crate::core::graph::{CudaGraph, HostCall, StreamCommand};
use crate::core::memory;
use crate::core::stream::{CudaStream, STREAMS, call_back};
use crate::cuda::*;
use std::ffi::c_void;
use std::sync::Arc;

/// A function that a stream calls with its handle and a code.
type StreamCallback = extern "C" fn(CudaHandle, CUresult, *mut c_void);

/// State of a capture: status, number, graph, and the predecessors of the next command.
struct Captured {
    status: CudaOutput<u32>,
    id: CudaOutput<u64>,
    graph: CudaOutput<CudaHandle>,
    nodes: CudaOutput<u64>,
    edges: CudaOutput<u64>,
    count: CudaOutput<usize>,
}

impl Captured {
    fn tell(self, stream: CudaHandle) -> CudaResult<()> {
        let Some(capture) = CudaStream::find(stream)?.capture() else { return self.status.write(0) };
        self.status.write(1)?;
        self.id.write_if(capture.graph);
        self.graph.write_if(capture.graph);
        self.count.write_if(capture.last.len());
        self.edges.write_if(0);
        if !self.nodes.is_null() {
            // The graph owns the returned lists, so their addresses stay valid.
            let list = CudaGraph::find(capture.graph)?.keep_node_list(capture.last);
            self.nodes.write_if(list);
        }
        Ok(())
    }
}

fn begin(stream: CudaHandle) -> CudaResult<()> {
    let stream = CudaStream::find(stream)?;
    let graph = CudaGraph::create();
    stream.begin_capture(graph, Vec::new()).inspect_err(|_| _ = CudaGraph::destroy(graph))
}

fn record(event: CudaHandle, stream: CudaHandle) -> CudaResult<()> {
    let event = EVENTS.find(event)?;
    CudaStream::find(stream)?.record(&event)
}

entries! {
    fn cuStreamCreate(stream: CudaOutput<CudaHandle>, flags: u32) {
        stream.ensure()?;
        stream.write(CudaStream::create(flags, 0)?)
    }

    fn cuStreamCreateWithPriority(stream: CudaOutput<CudaHandle>, flags: u32, priority: i32) {
        stream.ensure()?;
        stream.write(CudaStream::create(flags, priority)?)
    }

    fn cuStreamDestroy_v2 | cuStreamDestroy (handle: CudaHandle) {
        context::ensure_initialized()?;
        let stream = STREAMS.remove(handle)?;
        stream.run(|| ());
        Ok(())
    }

    fn cuStreamSynchronize | cuStreamSynchronize_ptsz (handle: CudaHandle) {
        CudaStream::find(handle)?.synchronize()
    }

    fn cuStreamQuery | cuStreamQuery_ptsz (handle: CudaHandle) {
        let stream = CudaStream::find(handle)?;
        ensure(stream.capture().is_none(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    }

    fn cuStreamGetPriority | cuStreamGetPriority_ptsz (handle: CudaHandle, priority: CudaOutput<i32>) {
        priority.write(CudaStream::find(handle)?.priority)
    }

    fn cuStreamGetFlags | cuStreamGetFlags_ptsz (handle: CudaHandle, flags: CudaOutput<u32>) {
        flags.write(CudaStream::find(handle)?.flags)
    }

    fn cuStreamGetId | cuStreamGetId_ptsz (handle: CudaHandle, id: CudaOutput<u64>) {
        id.write(CudaStream::find(handle)?.id)
    }

    fn cuStreamGetDevice | cuStreamGetDevice_ptsz (handle: CudaHandle, device: CudaOutput<CUdevice>) {
        CudaStream::find(handle)?;
        device.write(0)
    }

    fn cuStreamGetCtx | cuStreamGetCtx_ptsz (handle: CudaHandle, place: CudaOutput<CudaHandle>) {
        let stream = CudaStream::find(handle)?;
        // The default streams are of the thread's context.
        let is_own = handle > CU_STREAM_PER_THREAD;
        place.write(if is_own { stream.context } else { context::current_handle() })
    }

    fn cuStreamGetCtx_v2 | cuStreamGetCtx_v2_ptsz (handle: CudaHandle, place: CudaOutput<CudaHandle>, green: CudaOutput<CudaHandle>) {
        let stream = CudaStream::find(handle)?;
        green.write_if(0);
        let is_own = handle > CU_STREAM_PER_THREAD;
        place.write(if is_own { stream.context } else { context::current_handle() })
    }

    fn cuStreamWaitEvent | cuStreamWaitEvent_ptsz (handle: CudaHandle, event: CudaHandle, flags: u32) {
        ensure(flags <= 1, CUDA_ERROR_INVALID_VALUE)?;
        let event = EVENTS.find(event)?;
        CudaStream::find(handle)?.wait_for(&event)
    }

    fn cuLaunchHostFunc | cuLaunchHostFunc_ptsz (
        handle: CudaHandle, function: Option<extern "C" fn(*mut c_void)>, data: CudaInput<c_void>,
    ) {
        let function = function.ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
        let data = data.address() as usize;
        CudaStream::find(handle)?.submit(StreamCommand::Host(HostCall { function, data }))
    }

    fn cuStreamAddCallback | cuStreamAddCallback_ptsz (
        handle: CudaHandle, function: Option<StreamCallback>, data: CudaInput<c_void>, flags: u32,
    ) {
        let function = function.ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
        ensure(flags == 0, CUDA_ERROR_INVALID_VALUE)?;
        let stream = CudaStream::find(handle)?;
        ensure(stream.capture().is_none(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)?;
        let data = std::ptr::with_exposed_provenance_mut(data.address() as usize);
        stream.run(|| call_back(|| function(handle, CUDA_SUCCESS, data)));
        Ok(())
    }

    fn cuStreamBeginCapture_v2 | cuStreamBeginCapture_v2_ptsz (handle: CudaHandle, mode: u32) {
        ensure(mode <= 2, CUDA_ERROR_INVALID_VALUE)?;
        begin(handle)
    }

    fn cuStreamBeginCapture | cuStreamBeginCapture_ptsz (handle: CudaHandle) {
        begin(handle)
    }

    fn cuStreamBeginCaptureToGraph | cuStreamBeginCaptureToGraph_ptsz (
        handle: CudaHandle, graph: CudaHandle, behind: CudaInput<CudaHandle>, _edges: CudaInput<c_void>, count: usize, mode: u32,
    ) {
        ensure(mode <= 2, CUDA_ERROR_INVALID_VALUE)?;
        CudaGraph::find(graph)?;
        CudaStream::find(handle)?.begin_capture(graph, behind.list(count)?)
    }

    fn cuStreamEndCapture | cuStreamEndCapture_ptsz (handle: CudaHandle, graph: CudaOutput<CudaHandle>) {
        graph.ensure()?;
        graph.write(CudaStream::find(handle)?.end_capture()?)
    }

    fn cuStreamIsCapturing | cuStreamIsCapturing_ptsz (handle: CudaHandle, status: CudaOutput<u32>) {
        status.write(CudaStream::find(handle)?.capture().is_some().into())
    }

    fn cuStreamGetCaptureInfo | cuStreamGetCaptureInfo_ptsz (handle: CudaHandle, status: CudaOutput<u32>, id: CudaOutput<u64>) {
        let (graph, nodes, edges, count) = (CudaOutput::at(0), CudaOutput::at(0), CudaOutput::at(0), CudaOutput::at(0));
        Captured { status, id, graph, nodes, edges, count }.tell(handle)
    }

    fn cuStreamGetCaptureInfo_v2 | cuStreamGetCaptureInfo_v2_ptsz (
        handle: CudaHandle, status: CudaOutput<u32>, id: CudaOutput<u64>, graph: CudaOutput<CudaHandle>, nodes: CudaOutput<u64>, count: CudaOutput<usize>,
    ) {
        Captured { status, id, graph, nodes, edges: CudaOutput::at(0), count }.tell(handle)
    }

    fn cuStreamGetCaptureInfo_v3 | cuStreamGetCaptureInfo_v3_ptsz (
        handle: CudaHandle, status: CudaOutput<u32>, id: CudaOutput<u64>, graph: CudaOutput<CudaHandle>, nodes: CudaOutput<u64>, edges: CudaOutput<u64>,
        count: CudaOutput<usize>,
    ) {
        Captured { status, id, graph, nodes, edges, count }.tell(handle)
    }

    fn cuStreamUpdateCaptureDependencies | cuStreamUpdateCaptureDependencies_ptsz (
        handle: CudaHandle, nodes: CudaInput<CudaHandle>, count: usize, flags: u32,
    ) {
        ensure(flags <= 1, CUDA_ERROR_INVALID_VALUE)?;
        CudaStream::find(handle)?.set_last(&nodes.list(count)?, flags == 0)
    }

    fn cuStreamUpdateCaptureDependencies_v2 | cuStreamUpdateCaptureDependencies_v2_ptsz (
        handle: CudaHandle, nodes: CudaInput<CudaHandle>, _edges: CudaInput<c_void>, count: usize, flags: u32,
    ) {
        ensure(flags <= 1, CUDA_ERROR_INVALID_VALUE)?;
        CudaStream::find(handle)?.set_last(&nodes.list(count)?, flags == 0)
    }

    fn cuThreadExchangeStreamCaptureMode(mode: CudaOutput<u32>) {
        // Captures of other threads forbid no calls, so the mode has no effect.
        let now = mode.as_input().read()?;
        ensure(now <= 2, CUDA_ERROR_INVALID_VALUE)?;
        mode.write(0)
    }

    fn cuStreamWriteValue32_v2 | cuStreamWriteValue32_v2_ptsz | cuStreamWriteValue32 | cuStreamWriteValue32_ptsz (
        handle: CudaHandle, address: CUdeviceptr, value: u32, flags: u32,
    ) {
        ensure(flags <= 1, CUDA_ERROR_INVALID_VALUE)?;
        let fill = memory::MemoryFill { start: address, pitch: 0, value, size: 4, width: 1, height: 1 };
        fill.check()?;
        CudaStream::find(handle)?.submit(StreamCommand::Fill(fill))
    }

    fn cuEventCreate(event: CudaOutput<CudaHandle>, flags: u32) {
        context::current()?;
        event.ensure()?;
        event.write(EVENTS.publish(Arc::new(CudaEvent::new(flags)?)))
    }

    fn cuEventDestroy_v2 | cuEventDestroy (event: CudaHandle) {
        EVENTS.remove(event).map(|_| ())
    }

    fn cuEventRecord | cuEventRecord_ptsz (event: CudaHandle, stream: CudaHandle) {
        record(event, stream)
    }

    fn cuEventRecordWithFlags | cuEventRecordWithFlags_ptsz (event: CudaHandle, stream: CudaHandle, flags: u32) {
        ensure(flags <= 1, CUDA_ERROR_INVALID_VALUE)?;
        record(event, stream)
    }

    fn cuEventQuery | cuEventSynchronize (event: CudaHandle) {
        EVENTS.find(event)?.ensure_done()
    }

    fn cuEventElapsedTime | cuEventElapsedTime_v2 (milliseconds: CudaOutput<f32>, first: CudaHandle, last: CudaHandle) {
        milliseconds.write(EVENTS.find(first)?.milliseconds_to(&*EVENTS.find(last)?)?)
    }
}
