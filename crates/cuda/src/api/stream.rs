//! Streams and events.

use super::pointer::{In, Out};
use crate::core::context;
use crate::core::error::{Answer, Error, ensure};
use crate::core::event::{EVENTS, Event};
use crate::core::graph::{Command, Graph, HostCall};
use crate::core::memory;
use crate::core::stream::{STREAMS, Stream, call_back};
use crate::cuda::*;
use std::ffi::c_void;
use std::sync::Arc;

/// A function that a stream calls with its handle and a code.
type Callback = extern "C" fn(Handle, CUresult, *mut c_void);

/// What is told of a capture: its status, its number, its graph, and the nodes that the next command comes behind.
struct Captured {
    status: Out<u32>,
    id: Out<u64>,
    graph: Out<Handle>,
    nodes: Out<u64>,
    edges: Out<u64>,
    count: Out<usize>,
}

impl Captured {
    fn tell(self, stream: Handle) -> Answer<()> {
        let Some(capture) = Stream::find(stream)?.capture() else { return self.status.write(0) };
        self.status.write(1)?;
        self.id.write_if(capture.graph);
        self.graph.write_if(capture.graph);
        self.count.write_if(capture.last.len());
        self.edges.write_if(0);
        if !self.nodes.is_null() {
            // The graph keeps lists that were told, so they stay where they are.
            let list = Graph::find(capture.graph)?.keep_told(capture.last);
            self.nodes.write_if(list);
        }
        Ok(())
    }
}

fn begin(stream: Handle) -> Answer<()> {
    let stream = Stream::find(stream)?;
    let graph = Graph::create();
    stream.begin_capture(graph, Vec::new()).inspect_err(|_| _ = Graph::destroy(graph))
}

fn record(event: Handle, stream: Handle) -> Answer<()> {
    let event = EVENTS.find(event)?;
    Stream::find(stream)?.record(&event)
}

