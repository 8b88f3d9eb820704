//! Graphs as text in the language DOT (`cuGraphDebugDotPrint`).

use crate::core::command::{KernelCommand, StreamCommand, StreamWait};
use crate::core::error::{CudaResult, ensure};
use crate::core::graph::{CudaGraph, GraphSnapshot};
use crate::core::launch::LaunchSize;
use crate::core::memory::{CopySide, MemoryCopy, MemoryFill};
use crate::core::memory_operation::{ValueWait, ValueWrite};
use crate::cuda::*;
use rustc_hash::FxHashMap;
use std::fmt::{self, Write as _};

/// Flags (`CU_GRAPH_DEBUG_DOT_FLAGS_…`).
const VERBOSE: u32 = 1;
const KERNEL_NODE_PARAMS: u32 = 1 << 2;
const MEMCPY_NODE_PARAMS: u32 = 1 << 3;
const MEMSET_NODE_PARAMS: u32 = 1 << 4;
const HOST_NODE_PARAMS: u32 = 1 << 5;
const EVENT_NODE_PARAMS: u32 = 1 << 6;
const HANDLES: u32 = 1 << 10;
const MEM_ALLOC_NODE_PARAMS: u32 = 1 << 11;
const MEM_FREE_NODE_PARAMS: u32 = 1 << 12;
const BATCH_MEM_OP_NODE_PARAMS: u32 = 1 << 13;
const ALL_FLAGS: u32 = (1 << 16) - 1;

/// Returns a graph as text. Child graphs are clusters.
pub fn dot(graph: &CudaGraph, flags: u32) -> CudaResult<String> {
    ensure(flags & !ALL_FLAGS == 0, CUDA_ERROR_INVALID_VALUE)?;
    let flags = if flags & VERBOSE != 0 { ALL_FLAGS } else { flags };
    let mut writer = DotWriter { text: String::new(), flags, graphs: 0 };
    // Writing into a string does not fail.
    let _ = writer.write_all(&graph.snapshot()?);
    Ok(writer.text)
}

#[derive(Debug)]
struct DotWriter {
    text: String,
    flags: u32,
    /// Graphs so far, which have numbers.
    graphs: usize,
}

impl DotWriter {
    fn write_all(&mut self, graph: &GraphSnapshot) -> fmt::Result {
        writeln!(self.text, "digraph dot {{")?;
        let mut work = vec![graph];
        while let Some(graph) = work.pop() {
            let number = self.graphs;
            self.graphs += 1;
            let mut places: FxHashMap<CudaHandle, usize> = FxHashMap::default();
            writeln!(self.text, "subgraph cluster_{number} {{")?;
            writeln!(self.text, "label=\"graph_{number}\" graph[style=\"dashed\"];")?;
            for (place, (handle, command, behind)) in graph.nodes().enumerate() {
                places.insert(handle, place);
                let label = self.label(place, handle, command);
                writeln!(self.text, "\"graph_{number}_node_{place}\"[shape=\"box\" label=\"{label}\"];")?;
                for before in behind.iter().filter_map(|before| places.get(before)) {
                    writeln!(
                        self.text,
                        "\"graph_{number}_node_{before}\" -> \"graph_{number}_node_{place}\";"
                    )?;
                }
                if let StreamCommand::Graph(inner) = command {
                    work.push(inner);
                }
            }
            writeln!(self.text, "}}")?;
        }
        writeln!(self.text, "}}")
    }

    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Returns the lines of a node: its number, its kind, and what the flags ask for.
    fn label(&self, place: usize, handle: CudaHandle, command: &StreamCommand) -> String {
        let mut lines = vec![place.to_string(), title(command)];
        if self.has(HANDLES) {
            lines.push(format!("node: {handle:#x}"));
        }
        match command {
            StreamCommand::Launch(kernel) => {
                if self.has(HANDLES) {
                    lines.push(format!("function: {:#x}", kernel.launch.function.handle));
                }
                if self.has(KERNEL_NODE_PARAMS) {
                    lines.push(launch_line(kernel));
                }
            }
            StreamCommand::Copy(copy) if self.has(MEMCPY_NODE_PARAMS) => lines.extend(copy_lines(&copy.copy)),
            StreamCommand::Fill(fill) if self.has(MEMSET_NODE_PARAMS) => lines.push(fill_line(fill)),
            StreamCommand::Host(call) if self.has(HOST_NODE_PARAMS) => {
                lines.push(format!("function: {:#x}", call.function as usize));
                lines.push(format!("data: {:#x}", call.data));
            }
            StreamCommand::Record(event) | StreamCommand::Wait(StreamWait::Event(event))
                if self.has(EVENT_NODE_PARAMS) =>
            {
                lines.push(format!("event: {:#x}", event.handle));
            }
            StreamCommand::Allocate(memory) if self.has(MEM_ALLOC_NODE_PARAMS) => {
                lines.push(format!("{} bytes at {:#x}", memory.bytes, memory.start));
            }
            StreamCommand::Free(start) if self.has(MEM_FREE_NODE_PARAMS) => {
                lines.push(format!("at {start:#x}"));
            }
            StreamCommand::Wait(StreamWait::Value(_))
            | StreamCommand::Write(_)
            | StreamCommand::MemoryOperations(_)
                if self.has(BATCH_MEM_OP_NODE_PARAMS) =>
            {
                lines.extend(operation_lines(command));
            }
            _ => {}
        }
        lines.iter().map(|line| escape(line)).collect::<Vec<String>>().join("\\n")
    }
}

