//! Functions of numbers over arrays, called as the loop of a NumPy ufunc.
//!
//! A loop gets an address and a step in bytes for each operand, and a count. Operands are consecutive elements or one
//! number for all; a kernel exists for each such layout that a caller announced. Operands with gaps are packed in blocks.

use crate::program::Kernel;
use heddle_compiler::DiagnosticError;
use heddle_runtime::{LaunchArgument, NdRange, Pool};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Elements of a block of packed operands.
const BLOCK: usize = 4096;
/// Bytes of a cache line, which the widest vectors fill: NumPy aligns arrays by 16 bytes, so each of their accesses would touch two.
const LINE: usize = 64;
/// Bytes of a result from which aligned stores save more than the launch for the elements before the first line: 9 µs of 30 for 512 KiB,
/// as much as the launch for 64 KiB.
const ALIGNED_FROM: usize = 1 << 17;
/// Maximum number of operands, results included.
const MAX_OPERANDS: usize = 32;

/// Function of numbers, compiled for some layouts of its operands.
#[derive(Debug)]
pub struct ElementwiseFunction {
    /// Bytes of an element of each operand; the result is the last one.
    sizes: Vec<usize>,
    /// Kernels by layout. Bit `i` of a layout is set if input `i` is one number for all elements. Layout 0 always exists.
    kernels: RwLock<Vec<(u32, Arc<Kernel>)>>,
    /// First failure of a launch.
    failure: Mutex<Option<DiagnosticError>>,
    has_failed: AtomicBool,
}

/// Memory for packed operands, aligned for any element.
type PackedBlock = Vec<u64>;

impl ElementwiseFunction {
    /// Returns a function of its kernel for consecutive elements, whose parameters are pointers to the inputs and the result.
    /// None if there are too many operands, or if sizes and parameters differ in number.
    pub fn new(dense: Kernel, sizes: &[usize]) -> Option<ElementwiseFunction> {
        let fits = (1..=MAX_OPERANDS).contains(&sizes.len()) && dense.parameter_count() == sizes.len();
        let are_elements = sizes.iter().all(|size| [1, 2, 4, 8].contains(size));
        (fits && are_elements).then(|| ElementwiseFunction {
            sizes: sizes.to_vec(),
            kernels: RwLock::new(vec![(0, Arc::new(dense))]),
            failure: Mutex::default(),
            has_failed: AtomicBool::new(false),
        })
    }

    /// Adds a kernel for a layout: parameters of the inputs with a bit in it are values.
    pub fn add(&self, layout: u32, kernel: Kernel) {
        let mut kernels = self.kernels.write().unwrap_or_else(PoisonError::into_inner);
        if kernel.parameter_count() == self.sizes.len() && kernels.iter().all(|(known, _)| *known != layout) {
            kernels.push((layout, Arc::new(kernel)));
        }
    }

    /// Number of operands, the result included.
    pub fn operands(&self) -> usize {
        self.sizes.len()
    }

    /// Returns the flag that is set while a failure waits for [`take_failure`](Self::take_failure).
    pub fn failure_flag(&self) -> &AtomicBool {
        &self.has_failed
    }

