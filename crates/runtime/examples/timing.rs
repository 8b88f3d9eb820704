//! Times Mandelbrot and n-body, OpenCL C kernels, against one lane at a time, on one thread; checks that both agree.
//!
//!     cargo run --release -p heddle-runtime --example timing

use heddle_llvm::{compile, import};
use heddle_runtime::{BuildOptions, KernelModule, LaunchArgument, NdRange, Pool, PreparedKernel};
use std::time::Instant;

const SOURCE: &str = "
kernel void mandelbrot(global int *out, float left, float top, float step, int limit) {
    int x = get_global_id(0), y = get_global_id(1);
    float cx = left + x * step, cy = top + y * step, zx = 0, zy = 0;
    int n = 0;
    while (n < limit && zx * zx + zy * zy < 4) {
        float next = zx * zx - zy * zy + cx;
        zy = 2 * zx * zy + cy;
        zx = next;
        n++;
    }
    out[y * get_global_size(0) + x] = n;
}
kernel void nbody(global const float4 *at, global float4 *force, int count, local float4 *tile) {
    int me = get_global_id(0), here = get_local_id(0), size = get_local_size(0);
    float4 mine = at[me];
    float fx = 0, fy = 0, fz = 0;
    for (int first = 0; first < count; first += size) {
        tile[here] = at[first + here];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < size; j++) {
            float dx = tile[j].x - mine.x, dy = tile[j].y - mine.y, dz = tile[j].z - mine.z;
            float square = dx * dx + dy * dy + dz * dz + 0.01f;
            float inverse = 1.0f / sqrt(square);
            float scale = tile[j].w * inverse * inverse * inverse;
            fx += dx * scale; fy += dy * scale; fz += dz * scale;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    force[me] = (float4)(fx, fy, fz, 0);
}";

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let path = std::env::temp_dir().join(format!("heddle-timing-{}.cl", std::process::id()));
    std::fs::write(&path, SOURCE)?;
    let llvm = compile(&path, 2, &[]);
    let _ = std::fs::remove_file(&path);
    let module = import(&llvm?).module;
    let wide = KernelModule::new(module.clone(), &BuildOptions::default())?;
    let one = KernelModule::new(module, &BuildOptions { lanes: Some(1), ..BuildOptions::default() })?;
    let pool = Pool::new(1);
    println!("{:<12} {:>12} {:>12} {:>8}", "kernel", "one lane", "brushes", "ratio");

    let (width, height) = (1024u64, 768u64);
    let mut image = vec![0i32; (width * height) as usize];
    let range = NdRange::new(&[width, height])?.with_local(&[64, 4])?;
    let numbers = [-2.2f32, -1.2, 3.2 / width as f32].map(f32::to_ne_bytes);
    let limit = 256i32.to_ne_bytes();
    let mut times = Vec::new();
    let mut images = Vec::new();
    for program in [&one, &wide] {
        let kernel = program.kernel("mandelbrot").ok_or("there is no such kernel")?;
        let args = [
            LaunchArgument::Pointer(image.as_mut_ptr().cast()),
            LaunchArgument::Bytes(&numbers[0]),
            LaunchArgument::Bytes(&numbers[1]),
            LaunchArgument::Bytes(&numbers[2]),
            LaunchArgument::Bytes(&limit),
        ];
        times.push(least(&kernel, &args, &range, &pool)?);
        images.push(image.clone());
    }
    assert_eq!(images[0], images[1], "both write the same image");
    row("mandelbrot", &times);

    let count = 4096u64;
    let at: Vec<f32> = (0..count * 4).map(|it| ((it * 7919) % 1000) as f32 / 1000.0).collect();
    let mut at = at;
    let mut force = vec![0f32; at.len()];
    let range = NdRange::new(&[count])?.with_local(&[256])?;
    let number = (count as i32).to_ne_bytes();
    let (mut times, mut forces) = (Vec::new(), Vec::new());
    for program in [&one, &wide] {
        let kernel = program.kernel("nbody").ok_or("there is no such kernel")?;
        let args = [
            LaunchArgument::Pointer(at.as_mut_ptr().cast()),
            LaunchArgument::Pointer(force.as_mut_ptr().cast()),
            LaunchArgument::Bytes(&number),
            LaunchArgument::Local(16 * 256),
        ];
        times.push(least(&kernel, &args, &range, &pool)?);
        forces.push(force.clone());
    }
    let differs = |(a, b): (&f32, &f32)| (a - b).abs() > 1e-3 * a.abs().max(1.0);
    assert!(!forces[0].iter().zip(&forces[1]).any(differs), "both compute the same forces");
    row("nbody", &times);
    Ok(())
}

fn row(name: &str, times: &[f64]) {
    println!(
        "{name:<12} {:>9.2} ms {:>9.2} ms {:>7.1}x",
        times[0] * 1e3,
        times[1] * 1e3,
        times[0] / times[1]
    );
}

/// The least of several times, in seconds.
fn least(
    kernel: &PreparedKernel,
    args: &[LaunchArgument<'_>],
    range: &NdRange,
    pool: &Pool,
) -> Result<f64, Failure> {
    let mut least = f64::MAX;
    for _ in 0..6 {
        let start = Instant::now();
        // SAFETY: arrays have an element for each work-item.
        unsafe { kernel.launch(args, range, pool)? };
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok(least)
}
