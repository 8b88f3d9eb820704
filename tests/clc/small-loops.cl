// Loops of a constant trip count: unrolled where they are small and hold no barrier.

// Taps of nine neighbours: one block, and rows of the image as access groups.
kernel void taps(global const float *from, global float *to, constant float *weights, int width) {
  int column = get_global_id(0), row = get_global_id(1);
  float sum = 0.0f;
  for (int y = 0; y < 3; y++)
    for (int x = 0; x < 3; x++)
      sum += weights[y * 3 + x] * from[(row + y) * width + column + x];
  to[row * width + column] = sum;
}

// Neighbours that are counted in a helper.
int count(global const uchar *cells, int at, int width) {
  int alive = 0;
  for (int y = -1; y <= 1; y++)
    for (int x = -1; x <= 1; x++)
      alive += cells[at + y * width + x];
  return alive;
}
kernel void neighbours(global const uchar *cells, global uchar *to, int width) {
  int at = get_global_id(1) * width + get_global_id(0);
  to[at] = count(cells, at, width) == 3;
}

// A tree in local memory: eight rounds with a barrier each stay one loop, with two states.
kernel void tree(global const float *from, global float *to, local float *part) {
  int lane = get_local_id(0);
  part[lane] = from[get_global_id(0)];
  for (int step = 128; step > 0; step >>= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < step)
      part[lane] += part[lane + step];
  }
  if (lane == 0)
    to[get_group_id(0)] = part[0];
}

// A long loop stays.
kernel void rounds(global uint *state) {
  uint at = get_global_id(0), x = state[at];
  for (int round = 0; round < 1000; round++) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
  }
  state[at] = x;
}


// A table gives the distances of neighbours: unrolled beyond LLVM's limit, so that these are constants.
constant int2 directions[9] = {(int2)(0, 0), (int2)(1, 0), (int2)(0, 1), (int2)(-1, 0), (int2)(0, -1), (int2)(1, 1), (int2)(-1, 1), (int2)(-1, -1), (int2)(1, -1)};
kernel void stream_in(global const float *from, global float *to, uint width, uint height) {
  size_t x = get_global_id(0), y = get_global_id(1);
  float sum = 0.0f;
  for (int k = 0; k < 9; k++) {
    size_t column = (x - directions[k].x + width) % width, row = (y - directions[k].y + height) % height;
    sum += from[(k * height + row) * width + column];
  }
  to[y * width + x] = sum;
}

// A loop round one of unknown length stays.
kernel void insertion(global uint *values) {
  uint own[16];
  size_t first = get_global_id(0) * 16;
  for (int i = 0; i < 16; i++)
    own[i] = values[first + i];
  for (int i = 1; i < 16; i++) {
    uint value = own[i];
    int j = i - 1;
    for (; j >= 0 && own[j] > value; j--)
      own[j + 1] = own[j];
    own[j + 1] = value;
  }
  for (int i = 0; i < 16; i++)
    values[first + i] = own[i];
}
