// cuFFT from CUDA C++: against the definition of the transform, on streams, in place, with layouts, and captured in a graph. The
// declarations are our own.

#include "statuses.h"
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <vector>

enum { SUCCESS = 0, INVALID_PLAN = 1, ALLOC_FAILED = 2, INVALID_TYPE = 3, INVALID_VALUE = 4, INVALID_SIZE = 8, NOT_SUPPORTED = 16 };
enum { C2C = 0x29, R2C = 0x2a, C2R = 0x2c, Z2Z = 0x69, D2Z = 0x6a, Z2D = 0x6c };
enum { FORWARD = -1, INVERSE = 1 };
typedef std::complex<double> Complex;

extern "C" {
int cufftPlan1d(int *, int, int, int);
int cufftPlan2d(int *, int, int, int);
int cufftPlan3d(int *, int, int, int, int);
int cufftPlanMany(int *, int, int *, int *, int, int, int *, int, int, int, int);
int cufftCreate(int *);
int cufftDestroy(int);
int cufftMakePlan1d(int, int, int, int, size_t *);
int cufftMakePlanMany64(int, int, long long *, long long *, long long, long long, long long *, long long, long long, int, long long, size_t *);
int cufftXtMakePlanMany(int, int, long long *, long long *, long long, long long, int, long long *, long long, long long, int, long long, size_t *, int);
int cufftEstimate2d(int, int, int, size_t *);
int cufftGetSize(int, size_t *);
int cufftSetWorkArea(int, void *);
int cufftSetAutoAllocation(int, int);
int cufftSetStream(int, cudaStream_t);
int cufftGetVersion(int *);
int cufftGetProperty(int, int *);
int cufftExecC2C(int, void *, void *, int);
int cufftExecR2C(int, void *, void *);
int cufftExecC2R(int, void *, void *);
int cufftExecZ2Z(int, void *, void *, int);
int cufftExecD2Z(int, void *, void *);
int cufftExecZ2D(int, void *, void *);
int cufftXtExec(int, void *, void *, int);
int cufftXtSetCallback(int, void **, int, void **);
int cufftXtSetGPUs(int, int, int *);
}

template <class T> struct Array {
  T *data;
  size_t count;
  explicit Array(size_t count) : count(count) { CHECK(cudaMallocManaged(&data, count * sizeof(T))); }
  ~Array() { cudaFree(data); }
  T &operator[](size_t i) { return data[i]; }
};

static double next_number() {
  static unsigned state = 1;
  state = state * 1664525 + 1013904223;
  return (state >> 12) / double(1 << 19) - 1;
}

// The transform by its definition, one dimension after the other.
static std::vector<Complex> defined(std::vector<Complex> values, const std::vector<int> &sizes, int sign) {
  size_t stride = values.size();
  for (int size : sizes) {
    stride /= size;
    std::vector<Complex> roots(size), sequence(size);
    for (int k = 0; k < size; k++)
      roots[k] = std::polar(1.0, sign * 2 * M_PI * k / size);
    for (size_t start = 0; start < values.size(); start++) {
      if (start / stride % size)
        continue;
      for (int k = 0; k < size; k++) {
        Complex sum = 0;
        for (int j = 0; j < size; j++)
          sum += values[start + j * stride] * roots[(long long)j * k % size];
        sequence[k] = sum;
      }
      for (int k = 0; k < size; k++)
        values[start + k * stride] = sequence[k];
    }
  }
  return values;
}

template <class T> static bool near(std::complex<T> found, Complex wanted, double size) {
  double error = sizeof(T) == 4 ? 1e-6 : 1e-14;
  return std::abs(Complex(found) - wanted) <= error * size * std::log2(size + 2);
}

template <class T> static int exec_complex(int plan, void *from, void *to, int direction) {
  return sizeof(T) == 4 ? cufftExecC2C(plan, from, to, direction) : cufftExecZ2Z(plan, from, to, direction);
}
template <class T> static int exec_forward(int plan, void *from, void *to) {
  return sizeof(T) == 4 ? cufftExecR2C(plan, from, to) : cufftExecD2Z(plan, from, to);
}
template <class T> static int exec_inverse(int plan, void *from, void *to) {
  return sizeof(T) == 4 ? cufftExecC2R(plan, from, to) : cufftExecZ2D(plan, from, to);
}

