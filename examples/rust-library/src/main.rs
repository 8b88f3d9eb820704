//! The largest of many numbers and where it is: each work-group finds its own in local memory, the host the last few.
//!
//!     cargo run --release --manifest-path examples/rust-library/Cargo.toml

use heddle::{NdRange, Program, local};

const SOURCE: &str = "
kernel void largest(global const float *numbers, uint count, local uint *best, global uint *found) {
    uint own = get_local_id(0), size = get_local_size(0);
    uint at = get_global_id(0);
    for (uint i = at; i < count; i += get_global_size(0))
        if (numbers[i] > numbers[at]) at = i;
    best[own] = at;
    for (uint half_size = size / 2; half_size > 0; half_size /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (own < half_size && numbers[best[own + half_size]] > numbers[best[own]])
            best[own] = best[own + half_size];
    }
    if (own == 0) found[get_group_id(0)] = best[0];
}";

const GROUPS: usize = 16;
const GROUP_SIZE: usize = 256;

fn largest(numbers: &[f32]) -> Result<usize, heddle::DiagnosticError> {
    let program = Program::from_opencl_c(SOURCE)?;
    let kernel = program.kernel("largest")?;
    let mut found = [0u32; GROUPS];
    let range =
        NdRange::new(&[(GROUPS * GROUP_SIZE) as u64]).and_then(|it| it.with_local(&[GROUP_SIZE as u64]));
    let arguments = (numbers, numbers.len() as u32, local::<u32>(GROUP_SIZE), &mut found);
    // SAFETY: the buffers have as many numbers as the arguments say, at least one for each work-item, and one result
    // for each group.
    unsafe { kernel.launch(range, arguments)? };
    for report in kernel.reports() {
        print!("{report}");
    }
    let best = found.iter().map(|&at| at as usize).max_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
    Ok(best.unwrap_or(0))
}

pub(crate) fn main() {
    let numbers: Vec<f32> =
        (0..1_000_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 8) as f32).collect();
    match largest(&numbers) {
        Ok(at) => {
            println!("the largest of {} numbers is {}, at {at}", numbers.len(), numbers[at]);
            assert!(numbers.iter().all(|&number| number <= numbers[at]));
        }
        Err(failure) => {
            eprintln!("{failure}");
            std::process::exit(1);
        }
    }
}
