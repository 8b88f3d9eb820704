// Sequences: Rodinia's needle, and what searches texts.
#include "device.cuh"

// launch: @needle(&reference, &table, 17, 2) local=16 groups=1 with reference: i32 below 9 289; table: i32 step 1 289
KERNEL needle(const int *reference, int *table, int width, int penalty) {
  __shared__ int cell[17][17];
  int x = threadIdx.x;
  for (int y = 0; y < 17; y++) cell[y][x + 1] = table[y * width + x + 1];
  if (x == 0)
    for (int y = 0; y < 17; y++) cell[y][0] = table[y * width];
  __syncthreads();
  for (int step = 0; step < 31; step++) {
    int row = step - x + 1;
    if (row >= 1 && row <= 16)
      cell[row][x + 1] = max(max(cell[row - 1][x] + reference[row * width + x + 1] - 4, cell[row][x] - penalty), cell[row - 1][x + 1] - penalty);
    __syncthreads();
  }
  for (int y = 1; y < 17; y++) table[y * width + x + 1] = cell[y][x + 1];
}

// launch: @edit_distance(&words, &out, 9) local=32 groups=1 with words: i8 below 4 320; out: i32 zero 32
KERNEL edit_distance(const char *words, int *out, int length) {
  int row[10];
  const char *own = words + threadIdx.x * 10, *other = words + (31 - threadIdx.x) * 10;
  for (int j = 0; j <= length; j++) row[j] = j;
  for (int i = 1; i <= length; i++) {
    int corner = row[0];
    row[0] = i;
    for (int j = 1; j <= length; j++) {
      int above = row[j];
      row[j] = min(min(above, row[j - 1]) + 1, corner + (own[i - 1] != other[j - 1]));
      corner = above;
    }
  }
  out[threadIdx.x] = row[length];
}

// launch: @align_local(&a, &b, &best, 24) local=32 groups=1 with a: i8 below 4 24; b: i8 below 4 32; best: i32 zero 1
KERNEL align_local(const char *a, const char *b, int *best, int length) {
  int lane = threadIdx.x, here = 0, last = 0, corner = 0, most = 0;
  for (int step = 0; step < length + 32; step++) {
    int left = __shfl_up_sync(~0u, here, 1);
    if (lane == 0) left = 0;
    int row = step - lane;
    if (row >= 0 && row < length) {
      int score = max(max(corner + (a[row] == b[lane] ? 2 : -1), 0), max(left, last) - 1);
      corner = left;
      last = here = score;
      most = max(most, score);
    }
  }
  atomicMax(best, most);
}

// launch: @search(&text, &pattern, &table, &found, 60, 3) local=32 groups=1 with text: i8 below 2 96; pattern: i8 below 2 3; table: i32 [0, 0, 0]; found: i32 zero 32
KERNEL search(const char *text, const char *pattern, const int *table, int *found, int length, int size) {
  int state = 0, count = 0;
  for (int i = threadIdx.x; i < length; i++) {
    while (state > 0 && text[i] != pattern[state]) state = table[state - 1];
    if (text[i] == pattern[state]) state++;
    if (state == size) {
      count++;
      state = table[state - 1];
    }
  }
  found[threadIdx.x] = count;
}

// launch: @run_lengths(&in, &out, 90) local=32 groups=3 with in: i8 below 2 96; out: i32 zero 96
KERNEL run_lengths(const char *in, int *out, int length) {
  int at = thread_number();
  if (at >= length || (at > 0 && in[at - 1] == in[at])) return;
  int end = at + 1;
  while (end < length && in[end] == in[at]) end++;
  out[at] = end - at;
}

// launch: @words(&text, &count, 120) local=64 groups=2 with text: i8 below 40 128; count: i32 zero 2
KERNEL words(const char *text, int *count, int length) {
  int at = thread_number();
  bool starts = at < length && text[at] != 0 && text[at] % 5 != 0 && (at == 0 || text[at - 1] % 5 == 0);
  unsigned all = __ballot_sync(~0u, starts);
  if (threadIdx.x % 32 == 0) atomicAdd(count, __popc(all));
  if (starts && __ffs(all) == (int)threadIdx.x % 32 + 1) atomicAdd(count + 1, 1);
}