static int make(int *plan, const std::vector<int> &sizes, int type, int batch) {
  std::vector<int> n = sizes;
  if (batch == 1 && n.size() == 2)
    return cufftPlan2d(plan, n[0], n[1], type);
  if (batch == 1 && n.size() == 3)
    return cufftPlan3d(plan, n[0], n[1], n[2], type);
  if (n.size() == 1)
    return cufftPlan1d(plan, n[0], type, batch);
  return cufftPlanMany(plan, n.size(), n.data(), nullptr, 1, 0, nullptr, 1, 0, type, batch);
}

// Dense batches of all kinds, in place or not.
template <class T> static void test_dense(const std::vector<int> &sizes, int batch) {
  typedef std::complex<T> C;
  const int single = sizeof(T) == 4;
  size_t count = 1, last = sizes.back(), half = last / 2 + 1;
  for (int size : sizes)
    count *= size;
  size_t rows = count / last;
  std::vector<std::vector<Complex>> input(batch), spectrum(batch), inverse(batch), real(batch);
  Array<C> from(count * batch), to(count * batch), halves(rows * half * batch);
  Array<T> reals(count * batch);
  for (int b = 0; b < batch; b++) {
    for (size_t i = 0; i < count; i++) {
      Complex value(next_number(), next_number());
      input[b].push_back(value);
      real[b].push_back(value.real());
      from[b * count + i] = C(value);
      reals[b * count + i] = value.real();
    }
    spectrum[b] = defined(input[b], sizes, -1);
    inverse[b] = defined(input[b], sizes, 1);
    real[b] = defined(real[b], sizes, -1);
  }
  int plan;
  CHECK(make(&plan, sizes, single ? C2C : Z2Z, batch));
  for (int direction : {FORWARD, INVERSE}) {
    CHECK(exec_complex<T>(plan, from.data, to.data, direction));
    CHECK(cudaDeviceSynchronize());
    for (size_t i = 0; i < count * batch; i++)
      REQUIRE(near(to[i], (direction == FORWARD ? spectrum : inverse)[i / count][i % count], count));
  }
  CHECK(exec_complex<T>(plan, from.data, from.data, FORWARD));
  for (size_t i = 0; i < count * batch; i++)
    REQUIRE(near(from[i], spectrum[i / count][i % count], count));
  CHECK(cufftDestroy(plan));

  CHECK(make(&plan, sizes, single ? R2C : D2Z, batch));
  CHECK(exec_forward<T>(plan, reals.data, halves.data));
  auto check_halves = [&] {
    for (size_t b = 0; b < batch; b++)
      for (size_t row = 0; row < rows; row++)
        for (size_t k = 0; k < half; k++)
          REQUIRE(near(halves[(b * rows + row) * half + k], real[b][row * last + k], count));
  };
  check_halves();
  // In place: rows are padded.
  T *padded = reinterpret_cast<T *>(halves.data);
  for (size_t i = 0; i < count * batch; i++)
    padded[i / last * 2 * half + i % last] = reals[i];
  CHECK(exec_forward<T>(plan, halves.data, halves.data));
  check_halves();
  CHECK(cufftDestroy(plan));

  CHECK(make(&plan, sizes, single ? C2R : Z2D, batch));
  Array<T> back(count * batch);
  CHECK(exec_inverse<T>(plan, halves.data, back.data));
  for (size_t i = 0; i < count * batch; i++)
    REQUIRE(near(C(back[i]), Complex(reals[i] * double(count)), 2.0 * count));
  check_halves();
  CHECK(exec_inverse<T>(plan, halves.data, halves.data));
  for (size_t i = 0; i < count * batch; i++)
    REQUIRE(near(C(padded[i / last * 2 * half + i % last]), Complex(reals[i] * double(count)), 2.0 * count));
  CHECK(cufftDestroy(plan));
}

