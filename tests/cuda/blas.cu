// cuBLAS from CUDA C++: each routine against plain loops on the host, in both pointer modes, and captured in a graph. The declarations
// are our own: NVIDIA's package with the headers has 400 MB.

#include "statuses.h"
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <cstring>
#include <vector>

typedef struct Context *Handle;
typedef int Status;
enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };
enum { HOST = 0, DEVICE = 1 };
enum { N = 0, T = 1, C = 2 };
enum { LOWER = 0, UPPER = 1 };
enum { LEFT = 0, RIGHT = 1 };
enum { NON_UNIT = 0, UNIT = 1 };

#define CUDA(call) expect_code(call, 0, #call, __LINE__)

static void succeeds(Status found, int line) { expect_code(found, SUCCESS, "the call", line); }

typedef std::complex<float> c32;
typedef std::complex<double> c64;

// Declarations without types of arguments: integers, `int64_t` and pointers are passed as the callee takes them.
extern "C" {
Status cublasCreate_v2(Handle *);
Status cublasDestroy_v2(Handle);
Status cublasGetVersion_v2(Handle, int *);
Status cublasSetStream_v2(Handle, cudaStream_t);
Status cublasGetStream_v2(Handle, cudaStream_t *);
Status cublasSetPointerMode_v2(Handle, int);
Status cublasGetPointerMode_v2(Handle, int *);
Status cublasSetMathMode(Handle, int);
Status cublasGetMathMode(Handle, int *);
Status cublasSetAtomicsMode(Handle, int);
Status cublasGetAtomicsMode(Handle, int *);
Status cublasSetWorkspace_v2(Handle, void *, size_t);
const char *cublasGetStatusName(Status);
const char *cublasGetStatusString(Status);
Status cublasSetVector(int, int, const void *, int, void *, int);
Status cublasGetVector(int, int, const void *, int, void *, int);
Status cublasSetMatrix(int, int, int, const void *, int, void *, int);
Status cublasGetMatrix(int, int, int, const void *, int, void *, int);
Status cublasSetMatrixAsync(int, int, int, const void *, int, void *, int, cudaStream_t);
Status cublasGetVectorAsync_64(int64_t, int64_t, const void *, int64_t, void *, int64_t, cudaStream_t);
Status cublasGemmEx(...);
Status cublasGemmBatchedEx(...);
Status cublasGemmStridedBatchedEx(...);
Status cublasHgemm(...);
Status cublasAxpyEx(...);
Status cublasScalEx(...);
Status cublasDotEx(...);
Status cublasNrm2Ex(...);
Status cublasSgeqrfBatched(...);
}

