//! Launches while codes are tried: results do not depend on the code that runs, and each class of launches comes to a choice.

use crate::program::{BuildServices, KernelModule, PreparedKernel};
use crate::selection::Trials;
use crate::{BuildOptions, KernelCache, LaunchArgument, NdRange, Pool};
use heddle_llvm::{ObjectCache, compile, import};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of launches within which each class comes to a choice. Some thousand do on an idle machine; where other processes disturb
/// the launches, trials seem to cost more, and the budget takes more launches to pay for them.
const MAX_LAUNCHES: u64 = 3_000_000;

/// Program of a source in OpenCL C with a cache of its own.
struct CachedProgram {
    program: KernelModule,
    /// Number of classes of launches whose choice was reported.
    choices: Arc<AtomicUsize>,
    folder: PathBuf,
}

impl Drop for CachedProgram {
    fn drop(&mut self) {
        // Choices that are kept later are of no use.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl CachedProgram {
    fn new(name: &str, source: &str) -> CachedProgram {
        let folder = std::env::temp_dir().join(format!("heddle-{}-{name}", std::process::id()));
        let path = folder.join("program.cl");
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        std::fs::write(&path, source).expect("the source can be written");
        let module = import(&compile(&path, 2, &[]).expect("clang takes the source")).module;
        let choices = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&choices);
        let watch = move |line: &dyn std::fmt::Display| {
            let text = line.to_string();
            let is_choice =
                text.contains(" work-items use ") && text.contains("; the trials of the others took ");
            seen.fetch_add(usize::from(is_choice), Ordering::Relaxed);
        };
        let kept = KernelCache::new(ObjectCache::at(folder.join("objects")), name.as_bytes());
        let making = BuildServices {
            watch: Some(Arc::new(watch)),
            kept: Some(kept),
            trials: Trials::On,
            ..BuildServices::default()
        };
        let program = KernelModule::making(module, &BuildOptions::default(), making).expect("a program");
        CachedProgram { program, choices, folder }
    }

    fn kernel(&self, name: &str) -> PreparedKernel {
        self.program.kernel(name).expect("there is the kernel")
    }

    fn choices(&self) -> usize {
        self.choices.load(Ordering::Relaxed)
    }
}

/// Compiles all candidates for launches over a range into the cache, so that trying them costs little. Returns their number.
fn fill_cache(kernel: &PreparedKernel, range: &NdRange) -> usize {
    let plan = kernel.plan(&[], range, false).expect("a plan");
    let first = kernel.code(plan.variant).expect("it compiles");
    let candidates = kernel.candidates(&first, &plan.groups);
    let built = candidates.iter().map(|spec| kernel.compiled_candidate(spec.variant, false).0);
    built.filter(|built| built.is_ok()).count()
}

fn pointer<T>(values: &mut [T]) -> LaunchArgument<'static> {
    LaunchArgument::Pointer(values.as_mut_ptr().cast())
}

fn range(global: &[u64], local: &[u64]) -> NdRange {
    NdRange::new(global).and_then(|range| range.with_local(local)).expect("a range")
}

/// A loop that work-items leave one by one, and neighbours that read across a barrier.
const STEPS: &str = "kernel void steps(global const uint *in, global uint *out) {
    local uint taken[64];
    uint at = in[get_global_id(0)], steps = 0;
    while (at > 1) {
        at = at % 2 ? 3 * at + 1 : at / 2;
        steps++;
    }
    taken[get_local_id(0)] = steps;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = steps * 1000 + taken[(get_local_id(0) + 1) % 64];
}";

#[test]
fn results_stay_while_codes_of_other_widths_are_tried() {
    let program = CachedProgram::new("steps", STEPS);
    let kernel = program.kernel("steps");
    let steps = |at: u32| {
        std::iter::successors(Some(at), |&at| match at {
            1 => None,
            _ if at % 2 == 1 => Some(3 * at + 1),
            _ => Some(at / 2),
        })
    };
    let count = 4096u32;
    let mut input: Vec<u32> = (1..=count).collect();
    let own: Vec<u32> = input.iter().map(|&at| steps(at).count() as u32 - 1).collect();
    let wanted: Vec<u32> =
        (0..count as usize).map(|it| own[it] * 1000 + own[it / 64 * 64 + (it + 1) % 64]).collect();
    let pool = Pool::new(2);
    let range = range(&[count.into()], &[64]);
    assert!(fill_cache(&kernel, &range) >= 4);
    let mut launches = 0;
    while program.choices() < 1 {
        launches += 1;
        assert!(launches < MAX_LAUNCHES, "no code is chosen");
        let mut out = vec![0u32; count as usize];
        let args = [pointer(&mut input), pointer(&mut out)];
        // SAFETY: the arrays have an element for each work-item.
        unsafe { kernel.launch(&args, &range, &pool) }.expect("it runs");
        assert_eq!(out, wanted);
    }
}

/// Steps as above in groups with rows, and the neighbour is one of those that the group has.
const STEPS_IN_ROWS: &str = "kernel void steps(global uint *out) {
    local uint taken[32];
    uint own = get_local_id(1) * get_local_size(0) + get_local_id(0), count = get_local_size(0) * get_local_size(1);
    uint place = get_global_id(1) * get_global_size(0) + get_global_id(0), at = place + 1, steps = 0;
    while (at > 1) {
        at = at % 2 ? 3 * at + 1 : at / 2;
        steps++;
    }
    taken[own] = steps;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[place] = steps * 1000 + taken[(own + 1) % count];
}";

#[test]
fn codes_for_full_groups_only_run_no_smaller_ones() {
    let program = CachedProgram::new("steps-in-rows", STEPS_IN_ROWS);
    let kernel = program.kernel("steps");
    let steps = |at: u32| {
        std::iter::successors(Some(at), |&at| (at > 1).then(|| if at % 2 == 1 { 3 * at + 1 } else { at / 2 }))
            .count() as u32
            - 1
    };
    // The second range has smaller groups at its ends; the same code begins for both.
    let wanted = [[64u32, 64], [67, 66]].map(|[width, height]| {
        let place = |x: u32, y: u32| y * width + x;
        let own = |x, y| {
            let (left, top) = (x / 8 * 8, y / 4 * 4);
            let (columns, rows) = (8.min(width - left), 4.min(height - top));
            let next = ((y - top) * columns + x - left + 1) % (columns * rows);
            steps(place(x, y) + 1) * 1000 + steps(place(left + next % columns, top + next / columns) + 1)
        };
        let all: Vec<u32> = (0..width * height).map(|at| own(at % width, at / width)).collect();
        ([u64::from(width), u64::from(height)], all)
    });
    let pool = Pool::new(2);
    let mut launches = 0;
    let sizes = [[64, 64], [67, 66]];
    assert!(sizes.iter().all(|size| fill_cache(&kernel, &range(size, &[8, 4])) >= 2));
    // Launches with full groups and those with smaller ones at the ends are two classes.
    while program.choices() < 2 {
        launches += 1;
        assert!(launches < MAX_LAUNCHES, "no code is chosen");
        for (size, wanted) in &wanted {
            let mut out = vec![0u32; wanted.len()];
            let args = [pointer(&mut out)];
            // SAFETY: the array has an element for each work-item.
            unsafe { kernel.launch(&args, &range(size, &[8, 4]), &pool) }.expect("it runs");
            assert_eq!(&out, wanted, "{size:?}");
        }
    }
}