// Arrays in larger ones, with distances, and memory between that stays.
static void test_layouts() {
  const int a = 6, b = 10, batch = 3;
  int n[] = {a, b}, inembed[] = {7, 12}, onembed[] = {6, 11};
  const int istride = 2, idist = 7 * 12 * 2 + 5, ostride = 3, odist = 6 * 11 * 3 + 1;
  Array<std::complex<float>> from(idist * batch), to(odist * batch);
  for (size_t i = 0; i < from.count; i++)
    from[i] = {float(next_number()), float(next_number())};
  for (size_t i = 0; i < to.count; i++)
    to[i] = 7;
  int plan;
  CHECK(cufftPlanMany(&plan, 2, n, inembed, istride, idist, onembed, ostride, odist, C2C, batch));
  CHECK(cufftExecC2C(plan, from.data, to.data, FORWARD));
  std::vector<bool> touched(to.count);
  for (int i = 0; i < batch; i++) {
    std::vector<Complex> values;
    for (int x = 0; x < a; x++)
      for (int y = 0; y < b; y++)
        values.push_back(Complex(from[i * idist + (x * 12 + y) * istride]));
    values = defined(values, {a, b}, -1);
    for (int x = 0; x < a; x++)
      for (int y = 0; y < b; y++) {
        size_t at = i * odist + (x * 11 + y) * ostride;
        touched[at] = true;
        REQUIRE(near(to[at], values[x * b + y], a * b));
      }
  }
  for (size_t i = 0; i < to.count; i++)
    REQUIRE(touched[i] || to[i] == 7.0f);
  CHECK(cufftDestroy(plan));
  // Columns of a matrix, by integers of 64 bits.
  long long size = 20, embedded = 20;
  size_t work = 1;
  CHECK(cufftCreate(&plan));
  CHECK(cufftMakePlanMany64(plan, 1, &size, &embedded, 9, 1, &embedded, 9, 1, Z2Z, 9, &work));
  Array<std::complex<double>> matrix(20 * 9);
  std::vector<Complex> values(20 * 9);
  for (int i = 0; i < 180; i++)
    matrix[i] = values[i] = Complex(next_number(), next_number());
  CHECK(cufftExecZ2Z(plan, matrix.data, matrix.data, INVERSE));
  for (int column = 0; column < 9; column++) {
    std::vector<Complex> sequence;
    for (int i = 0; i < 20; i++)
      sequence.push_back(values[i * 9 + column]);
    sequence = defined(sequence, {20}, 1);
    for (int i = 0; i < 20; i++)
      REQUIRE(near(matrix[i * 9 + column], sequence[i], 20));
  }
  CHECK(cufftDestroy(plan));
}

__global__ void multiply(float2 *values, const float2 *factors, float scale, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    float2 a = values[i], b = factors[i];
    values[i] = {(a.x * b.x - a.y * b.y) * scale, (a.x * b.y + a.y * b.x) * scale};
  }
}

// A filter between kernels on a stream, and replayed by a graph with other numbers.
static void test_convolution_in_a_graph() {
  const int size = 300, half = size / 2 + 1;
  Array<float> signal(size), kernel(size), output(size);
  Array<float2> spectrum(half), factors(half);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  int forward, back;
  CHECK(cufftPlan1d(&forward, size, R2C, 1));
  CHECK(cufftPlan1d(&back, size, C2R, 1));
  CHECK(cufftSetStream(forward, stream));
  CHECK(cufftSetStream(back, stream));
  auto filter = [&] {
    CHECK(cufftExecR2C(forward, signal.data, spectrum.data));
    CHECK(cufftExecR2C(forward, kernel.data, factors.data));
    multiply<<<(half + 63) / 64, 64, 0, stream>>>(spectrum.data, factors.data, 1.0f / size, half);
    CHECK(cufftExecC2R(back, spectrum.data, output.data));
  };
  auto refill = [&] {
    for (int i = 0; i < size; i++) {
      signal[i] = next_number();
      kernel[i] = i < 9 ? next_number() : 0;
      output[i] = 0;
    }
  };
  auto check = [&] {
    for (int i = 0; i < size; i++) {
      double sum = 0;
      for (int k = 0; k < 9; k++)
        sum += double(kernel[k]) * signal[(i - k + size) % size];
      REQUIRE(std::abs(output[i] - sum) < 1e-4);
    }
  };
  refill();
  filter();
  CHECK(cudaStreamSynchronize(stream));
  check();
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  refill();
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  filter();
  CHECK(cudaStreamEndCapture(stream, &graph));
  for (int i = 0; i < size; i++)
    REQUIRE(output[i] == 0);
  CHECK(cudaGraphInstantiate(&ready, graph, 0));
  // A graph keeps the plans that it runs.
  CHECK(cufftDestroy(forward));
  CHECK(cufftDestroy(back));
  for (int round = 0; round < 2; round++) {
    refill();
    CHECK(cudaGraphLaunch(ready, stream));
    CHECK(cudaStreamSynchronize(stream));
    check();
  }
  CHECK(cudaGraphExecDestroy(ready));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
}

