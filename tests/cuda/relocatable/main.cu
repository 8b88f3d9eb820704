// Device code of two files, linked by `nvcc -rdc=true`: functions, variables, constants and pointers to functions of the other file.

#include "shared.h"
#include <cstdio>
#include <cstdlib>

#define REQUIRE(condition)                                                                                         \
  do {                                                                                                             \
    if (!(condition)) {                                                                                            \
      std::printf("%d: not %s\n", __LINE__, #condition);                                                           \
      std::exit(1);                                                                                                \
    }                                                                                                              \
  } while (false)

static __device__ int own = 1;
__managed__ int managed = 5;

__global__ void transform(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  x[i] = scale(x[i]) + table[i & 3] + chosen(1) + own + managed + twice(i);
  atomicAdd(&counter, 1);
}

__global__ void virtual_call(float *x) { x[threadIdx.x] = area(threadIdx.x % 2, threadIdx.x); }

__global__ void block_total(int *out) {
  out[blockIdx.x] = total_of_block(threadIdx.x);
  if (threadIdx.x == 0 && blockIdx.x == 0) printf("block of %d\n", blockDim.x);
}

#ifdef NESTED
__global__ void child() {}
__global__ void nested() { child<<<1, 1>>>(); }
#endif

int main() {
  const int n = 1000;
  float *x;
  int *totals;
  REQUIRE(!cudaMallocManaged(&x, n * sizeof(float)) && !cudaMallocManaged(&totals, 3 * sizeof(int)));
  for (int i = 0; i < n; ++i) x[i] = i;
  int first = 10;
  REQUIRE(!cudaMemcpyToSymbol(own, &first, sizeof first));
  transform<<<8, 128>>>(x, n);
  REQUIRE(!cudaDeviceSynchronize());
  for (int i = 0; i < n; ++i) REQUIRE(x[i] == 2 * i + 100 + (1 + i % 4) + 0.5f + 10 + 5 + 2 * i);
  REQUIRE(count() == n);
  choose_other();
  REQUIRE(run_there(x, n) && x[3] == 2 * 3 + 100 + 2);
  transform<<<1, 1>>>(x, 1);
  REQUIRE(!cudaDeviceSynchronize() && x[0] == 2 * 102 + 100 + 1 + 4 + 10 + 5);
  virtual_call<<<1, 8>>>(x);
  REQUIRE(!cudaDeviceSynchronize());
  for (int i = 0; i < 8; ++i) REQUIRE(x[i] == (i % 2 ? 3.0f * i * i : 1.0f * i * i));
  block_total<<<3, 64>>>(totals);
  REQUIRE(!cudaDeviceSynchronize() && totals[0] == 63 * 32 && totals[2] == 63 * 32);
#ifdef NESTED
  nested<<<1, 1>>>();
  REQUIRE(cudaGetLastError() == cudaErrorNotSupported);
#endif
  std::printf("passed\n");
}