// Routines by overloads of one name, whose first argument says the kind of numbers.
#define OF_KIND(name, entry, type)                                                                                 \
  extern "C" Status cublas##entry(...);                                                                            \
  template <class... A> static Status name(type, A... a) { return cublas##entry(a...); }
#define REAL(name, suffix) OF_KIND(name, S##name##suffix, float) OF_KIND(name, D##name##suffix, double)
#define COMPLEX(name, suffix) OF_KIND(name, C##name##suffix, c32) OF_KIND(name, Z##name##suffix, c64)
#define ALL(name, suffix) REAL(name, suffix) COMPLEX(name, suffix)

ALL(axpy, _v2) ALL(copy, _v2) ALL(swap, _v2) ALL(scal, _v2) ALL(rot, _v2) ALL(rotg, _v2) REAL(rotm, _v2) REAL(rotmg, _v2)
ALL(gemv, _v2) ALL(gbmv, _v2) ALL(symv, _v2) COMPLEX(hemv, _v2) ALL(trmv, _v2) ALL(trsv, _v2) ALL(tbmv, _v2) ALL(tbsv, _v2)
ALL(tpmv, _v2) ALL(tpsv, _v2) ALL(syr, _v2) ALL(syr2, _v2) COMPLEX(her, _v2) COMPLEX(her2, _v2) COMPLEX(hpr, _v2) COMPLEX(hpr2, _v2)
ALL(gemm, _v2) ALL(symm, _v2) COMPLEX(hemm, _v2) ALL(syrk, _v2) COMPLEX(herk, _v2) ALL(syr2k, _v2) COMPLEX(her2k, _v2) ALL(syrkx, )
COMPLEX(herkx, ) ALL(trmm, _v2) ALL(trsm, _v2) ALL(geam, ) ALL(dgmm, ) ALL(tpttr, ) ALL(trttp, ) ALL(gemmBatched, )
ALL(gemmStridedBatched, ) ALL(gemvBatched, ) ALL(gemvStridedBatched, ) ALL(trsmBatched, ) ALL(getrfBatched, ) ALL(getrsBatched, )
ALL(getriBatched, ) ALL(matinvBatched, )
REAL(sbmv, _v2) REAL(spmv, _v2) COMPLEX(hbmv, _v2) COMPLEX(hpmv, _v2) REAL(spr, _v2) REAL(spr2, _v2)
OF_KIND(axpy_64, Saxpy_v2_64, float) OF_KIND(axpy_64, Daxpy_v2_64, double) OF_KIND(axpy_64, Caxpy_v2_64, c32) OF_KIND(axpy_64, Zaxpy_v2_64, c64)
OF_KIND(gemm_64, Sgemm_v2_64, float) OF_KIND(gemm_64, Dgemm_v2_64, double) OF_KIND(gemm_64, Cgemm_v2_64, c32) OF_KIND(gemm_64, Zgemm_v2_64, c64)
OF_KIND(dotu, Sdot_v2, float) OF_KIND(dotu, Ddot_v2, double) OF_KIND(dotu, Cdotu_v2, c32) OF_KIND(dotu, Zdotu_v2, c64)
OF_KIND(dotc, Sdot_v2, float) OF_KIND(dotc, Ddot_v2, double) OF_KIND(dotc, Cdotc_v2, c32) OF_KIND(dotc, Zdotc_v2, c64)
OF_KIND(nrm2, Snrm2_v2, float) OF_KIND(nrm2, Dnrm2_v2, double) OF_KIND(nrm2, Scnrm2_v2, c32) OF_KIND(nrm2, Dznrm2_v2, c64)
OF_KIND(asum, Sasum_v2, float) OF_KIND(asum, Dasum_v2, double) OF_KIND(asum, Scasum_v2, c32) OF_KIND(asum, Dzasum_v2, c64)
OF_KIND(amax, Isamax_v2, float) OF_KIND(amax, Idamax_v2, double) OF_KIND(amax, Icamax_v2, c32) OF_KIND(amax, Izamax_v2, c64)
OF_KIND(amin, Isamin_v2, float) OF_KIND(amin, Idamin_v2, double) OF_KIND(amin, Icamin_v2, c32) OF_KIND(amin, Izamin_v2, c64)
OF_KIND(amax_64, Isamax_v2_64, float) OF_KIND(amax_64, Idamax_v2_64, double) OF_KIND(amax_64, Icamax_v2_64, c32) OF_KIND(amax_64, Izamax_v2_64, c64)
OF_KIND(scal_real, Sscal_v2, float) OF_KIND(scal_real, Dscal_v2, double) OF_KIND(scal_real, Csscal_v2, c32) OF_KIND(scal_real, Zdscal_v2, c64)
OF_KIND(geru, Sger_v2, float) OF_KIND(geru, Dger_v2, double) OF_KIND(geru, Cgeru_v2, c32) OF_KIND(geru, Zgeru_v2, c64)
OF_KIND(gerc, Sger_v2, float) OF_KIND(gerc, Dger_v2, double) OF_KIND(gerc, Cgerc_v2, c32) OF_KIND(gerc, Zgerc_v2, c64)

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
      if constexpr (std::is_integral<V>::value)
        value = V(rand() % 100);
      else
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
          CHECK(axpy_64(V(), handle, int64_t(n), alpha.in(mode), x.device, int64_t(incx), y.device, int64_t(incy)));
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

// Vectors: results on the host and on the device.
template <class V> void test_vectors(Handle handle) {
  typedef Real<V> R;
  for (int n : {1, 5, 70}) {
    for (int incx : {1, 2, -3}) {
      int incy = incx == 2 ? -1 : 2;
      Array<V> x(3 * n), y(3 * n);
      Array<V> dot(2);
      Array<R> norms(2);
      Array<int> places(2);
      Array<int64_t> wide(1);
      V sum = 0, sum_conjugates = 0;
      R squares = 0, magnitudes = 0;
      int largest = 0, smallest = 0;
      auto magnitude = [&](int i) { return std::abs(std::real(x.before[place(i, n, incx)])) + std::abs(std::imag(x.before[place(i, n, incx)])); };
      for (int i = 0; i < n; i++) {
        V a = x.before[place(i, n, incx)], b = y.before[place(i, n, incy)];
        sum += a * b;
        sum_conjugates += conjugate(a) * b;
        squares += std::norm(a);
        magnitudes += magnitude(i);
        if (magnitude(i) > magnitude(largest))
          largest = i;
        if (magnitude(i) < magnitude(smallest))
          smallest = i;
      }
      for (int mode : {HOST, DEVICE}) {
        CHECK(cublasSetPointerMode_v2(handle, mode));
        V results[2];
        R reals[2];
        int ints[2];
        int64_t wide_place;
        CHECK(dotu(V(), handle, n, x.device, incx, y.device, incy, mode == HOST ? results : dot.device));
        CHECK(dotc(V(), handle, n, x.device, incx, y.device, incy, mode == HOST ? results + 1 : dot.device + 1));
        expect(mode == HOST ? std::vector<V>(results, results + 2) : dot.now(), {sum, sum_conjugates}, n, __LINE__);
        if (incx > 0) {
          CHECK(nrm2(V(), handle, n, x.device, incx, mode == HOST ? reals : norms.device));
          CHECK(asum(V(), handle, n, x.device, incx, mode == HOST ? reals + 1 : norms.device + 1));
          expect(mode == HOST ? std::vector<R>(reals, reals + 2) : norms.now(), {std::sqrt(squares), magnitudes}, n, __LINE__);
          CHECK(amax(V(), handle, n, x.device, incx, mode == HOST ? ints : places.device));
          CHECK(amin(V(), handle, n, x.device, incx, mode == HOST ? ints + 1 : places.device + 1));
          CHECK(amax_64(V(), handle, int64_t(n), x.device, int64_t(incx), mode == HOST ? &wide_place : wide.device));
          std::vector<int> found = mode == HOST ? std::vector<int>(ints, ints + 2) : places.now();
          REQUIRE(found[0] == largest + 1 && found[1] == smallest + 1);
          REQUIRE((mode == HOST ? wide_place : wide.now()[0]) == largest + 1);
        }
        Scalar<V> alpha(number<V>(0.5, 0.25)), s(number<V>(0.6, -0.3));
        Scalar<R> c(R(0.8)), real(R(-1.5));
        auto wanted_x = x.before, wanted_y = y.before;
        CHECK(swap(V(), handle, n, x.device, incx, y.device, incy));
        for (int i = 0; i < n; i++)
          std::swap(wanted_x[place(i, n, incx)], wanted_y[place(i, n, incy)]);
        expect(x.now(), wanted_x, 0, __LINE__);
        CHECK(rot(V(), handle, n, x.device, incx, y.device, incy, c.in(mode), s.in(mode)));
        for (int i = 0; i < n; i++) {
          V &a = wanted_x[place(i, n, incx)], &b = wanted_y[place(i, n, incy)], old = a;
          a = c.host * old + s.host * b;
          b = c.host * b - conjugate(s.host) * old;
        }
        expect(x.now(), wanted_x, 2, __LINE__);
        expect(y.now(), wanted_y, 2, __LINE__);
        if (incx > 0) {
          CHECK(scal(V(), handle, n, alpha.in(mode), x.device, incx));
          CHECK(scal_real(V(), handle, n, real.in(mode), x.device, incx));
          for (int i = 0; i < n; i++)
            wanted_x[place(i, n, incx)] *= alpha.host * real.host;
          expect(x.now(), wanted_x, 4, __LINE__);
        }
        CHECK(copy(V(), handle, n, x.device, incx, y.device, incy));
        for (int i = 0; i < n; i++)
          wanted_y[place(i, n, incy)] = wanted_x[place(i, n, incx)];
        expect(y.now(), wanted_y, 4, __LINE__);
        x.restore();
        y.restore();
      }
    }
  }
  CHECK(cublasSetPointerMode_v2(handle, HOST));
  V a = number<V>(3, 1), b = number<V>(-4, 2), s, first = a, second = b;
  R c;
  CHECK(rotg(V(), handle, &a, &b, &c, &s));
  expect<V>({a, V(0)}, {c * first + s * second, c * second - conjugate(s) * first}, 8, __LINE__);
}

// A matrix whose stored part is a band or a triangle: storage on the device, and all elements.
template <class V> struct Stored {
  int rows, columns, ld;
  std::vector<V> dense;
  V *device;
  Stored(int rows, int columns, int ld, size_t count) : rows(rows), columns(columns), ld(ld), dense(rows * columns), storage(count) {
    // Diagonals are large, so that systems can be solved.
    for (V &value : storage)
      value = random_number<V>() * V(Real<V>(0.3));
  }
  Stored(const Stored &) = delete;
  ~Stored() { cudaFree(device); }
  std::vector<V> storage;
  template <class P> void fill(P position) {
    for (int j = 0; j < columns; j++)
      for (int i = 0; i < rows; i++) {
        long at = position(i, j);
        if (at >= 0) {
          if (i == j)
            storage[at] += number<V>(3, 0.5);
          dense[i + j * rows] = storage[at];
        }
      }
    CUDA(cudaMalloc(&device, storage.size() * sizeof(V)));
    CUDA(cudaMemcpy(device, storage.data(), storage.size() * sizeof(V), cudaMemcpyHostToDevice));
  }
};

// All elements of a matrix of which a triangle is given.
template <class V> std::vector<V> mirrored(const std::vector<V> &a, int n, int uplo, bool hermitian) {
  std::vector<V> whole = a;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      if (uplo == LOWER ? i < j : i > j)
        whole[i + j * n] = hermitian ? conjugate(a[j + i * n]) : a[j + i * n];
      if (i == j && hermitian)
        whole[i + j * n] = std::real(a[i + j * n]);
    }
  return whole;
}

