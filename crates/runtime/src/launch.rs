//! Launches: arguments, work-groups, workers.

use crate::code::{BuildError, GroupCode, Variant};
use crate::memory::AlignedMemory;
use crate::pool::Pool;
use crate::program::Kernel;
use crate::range::{Groups, NdRange, choose_local};
use heddle_ir::Space;
use heddle_llvm::slot_bytes;
use heddle_transform::Fold;
use heddle_transform::kernels::{LOCAL_ALIGN, PLACE_WORDS};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// What a kernel gets for a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    /// A value by its bytes; for a pointer to private memory, what it points to.
    Bytes(&'a [u8]),
    /// An address in global or constant memory.
    Pointer(*mut u8),
    /// So many bytes of local memory for each group.
    Local(u64),
}

/// Why a kernel was not launched.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// It has no code.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The number of arguments is wrong.
    #[error("@{kernel} takes {expected} arguments, not {found}")]
    Count {
        /// The kernel.
        kernel: String,
        /// How many it takes.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// An argument does not fit its parameter.
    #[error("argument {index} of @{kernel}: {reason}")]
    Argument {
        /// The kernel.
        kernel: String,
        /// Which argument, from 0.
        index: usize,
        /// What is wrong.
        reason: String,
    },
    /// The source fixes the size of work-groups.
    #[error("@{kernel} runs in work-groups of {required:?}, not of {found:?}")]
    Local {
        /// The kernel.
        kernel: String,
        /// The size that the source says.
        required: [u32; 3],
        /// The size that was asked for.
        found: [u32; 3],
    },
    /// There are too many work-groups.
    #[error("@{0}: there are more than 2^64 work-groups")]
    Groups(String),
    /// There is no memory for what work-groups need.
    #[error("@{kernel}: there is no memory for the {bytes} bytes that a work-group needs")]
    Memory {
        /// The kernel.
        kernel: String,
        /// How much it needs.
        bytes: u64,
    },
}

/// What all workers of a launch share.
struct Launch {
    code: Arc<GroupCode>,
    groups: Groups,
    /// The arguments, each in its slot, and room for what differs between workers.
    slots: Vec<u8>,
    /// Slots that get an address in the worker's local memory.
    locals: Vec<(usize, u64)>,
    /// Keeps what addresses in slots point to.
    _values: Vec<AlignedMemory>,
    local_bytes: u64,
    scratch_bytes: u64,
    is_out_of_memory: AtomicBool,
}

/// The memory of a worker.
#[derive(Default)]
struct Worker {
    local: AlignedMemory,
    scratch: AlignedMemory,
}

thread_local! {
    static WORKER: RefCell<Worker> = RefCell::default();
}

const SLOT: usize = 16;

