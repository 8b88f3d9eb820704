// A generation of Conway's game of life on a torus: a block keeps its cells and those around them in shared memory.
#define TILE 16

extern "C" __global__ void life(const unsigned char *in, unsigned char *out, int width, int height) {
  __shared__ unsigned char cells[TILE + 2][TILE + 2];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  for (int i = threadIdx.y * TILE + threadIdx.x; i < (TILE + 2) * (TILE + 2); i += TILE * TILE) {
    int row = i / (TILE + 2), column = i % (TILE + 2);
    int from_x = (blockIdx.x * TILE + column + width - 1) % width, from_y = (blockIdx.y * TILE + row + height - 1) % height;
    cells[row][column] = in[from_y * width + from_x];
  }
  __syncthreads();
  int row = threadIdx.y + 1, column = threadIdx.x + 1;
  int around = cells[row - 1][column - 1] + cells[row - 1][column] + cells[row - 1][column + 1] + cells[row][column - 1] +
               cells[row][column + 1] + cells[row + 1][column - 1] + cells[row + 1][column] + cells[row + 1][column + 1];
  out[y * width + x] = around == 3 || (around == 2 && cells[row][column]);
}