// `alpha · op(A) · x + beta · y` in the places of a vector.
template <class V>
std::vector<V> applied(const std::vector<V> &a, int rows, int columns, int op, V alpha, const std::vector<V> &x, int incx, V beta,
                       std::vector<V> y, int incy) {
  int outputs = op == N ? rows : columns, inputs = op == N ? columns : rows;
  for (int i = 0; i < outputs; i++) {
    V sum = 0;
    for (int j = 0; j < inputs; j++)
      sum += element(a, rows, op, i, j) * x[place(j, inputs, incx)];
    V &out = y[place(i, outputs, incy)];
    out = alpha * sum + (beta == V(0) ? V(0) : beta * out);
  }
  return y;
}

template <class V> void test_matrices_and_vectors(Handle handle) {
  int m = 21, n = 13, kl = 3, ku = 2, incx = -2, incy = 3;
  Scalar<V> alpha(number<V>(0.5, -1)), beta(number<V>(1.25, 0.5));
  Stored<V> a(m, n, m + 2, (m + 2) * n), band(m, n, kl + ku + 2, (kl + ku + 2) * n);
  a.fill([&](int i, int j) { return i + j * a.ld; });
  band.fill([&](int i, int j) { return i <= j + kl && j <= i + ku ? ku + i - j + j * band.ld : -1; });
  for (int op : {N, T, C}) {
    for (int mode : {HOST, DEVICE}) {
      CHECK(cublasSetPointerMode_v2(handle, mode));
      Array<V> x(3 * m), y(3 * m);
      CHECK(gemv(V(), handle, op, m, n, alpha.in(mode), a.device, a.ld, x.device, incx, beta.in(mode), y.device, incy));
      expect(y.now(), applied(a.dense, m, n, op, alpha.host, x.before, incx, beta.host, y.before, incy), m, __LINE__);
      y.restore();
      CHECK(gbmv(V(), handle, op, m, n, kl, ku, alpha.in(mode), band.device, band.ld, x.device, incx, beta.in(mode), y.device, incy));
      expect(y.now(), applied(band.dense, m, n, op, alpha.host, x.before, incx, beta.host, y.before, incy), m, __LINE__);
    }
  }
  CHECK(cublasSetPointerMode_v2(handle, HOST));
  // Batches with vectors, by pointers and at equal distances.
  {
    Array<V> x(3 * m), y(3 * m);
    V *pointers[3][2] = {{a.device, a.device}, {x.device, x.device + 1}, {y.device, y.device + m}}, **arrays;
    CUDA(cudaMalloc(&arrays, sizeof pointers));
    CUDA(cudaMemcpy(arrays, pointers, sizeof pointers, cudaMemcpyHostToDevice));
    auto wanted = y.before;
    for (int i = 0; i < 2; i++) {
      std::vector<V> part_x(x.before.begin() + i, x.before.end()), part_y(wanted.begin() + i * m, wanted.end());
      part_y = applied(a.dense, m, n, N, alpha.host, part_x, 1, beta.host, part_y, 1);
      std::copy(part_y.begin(), part_y.end(), wanted.begin() + i * m);
    }
    CHECK(gemvBatched(V(), handle, N, m, n, &alpha.host, arrays, a.ld, arrays + 2, 1, &beta.host, arrays + 4, 1, 2));
    expect(y.now(), wanted, m, __LINE__);
    y.restore();
    CHECK(gemvStridedBatched(V(), handle, N, m, n, &alpha.host, a.device, a.ld, 0ll, x.device, 1, 1ll, &beta.host, y.device, 1, (long long)m, 2));
    expect(y.now(), wanted, m, __LINE__);
    CUDA(cudaFree(arrays));
  }
  Array<V> x(3 * m), y(3 * n);
  for (bool conj : {false, true}) {
    auto wanted = a.storage;
    for (int j = 0; j < n; j++)
      for (int i = 0; i < m; i++) {
        V factor = y.before[place(j, n, incy)];
        wanted[i + j * a.ld] += alpha.host * x.before[place(i, m, incx)] * (conj ? conjugate(factor) : factor);
      }
    Array<V> c(a.storage.size());
    CUDA(cudaMemcpy(c.device, a.storage.data(), a.storage.size() * sizeof(V), cudaMemcpyHostToDevice));
    CHECK((conj ? gerc(V(), handle, m, n, &alpha.host, x.device, incx, y.device, incy, c.device, a.ld)
                : geru(V(), handle, m, n, &alpha.host, x.device, incx, y.device, incy, c.device, a.ld)));
    expect(c.now(), wanted, 2, __LINE__);
  }
}

