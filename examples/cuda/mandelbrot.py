"""Numba compiles a CUDA kernel and draws the Mandelbrot set."""

import sys
import time
import warnings

import numpy as np

warnings.simplefilter("ignore")
from numba import cuda  # noqa: E402

WIDTH, HEIGHT, MOST = 1024, 768, 500


@cuda.jit
def mandelbrot(image):
    x, y = cuda.grid(2)
    if x < WIDTH and y < HEIGHT:
        cr, ci = -2.2 + 3.2 * x / WIDTH, -1.2 + 2.4 * y / HEIGHT
        zr = zi = 0.0
        steps = 0
        while steps < MOST and zr * zr + zi * zi <= 4:
            zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
            steps += 1
        image[y, x] = steps % 256


image = cuda.device_array((HEIGHT, WIDTH), np.uint8)
times = []
for _ in range(3):
    start = time.perf_counter()
    mandelbrot[(WIDTH // 16, HEIGHT // 16), (16, 16)](image)
    cuda.synchronize()
    times.append(time.perf_counter() - start)
with open(sys.argv[1], "wb") as file:
    file.write(b"P5 %d %d 255\n" % (WIDTH, HEIGHT) + image.copy_to_host().tobytes())
name = cuda.get_current_device().name
print(f"{WIDTH} x {HEIGHT} points on {name.decode() if isinstance(name, bytes) else name}: {1000 * min(times):.1f} ms")
print(f"compiled in {times[0]:.2f} s, written to {sys.argv[1]}")
