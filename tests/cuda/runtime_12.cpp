// The runtime as programs of CUDA 12 see it: structures that differ from those of CUDA 13, libraries, launches by handle.

#include "require.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

int main(int, char **arguments) {
  int version = 0;
  REQUIRE(!cudaRuntimeGetVersion(&version) && version == 12090);
  cudaDeviceProp about;
  REQUIRE(!cudaGetDeviceProperties(&about, 0));
  REQUIRE(!std::strcmp(about.name, "Heddle (CPU)") && about.major == 8 && about.minor == 9 && about.warpSize == 32);
  REQUIRE(about.clockRate == 1000000 && about.cooperativeLaunch == 1 && about.maxBlocksPerMultiProcessor == 24);
  REQUIRE(about.sharedMemPerBlockOptin == 99 << 10 && about.memoryPoolsSupported == 1);
  cudaLibrary_t library;
  cudaKernel_t kernel;
  REQUIRE(!cudaLibraryLoadFromFile(&library, arguments[1], nullptr, nullptr, 0, nullptr, nullptr, 0));
  REQUIRE(!cudaLibraryGetKernel(&kernel, library, "polynomial"));
  void *place;
  size_t bytes;
  const float coefficients[4] = {1, 2, 3, 0};
  REQUIRE(!cudaLibraryGetGlobal(&place, &bytes, library, "coefficients") && bytes == sizeof coefficients);
  REQUIRE(!cudaMemcpy(place, coefficients, bytes, cudaMemcpyHostToDevice));
  int n = 100;
  float *x, *y;
  REQUIRE(!cudaMallocManaged(&x, n * sizeof(float)) && !cudaMallocManaged(&y, n * sizeof(float)));
  for (int i = 0; i < n; ++i) x[i] = i;
  void *values[] = {&y, &x, &n};
  REQUIRE(!cudaLaunchKernel(kernel, dim3(1), dim3(128), values, 0, 0));
  REQUIRE(!cudaDeviceSynchronize() && y[2] == 17);
  REQUIRE(!cudaMemPrefetchAsync(x, n, 0, 0) && !cudaMemAdvise(x, n, cudaMemAdviseSetReadMostly, 0));
  int nothing;
  REQUIRE(cudaLaunchKernel(&nothing, dim3(1), dim3(128), values, 0, 0) == cudaErrorInvalidDeviceFunction);
  std::printf("passed\n");
}