template <class V> void test_triangles_and_vectors(Handle handle) {
  int n = 19, k = 4, incx = -2, incy = 1;
  Scalar<V> alpha(number<V>(0.5, -1)), beta(number<V>(1.25, 0.5));
  Real<V> real = Real<V>(0.75);
  for (int uplo : {LOWER, UPPER}) {
    auto is_stored = [&](int i, int j) { return uplo == LOWER ? i >= j : i <= j; };
    Stored<V> full(n, n, n + 1, (n + 1) * n), packed(n, n, 0, n * (n + 1) / 2), band(n, n, k + 2, (k + 2) * n);
    full.fill([&](int i, int j) { return is_stored(i, j) ? i + j * full.ld : -1; });
    packed.fill([&](int i, int j) { return !is_stored(i, j) ? -1 : uplo == LOWER ? i + (2 * n - j - 1) * j / 2 : i + j * (j + 1) / 2; });
    band.fill([&](int i, int j) { return !is_stored(i, j) || abs(i - j) > k ? -1 : (uplo == LOWER ? i - j : k + i - j) + j * band.ld; });
    Array<V> x(2 * n), y(2 * n);
    auto symmetric = [&](const Stored<V> &a, bool hermitian) {
      return applied(mirrored(a.dense, n, uplo, hermitian), n, n, N, alpha.host, x.before, incx, beta.host, y.before, incy);
    };
    CHECK(symv(V(), handle, uplo, n, &alpha.host, full.device, full.ld, x.device, incx, &beta.host, y.device, incy));
    expect(y.now(), symmetric(full, false), n, __LINE__);
    y.restore();
    if constexpr (is_complex<V>) {
      CHECK(hemv(V(), handle, uplo, n, &alpha.host, full.device, full.ld, x.device, incx, &beta.host, y.device, incy));
      expect(y.now(), symmetric(full, true), n, __LINE__);
      y.restore();
      CHECK(hpmv(V(), handle, uplo, n, &alpha.host, packed.device, x.device, incx, &beta.host, y.device, incy));
      expect(y.now(), symmetric(packed, true), n, __LINE__);
      y.restore();
      CHECK(hbmv(V(), handle, uplo, n, k, &alpha.host, band.device, band.ld, x.device, incx, &beta.host, y.device, incy));
      expect(y.now(), symmetric(band, true), n, __LINE__);
    } else {
      CHECK(spmv(V(), handle, uplo, n, &alpha.host, packed.device, x.device, incx, &beta.host, y.device, incy));
      expect(y.now(), symmetric(packed, false), n, __LINE__);
      y.restore();
      CHECK(sbmv(V(), handle, uplo, n, k, &alpha.host, band.device, band.ld, x.device, incx, &beta.host, y.device, incy));
      expect(y.now(), symmetric(band, false), n, __LINE__);
    }
    y.restore();
    for (int op : {N, T, C}) {
      for (int diag : {NON_UNIT, UNIT}) {
        auto triangular = [&](const Stored<V> &a) {
          auto dense = a.dense;
          for (int i = 0; i < n && diag == UNIT; i++)
            dense[i + i * n] = 1;
          return applied(dense, n, n, op, V(1), x.before, incx, V(0), x.before, incx);
        };
        CHECK(trmv(V(), handle, uplo, op, diag, n, full.device, full.ld, x.device, incx));
        expect(x.now(), triangular(full), n, __LINE__);
        CHECK(trsv(V(), handle, uplo, op, diag, n, full.device, full.ld, x.device, incx));
        expect(x.now(), x.before, 100 * n, __LINE__);
        x.restore();
        CHECK(tpmv(V(), handle, uplo, op, diag, n, packed.device, x.device, incx));
        expect(x.now(), triangular(packed), n, __LINE__);
        CHECK(tpsv(V(), handle, uplo, op, diag, n, packed.device, x.device, incx));
        expect(x.now(), x.before, 100 * n, __LINE__);
        x.restore();
        CHECK(tbmv(V(), handle, uplo, op, diag, n, k, band.device, band.ld, x.device, incx));
        expect(x.now(), triangular(band), n, __LINE__);
        CHECK(tbsv(V(), handle, uplo, op, diag, n, k, band.device, band.ld, x.device, incx));
        expect(x.now(), x.before, 100 * n, __LINE__);
        x.restore();
      }
    }
    // Updates: of the stored part, in full and packed storage.
    auto test_update = [&](Stored<V> &a, bool hermitian, bool twice, int line, auto call) {
      auto position = [&](int i, int j) {
        return a.ld ? i + j * a.ld : uplo == LOWER ? i + (2 * n - j - 1) * j / 2 : i + j * (j + 1) / 2;
      };
      auto wanted = a.storage;
      for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
          if (is_stored(i, j)) {
            auto at = [&](const Array<V> &x, int inc, int i) { return x.before[place(i, n, inc)]; };
            auto other = [&](V value) { return hermitian ? conjugate(value) : value; };
            V &out = wanted[position(i, j)];
            if (twice)
              out += alpha.host * at(x, incx, i) * other(at(y, incy, j)) + other(alpha.host) * at(y, incy, i) * other(at(x, incx, j));
            else
              out += (hermitian ? V(real) : alpha.host) * at(x, incx, i) * other(at(x, incx, j));
            if (hermitian && i == j)
              out = std::real(out);
          }
      Array<V> c(a.storage.size());
      CUDA(cudaMemcpy(c.device, a.storage.data(), a.storage.size() * sizeof(V), cudaMemcpyHostToDevice));
      succeeds(call(c.device), line);
      expect(c.now(), wanted, 6, line);
    };
    test_update(full, false, false, __LINE__, [&](V *c) { return syr(V(), handle, uplo, n, &alpha.host, x.device, incx, c, full.ld); });
    test_update(full, false, true, __LINE__, [&](V *c) { return syr2(V(), handle, uplo, n, &alpha.host, x.device, incx, y.device, incy, c, full.ld); });
    if constexpr (is_complex<V>) {
      test_update(full, true, false, __LINE__, [&](V *c) { return her(V(), handle, uplo, n, &real, x.device, incx, c, full.ld); });
      test_update(full, true, true, __LINE__, [&](V *c) { return her2(V(), handle, uplo, n, &alpha.host, x.device, incx, y.device, incy, c, full.ld); });
      test_update(packed, true, false, __LINE__, [&](V *c) { return hpr(V(), handle, uplo, n, &real, x.device, incx, c); });
      test_update(packed, true, true, __LINE__, [&](V *c) { return hpr2(V(), handle, uplo, n, &alpha.host, x.device, incx, y.device, incy, c); });
    } else {
      test_update(packed, false, false, __LINE__, [&](V *c) { return spr(V(), handle, uplo, n, &alpha.host, x.device, incx, c); });
      test_update(packed, false, true, __LINE__, [&](V *c) { return spr2(V(), handle, uplo, n, &alpha.host, x.device, incx, y.device, incy, c); });
    }
    // Copies between full and packed storage.
    Array<V> ap(n * (n + 1) / 2), c(n * n);
    auto wanted = c.before;
    CHECK(trttp(V(), handle, uplo, n, full.device, full.ld, ap.device));
    CHECK(tpttr(V(), handle, uplo, n, ap.device, c.device, n));
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++)
        if (is_stored(i, j))
          wanted[i + j * n] = full.dense[i + j * n];
    expect(c.now(), wanted, 0, __LINE__);
  }
}

