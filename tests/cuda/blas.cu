// cuBLAS from CUDA C++: each routine against plain loops on the host, in both pointer modes, and captured in a graph. The declarations
// are our own: NVIDIA's package with the headers has 400 MB.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

typedef struct Context *Handle;
typedef int Status;
enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };
enum { HOST = 0, DEVICE = 1 };
enum { N = 0, T = 1, C = 2 };

#define CUDA(call) wanted(call, 0, #call, __LINE__)
#define CHECK(call) wanted(call, SUCCESS, #call, __LINE__)
#define FAILS(call, status) wanted(call, status, #call, __LINE__)
#define REQUIRE(condition)                                                                                         \
  do {                                                                                                             \
    if (!(condition)) {                                                                                            \
      std::printf("%d: not %s\n", __LINE__, #condition);                                                           \
      std::exit(1);                                                                                                \
    }                                                                                                              \
  } while (false)

static void wanted(int found, int status, const char *call, int line) {
  if (found != status) {
    std::printf("%d: %s gives %d\n", line, call, found);
    std::exit(1);
  }
}

typedef std::complex<float> c32;
typedef std::complex<double> c64;

extern "C" {
Status cublasCreate_v2(Handle *);
Status cublasDestroy_v2(Handle);
Status cublasSetStream_v2(Handle, cudaStream_t);
Status cublasGetStream_v2(Handle, cudaStream_t *);
Status cublasSetPointerMode_v2(Handle, int);
Status cublasGetPointerMode_v2(Handle, int *);
const char *cublasGetStatusName(Status);
#define ROUTINES(letter, type)                                                                                     \
  Status cublas##letter##axpy_v2(Handle, int, const type *, const type *, int, type *, int);                       \
  Status cublas##letter##axpy_v2_64(Handle, int64_t, const type *, const type *, int64_t, type *, int64_t);        \
  Status cublas##letter##gemm_v2(Handle, int, int, int, int, int, const type *, const type *, int, const type *,   \
                                 int, const type *, type *, int);                                                  \
  Status cublas##letter##gemm_v2_64(Handle, int, int, int64_t, int64_t, int64_t, const type *, const type *,       \
                                    int64_t, const type *, int64_t, const type *, type *, int64_t);
ROUTINES(S, float)
ROUTINES(D, double)
ROUTINES(C, c32)
ROUTINES(Z, c64)
}

