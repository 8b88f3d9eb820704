#include "shared.h"
#include <cstdio>

static __device__ int own = 100;
__device__ int counter;
__constant__ float table[4] = {1, 2, 3, 4};

__device__ float scale(float x) { return 2 * x + own; }

static __device__ float half_of(float x) { return x / 2; }
static __device__ float four_of(float x) { return x * 4; }
__device__ Choice chosen = half_of;

struct Figure {
  __device__ virtual float area(float size) const = 0;
};
struct Square : Figure {
  __device__ float area(float size) const override { return size * size; }
};
struct Disk : Figure {
  __device__ float area(float size) const override { return 3 * size * size; }
};

__device__ float area(int kind, float size) {
  Square square;
  Disk disk;
  const Figure *figure = &square;
  if (kind) figure = &disk;
  return figure->area(size);
}

__device__ int total_of_block(int value) {
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, value);
  __syncthreads();
  return total;
}

__global__ void choose() { chosen = four_of; }

__global__ void there(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = scale(twice(i) * 0.5f) + 2;
  if (i == 0) printf("own is %d\n", own);
}

int count() {
  int result = 0;
  return cudaMemcpyFromSymbol(&result, counter, sizeof result) ? -1 : result;
}

void choose_other() { choose<<<1, 1>>>(); }

bool run_there(float *x, int n) {
  there<<<(n + 255) / 256, 256>>>(x, n);
  return !cudaDeviceSynchronize();
}
