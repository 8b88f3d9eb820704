//! Memory for every type: of values, and what a worker keeps from one group to the next.

/// What memory is made of: a line of two cache lines, so that every vector is aligned.
#[derive(Clone, Copy)]
#[repr(C, align(128))]
struct Line([u8; 128]);

/// Aligned memory that grows as it is asked for more.
#[derive(Default)]
pub(crate) struct AlignedMemory {
    lines: Vec<Line>,
}

impl AlignedMemory {
    /// Memory with these bytes.
    pub(crate) fn copy_of(bytes: &[u8]) -> AlignedMemory {
        let line = |chunk: &[u8]| {
            let mut line = [0; 128];
            line[..chunk.len()].copy_from_slice(chunk);
            Line(line)
        };
        AlignedMemory { lines: bytes.chunks(128).map(line).collect() }
    }

    /// Its start.
    pub(crate) fn start(&self) -> *const u8 {
        self.lines.as_ptr().cast()
    }

    /// The start of so many bytes, of which nothing is known. None if there is not as much memory.
    pub(crate) fn bytes(&mut self, bytes: u64) -> Option<*mut u8> {
        let lines = usize::try_from(bytes.div_ceil(128)).ok()?.max(1);
        if lines > self.lines.len() {
            self.lines.try_reserve_exact(lines - self.lines.len()).ok()?;
            self.lines.resize(lines, Line([0; 128]));
        }
        Some(self.lines.as_mut_ptr().cast())
    }
}
