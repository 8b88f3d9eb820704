// Grids: stencils and images, as Rodinia's hotspot, srad and pathfinder, and the SDK's filters.
#include "device.cuh"
#define SIDE 8

// launch: @hotspot(&power, &heat, &out, 16, 0.25, 0.5, 80.0) local=8x8 groups=2x2 with power: f32 random 256; heat: f32 below 90 256; out: f32 zero 256
KERNEL hotspot(const float *power, const float *heat, float *out, int width, float cap, float rate, float ambient) {
  __shared__ float tile[SIDE + 2][SIDE + 2];
  int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  tile[ty][tx] = heat[y * width + x];
  if (threadIdx.x == 0) tile[ty][0] = heat[y * width + max(x - 1, 0)];
  if (threadIdx.x == SIDE - 1) tile[ty][SIDE + 1] = heat[y * width + min(x + 1, width - 1)];
  if (threadIdx.y == 0) tile[0][tx] = heat[max(y - 1, 0) * width + x];
  if (threadIdx.y == SIDE - 1) tile[SIDE + 1][tx] = heat[min(y + 1, width - 1) * width + x];
  __syncthreads();
  float here = tile[ty][tx];
  float flow = (tile[ty - 1][tx] + tile[ty + 1][tx] - 2.0f * here) * rate + (tile[ty][tx - 1] + tile[ty][tx + 1] - 2.0f * here) * rate;
  out[y * width + x] = here + cap * (power[y * width + x] + flow + (ambient - here) * 0.1f);
}

// launch: @srad_coefficients(&image, &out, 16, 0.3) local=8x8 groups=2x2 with image: f32 below 9 256; out: f32 zero 256
KERNEL srad_coefficients(const float *image, float *out, int width, float q0) {
  int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y, at = y * width + x;
  float here = image[at] + 1.0f;
  float north = (y == 0 ? here : image[at - width]) - here, south = (y == width - 1 ? here : image[at + width]) - here;
  float west = (x == 0 ? here : image[at - 1]) - here, east = (x == width - 1 ? here : image[at + 1]) - here;
  float gradient = (north * north + south * south + west * west + east * east) / (here * here);
  float laplace = (north + south + west + east) / here;
  float number = 0.5f * gradient - 1.0f / 16.0f * laplace * laplace, below = 1.0f + 0.25f * laplace;
  float q = number / (below * below);
  float c = 1.0f / (1.0f + (q - q0) / (q0 * (1.0f + q0)));
  out[at] = c < 0.0f ? 0.0f : c > 1.0f ? 1.0f : c;
}

// launch: @srad_update(&image, &c, 16, 0.125) local=16 groups=16 with image: f32 below 9 256; c: f32 random 272
KERNEL srad_update(float *image, const float *c, int width, float lambda) {
  int at = thread_number();
  float divergence = c[at] * 2.0f + c[at + width] - 3.0f * c[at + 1];
  image[at] += lambda * divergence;
}

// launch: @pathfinder(&wall, &first, &out, 6) local=64 groups=1 with wall: i32 below 10 384; first: i32 below 10 64; out: i32 zero 64
KERNEL pathfinder(const int *wall, const int *first, int *out, int rows) {
  __shared__ int last[64], next[64];
  int x = threadIdx.x;
  last[x] = first[x];
  __syncthreads();
  for (int row = 0; row < rows; row++) {
    bool inside = x >= row + 1 && x < 63 - row;
    if (inside) next[x] = min(min(last[x - 1], last[x + 1]), last[x]) + wall[row * 64 + x];
    __syncthreads();
    if (inside) last[x] = next[x];
    __syncthreads();
  }
  out[x] = last[x];
}

// launch: @jacobi(&in, &out, &change, 16) local=8x4 groups=2x4 with in: f32 random 256; out: f32 zero 256; change: i32 zero 1
KERNEL jacobi(const float *in, float *out, int *change, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x == 0 || y == 0 || x == width - 1 || y == width - 1) return;
  const float *at = in + y * width + x;
  float mean = 0.25f * (at[-1] + at[1] + at[-width] + at[width]);
  out[y * width + x] = mean;
  if (fabsf(mean - *at) > 0.5f) atomicAdd(change, 1);
}

__constant__ float weights[9] = {0.0625f, 0.125f, 0.0625f, 0.125f, 0.25f, 0.125f, 0.0625f, 0.125f, 0.0625f};
// launch: @convolve(&image, &out, 15, 16) local=16 groups=16 with image: i8 random 256; out: i8 zero 256
KERNEL convolve(const unsigned char *image, unsigned char *out, int width, int height) {
  int x = threadIdx.x, y = blockIdx.x;
  if (x >= width) return;
  float sum = 0;
#pragma unroll 1
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++) {
      int sx = min(max(x + dx, 0), width - 1), sy = min(max(y + dy, 0), height - 1);
      sum += weights[(dy + 1) * 3 + dx + 1] * image[sy * width + sx];
    }
  out[y * width + x] = (unsigned char)sum;
}

// launch: @transpose(&in, &out, 16) local=8x4 groups=2x2 with in: f32 random 256; out: f32 zero 256
KERNEL transpose(const float *in, float *out, int width) {
  __shared__ float tile[SIDE][SIDE + 1];
  int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;
  for (int row = 0; row < SIDE; row += 4) tile[threadIdx.y + row][threadIdx.x] = in[(y + row) * width + x];
  __syncthreads();
  x = blockIdx.y * SIDE + threadIdx.x;
  y = blockIdx.x * SIDE + threadIdx.y;
  for (int row = 0; row < SIDE; row += 4) out[(y + row) * width + x] = tile[threadIdx.x][threadIdx.y + row];
}

// launch: @sobel(&image, &out, 16, 40) local=64 groups=4 with image: i8 random 256; out: i8 zero 256
KERNEL sobel(const unsigned char *image, unsigned char *out, int width, int limit) {
  int at = thread_number(), x = at % width, y = at / width;
  if (x < 1 || y < 1 || x >= width - 1 || y >= width - 1) return;
  const unsigned char *p = image + at;
  int gx = p[1 - width] + 2 * p[1] + p[1 + width] - p[-1 - width] - 2 * p[-1] - p[width - 1];
  int gy = p[width - 1] + 2 * p[width] + p[width + 1] - p[-width - 1] - 2 * p[-width] - p[1 - width];
  int all = abs(gx) + abs(gy);
  out[at] = all > limit ? min(all >> 2, 255) : 0;
}

// launch: @erode(&image, &out, 20) local=32 groups=4 with image: i16 random 128; out: i16 zero 128
KERNEL erode(const short *image, short *out, int steps) {
  int at = thread_number(), least = image[at];
  for (int by = 1; by < steps && least > -20000; by++) least = min(least, (int)image[(at + by) % 128]);
  out[at] = (short)least;
}