static void test_errors() {
  int plan, other, value = 0;
  size_t work = 1;
  void *nothing = nullptr;
  Array<float2> data(16);
  FAILS(cufftPlan1d(&plan, 0, C2C, 1), INVALID_SIZE);
  FAILS(cufftPlan1d(&plan, 16, C2C, 0), INVALID_SIZE);
  FAILS(cufftPlan1d(&plan, 16, 5, 1), INVALID_TYPE);
  FAILS(cufftPlan1d(nullptr, 16, C2C, 1), INVALID_VALUE);
  FAILS(cufftPlanMany(&plan, 4, &value, nullptr, 1, 0, nullptr, 1, 0, C2C, 1), INVALID_VALUE);
  FAILS(cufftDestroy(-1), INVALID_PLAN);
  FAILS(cufftExecC2C(12345, data.data, data.data, FORWARD), INVALID_PLAN);
  CHECK(cufftCreate(&plan));
  CHECK(cufftCreate(&other));
  // A terabyte of roots.
  long long huge = 1LL << 34;
  FAILS(cufftMakePlanMany64(plan, 1, &huge, nullptr, 1, 0, nullptr, 1, 0, C2C, 1, &work), ALLOC_FAILED);
  REQUIRE(plan != other);
  FAILS(cufftExecC2C(plan, data.data, data.data, FORWARD), INVALID_PLAN);
  FAILS(cufftGetSize(plan, &work), INVALID_PLAN);
  CHECK(cufftSetAutoAllocation(plan, 0));
  CHECK(cufftMakePlan1d(plan, 16, C2C, 1, &work));
  FAILS(cufftMakePlan1d(plan, 16, C2C, 1, &work), INVALID_PLAN);
  CHECK(cufftGetSize(plan, &work));
  CHECK(cufftSetWorkArea(plan, nullptr));
  FAILS(cufftExecC2C(plan, data.data, data.data, 0), INVALID_VALUE);
  FAILS(cufftExecC2C(plan, nothing, data.data, FORWARD), INVALID_VALUE);
  FAILS(cufftExecZ2Z(plan, data.data, data.data, FORWARD), INVALID_PLAN);
  FAILS(cufftExecR2C(plan, data.data, data.data), INVALID_PLAN);
  for (int i = 0; i < 16; i++)
    data[i] = {i == 0 ? 1.0f : 0.0f, 0};
  CHECK(cufftXtExec(plan, data.data, data.data, FORWARD));
  for (int i = 0; i < 16; i++)
    REQUIRE(data[i].x == 1 && data[i].y == 0);
  long long size = 16;
  FAILS(cufftXtMakePlanMany(other, 1, &size, nullptr, 1, 1, 6, nullptr, 1, 1, 6, 1, &work, 6), NOT_SUPPORTED);
  FAILS(cufftXtMakePlanMany(other, 1, &size, nullptr, 1, 1, 4, nullptr, 1, 1, 5, 1, &work, 5), INVALID_TYPE);
  CHECK(cufftXtMakePlanMany(other, 1, &size, nullptr, 1, 1, 4, nullptr, 1, 1, 4, 1, &work, 4));
  FAILS(cufftXtSetCallback(plan, &nothing, 0, &nothing), NOT_SUPPORTED);
  FAILS(cufftXtSetGPUs(plan, 1, &value), NOT_SUPPORTED);
  CHECK(cufftDestroy(plan));
  CHECK(cufftDestroy(other));
  FAILS(cufftDestroy(plan), INVALID_PLAN);
  int version = 0, major = 0;
  CHECK(cufftGetVersion(&version));
  CHECK(cufftGetProperty(0, &major));
  REQUIRE(version / 1000 == major && (major == 11 || major == 12));
  CHECK(cufftEstimate2d(64, 64, R2C, &work));
}

int main() {
  for (int size : {1, 2, 3, 4, 5, 8, 15, 16, 17, 37, 64, 100, 101, 127, 128, 210, 331, 512})
    for (int batch : {1, 5, 20}) {
      test_dense<float>({size}, batch);
      test_dense<double>({size}, batch);
    }
  for (auto sizes : {std::vector<int>{4, 6}, {16, 16}, {7, 33}, {40, 64}, {2, 3, 4}, {8, 9, 37}, {5, 1, 6}})
    for (int batch : {1, 3}) {
      test_dense<float>(sizes, batch);
      test_dense<double>(sizes, batch);
    }
  test_layouts();
  test_convolution_in_a_graph();
  test_errors();
  std::puts("passed");
}