entries! {
    fn cuStreamCreate(stream: Out<Handle>, flags: u32) {
        stream.ensure()?;
        stream.write(Stream::create(flags, 0)?)
    }

    fn cuStreamCreateWithPriority(stream: Out<Handle>, flags: u32, priority: i32) {
        stream.ensure()?;
        stream.write(Stream::create(flags, priority)?)
    }

    fn cuStreamDestroy_v2 | cuStreamDestroy (handle: Handle) {
        context::ensure_initialized()?;
        let stream = STREAMS.remove(handle)?;
        stream.run(|| ());
        Ok(())
    }

    fn cuStreamSynchronize | cuStreamSynchronize_ptsz (handle: Handle) {
        Stream::find(handle)?.synchronize()
    }

    fn cuStreamQuery | cuStreamQuery_ptsz (handle: Handle) {
        let stream = Stream::find(handle)?;
        ensure(stream.capture().is_none(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    }

    fn cuStreamGetPriority | cuStreamGetPriority_ptsz (handle: Handle, priority: Out<i32>) {
        priority.write(Stream::find(handle)?.priority)
    }

    fn cuStreamGetFlags | cuStreamGetFlags_ptsz (handle: Handle, flags: Out<u32>) {
        flags.write(Stream::find(handle)?.flags)
    }

    fn cuStreamGetId | cuStreamGetId_ptsz (handle: Handle, id: Out<u64>) {
        id.write(Stream::find(handle)?.id)
    }

    fn cuStreamGetDevice | cuStreamGetDevice_ptsz (handle: Handle, device: Out<CUdevice>) {
        Stream::find(handle)?;
        device.write(0)
    }

    fn cuStreamGetCtx | cuStreamGetCtx_ptsz (handle: Handle, place: Out<Handle>) {
        let stream = Stream::find(handle)?;
        // The default streams are of the thread's context.
        let is_own = handle > CU_STREAM_PER_THREAD;
        place.write(if is_own { stream.context } else { context::current_handle() })
    }

    fn cuStreamGetCtx_v2 | cuStreamGetCtx_v2_ptsz (handle: Handle, place: Out<Handle>, green: Out<Handle>) {
        let stream = Stream::find(handle)?;
        green.write_if(0);
        let is_own = handle > CU_STREAM_PER_THREAD;
        place.write(if is_own { stream.context } else { context::current_handle() })
    }

    fn cuStreamWaitEvent | cuStreamWaitEvent_ptsz (handle: Handle, event: Handle, flags: u32) {
        ensure(flags <= 1, CUDA_ERROR_INVALID_VALUE)?;
        let event = EVENTS.find(event)?;
        Stream::find(handle)?.wait_for(&event)
    }

    fn cuLaunchHostFunc | cuLaunchHostFunc_ptsz (
        handle: Handle, function: Option<extern "C" fn(*mut c_void)>, data: In<c_void>,
    ) {
        let function = function.ok_or(Error(CUDA_ERROR_INVALID_VALUE))?;
        let data = data.address() as usize;
        Stream::find(handle)?.submit(Command::Host(HostCall { function, data }))
    }

    fn cuStreamAddCallback | cuStreamAddCallback_ptsz (
        handle: Handle, function: Option<Callback>, data: In<c_void>, flags: u32,
    ) {
        let function = function.ok_or(Error(CUDA_ERROR_INVALID_VALUE))?;
        ensure(flags == 0, CUDA_ERROR_INVALID_VALUE)?;
        let stream = Stream::find(handle)?;
        ensure(stream.capture().is_none(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)?;
        let data = std::ptr::with_exposed_provenance_mut(data.address() as usize);
        stream.run(|| call_back(|| function(handle, CUDA_SUCCESS, data)));
        Ok(())
    }

    fn cuStreamBeginCapture_v2 | cuStreamBeginCapture_v2_ptsz (handle: Handle, mode: u32) {
        ensure(mode <= 2, CUDA_ERROR_INVALID_VALUE)?;
        begin(handle)
    }

    fn cuStreamBeginCapture | cuStreamBeginCapture_ptsz (handle: Handle) {
        begin(handle)
    }

    fn cuStreamBeginCaptureToGraph | cuStreamBeginCaptureToGraph_ptsz (
        handle: Handle, graph: Handle, behind: In<Handle>, _edges: In<c_void>, count: usize, mode: u32,
    ) {
        ensure(mode <= 2, CUDA_ERROR_INVALID_VALUE)?;
        Graph::find(graph)?;
        Stream::find(handle)?.begin_capture(graph, behind.list(count)?)
    }

    fn cuStreamEndCapture | cuStreamEndCapture_ptsz (handle: Handle, graph: Out<Handle>) {
        graph.ensure()?;
        graph.write(Stream::find(handle)?.end_capture()?)
    }

    fn cuStreamIsCapturing | cuStreamIsCapturing_ptsz (handle: Handle, status: Out<u32>) {
        status.write(Stream::find(handle)?.capture().is_some().into())
    }

    fn cuStreamGetCaptureInfo | cuStreamGetCaptureInfo_ptsz (handle: Handle, status: Out<u32>, id: Out<u64>) {
        let (graph, nodes, edges, count) = (Out::at(0), Out::at(0), Out::at(0), Out::at(0));
        Captured { status, id, graph, nodes, edges, count }.tell(handle)
    }

    fn cuStreamGetCaptureInfo_v2 | cuStreamGetCaptureInfo_v2_ptsz (
        handle: Handle, status: Out<u32>, id: Out<u64>, graph: Out<Handle>, nodes: Out<u64>, count: Out<usize>,
    ) {
        Captured { status, id, graph, nodes, edges: Out::at(0), count }.tell(handle)
    }

    fn cuStreamGetCaptureInfo_v3 | cuStreamGetCaptureInfo_v3_ptsz (
        handle: Handle, status: Out<u32>, id: Out<u64>, graph: Out<Handle>, nodes: Out<u64>, edges: Out<u64>,
        count: Out<usize>,
    ) {
        Captured { status, id, graph, nodes, edges, count }.tell(handle)
    }

    fn cuStreamUpdateCaptureDependencies | cuStreamUpdateCaptureDependencies_ptsz (
        handle: Handle, nodes: In<Handle>, count: usize, flags: u32,
    ) {
        ensure(flags <= 1, CUDA_ERROR_INVALID_VALUE)?;
        Stream::find(handle)?.set_last(&nodes.list(count)?, flags == 0)
    }

    fn cuStreamUpdateCaptureDependencies_v2 | cuStreamUpdateCaptureDependencies_v2_ptsz (
        handle: Handle, nodes: In<Handle>, _edges: In<c_void>, count: usize, flags: u32,
    ) {
        ensure(flags <= 1, CUDA_ERROR_INVALID_VALUE)?;
        Stream::find(handle)?.set_last(&nodes.list(count)?, flags == 0)
    }

    fn cuThreadExchangeStreamCaptureMode(mode: Out<u32>) {
        // Calls are never forbidden by a capture of somebody else, so there is nothing to change.
        let now = mode.as_input().read()?;
        ensure(now <= 2, CUDA_ERROR_INVALID_VALUE)?;
        mode.write(0)
    }

    fn cuStreamWriteValue32_v2 | cuStreamWriteValue32_v2_ptsz | cuStreamWriteValue32 | cuStreamWriteValue32_ptsz (
        handle: Handle, address: CUdeviceptr, value: u32, flags: u32,
    ) {
        ensure(flags <= 1, CUDA_ERROR_INVALID_VALUE)?;
        let fill = memory::Fill { start: address, pitch: 0, value, size: 4, width: 1, height: 1 };
        fill.check()?;
        Stream::find(handle)?.submit(Command::Fill(fill))
    }

    fn cuEventCreate(event: Out<Handle>, flags: u32) {
        context::current()?;
        event.ensure()?;
        event.write(EVENTS.publish(Arc::new(Event::new(flags)?)))
    }

    fn cuEventDestroy_v2 | cuEventDestroy (event: Handle) {
        EVENTS.remove(event).map(|_| ())
    }

    fn cuEventRecord | cuEventRecord_ptsz (event: Handle, stream: Handle) {
        record(event, stream)
    }

    fn cuEventRecordWithFlags | cuEventRecordWithFlags_ptsz (event: Handle, stream: Handle, flags: u32) {
        ensure(flags <= 1, CUDA_ERROR_INVALID_VALUE)?;
        record(event, stream)
    }

    fn cuEventQuery | cuEventSynchronize (event: Handle) {
        EVENTS.find(event)?.ensure_done()
    }

    fn cuEventElapsedTime | cuEventElapsedTime_v2 (milliseconds: Out<f32>, first: Handle, last: Handle) {
        milliseconds.write(EVENTS.find(first)?.milliseconds_to(&*EVENTS.find(last)?)?)
    }
}
