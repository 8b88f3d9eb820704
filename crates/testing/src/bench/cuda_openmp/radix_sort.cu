// A pass of a radix sort by 8 bits: counts of digits by block, their prefix sums, and moves in order. A warp takes 32 consecutive keys
// at a time, and finds its lanes with equal digits by a vote.
#define KEYS 2048
#define WARPS 8

extern "C" __global__ void count_digits(const unsigned *keys, unsigned *table, int shift) {
  __shared__ unsigned counts[256];
  counts[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < KEYS; i += blockDim.x) atomicAdd(&counts[keys[blockIdx.x * KEYS + i] >> shift & 255], 1);
  __syncthreads();
  table[threadIdx.x * gridDim.x + blockIdx.x] = counts[threadIdx.x];
}

// Exclusive prefix sums of the table by one block.
extern "C" __global__ void scan_table(unsigned *table, int count) {
  __shared__ unsigned sums[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned before = 0;
  for (int start = 0; start < count; start += blockDim.x) {
    unsigned own = table[start + threadIdx.x], value = own;
    for (int by = 1; by < 32; by *= 2) {
      unsigned other = __shfl_up_sync(~0u, value, by);
      if (lane >= by) value += other;
    }
    if (lane == 31) sums[warp] = value;
    __syncthreads();
    if (warp == 0) {
      unsigned sum = sums[lane];
      for (int by = 1; by < 32; by *= 2) {
        unsigned other = __shfl_up_sync(~0u, sum, by);
        if (lane >= by) sum += other;
      }
      sums[lane] = sum;
    }
    __syncthreads();
    table[start + threadIdx.x] = before + value - own + (warp > 0 ? sums[warp - 1] : 0);
    before += sums[31];
    __syncthreads();
  }
}

extern "C" __global__ void move_keys(const unsigned *keys, unsigned *out, const unsigned *table, int shift) {
  __shared__ unsigned counts[WARPS][256];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned *own = keys + blockIdx.x * KEYS + warp * (KEYS / WARPS);
  for (int i = 0; i < WARPS; i++) counts[i][threadIdx.x] = 0;
  __syncthreads();
  unsigned key[KEYS / WARPS / 32], rank[KEYS / WARPS / 32];
  for (int i = 0; i < KEYS / WARPS / 32; i++) {
    key[i] = own[i * 32 + lane];
    unsigned digit = key[i] >> shift & 255;
    unsigned equal = __match_any_sync(~0u, digit), before = __popc(equal & ((1u << lane) - 1));
    rank[i] = counts[warp][digit] + before;
    __syncwarp();
    if (before == 0) counts[warp][digit] += __popc(equal);
    __syncwarp();
  }
  __syncthreads();
  unsigned sum = table[threadIdx.x * gridDim.x + blockIdx.x];
  for (int i = 0; i < WARPS; i++) {
    unsigned count = counts[i][threadIdx.x];
    counts[i][threadIdx.x] = sum;
    sum += count;
  }
  __syncthreads();
  for (int i = 0; i < KEYS / WARPS / 32; i++) out[counts[warp][key[i] >> shift & 255] + rank[i]] = key[i];
}