template <class V> void test_level3(Handle handle) {
  int m = 37, n = 23, k = 15;
  Scalar<V> alpha(number<V>(0.5, -1)), beta(number<V>(1.25, 0.5));
  Real<V> real_alpha = Real<V>(0.75), real_beta = Real<V>(-0.5);
  for (int uplo : {LOWER, UPPER}) {
    auto is_stored = [&](int i, int j) { return uplo == LOWER ? i >= j : i <= j; };
    for (int side : {LEFT, RIGHT}) {
      int size = side == LEFT ? m : n;
      Stored<V> a(size, size, size + 2, (size + 2) * size);
      a.fill([&](int i, int j) { return is_stored(i, j) ? i + j * a.ld : -1; });
      for (V &value : a.storage)
        value *= V(Real<V>(0.25));
      for (V &value : a.dense)
        value *= V(Real<V>(0.25));
      CUDA(cudaMemcpy(a.device, a.storage.data(), a.storage.size() * sizeof(V), cudaMemcpyHostToDevice));
      Array<V> b((m + 1) * n), c((m + 2) * n);
      auto sided = [&](const std::vector<V> &whole, int op, V beta) {
        return side == LEFT ? product(m, n, m, alpha.host, whole, m, op, b.before, m + 1, N, beta, c.before, m + 2)
                            : product(m, n, n, alpha.host, b.before, m + 1, N, whole, n, op, beta, c.before, m + 2);
      };
      CHECK(symm(V(), handle, side, uplo, m, n, &alpha.host, a.device, a.ld, b.device, m + 1, &beta.host, c.device, m + 2));
      expect(c.now(), sided(mirrored(a.dense, size, uplo, false), N, beta.host), size, __LINE__);
      c.restore();
      if constexpr (is_complex<V>) {
        CHECK(hemm(V(), handle, side, uplo, m, n, &alpha.host, a.device, a.ld, b.device, m + 1, &beta.host, c.device, m + 2));
        expect(c.now(), sided(mirrored(a.dense, size, uplo, true), N, beta.host), size, __LINE__);
        c.restore();
      }
      for (int op : {N, T, C}) {
        for (int diag : {NON_UNIT, UNIT}) {
          auto dense = a.dense;
          for (int i = 0; i < size && diag == UNIT; i++)
            dense[i + i * size] = 1;
          CHECK(trmm(V(), handle, side, uplo, op, diag, m, n, &alpha.host, a.device, a.ld, b.device, m + 1, c.device, m + 2));
          expect(c.now(), sided(dense, op, V(0)), size, __LINE__);
          // The solution of what the product gives is the operand.
          V inverse = V(1) / alpha.host;
          auto wanted = c.before;
          for (int j = 0; j < n; j++)
            std::copy_n(b.before.begin() + j * (m + 1), m, wanted.begin() + j * (m + 2));
          if (diag == NON_UNIT) {
            V *pointers[2] = {a.device, c.device}, **arrays;
            CUDA(cudaMalloc(&arrays, sizeof pointers));
            CUDA(cudaMemcpy(arrays, pointers, sizeof pointers, cudaMemcpyHostToDevice));
            CHECK((op == T ? trsmBatched(V(), handle, side, uplo, op, diag, m, n, &inverse, arrays, a.ld, arrays + 1, m + 2, 1)
                           : trsm(V(), handle, side, uplo, op, diag, m, n, &inverse, a.device, a.ld, c.device, m + 2)));
            expect(c.now(), wanted, 20000 * size, __LINE__);
            CUDA(cudaFree(arrays));
          }
          c.restore();
        }
      }
    }
    for (int op : {N, T, C}) {
      int rows = op == N ? n : k, columns = op == N ? k : n, ld = rows + 1, ldc = n + 2;
      Array<V> a(ld * columns), b(ld * columns), c(ldc * n);
      auto test_update = [&](bool hermitian, bool two, bool twice, int line, auto call) {
        V factor = hermitian && !two ? V(real_alpha) : alpha.host, old = hermitian ? V(real_beta) : beta.host;
        auto wanted = c.before;
        const auto &second = two ? b.before : a.before;
        for (int j = 0; j < n; j++)
          for (int i = 0; i < n; i++)
            if (is_stored(i, j)) {
              auto other = [&](V value) { return hermitian ? conjugate(value) : value; };
              V sum = 0, exchanged = 0;
              for (int p = 0; p < k; p++) {
                sum += element(a.before, ld, op, i, p) * other(element(second, ld, op, j, p));
                exchanged += element(second, ld, op, i, p) * other(element(a.before, ld, op, j, p));
              }
              V &out = wanted[i + j * ldc];
              out = factor * sum + (twice ? other(factor) * exchanged : V(0)) + old * out;
              if (hermitian && i == j)
                out = std::real(out);
            }
        succeeds(call(), line);
        expect(c.now(), wanted, 2 * k, line);
        c.restore();
      };
      if (!is_complex<V> || op != C) {
        test_update(false, false, false, __LINE__, [&] { return syrk(V(), handle, uplo, op, n, k, &alpha.host, a.device, ld, &beta.host, c.device, ldc); });
        test_update(false, true, false, __LINE__, [&] { return syrkx(V(), handle, uplo, op, n, k, &alpha.host, a.device, ld, b.device, ld, &beta.host, c.device, ldc); });
        test_update(false, true, true, __LINE__, [&] { return syr2k(V(), handle, uplo, op, n, k, &alpha.host, a.device, ld, b.device, ld, &beta.host, c.device, ldc); });
      }
      if constexpr (is_complex<V>)
        if (op != T) {
          test_update(true, false, false, __LINE__, [&] { return herk(V(), handle, uplo, op, n, k, &real_alpha, a.device, ld, &real_beta, c.device, ldc); });
          test_update(true, true, false, __LINE__, [&] { return herkx(V(), handle, uplo, op, n, k, &alpha.host, a.device, ld, b.device, ld, &real_beta, c.device, ldc); });
          test_update(true, true, true, __LINE__, [&] { return her2k(V(), handle, uplo, op, n, k, &alpha.host, a.device, ld, b.device, ld, &real_beta, c.device, ldc); });
        }
    }
  }
  for (int transa : {N, T, C})
    for (int transb : {N, T, C}) {
      int lda = (transa == N ? m : n) + 1, ldb = (transb == N ? m : n) + 2;
      Array<V> a(lda * m), b(ldb * m), c(m * n);
      std::vector<V> wanted(m * n);
      for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
          wanted[i + j * m] = alpha.host * element(a.before, lda, transa, i, j) + beta.host * element(b.before, ldb, transb, i, j);
      CHECK(geam(V(), handle, transa, transb, m, n, &alpha.host, a.device, lda, &beta.host, b.device, ldb, c.device, m));
      expect(c.now(), wanted, 2, __LINE__);
    }
  for (int side : {LEFT, RIGHT}) {
    Array<V> a((m + 1) * n), x(2 * m), c(m * n);
    std::vector<V> wanted(m * n);
    for (int j = 0; j < n; j++)
      for (int i = 0; i < m; i++)
        wanted[i + j * m] = a.before[i + j * (m + 1)] * x.before[2 * (side == LEFT ? i : j)];
    CHECK(dgmm(V(), handle, side, m, n, a.device, m + 1, x.device, 2, c.device, m));
    expect(c.now(), wanted, 1, __LINE__);
  }
}