    /// Takes the first failure since the last call.
    pub fn take_failure(&self) -> Option<DiagnosticError> {
        self.has_failed.store(false, Ordering::Relaxed);
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Computes `count` results. A failed launch is kept for [`take_failure`](Self::take_failure).
    ///
    /// # Safety
    /// Each operand has an address and a step in bytes, and at each of `count` steps an aligned element. The result's
    /// elements are no input's that a later step reads, except that they may be the same in each step.
    pub unsafe fn call(&self, addresses: &[*mut u8], steps: &[isize], count: usize) {
        if addresses.len() != self.sizes.len() || steps.len() != self.sizes.len() || count == 0 {
            return;
        }
        // SAFETY: the caller's promise.
        let done = unsafe { self.compute(addresses, steps, count) };
        if let Err(reason) = done {
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
            self.has_failed.store(true, Ordering::Relaxed);
        }
    }

    /// Computes the results; the error is the first launch's that failed.
    ///
    /// # Safety
    /// As for [`call`](Self::call), with an address and a step for each operand.
    unsafe fn compute(
        &self,
        addresses: &[*mut u8],
        steps: &[isize],
        count: usize,
    ) -> Result<(), DiagnosticError> {
        let (inputs, result) = (self.sizes.len() - 1, self.sizes.len() - 1);
        let is_dense = |index: usize| count == 1 || steps[index] == self.sizes[index] as isize;
        let layout = (0..inputs).filter(|&index| !is_dense(index) && steps[index] == 0);
        let layout = layout.fold(0, |layout, index| layout | 1 << index);
        let is_plain = is_dense(result)
            && (0..inputs).all(|index| is_dense(index) || layout >> index & 1 != 0)
            && !(0..inputs).any(|index| self.is_shifted(addresses, steps, count, index));
        if is_plain && let Some(kernel) = self.kernel(layout) {
            let head = self.unaligned_head(addresses[result], count);
            if head > 0 {
                // SAFETY: the caller's promise; inputs are consecutive, or a number where the layout says so.
                unsafe { self.launch(&kernel, layout, addresses, head)? };
            }
            let mut rest = [ptr::null_mut(); MAX_OPERANDS];
            for (index, &address) in addresses.iter().enumerate() {
                let is_value = index < inputs && layout >> index & 1 != 0;
                rest[index] = address.wrapping_add(if is_value { 0 } else { head * self.sizes[index] });
            }
            // SAFETY: as above, for the elements after the head.
            return unsafe { self.launch(&kernel, layout, &rest[..addresses.len()], count - head) };
        }
        let Some(kernel) = self.kernel(0) else { return Ok(()) };
        let mut blocks: Vec<PackedBlock> = vec![vec![0; BLOCK.min(count)]; self.sizes.len()];
        let packed: Vec<*mut u8> = blocks.iter_mut().map(|block| block.as_mut_ptr().cast()).collect();
        for first in (0..count).step_by(BLOCK) {
            let many = BLOCK.min(count - first);
            let start = |index: usize| addresses[index].wrapping_offset(first as isize * steps[index]);
            for index in 0..inputs {
                let size = self.sizes[index];
                // SAFETY: elements of the caller's and of the block.
                unsafe {
                    copy_elements(size, (start(index), steps[index]), (packed[index], size as isize), many)
                };
            }
            // SAFETY: the blocks have so many elements of each operand.
            unsafe { self.launch(&kernel, 0, &packed, many)? };
            let size = self.sizes[result];
            // SAFETY: elements of the block and of the caller's.
            unsafe {
                copy_elements(size, (packed[result], size as isize), (start(result), steps[result]), many)
            };
        }
        Ok(())
    }

    /// Returns the number of elements before the first of the result's cache lines, where a launch for them pays.
    fn unaligned_head(&self, result: *mut u8, count: usize) -> usize {
        let size = self.sizes[self.sizes.len() - 1];
        // The caller's elements are aligned by their size, which divides a line.
        if count.saturating_mul(size) < ALIGNED_FROM { 0 } else { result.addr().wrapping_neg() % LINE / size }
    }

    /// True if an input shares memory with the result other than step by step. NumPy has a loop do so where each step reads ahead of what it
    /// writes; the threads of a launch do not go in this order, but packed blocks do.
    fn is_shifted(&self, addresses: &[*mut u8], steps: &[isize], count: usize, input: usize) -> bool {
        let result = self.sizes.len() - 1;
        let bytes = |index: usize| {
            let first = addresses[index] as isize;
            let last = first.wrapping_add(steps[index].wrapping_mul(count as isize - 1));
            (first.min(last), first.max(last).wrapping_add(self.sizes[index] as isize))
        };
        let operand = |index: usize| (addresses[index], steps[index], self.sizes[index]);
        let ((start, end), (result_start, result_end)) = (bytes(input), bytes(result));
        operand(input) != operand(result) && start < result_end && result_start < end
    }

    fn kernel(&self, layout: u32) -> Option<Arc<Kernel>> {
        let kernels = self.kernels.read().unwrap_or_else(PoisonError::into_inner);
        kernels.iter().find(|(known, _)| *known == layout).map(|(_, kernel)| Arc::clone(kernel))
    }

    /// Launches a kernel of a layout.
    ///
    /// # Safety
    /// Inputs are numbers where the layout has a bit, otherwise consecutive elements as the result, and aligned.
    unsafe fn launch(
        &self,
        kernel: &Kernel,
        layout: u32,
        addresses: &[*mut u8],
        count: usize,
    ) -> Result<(), DiagnosticError> {
        let mut arguments = [LaunchArgument::Pointer(ptr::null_mut()); MAX_OPERANDS];
        for (index, (&address, &size)) in addresses.iter().zip(&self.sizes).enumerate() {
            arguments[index] = match layout >> index & 1 {
                0 => LaunchArgument::Pointer(address),
                // SAFETY: the number is there and lives during the launch.
                _ => LaunchArgument::Bytes(unsafe { std::slice::from_raw_parts(address, size) }),
            };
        }
        let range = NdRange::new(&[count as u64]).map_err(|reason| kernel.refuse(&reason))?;
        // SAFETY: the caller's promise; the kernel reads and writes one element of each operand per work-item.
        let done =
            unsafe { kernel.prepared().launch(&arguments[..addresses.len()], &range, Pool::of_process()) };
        done.map_err(|error| kernel.launch_failure(error))
    }
}

/// Copies elements between an address with a step and another.
///
/// # Safety
/// At each of `count` steps there is an aligned element of `size` bytes (1, 2, 4 or 8) on both sides.
unsafe fn copy_elements(size: usize, from: (*mut u8, isize), to: (*mut u8, isize), count: usize) {
    /// # Safety
    /// As for `copy_elements`, of this type's size.
    unsafe fn copy<T: Copy>(from: (*mut u8, isize), to: (*mut u8, isize), count: usize) {
        for index in 0..count as isize {
            let (source, target) =
                (from.0.wrapping_offset(index * from.1), to.0.wrapping_offset(index * to.1));
            // SAFETY: the caller's promise.
            unsafe { target.cast::<T>().write(source.cast::<T>().read()) };
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            1 => copy::<u8>(from, to, count),
            2 => copy::<u16>(from, to, count),
            4 => copy::<u32>(from, to, count),
            _ => copy::<u64>(from, to, count),
        }
    }
}
