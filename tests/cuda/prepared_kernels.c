// Kernels of prepared.cpp, compiled to PTX by clang: in rows; in two dimensions; in squares of 16 x 16 that share a tile.

#define KERNEL __attribute__((nvptx_kernel))
#define SHARED __attribute__((address_space(3)))

static int column(void) { return __nvvm_read_ptx_sreg_tid_x(); }
static int row(void) { return __nvvm_read_ptx_sreg_tid_y(); }
static int x(void) { return __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + column(); }
static int y(void) { return __nvvm_read_ptx_sreg_ctaid_y() * __nvvm_read_ptx_sreg_ntid_y() + row(); }

KERNEL void scale(float *a, int count) {
  int i = x();
  if (i < count) a[i] *= 2;
}

KERNEL void shift(float *a, int width) { a[y() * width + x()] += 1; }

static SHARED float tile[16][17];

KERNEL void turn(float *a, int width) {
  tile[row()][column()] = a[y() * width + x()];
  __syncthreads();
  a[y() * width + x()] = tile[column()][row()];
}