// The routines of a kind of numbers, by overloads of one name.
#define OVERLOADS(letter, type)                                                                                    \
  template <class... A> static Status axpy(type, A... a) { return cublas##letter##axpy_v2(a...); }                 \
  template <class... A> static Status axpy_64(type, A... a) { return cublas##letter##axpy_v2_64(a...); }           \
  template <class... A> static Status gemm(type, A... a) { return cublas##letter##gemm_v2(a...); }                 \
  template <class... A> static Status gemm_64(type, A... a) { return cublas##letter##gemm_v2_64(a...); }
OVERLOADS(S, float)
OVERLOADS(D, double)
OVERLOADS(C, c32)
OVERLOADS(Z, c64)

template <class V> struct RealOf {
  typedef V type;
};
template <class R> struct RealOf<std::complex<R>> {
  typedef R type;
};
template <class V> using Real = typename RealOf<V>::type;
template <class V> constexpr bool is_complex = !std::is_same<V, Real<V>>::value;

static float conjugate(float x) { return x; }
static double conjugate(double x) { return x; }
template <class R> static std::complex<R> conjugate(std::complex<R> x) { return std::conj(x); }

template <class V> V number(double re, double im) {
  if constexpr (is_complex<V>)
    return V(Real<V>(re), Real<V>(im));
  else
    return V(re);
}

static unsigned seed = 12345;
static double random_part() {
  seed = seed * 1664525 + 1013904223;
  return int(seed >> 16) % 2001 / 1000.0 - 1;
}
template <class V> V random_number() {
  double re = random_part();
  return number<V>(re, random_part());
}

// Memory of the device with random numbers, and a copy of what it held at first.
template <class V> struct Array {
  V *device;
  std::vector<V> before;

  explicit Array(size_t count) : before(count) {
    for (V &value : before)
      value = random_number<V>();
    CUDA(cudaMalloc(&device, count * sizeof(V)));
    restore();
  }
  Array(const Array &) = delete;
  ~Array() { cudaFree(device); }
  void restore() { CUDA(cudaMemcpy(device, before.data(), before.size() * sizeof(V), cudaMemcpyHostToDevice)); }
  std::vector<V> now() const {
    std::vector<V> values(before.size());
    CUDA(cudaMemcpy(values.data(), device, values.size() * sizeof(V), cudaMemcpyDeviceToHost));
    return values;
  }
};

// A scalar on the device.
template <class V> struct Scalar {
  V host, *device;
  explicit Scalar(V value) : host(value) {
    CUDA(cudaMalloc(&device, sizeof(V)));
    CUDA(cudaMemcpy(device, &host, sizeof(V), cudaMemcpyHostToDevice));
  }
  Scalar(const Scalar &) = delete;
  ~Scalar() { cudaFree(device); }
  const V *in(int mode) const { return mode == HOST ? &host : device; }
};

struct Sizes {
  int m, n, k;
};

static long compared;

template <class V> void expect(const std::vector<V> &found, const std::vector<V> &reference, int size, int line) {
  double tolerance = (sizeof(Real<V>) == 4 ? 2e-6 : 4e-15) * (size + 4);
  for (size_t i = 0; i < found.size(); i++) {
    compared++;
    if (!(std::abs(found[i] - reference[i]) <= tolerance * (1 + std::abs(reference[i])))) {
      std::printf("%d: element %zu differs by %g\n", line, i, double(std::abs(found[i] - reference[i])));
      std::exit(1);
    }
  }
}

// Index of an element of a vector: with a negative increment it begins at its end.
static int place(int i, int n, int increment) { return increment < 0 ? (i - n + 1) * increment : i * increment; }

template <class V> void test_axpy(Handle handle) {
  for (int n : {0, 1, 7, 64, 333}) {
    for (int incx : {1, 3, -2}) {
      for (int incy : {1, 2, -1}) {
        Array<V> x(n * 3 + 1), y(n * 3 + 1);
        Scalar<V> alpha(number<V>(0.5, -0.25));
        auto reference = y.before;
        for (int i = 0; i < n; i++)
          reference[place(i, n, incy)] += alpha.host * x.before[place(i, n, incx)];
        for (int mode : {HOST, DEVICE}) {
          CHECK(cublasSetPointerMode_v2(handle, mode));
          CHECK(axpy(V(), handle, n, alpha.in(mode), x.device, incx, y.device, incy));
          expect(y.now(), reference, 1, __LINE__);
          y.restore();
          CHECK(axpy_64(V(), handle, n, alpha.in(mode), x.device, incx, y.device, incy));
          expect(y.now(), reference, 1, __LINE__);
          y.restore();
        }
      }
    }
  }
}

template <class V> V element(const std::vector<V> &a, int ld, int op, int i, int j) {
  V value = op == N ? a[i + j * ld] : a[j + i * ld];
  return op == C ? conjugate(value) : value;
}

template <class V>
std::vector<V> product(int m, int n, int k, V alpha, const std::vector<V> &a, int lda, int transa, const std::vector<V> &b, int ldb,
                       int transb, V beta, std::vector<V> c, int ldc) {
  for (int j = 0; j < n; j++)
    for (int i = 0; i < m; i++) {
      V sum = 0;
      for (int p = 0; p < k; p++)
        sum += element(a, lda, transa, i, p) * element(b, ldb, transb, p, j);
      V &place = c[i + j * ldc];
      place = beta == V(0) ? alpha * sum : alpha * sum + beta * place;
    }
  return c;
}

template <class V> void test_gemm(Handle handle) {
  Sizes sizes[] = {{1, 1, 1}, {5, 3, 2}, {17, 9, 33}, {50, 49, 51}, {64, 64, 64}, {130, 20, 70}, {3, 100, 400}, {200, 170, 0}};
  for (Sizes size : sizes) {
    int m = size.m, n = size.n, k = size.k;
    for (int transa : {N, T, C}) {
      for (int transb : {N, T, C}) {
        int lda = (transa == N ? m : k) + 3, ldb = (transb == N ? k : n) + 1, ldc = m + 2;
        Array<V> a(lda * std::max(transa == N ? k : m, 1)), b(ldb * std::max(transb == N ? n : k, 1)), c(ldc * n);
        for (double factor : {0.0, 1.0, -0.75}) {
          Scalar<V> alpha(number<V>(1.5, 0.5)), beta(number<V>(factor, factor == 1 ? 0 : factor / 2));
          auto reference = product(m, n, k, alpha.host, a.before, lda, transa, b.before, ldb, transb, beta.host, c.before, ldc);
          int mode = factor == 1 ? DEVICE : HOST;
          CHECK(cublasSetPointerMode_v2(handle, mode));
          CHECK(gemm(V(), handle, transa, transb, m, n, k, alpha.in(mode), a.device, lda, b.device, ldb, beta.in(mode), c.device, ldc));
          expect(c.now(), reference, k, __LINE__);
          c.restore();
        }
      }
    }
  }
  CHECK(cublasSetPointerMode_v2(handle, HOST));
  // Zero as a factor leaves no trace of what was there, not even of NaNs.
  V one = 1, zero = 0;
  Array<V> a(1), c(1);
  V nan = number<V>(NAN, NAN);
  CUDA(cudaMemcpy(c.device, &nan, sizeof nan, cudaMemcpyHostToDevice));
  CHECK(gemm(V(), handle, N, N, 1, 1, 1, &one, a.device, 1, a.device, 1, &zero, c.device, 1));
  expect(c.now(), {a.before[0] * a.before[0]}, 1, __LINE__);
  FAILS(gemm(V(), handle, N, N, -1, 1, 1, &one, a.device, 1, a.device, 1, &zero, c.device, 1), INVALID_VALUE);
  FAILS(gemm(V(), handle, 4, N, 1, 1, 1, &one, a.device, 1, a.device, 1, &zero, c.device, 1), INVALID_VALUE);
  FAILS(gemm(V(), handle, N, N, 2, 1, 1, &one, a.device, 1, a.device, 1, &zero, c.device, 2), INVALID_VALUE);
  FAILS(gemm(V(), (Handle) nullptr, N, N, 1, 1, 1, &one, a.device, 1, a.device, 1, &zero, c.device, 1), NOT_INITIALIZED);
}

// Calls that a graph captures read their scalars and operands when it is launched.
static void test_graph(Handle handle) {
  int n = 40;
  Array<double> a(n * n), b(n * n), c(n * n);
  Scalar<double> alpha(2), beta(0.5);
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CUDA(cudaStreamCreate(&stream));
  CHECK(cublasSetStream_v2(handle, stream));
  CHECK(cublasSetPointerMode_v2(handle, DEVICE));
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cublasDgemm_v2(handle, N, T, n, n, n, alpha.device, a.device, n, b.device, n, beta.device, c.device, n));
  CHECK(cublasDaxpy_v2(handle, n, alpha.device, a.device, 1, c.device, 1));
  CUDA(cudaStreamEndCapture(stream, &graph));
  expect(c.now(), c.before, 1, __LINE__);
  CUDA(cudaGraphInstantiate(&executable, graph, 0));
  CUDA(cudaGraphDestroy(graph));
  auto reference = c.before;
  for (double factor : {2.0, -3.0}) {
    CUDA(cudaMemcpy(alpha.device, &factor, sizeof factor, cudaMemcpyHostToDevice));
    CUDA(cudaGraphLaunch(executable, stream));
    CUDA(cudaStreamSynchronize(stream));
    reference = product(n, n, n, factor, a.before, n, N, b.before, n, T, 0.5, reference, n);
    for (int i = 0; i < n; i++)
      reference[i] += factor * a.before[i];
    expect(c.now(), reference, n, __LINE__);
  }
  CUDA(cudaGraphExecDestroy(executable));
  CHECK(cublasSetStream_v2(handle, nullptr));
  CHECK(cublasSetPointerMode_v2(handle, HOST));
  CUDA(cudaStreamDestroy(stream));
}

template <class V> void test_all(Handle handle) {
  test_axpy<V>(handle);
  test_gemm<V>(handle);
}

int main() {
  Handle handle;
  CHECK(cublasCreate_v2(&handle));
  test_all<float>(handle);
  test_all<double>(handle);
  test_all<c32>(handle);
  test_all<c64>(handle);
  test_graph(handle);
  CHECK(cublasDestroy_v2(handle));
  std::printf("%ld numbers compared\npassed\n", compared);
}