/// Returns the kind of a node, and the name of its kernel or the direction of its copy.
fn title(command: &StreamCommand) -> String {
    match command {
        StreamCommand::Launch(kernel) => {
            format!("KERNEL {}", kernel.launch.function.name.to_string_lossy())
        }
        StreamCommand::Copy(copy) => {
            let side = |side: &CopySide| if side.is_known { "D" } else { "H" };
            format!("MEMCPY {}to{}", side(&copy.copy.from), side(&copy.copy.to))
        }
        StreamCommand::Fill(_) => "MEMSET".into(),
        StreamCommand::Host(_) | StreamCommand::Callback(_) => "HOST".into(),
        StreamCommand::Graph(_) => "GRAPH".into(),
        StreamCommand::Record(_) => "EVENT_RECORD".into(),
        StreamCommand::Wait(StreamWait::Event(_)) => "WAIT_EVENT".into(),
        StreamCommand::Wait(StreamWait::Value(_))
        | StreamCommand::Write(_)
        | StreamCommand::MemoryOperations(_) => "BATCH_MEM_OP".into(),
        StreamCommand::Allocate(_) => "MEM_ALLOC".into(),
        StreamCommand::Free(_) => "MEM_FREE".into(),
        StreamCommand::Empty | StreamCommand::Reach(_) | StreamCommand::Wait(_) => "EMPTY".into(),
    }
}

fn launch_line(kernel: &KernelCommand) -> String {
    let LaunchSize { grid, block, shared } = kernel.launch.size;
    let size = |[x, y, z]: [u32; 3]| format!("{x}, {y}, {z}");
    format!("<<<({}), ({}), {shared}>>>", size(grid), size(block))
}

fn copy_lines(copy: &MemoryCopy) -> [String; 3] {
    let side = |name: &str, side: &CopySide| {
        format!("{name}: {:#x}, pitch {}, slice {}", side.start, side.pitch, side.slice)
    };
    let MemoryCopy { width, height, depth, .. } = copy;
    [side("from", &copy.from), side("to", &copy.to), format!("{width} bytes x {height} x {depth}")]
}

fn fill_line(fill: &MemoryFill) -> String {
    let MemoryFill { start, pitch, value, size, width, height } = fill;
    format!("{width} x {height} of {value:#x} ({size} bytes) at {start:#x}, pitch {pitch}")
}

fn operation_lines(command: &StreamCommand) -> Vec<String> {
    let mut lines = Vec::new();
    // The visit has no errors.
    let _ = command.each_leaf(|leaf| {
        match leaf {
            StreamCommand::Wait(StreamWait::Value(ValueWait { place, operand, condition })) => {
                lines.push(format!("wait at {:#x}: {condition:?} {operand}", place.address));
            }
            StreamCommand::Write(ValueWrite { place, value }) => {
                lines.push(format!("write at {:#x}: {value}", place.address));
            }
            _ => {}
        }
        Ok(())
    });
    lines
}

/// Returns a line as part of a quoted text.
fn escape(line: &str) -> String {
    line.replace('\\', "\\\\").replace('"', "\\\"")
}