template <class V> void test_batches(Handle handle) {
  int m = 9, n = 7, k = 5, count = 40;
  long long stride_a = m * k + 3, stride_b = k * n + 1, stride_c = m * n + 2;
  Scalar<V> alpha(number<V>(0.5, -1)), beta(number<V>(1.25, 0.5));
  Array<V> a(stride_a * count), b(stride_b * count), c(stride_c * count);
  auto wanted = c.before;
  std::vector<V *> pointers;
  for (int i = 0; i < count; i++) {
    auto part = [&](const std::vector<V> &all, long long stride) { return std::vector<V>(all.begin() + i * stride, all.begin() + (i + 1) * stride); };
    auto result = product(m, n, k, alpha.host, part(a.before, stride_a), k, T, part(b.before, stride_b), n, T, beta.host, part(c.before, stride_c), m);
    std::copy(result.begin(), result.end(), wanted.begin() + i * stride_c);
    pointers.insert(pointers.end(), {a.device + i * stride_a, b.device + i * stride_b, c.device + i * stride_c});
  }
  CHECK(gemmStridedBatched(V(), handle, T, T, m, n, k, &alpha.host, a.device, k, stride_a, b.device, n, stride_b, &beta.host, c.device, m, stride_c, count));
  expect(c.now(), wanted, k, __LINE__);
  c.restore();
  V **arrays;
  CUDA(cudaMalloc(&arrays, 6 * count * sizeof *arrays));
  std::vector<V *> ordered;
  for (int which = 0; which < 3; which++)
    for (int i = 0; i < count; i++)
      ordered.push_back(pointers[3 * i + which]);
  CUDA(cudaMemcpy(arrays, ordered.data(), 3 * count * sizeof *arrays, cudaMemcpyHostToDevice));
  CHECK(gemmBatched(V(), handle, T, T, m, n, k, &alpha.host, arrays, k, arrays + count, n, &beta.host, arrays + 2 * count, m, count));
  expect(c.now(), wanted, k, __LINE__);
  // Factored matrices solve systems, and give inverses.
  int lda = n + 1;
  Array<V> matrices(lda * n * count), sides(n * 2 * count), inverses(n * n * count);
  Array<int> pivots(n * count), info(count);
  ordered.clear();
  for (int i = 0; i < count; i++)
    ordered.push_back(matrices.device + i * lda * n);
  for (int i = 0; i < count; i++)
    ordered.push_back(sides.device + i * n * 2);
  for (int i = 0; i < count; i++)
    ordered.push_back(inverses.device + i * n * n);
  CUDA(cudaMemcpy(arrays, ordered.data(), 3 * count * sizeof *arrays, cudaMemcpyHostToDevice));
  auto is_inverse = [&](int line) {
    auto found = inverses.now();
    for (int i = 0; i < count; i++) {
      std::vector<V> a(matrices.before.begin() + i * lda * n, matrices.before.begin() + (i + 1) * lda * n), identity(n * n);
      std::vector<V> inverse(found.begin() + i * n * n, found.begin() + (i + 1) * n * n);
      for (int j = 0; j < n; j++)
        identity[j + j * n] = 1;
      expect(product(n, n, n, V(1), a, lda, N, inverse, n, N, V(0), identity, n), identity, 20000, line);
    }
  };
  CHECK(matinvBatched(V(), handle, n, arrays, lda, arrays + 2 * count, n, info.device, count));
  REQUIRE(info.now() == std::vector<int>(count));
  is_inverse(__LINE__);
  inverses.restore();
  CHECK(getrfBatched(V(), handle, n, arrays, lda, pivots.device, info.device, count));
  REQUIRE(info.now() == std::vector<int>(count));
  CHECK(getriBatched(V(), handle, n, arrays, lda, pivots.device, arrays + 2 * count, n, info.device, count));
  is_inverse(__LINE__);
  int host_info = 1;
  CHECK(getrsBatched(V(), handle, T, n, 2, arrays, lda, pivots.device, arrays + count, n, &host_info, count));
  REQUIRE(host_info == 0);
  auto found = sides.now();
  for (int i = 0; i < count; i++) {
    std::vector<V> a(matrices.before.begin() + i * lda * n, matrices.before.begin() + (i + 1) * lda * n);
    std::vector<V> x(found.begin() + i * 2 * n, found.begin() + (i + 1) * 2 * n), b(sides.before.begin() + i * 2 * n, sides.before.begin() + (i + 1) * 2 * n);
    expect(product(n, 2, n, V(1), a, lda, T, x, n, N, V(0), b, n), b, 20000, __LINE__);
  }
  FAILS(getrsBatched(V(), handle, T, n, 2, arrays, n - 1, pivots.device, arrays + count, n, &host_info, count), INVALID_VALUE);
  REQUIRE(host_info == -5);
  CUDA(cudaFree(arrays));
}

