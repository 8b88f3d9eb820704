//! Streams and events. Waits for values in memory: [`stream_memory`](super::stream_memory).

use super::pointer::{CudaInput, CudaOutput};
use crate::core::command::{HostCall, StreamCallback, StreamCommand};
use crate::core::context;
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::event::{CudaEvent, EVENTS};
use crate::core::graph::CudaGraph;
use crate::core::launch_attributes::AttributeValue;
use crate::core::stream::{CudaStream, STREAMS};
use crate::cuda::*;
use std::ffi::c_void;

/// Flag of records and waits that become nodes of a captured graph (`CU_EVENT_RECORD_EXTERNAL`, `CU_EVENT_WAIT_EXTERNAL`).
const EXTERNAL: u32 = 1;

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
            let list = CudaGraph::find(capture.graph)?.keep_list(capture.last);
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

fn record(event: CudaHandle, stream: CudaHandle, is_external: bool) -> CudaResult<()> {
    let event = EVENTS.find(event)?;
    CudaStream::find(stream)?.record(&event, is_external)
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
        // Commands that wait run later, without the handle.
        if stream.deferred().is_empty() {
            stream.run(|| ());
        }
        Ok(())
    }

    fn cuStreamSynchronize | cuStreamSynchronize_ptsz (handle: CudaHandle) {
        CudaStream::find(handle)?.synchronize()
    }

    fn cuStreamQuery | cuStreamQuery_ptsz (handle: CudaHandle) {
        CudaStream::find(handle)?.query()
    }

    fn cuStreamGetPriority | cuStreamGetPriority_ptsz (handle: CudaHandle, priority: CudaOutput<i32>) {
        priority.write(CudaStream::find(handle)?.priority())
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
        ensure(flags <= EXTERNAL, CUDA_ERROR_INVALID_VALUE)?;
        let event = EVENTS.find(event)?;
        CudaStream::find(handle)?.wait_for(&event, flags == EXTERNAL)
    }

    fn cuLaunchHostFunc | cuLaunchHostFunc_ptsz (
        handle: CudaHandle, function: Option<extern "C" fn(*mut c_void)>, data: CudaInput<c_void>,
    ) {
        let function = function.ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
        let data = data.address() as usize;
        CudaStream::find(handle)?.submit(StreamCommand::Host(HostCall { function, data }))
    }

    fn cuStreamAddCallback | cuStreamAddCallback_ptsz (
        handle: CudaHandle, function: Option<extern "C" fn(CudaHandle, CUresult, *mut c_void)>, data: CudaInput<c_void>, flags: u32,
    ) {
        let function = function.ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
        ensure(flags == 0, CUDA_ERROR_INVALID_VALUE)?;
        let stream = CudaStream::find(handle)?;
        ensure(stream.capture().is_none(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)?;
        let data = data.address() as usize;
        stream.submit(StreamCommand::Callback(StreamCallback { function, stream: handle, data }))
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

    fn cuStreamGetAttribute | cuStreamGetAttribute_ptsz (handle: CudaHandle, id: u32, value: CudaOutput<AttributeValue>) {
        value.write(CudaStream::find(handle)?.attribute(id)?)
    }

    fn cuStreamSetAttribute | cuStreamSetAttribute_ptsz (handle: CudaHandle, id: u32, value: CudaInput<AttributeValue>) {
        CudaStream::find(handle)?.set_attribute(id, value.read()?)
    }

    fn cuStreamCopyAttributes | cuStreamCopyAttributes_ptsz (to: CudaHandle, from: CudaHandle) {
        CudaStream::find(to)?.copy_attributes(&*CudaStream::find(from)?);
        Ok(())
    }

    fn cuEventCreate(event: CudaOutput<CudaHandle>, flags: u32) {
        context::current()?;
        event.ensure()?;
        event.write(CudaEvent::create(flags)?)
    }

    fn cuEventDestroy_v2 | cuEventDestroy (event: CudaHandle) {
        EVENTS.remove(event).map(|_| ())
    }

    fn cuEventRecord | cuEventRecord_ptsz (event: CudaHandle, stream: CudaHandle) {
        record(event, stream, false)
    }

    fn cuEventRecordWithFlags | cuEventRecordWithFlags_ptsz (event: CudaHandle, stream: CudaHandle, flags: u32) {
        ensure(flags <= EXTERNAL, CUDA_ERROR_INVALID_VALUE)?;
        record(event, stream, flags == EXTERNAL)
    }

    fn cuEventQuery(event: CudaHandle) {
        EVENTS.find(event)?.ensure_done()
    }

    fn cuEventSynchronize(event: CudaHandle) {
        EVENTS.find(event)?.synchronize()
    }

    fn cuEventElapsedTime | cuEventElapsedTime_v2 (milliseconds: CudaOutput<f32>, first: CudaHandle, last: CudaHandle) {
        milliseconds.write(EVENTS.find(first)?.milliseconds_to(&*EVENTS.find(last)?)?)
    }
}
