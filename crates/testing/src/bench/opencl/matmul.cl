// The product of two square matrices, tile by tile through local memory.
#define TILE 16

kernel void multiply(global const float *a, global const float *b, global float *c, int size) {
  local float rows[TILE][TILE], columns[TILE][TILE];
  int x = get_local_id(0), y = get_local_id(1);
  int column = get_global_id(0), row = get_global_id(1);
  float sum = 0.0f;
  for (int first = 0; first < size; first += TILE) {
    rows[y][x] = a[row * size + first + x];
    columns[y][x] = b[(first + y) * size + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; k++)
      sum += rows[y][k] * columns[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * size + column] = sum;
}
