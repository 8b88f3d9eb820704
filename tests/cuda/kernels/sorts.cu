// Sorts, sums and prefixes, as the SDK's samples and Coutinho's quicksort have them.
#include "device.cuh"

// launch: @bitonic(&keys) local=64 groups=2 with keys: i32 random 128
KERNEL bitonic(int *keys) {
  __shared__ int own[64];
  int t = threadIdx.x;
  own[t] = keys[blockIdx.x * 64 + t];
  __syncthreads();
  for (int size = 2; size <= 64; size *= 2)
    for (int by = size / 2; by > 0; by /= 2) {
      int other = t ^ by;
      if (other > t) {
        if ((t & size) == 0) {
          if (own[t] > own[other]) {
            int old = own[t];
            own[t] = own[other];
            own[other] = old;
          }
        } else {
          if (own[t] < own[other]) {
            int old = own[t];
            own[t] = own[other];
            own[other] = old;
          }
        }
      }
      __syncthreads();
    }
  keys[blockIdx.x * 64 + t] = own[t];
}

// launch: @odd_even(&keys, 32) local=16 groups=1 with keys: f32 random 32
KERNEL odd_even(float *keys, int count) {
  for (int phase = 0; phase < count; phase++) {
    int at = threadIdx.x * 2 + (phase & 1);
    if (at + 1 < count && keys[at] > keys[at + 1]) {
      float old = keys[at];
      keys[at] = keys[at + 1];
      keys[at + 1] = old;
    }
    __syncthreads();
  }
}

// launch: @digits(&keys, &counts, 4, 120) local=32 groups=2 with keys: i32 random 128; counts: i32 zero 32
KERNEL digits(const unsigned *keys, int *counts, int shift, int count) {
  __shared__ int own[16];
  if (threadIdx.x < 16) own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = thread_number(); i < count; i += blockDim.x * gridDim.x) atomicAdd(&own[keys[i] >> shift & 15], 1);
  __syncthreads();
  if (threadIdx.x < 16) counts[threadIdx.x * gridDim.x + blockIdx.x] = own[threadIdx.x];
}

// launch: @scan(&in, &out) local=64 groups=2 with in: i32 below 9 128; out: i32 zero 128
KERNEL scan(const int *in, int *out) {
  __shared__ int own[2][64];
  int t = threadIdx.x, from = 0;
  own[0][t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  for (int by = 1; by < 64; by *= 2) {
    own[1 - from][t] = own[from][t] + (t >= by ? own[from][t - by] : 0);
    from = 1 - from;
    __syncthreads();
  }
  out[blockIdx.x * 64 + t] = own[from][t];
}

// launch: @reduce(&in, &out, 250) local=64 groups=2 with in: f32 random 256; out: f32 zero 2
KERNEL reduce(const float *in, float *out, int count) {
  extern __shared__ float partial[];
  float sum = 0;
  for (int i = thread_number(); i < count; i += gridDim.x * blockDim.x) sum += in[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int by = blockDim.x / 2; by > 0; by /= 2) {
    if (threadIdx.x < by) partial[threadIdx.x] += partial[threadIdx.x + by];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

// launch: @reduce_warps(&in, &out) local=64 groups=2 with in: i32 below 99 128; out: i32 zero 2
KERNEL reduce_warps(const int *in, int *out) {
  __shared__ int sums[2];
  int sum = in[thread_number()];
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0] + sums[1];
}

// launch: @histogram(&in, &out, 500) local=64 groups=2 with in: i8 random 512; out: i32 zero 256
KERNEL histogram(const unsigned char *in, int *out, int count) {
  __shared__ int own[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) own[i] = 0;
  __syncthreads();
  for (int i = thread_number(); i < count; i += gridDim.x * blockDim.x) atomicAdd(&own[in[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (own[i]) atomicAdd(&out[i], own[i]);
}

// launch: @quicksort(&keys, 12) local=32 groups=1 with keys: i32 below 100 384
KERNEL quicksort(int *keys, int count) {
  int *own = keys + threadIdx.x * count, stack[16], top = 0;
  stack[top++] = 0;
  stack[top++] = count - 1;
  while (top > 0) {
    int high = stack[--top], low = stack[--top];
    if (low >= high) continue;
    int pivot = own[(low + high) / 2], i = low, j = high;
    while (i <= j) {
      while (own[i] < pivot) i++;
      while (own[j] > pivot) j--;
      if (i <= j) {
        int old = own[i];
        own[i++] = own[j];
        own[j--] = old;
      }
    }
    bool left_first = j - low > high - i;
    stack[top++] = left_first ? low : i;
    stack[top++] = left_first ? j : high;
    stack[top++] = left_first ? i : low;
    stack[top++] = left_first ? high : j;
  }
}

// launch: @merge(&a, &b, &out, 32) local=64 groups=1 with a: i32 step 5 32; b: i32 step 3 32; out: i32 zero 64
KERNEL merge(const int *a, const int *b, int *out, int count) {
  int diagonal = threadIdx.x, low = max(0, diagonal - count), high = min(diagonal, count);
  while (low < high) {
    int middle = (low + high) / 2;
    if (a[middle] <= b[diagonal - 1 - middle]) low = middle + 1;
    else high = middle;
  }
  int other = diagonal - low;
  out[diagonal] = other >= count || (low < count && a[low] <= b[other]) ? a[low] : b[other];
}

// launch: @compact(&in, &out, &end, 60) local=32 groups=2 with in: i32 below 6 64; out: i32 zero 64; end: i32 zero 2
KERNEL compact(const int *in, int *out, int *end, int count) {
  int at = thread_number(), lane = threadIdx.x % 32;
  bool keeps = at < count && in[at] > 2;
  unsigned all = __ballot_sync(~0u, keeps);
  if (keeps) out[blockIdx.x * 32 + __popc(all & ((1u << lane) - 1))] = in[at];
  if (lane == 0) end[blockIdx.x] = __popc(all);
}

// launch: @rank_sort(&keys, &out, 40) local=64 groups=1 with keys: i64 random 40; out: i64 zero 40
KERNEL rank_sort(const long long *keys, long long *out, int count) {
  int own = threadIdx.x;
  if (own >= count) return;
  int rank = 0;
  for (int i = 0; i < count; i++) rank += keys[i] < keys[own] || (keys[i] == keys[own] && i < own);
  out[rank] = keys[own];
}
