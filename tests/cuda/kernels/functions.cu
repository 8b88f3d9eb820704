// Calls through pointers: tables of functions, virtual functions, recursion.
#include "device.cuh"

typedef int (*Binary)(int, int);
static __device__ __attribute__((noinline)) int sum(int x, int y) { return x + y; }
static __device__ __attribute__((noinline)) int difference(int x, int y) { return x - y; }
static __device__ __attribute__((noinline)) int product(int x, int y) { return x * y; }
static __device__ __attribute__((noinline)) int larger(int x, int y) { return x > y ? x : y; }
__device__ Binary operations[4] = {sum, difference, product, larger};

// Lanes agree in the first loop, and part in the second.
// launch: @calculator(&which, &values, &out, 6) local=32 groups=2 with which: i32 below 4 64; values: i32 below 100 64; out: i32 zero 64
KERNEL calculator(const int *which, const int *values, int *out, int count) {
  int i = thread_number(), x = values[i];
  for (int round = 0; round < count; round++) x = operations[round & 3](x, round) & 0xffff;
  for (int round = 0; round < count; round++) x = operations[(which[i] + round) & 3](x, 3) & 0xffff;
  out[i] = x;
}

struct Shape {
  int size;
  static __device__ void *operator new(size_t, void *at) { return at; }
  __device__ Shape(int size) : size(size) {}
  __device__ virtual int area() const = 0;
  __device__ virtual int scaled(int by) const { return area() * by; }
};
struct Square : Shape {
  __device__ Square(int size) : Shape(size) {}
  __device__ int area() const override { return size * size; }
};
struct Strip : Shape {
  int width;
  __device__ Strip(int size) : Shape(size), width(2) {}
  __device__ int area() const override { return size * width; }
  __device__ int scaled(int by) const override { return area() + by; }
};

// launch: @shapes(&values, &memory, &out) local=32 groups=2 with values: i32 below 50 64; memory: i64 zero 128; out: i32 zero 128
KERNEL shapes(const int *values, char *memory, int *out) {
  int i = thread_number(), x = values[i];
  void *at = memory + 16 * i;
  const Shape *shape = x & 1 ? (const Shape *)new (at) Square(x) : (const Shape *)new (at) Strip(x);
  out[2 * i] = shape->area();
  out[2 * i + 1] = shape->scaled(3);
  // Addresses of tables differ from run to run.
  *(long long *)at = 0;
}

static __device__ int (*volatile next_step)(int, int);
static __device__ __attribute__((noinline)) int step(int x, int depth) {
  if (depth == 0) return x;
  return next_step(x * 3 & 0xffff, depth - 1) + 1;
}
// launch: @nested(&values, &out) local=32 groups=1 with values: i32 below 9 32; out: i32 zero 32
KERNEL nested(const int *values, int *out) {
  next_step = step;
  out[threadIdx.x] = step(values[threadIdx.x], values[threadIdx.x]);
}