impl Kernel {
    /// Launches the kernel over a range, and comes back when all work-items are done.
    ///
    /// # Safety
    /// With these arguments the kernel does nothing undefined: it stays inside of the memory that they lead to, its work-items
    /// do not race, and all of a group come to the same barriers. That memory stays where it is meanwhile, and nobody
    /// else writes what the kernel reads or reads what it writes.
    pub unsafe fn launch(
        &self,
        args: &[Argument<'_>],
        range: &NdRange,
        pool: &Pool,
    ) -> Result<(), LaunchError> {
        // SAFETY: what the caller promises.
        unsafe { self.launch_with_local(args, range, 0, pool) }
    }

    /// Launches the kernel as [`launch`](Kernel::launch) does; each group has this much local memory behind the program's own
    /// objects.
    ///
    /// # Safety
    /// As for [`launch`](Kernel::launch).
    pub unsafe fn launch_with_local(
        &self,
        args: &[Argument<'_>],
        range: &NdRange,
        local_bytes: u64,
        pool: &Pool,
    ) -> Result<(), LaunchError> {
        let info = self.info();
        let lanes = self.lanes();
        let local = match (range.local(), info.required_local) {
            (Some(found), Some(required)) if found != required => {
                return Err(LaunchError::Local { kernel: info.name.clone(), required, found });
            }
            (Some(local), _) | (None, Some(local)) => local,
            (None, None) => choose_local(range, lanes, info.sees_groups),
        };
        let groups = range.groups(local);
        let count = groups.count().ok_or_else(|| LaunchError::Groups(info.name.clone()))?;
        if count == 0 {
            return Ok(());
        }
        let is_one_row = local[1] == 1 && local[2] == 1;
        let is_row = match self.warp() {
            // Brushes that the kernel sees go round the ends of rows.
            Some(_) => local[0].is_multiple_of(lanes) || is_one_row,
            None => local[0] >= lanes || is_one_row,
        };
        let fold = if is_row { Fold::Rows } else { Fold::Linear };
        // Where lanes go round the ends of rows, they divide by the size of a row.
        let is_fixed = info.required_local.is_some() || fold == Fold::Linear;
        let variant = Variant {
            fold,
            is_small: range.is_small(),
            local: (is_fixed && groups.is_uniform()).then_some(local),
        };
        let code = self.code(variant)?;
        let launch = Launch::new(self, code, args, groups, local, local_bytes)?;
        let needed = launch.local_bytes.saturating_add(launch.scratch_bytes);
        let launch = Arc::new(launch);
        let worker = Arc::clone(&launch);
        let chunk = count.div_ceil(pool.threads() as u64 * 8).min(256);
        // SAFETY: what the caller promises of the arguments.
        pool.run(count, chunk, move |numbers| unsafe { worker.run(numbers) });
        match launch.is_out_of_memory.load(Ordering::Relaxed) {
            true => Err(LaunchError::Memory { kernel: info.name.clone(), bytes: needed }),
            false => Ok(()),
        }
    }
}

fn set_address(slots: &mut [u8], at: usize, address: *const u8) {
    slots[at..at + 8].copy_from_slice(&(address as usize).to_ne_bytes());
}

impl Launch {
    fn new(
        kernel: &Kernel,
        code: Arc<GroupCode>,
        args: &[Argument<'_>],
        groups: Groups,
        local: [u32; 3],
        more_local: u64,
    ) -> Result<Launch, LaunchError> {
        let info = kernel.info();
        let expected = info.parameters.len();
        if args.len() != expected {
            let found = args.len();
            return Err(LaunchError::Count { kernel: info.name.clone(), expected, found });
        }
        let (mut slots, mut locals, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut local_bytes = code.info.local_bytes.saturating_add(more_local);
        for (index, (parameter, argument)) in info.parameters.iter().zip(args).enumerate() {
            let refuse =
                |reason: String| Err(LaunchError::Argument { kernel: info.name.clone(), index, reason });
            let at = slots.len();
            slots.resize(at + slot_bytes(parameter.ty), 0);
            match (*argument, parameter.space) {
                (Argument::Local(bytes), Some(Space::Local)) => {
                    local_bytes = local_bytes.next_multiple_of(LOCAL_ALIGN);
                    locals.push((at, local_bytes));
                    local_bytes = local_bytes.saturating_add(bytes);
                }
                (Argument::Local(_), _) => return refuse("it is no pointer to local memory".into()),
                (_, Some(Space::Local)) => {
                    return refuse("it is a pointer to local memory: say how many bytes that has".into());
                }
                (Argument::Bytes(bytes), Some(Space::Private)) => {
                    let copy = AlignedMemory::copy_of(bytes);
                    set_address(&mut slots, at, copy.start());
                    values.push(copy);
                }
                (Argument::Pointer(address), Some(_)) => {
                    set_address(&mut slots, at, address);
                }
                (Argument::Pointer(_), None) => {
                    return refuse(format!("it is of type {}, no pointer", parameter.ty));
                }
                (Argument::Bytes(bytes), _) if bytes.len() == parameter.bytes as usize => {
                    slots[at..at + bytes.len()].copy_from_slice(bytes);
                }
                (Argument::Bytes(bytes), _) => {
                    return refuse(format!(
                        "it is of type {}, which takes {} bytes, not {}",
                        parameter.ty,
                        parameter.bytes,
                        bytes.len()
                    ));
                }
            }
        }
        slots.resize(slots.len() + 3 * SLOT, 0);
        let [x, y, z] = local.map(u64::from);
        let lanes = u64::from(code.lanes);
        let row = x.div_ceil(lanes) * y * z;
        let brushes = row.max((x * y * z).div_ceil(lanes));
        let scratch_bytes = code.info.brush_bytes.saturating_mul(brushes);
        let is_out_of_memory = AtomicBool::new(false);
        Ok(Launch {
            code,
            groups,
            slots,
            locals,
            _values: values,
            local_bytes,
            scratch_bytes,
            is_out_of_memory,
        })
    }

    /// Runs some groups.
    ///
    /// # Safety
    /// As for [`Kernel::launch`].
    unsafe fn run(&self, numbers: Range<u64>) {
        // Whatever a kernel calls may launch another one.
        let mut worker = WORKER.take();
        let memory = (worker.local.bytes(self.local_bytes), worker.scratch.bytes(self.scratch_bytes));
        let (Some(local), Some(scratch)) = memory else {
            self.is_out_of_memory.store(true, Ordering::Relaxed);
            return;
        };
        let mut place = [0u64; PLACE_WORDS];
        let mut slots = self.slots.clone();
        for &(at, offset) in &self.locals {
            set_address(&mut slots, at, local.wrapping_add(offset as usize));
        }
        let own = self.slots.len() - 3 * SLOT;
        set_address(&mut slots, own + SLOT, local);
        set_address(&mut slots, own + 2 * SLOT, scratch);
        for number in numbers {
            self.groups.place(number, &mut place);
            set_address(&mut slots, own, place.as_ptr().cast());
            // SAFETY: the slots hold the arguments, and memory of the size that the code asks for; the caller
            // promises the rest.
            unsafe { self.code.call(&slots) };
        }
        WORKER.set(worker);
    }
}