static float from_half(uint16_t bits) {
  int exponent = bits >> 10 & 31;
  float value = exponent ? std::ldexp(1024.f + (bits & 1023), exponent - 25) : std::ldexp(float(bits & 1023), -24);
  return bits >> 15 ? -value : value;
}
static float from_bfloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

// Products whose types are arguments.
static void test_mixed(Handle handle) {
  enum { R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, R_32I = 10, R_16BF = 14 };
  enum { COMPUTE_16F = 64, COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72 };
  int m = 33, n = 17, k = 40, lda = k + 1, ldb = k, ldc = m;
  float one = 1.5f, two = -0.5f;
  auto value = [](int type, uint16_t bits) { return type == R_16F ? from_half(bits) : from_bfloat(bits); };
  for (int type : {R_16F, R_16BF}) {
    // Halves between 0.5 and 2, with sign.
    std::vector<uint16_t> a(lda * m), b(ldb * n), c(ldc * n);
    for (auto *all : {&a, &b, &c})
      for (uint16_t &bits : *all)
        bits = uint16_t((type == R_16F ? 0x3800 : 0x3f00) + (rand() & (type == R_16F ? 0x7ff : 0xff))) | (rand() & 1) << 15;
    uint16_t *device_a, *device_b, *device_c;
    float *device_f;
    CUDA(cudaMalloc(&device_a, a.size() * 2));
    CUDA(cudaMalloc(&device_b, b.size() * 2));
    CUDA(cudaMalloc(&device_c, c.size() * 2));
    CUDA(cudaMalloc(&device_f, c.size() * 4));
    CUDA(cudaMemcpy(device_a, a.data(), a.size() * 2, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(device_b, b.data(), b.size() * 2, cudaMemcpyHostToDevice));
    auto is_right = [&](const std::vector<float> &found, float alpha, float beta, double unit, int line) {
      for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
          double sum = 0;
          for (int p = 0; p < k; p++)
            sum += double(value(type, a[p + i * lda])) * value(type, b[p + j * ldb]);
          double wanted = alpha * sum + beta * value(type, c[i + j * ldc]);
          compared++;
          if (!(std::abs(found[i + j * ldc] - wanted) <= unit * (1 + std::abs(wanted)))) {
            std::printf("%d: %g instead of %g\n", line, found[i + j * ldc], wanted);
            std::exit(1);
          }
        }
    };
    auto halves = [&] {
      std::vector<uint16_t> bits(c.size());
      std::vector<float> values;
      CUDA(cudaMemcpy(bits.data(), device_c, c.size() * 2, cudaMemcpyDeviceToHost));
      for (uint16_t one : bits)
        values.push_back(value(type, one));
      return values;
    };
    double unit = type == R_16F ? 1.0 / 2000 : 1.0 / 250;
    CUDA(cudaMemcpy(device_c, c.data(), c.size() * 2, cudaMemcpyHostToDevice));
    CHECK(cublasGemmEx(handle, T, N, m, n, k, &one, device_a, type, lda, device_b, type, ldb, &two, device_c, type, ldc, COMPUTE_32F, -1));
    is_right(halves(), one, two, unit, __LINE__);
    float zero = 0;
    CHECK(cublasGemmEx(handle, T, N, m, n, k, &one, device_a, type, lda, device_b, type, ldb, &zero, device_f, R_32F, ldc, COMPUTE_32F, -1));
    std::vector<float> floats(c.size());
    CUDA(cudaMemcpy(floats.data(), device_f, c.size() * 4, cudaMemcpyDeviceToHost));
    is_right(floats, one, 0, 1e-5, __LINE__);
    CUDA(cudaMemcpy(device_c, c.data(), c.size() * 2, cudaMemcpyHostToDevice));
    CHECK(cublasGemmStridedBatchedEx(handle, T, N, m, n, k, &one, device_a, type, lda, 0ll, device_b, type, ldb, 0ll, &two, device_c, type, ldc, 0ll, 1, COMPUTE_32F, -1));
    is_right(halves(), one, two, unit, __LINE__);
    void *pointers[] = {device_a, device_b, device_c}, **arrays;
    CUDA(cudaMalloc(&arrays, sizeof pointers));
    CUDA(cudaMemcpy(arrays, pointers, sizeof pointers, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(device_c, c.data(), c.size() * 2, cudaMemcpyHostToDevice));
    CHECK(cublasGemmBatchedEx(handle, T, N, m, n, k, &one, arrays, type, lda, arrays + 1, type, ldb, &two, arrays + 2, type, ldc, 1, COMPUTE_32F, -1));
    is_right(halves(), one, two, unit, __LINE__);
    if (type == R_16F) {
      uint16_t half_one = 0x3c00, half_two = 0xc000;
      CUDA(cudaMemcpy(device_c, c.data(), c.size() * 2, cudaMemcpyHostToDevice));
      CHECK(cublasHgemm(handle, T, N, m, n, k, &half_one, device_a, lda, device_b, ldb, &half_two, device_c, ldc));
      is_right(halves(), 1, -2, unit, __LINE__);
    }
    FAILS(cublasGemmEx(handle, T, N, m, n, k, &one, device_a, type, lda, device_b, R_8I, ldb, &two, device_c, type, ldc, COMPUTE_32F, -1), NOT_SUPPORTED);
    CUDA(cudaFree(device_a));
    CUDA(cudaFree(device_b));
    CUDA(cudaFree(device_c));
    CUDA(cudaFree(device_f));
    CUDA(cudaFree(arrays));
  }
  Array<int8_t> a(lda * m), b(ldb * n);
  Array<int> c(ldc * n);
  std::vector<int8_t> bytes_a(lda * m), bytes_b(ldb * n);
  for (auto *all : {&bytes_a, &bytes_b})
    for (int8_t &byte : *all)
      byte = int8_t(rand());
  CUDA(cudaMemcpy(a.device, bytes_a.data(), bytes_a.size(), cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(b.device, bytes_b.data(), bytes_b.size(), cudaMemcpyHostToDevice));
  int whole = 3, old = -2;
  CHECK(cublasGemmEx(handle, T, N, m, n, k, &whole, a.device, R_8I, lda, b.device, R_8I, ldb, &old, c.device, R_32I, ldc, COMPUTE_32I, -1));
  auto found = c.now();
  for (int j = 0; j < n; j++)
    for (int i = 0; i < m; i++) {
      int sum = 0;
      for (int p = 0; p < k; p++)
        sum += bytes_a[p + i * lda] * bytes_b[p + j * ldb];
      REQUIRE(found[i + j * ldc] == 3 * sum - 2 * c.before[i + j * ldc]);
    }
  // Vectors.
  Array<float> x(100), y(100);
  double factor = 0.5, dot, wanted_dot = 0;
  float norm;
  auto wanted = y.before;
  for (int i = 0; i < 50; i++) {
    wanted[i] += 0.5f * x.before[2 * i];
    wanted_dot += double(x.before[2 * i]) * wanted[i];
  }
  CHECK(cublasAxpyEx(handle, 50, &factor, R_64F, x.device, R_32F, 2, y.device, R_32F, 1, R_32F));
  expect(y.now(), wanted, 2, __LINE__);
  CHECK(cublasDotEx(handle, 50, x.device, R_32F, 2, y.device, R_32F, 1, &dot, R_64F, R_64F));
  expect<double>({dot}, {wanted_dot}, 1000000, __LINE__);
  CHECK(cublasScalEx(handle, 50, &factor, R_64F, y.device, R_32F, 2, R_32F));
  for (int i = 0; i < 50; i++)
    wanted[2 * i] *= 0.5f;
  expect(y.now(), wanted, 2, __LINE__);
  CHECK(cublasNrm2Ex(handle, 100, y.device, R_32F, 1, &norm, R_32F, R_32F));
  double squares = 0;
  for (float value : wanted)
    squares += double(value) * value;
  expect<float>({norm}, {float(std::sqrt(squares))}, 10, __LINE__);
}

// Modified rotations by the formulas of BLAS.
template <class R> void test_modified_rotation(Handle handle) {
  R d1 = R(1.5), d2 = R(0.5), x = 2, y = -1, parameters[5] = {0, 0, 0, 0, 0}, before = d1 * x * x + d2 * y * y, new_x = x;
  CHECK(rotmg(R(), handle, &d1, &d2, &new_x, &y, parameters));
  REQUIRE(parameters[0] == 0);
  Array<R> pair(2);
  R values[] = {x, y};
  CUDA(cudaMemcpy(pair.device, values, sizeof values, cudaMemcpyHostToDevice));
  CHECK(rotm(R(), handle, 1, pair.device, 1, pair.device + 1, 1, parameters));
  expect(pair.now(), {new_x, R(0)}, 4, __LINE__);
  expect<R>({d1 * new_x * new_x}, {before}, 8, __LINE__);
}

// Copies between host and device, modes, and refusals.
static void test_helpers(Handle handle) {
  int version = 0, mode = -1;
  CHECK(cublasGetVersion_v2(handle, &version));
  REQUIRE(version >= 120000);
  CHECK(cublasSetMathMode(handle, 3));
  CHECK(cublasGetMathMode(handle, &mode));
  REQUIRE(mode == 3);
  FAILS(cublasSetMathMode(handle, 7), INVALID_VALUE);
  CHECK(cublasSetAtomicsMode(handle, 1));
  CHECK(cublasGetAtomicsMode(handle, &mode));
  REQUIRE(mode == 1);
  CHECK(cublasSetPointerMode_v2(handle, DEVICE));
  CHECK(cublasGetPointerMode_v2(handle, &mode));
  REQUIRE(mode == DEVICE);
  FAILS(cublasSetPointerMode_v2(handle, 2), INVALID_VALUE);
  CHECK(cublasSetPointerMode_v2(handle, HOST));
  REQUIRE(!std::strcmp(cublasGetStatusName(INVALID_VALUE), "CUBLAS_STATUS_INVALID_VALUE"));
  REQUIRE(std::strlen(cublasGetStatusString(NOT_SUPPORTED)) > 0);
  FAILS(cublasSgeqrfBatched(handle), NOT_SUPPORTED);
  FAILS(cublasGetVersion_v2(nullptr, &version), NOT_INITIALIZED);

  float host[12], back[12] = {};
  for (int i = 0; i < 12; i++)
    host[i] = float(i);
  Array<float> device(12);
  CHECK(cublasSetVector(4, sizeof(float), host, 3, device.device, 2));
  auto wanted = device.before;
  for (int i = 0; i < 4; i++)
    wanted[2 * i] = host[3 * i];
  expect(device.now(), wanted, 0, __LINE__);
  CHECK(cublasGetVector(4, sizeof(float), device.device, 2, back, 1));
  REQUIRE(back[1] == 3 && back[3] == 9 && back[4] == 0);
  CHECK(cublasSetMatrixAsync(2, 3, sizeof(float), host, 4, device.device, 3, nullptr));
  CHECK(cublasGetMatrix(2, 3, sizeof(float), device.device, 3, back, 2));
  REQUIRE(back[0] == 0 && back[1] == 1 && back[2] == 4 && back[5] == 9);
  CHECK(cublasGetVectorAsync_64(6, 4, device.device, 1, back, 1, nullptr));
  REQUIRE(back[3] == 4 && back[5] == device.now()[5]);
  FAILS(cublasSetVector(4, 0, host, 1, device.device, 1), INVALID_VALUE);
  FAILS(cublasSetMatrix(4, 2, 4, host, 3, device.device, 4), INVALID_VALUE);
}

template <class V> void test_all(Handle handle) {
  test_vectors<V>(handle);
  test_matrices_and_vectors<V>(handle);
  test_triangles_and_vectors<V>(handle);
  test_level3<V>(handle);
  test_batches<V>(handle);
  if constexpr (!is_complex<V>)
    test_modified_rotation<V>(handle);
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
  test_mixed(handle);
  test_helpers(handle);
  test_graph(handle);
  CHECK(cublasDestroy_v2(handle));
  std::printf("%ld numbers compared\npassed\n", compared);
}
