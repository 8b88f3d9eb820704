// Inclusive prefix sums: blocks scan by shuffles, one block scans their sums, and each adds the sum before it.
__device__ unsigned scan_block(unsigned value, unsigned *sums) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int by = 1; by < 32; by *= 2) {
    unsigned other = __shfl_up_sync(~0u, value, by);
    if (lane >= by) value += other;
  }
  if (lane == 31) sums[warp] = value;
  __syncthreads();
  if (warp == 0) {
    unsigned sum = lane < blockDim.x / 32 ? sums[lane] : 0;
    for (int by = 1; by < 32; by *= 2) {
      unsigned other = __shfl_up_sync(~0u, sum, by);
      if (lane >= by) sum += other;
    }
    sums[lane] = sum;
  }
  __syncthreads();
  return value + (warp > 0 ? sums[warp - 1] : 0);
}

extern "C" __global__ void scan_blocks(const unsigned *in, unsigned *out, unsigned *totals, int count) {
  __shared__ unsigned sums[32];
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned value = scan_block(at < count ? in[at] : 0, sums);
  if (at < count) out[at] = value;
  if (threadIdx.x == blockDim.x - 1) totals[blockIdx.x] = value;
}

extern "C" __global__ void scan_totals(unsigned *totals, int count) {
  __shared__ unsigned sums[32];
  unsigned before = 0;
  for (int start = 0; start < count; start += blockDim.x) {
    int at = start + threadIdx.x;
    unsigned value = before + scan_block(at < count ? totals[at] : 0, sums);
    if (at < count) totals[at] = value;
    before += sums[blockDim.x / 32 - 1];
    __syncthreads();
  }
}

extern "C" __global__ void add_totals(unsigned *out, const unsigned *totals, int count) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x > 0 && at < count) out[at] += totals[blockIdx.x - 1];
}
