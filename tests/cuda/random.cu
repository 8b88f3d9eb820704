// cuRAND's host interface from CUDA C++: against kernels that compute the same generators, on streams, and captured in a graph. The
// declarations are our own.

#include "statuses.h"
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

typedef struct Generator *Handle;
typedef struct Distribution *Discrete;
enum { SUCCESS = 0, NOT_INITIALIZED = 101, TYPE_ERROR = 103, OUT_OF_RANGE = 104, LENGTH_NOT_MULTIPLE = 105 };
enum { XORWOW = 101, MRG32K3A = 121, MTGP32 = 141, MT19937 = 142, PHILOX = 161, SOBOL32 = 201, SCRAMBLED_SOBOL32 = 202, SOBOL64 = 203 };

extern "C" {
int curandCreateGenerator(Handle *, int);
int curandCreateGeneratorHost(Handle *, int);
int curandDestroyGenerator(Handle);
int curandGetVersion(int *);
int curandGetProperty(int, int *);
int curandSetStream(Handle, cudaStream_t);
int curandSetPseudoRandomGeneratorSeed(Handle, unsigned long long);
int curandSetGeneratorOffset(Handle, unsigned long long);
int curandSetGeneratorOrdering(Handle, int);
int curandSetQuasiRandomGeneratorDimensions(Handle, unsigned);
int curandGenerateSeeds(Handle);
int curandGenerate(Handle, unsigned *, size_t);
int curandGenerateLongLong(Handle, unsigned long long *, size_t);
int curandGenerateUniform(Handle, float *, size_t);
int curandGenerateUniformDouble(Handle, double *, size_t);
int curandGenerateNormal(Handle, float *, size_t, float, float);
int curandGenerateNormalDouble(Handle, double *, size_t, double, double);
int curandGenerateLogNormal(Handle, float *, size_t, float, float);
int curandGenerateLogNormalDouble(Handle, double *, size_t, double, double);
int curandGeneratePoisson(Handle, unsigned *, size_t, double);
int curandCreatePoissonDistribution(double, Discrete *);
int curandDestroyDistribution(Discrete);
int curandGetDirectionVectors32(unsigned (**)[32], int);
int curandGetScrambleConstants32(unsigned **);
}

// Philox: each thread has four outputs of its sequence at a time, of 65,536 sequences.
__global__ void philox(unsigned long long seed, unsigned *output, size_t count) {
  size_t group = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  unsigned c[4] = {unsigned(group / 65536), 0, unsigned(group % 65536), 0}, key[2] = {unsigned(seed), unsigned(seed >> 32)};
  for (int round = 0; round < 10; round++) {
    unsigned high0 = __umulhi(0xd2511f53u, c[0]), low0 = 0xd2511f53u * c[0];
    unsigned high1 = __umulhi(0xcd9e8d57u, c[2]), low1 = 0xcd9e8d57u * c[2];
    c[0] = high1 ^ c[1] ^ key[0], c[1] = low1, c[2] = high0 ^ c[3] ^ key[1], c[3] = low0;
    key[0] += 0x9e3779b9u, key[1] += 0xbb67ae85u;
  }
  for (int i = 0; i < 4; i++)
    if (4 * group + i < count)
      output[4 * group + i] = c[i];
}

// The first sequence of MRG32k3a, whose outputs are 81,920 apart.
__global__ void mrg32k3a(unsigned *output, int count) {
  const unsigned long long m1 = 4294967087, m2 = 4294944443;
  unsigned long long a[3] = {12345, 12345, 12345}, b[3] = {12345, 12345, 12345};
  for (int i = 0; i < count; i++) {
    unsigned long long p = (1403580 * a[1] + 810728 * (m1 - a[0])) % m1, q = (527612 * b[2] + 1370589 * (m2 - b[0])) % m2;
    a[0] = a[1], a[1] = a[2], a[2] = p, b[0] = b[1], b[1] = b[2], b[2] = q;
    output[i] = unsigned(double(p <= q ? p + m1 - q : p - q) * 1.000000048662);
  }
}

// Points of a Sobol sequence from direction numbers on the device.
__global__ void sobol(const unsigned *vectors, unsigned *output, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned gray = i ^ (i >> 1), point = 0;
  for (int bit = 0; bit < 32; bit++)
    if (gray >> bit & 1)
      point ^= vectors[bit];
  if (i < count)
    output[i] = point;
}

template <class V> struct Array {
  V *device;
  size_t count;
  explicit Array(size_t count) : count(count) {
    CHECK(cudaMalloc(&device, count * sizeof(V)));
    CHECK(cudaMemset(device, 0, count * sizeof(V)));
  }
  Array(const Array &) = delete;
  ~Array() { cudaFree(device); }
  std::vector<V> now() const {
    std::vector<V> values(count);
    CHECK(cudaMemcpy(values.data(), device, count * sizeof(V), cudaMemcpyDeviceToHost));
    return values;
  }
};

static Handle made(int kind, unsigned long long seed = 0) {
  Handle generator;
  CHECK(curandCreateGenerator(&generator, kind));
  if (kind < 200)
    CHECK(curandSetPseudoRandomGeneratorSeed(generator, seed));
  CHECK(curandGenerateSeeds(generator));
  return generator;
}

static void test_against_kernels() {
  const size_t count = 300000;
  Array<unsigned> found(count), wanted(count);
  Handle generator = made(PHILOX, 0x123456789abcull);
  CHECK(curandGenerate(generator, found.device, count));
  philox<<<(count / 4 + 255) / 256, 256>>>(0x123456789abcull, wanted.device, count);
  REQUIRE(found.now() == wanted.now());
  CHECK(curandDestroyGenerator(generator));

  generator = made(MRG32K3A);
  CHECK(curandGenerate(generator, found.device, count));
  mrg32k3a<<<1, 1>>>(wanted.device, 4);
  auto first = found.now(), sequence = wanted.now();
  for (int i = 0; i < 4 && i * 81920 < int(count); i++)
    REQUIRE(first[i * 81920] == sequence[i]);
  CHECK(curandDestroyGenerator(generator));

  generator = made(SOBOL32);
  unsigned(*vectors)[32];
  CHECK(curandGetDirectionVectors32(&vectors, 101));
  CHECK(curandSetQuasiRandomGeneratorDimensions(generator, 3));
  CHECK(curandGenerate(generator, found.device, 3000));
  Array<unsigned> numbers(32);
  for (int dimension = 0; dimension < 3; dimension++) {
    CHECK(cudaMemcpy(numbers.device, vectors[dimension], sizeof vectors[dimension], cudaMemcpyHostToDevice));
    sobol<<<8, 128>>>(numbers.device, wanted.device + 1000 * dimension, 1000);
  }
  auto points = found.now(), reference = wanted.now();
  REQUIRE(std::vector<unsigned>(points.begin(), points.begin() + 3000) == std::vector<unsigned>(reference.begin(), reference.begin() + 3000));
  CHECK(curandDestroyGenerator(generator));
}

// Numbers on the device are those on the host.
static void test_host_generators() {
  for (int kind : {XORWOW, MRG32K3A, MT19937, PHILOX, SOBOL32, SCRAMBLED_SOBOL32}) {
    Handle device = made(kind, 99), host;
    CHECK(curandCreateGeneratorHost(&host, kind));
    if (kind < 200)
      CHECK(curandSetPseudoRandomGeneratorSeed(host, 99));
    Array<float> floats(10000);
    Array<double> doubles(10000);
    std::vector<float> host_floats(10000);
    std::vector<double> host_doubles(10000);
    CHECK(curandGenerateUniform(device, floats.device, 10000));
    CHECK(curandGenerateUniform(host, host_floats.data(), 10000));
    REQUIRE(floats.now() == host_floats);
    CHECK(curandGenerateNormalDouble(device, doubles.device, 10000, 1, 2));
    CHECK(curandGenerateNormalDouble(host, host_doubles.data(), 10000, 1, 2));
    REQUIRE(doubles.now() == host_doubles);
    CHECK(curandGenerateUniformDouble(device, doubles.device, 10000));
    CHECK(curandGenerateUniformDouble(host, host_doubles.data(), 10000));
    REQUIRE(doubles.now() == host_doubles);
    CHECK(curandGenerateLogNormal(device, floats.device, 10000, 0, 0.5f));
    CHECK(curandGenerateLogNormal(host, host_floats.data(), 10000, 0, 0.5f));
    REQUIRE(floats.now() == host_floats);
    double sum = 0;
    for (float value : host_floats) {
      REQUIRE(value > 0);
      sum += std::log(value);
    }
    REQUIRE(std::abs(sum / 10000) < 0.02);
    CHECK(curandDestroyGenerator(device));
    CHECK(curandDestroyGenerator(host));
  }
}

static void test_graph() {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  Array<unsigned> found(5000), twice(10000);
  Handle generator = made(XORWOW, 5), other = made(XORWOW, 5);
  CHECK(curandGenerate(other, twice.device, 10000));
  CHECK(cudaStreamCreate(&stream));
  CHECK(curandSetStream(generator, stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(curandGenerate(generator, found.device, 5000));
  CHECK(cudaStreamEndCapture(stream, &graph));
  REQUIRE(found.now()[0] == 0);
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  // Each launch continues where the last one ended.
  for (int launch = 0; launch < 2; launch++) {
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    auto all = twice.now();
    REQUIRE(found.now() == std::vector<unsigned>(all.begin() + 5000 * launch, all.begin() + 5000 * (launch + 1)));
  }
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  CHECK(curandDestroyGenerator(generator));
  CHECK(curandDestroyGenerator(other));
  CHECK(cudaStreamDestroy(stream));
}

// The layout that the device's interface reads.
struct Histogram {
  double *thresholds, *host_thresholds;
  unsigned *others, *host_others, host_gen;
};
struct ShiftedHistogram {
  Histogram *histogram, *host_histogram;
  unsigned shift, length, host_gen;
};
struct Distribution {
  Distribution *self;
  ShiftedHistogram *table, *host_table;
  double stddev, mean;
  int method;
  unsigned host_gen;
};

__global__ void poisson(const Distribution *distribution, const unsigned *bits, unsigned *output, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    double u = bits[i] * 2.3283064365386963e-10 + 2.3283064365386963e-10;
    const ShiftedHistogram *table = distribution->table;
    int column = int(floor(table->length * u));
    output[i] = table->shift + (u < table->histogram->thresholds[column] ? column : table->histogram->others[column]);
  }
}

static void test_discrete() {
  const int count = 20000;
  Array<unsigned> bits(count), wanted(count), found(count);
  Handle generator = made(XORWOW, 11), same = made(XORWOW, 11);
  Discrete distribution;
  CHECK(curandCreatePoissonDistribution(12.5, &distribution));
  CHECK(curandGenerate(generator, bits.device, count));
  poisson<<<(count + 127) / 128, 128>>>(distribution, bits.device, wanted.device, count);
  CHECK(curandGeneratePoisson(same, found.device, count, 12.5));
  REQUIRE(found.now() == wanted.now());
  double sum = 0;
  for (unsigned value : found.now())
    sum += value;
  REQUIRE(std::abs(sum / count - 12.5) < 0.1);
  CHECK(curandDestroyDistribution(distribution));
  CHECK(curandDestroyGenerator(generator));
  CHECK(curandDestroyGenerator(same));
}

static void test_errors() {
  Handle generator;
  Array<unsigned> output(100);
  Array<float> floats(100);
  Array<unsigned long long> wide(100);
  FAILS(curandCreateGenerator(&generator, 7), TYPE_ERROR);
  FAILS(curandCreateGenerator(&generator, MTGP32), TYPE_ERROR);
  FAILS(curandGenerate(nullptr, output.device, 10), NOT_INITIALIZED);
  generator = made(XORWOW);
  FAILS(curandSetQuasiRandomGeneratorDimensions(generator, 2), TYPE_ERROR);
  FAILS(curandSetGeneratorOrdering(generator, 201), OUT_OF_RANGE);
  FAILS(curandGenerateNormal(generator, floats.device, 3, 0, 1), LENGTH_NOT_MULTIPLE);
  FAILS(curandGeneratePoisson(generator, output.device, 10, -1), OUT_OF_RANGE);
  FAILS(curandGenerateLongLong(generator, wide.device, 10), TYPE_ERROR);
  CHECK(curandDestroyGenerator(generator));
  generator = made(SOBOL64);
  FAILS(curandSetPseudoRandomGeneratorSeed(generator, 1), TYPE_ERROR);
  FAILS(curandSetQuasiRandomGeneratorDimensions(generator, 20001), OUT_OF_RANGE);
  FAILS(curandGenerate(generator, output.device, 10), TYPE_ERROR);
  CHECK(curandSetQuasiRandomGeneratorDimensions(generator, 7));
  FAILS(curandGenerateLongLong(generator, wide.device, 10), LENGTH_NOT_MULTIPLE);
  CHECK(curandGenerateLongLong(generator, wide.device, 14));
  REQUIRE(wide.now()[1] == 1ull << 63);
  CHECK(curandDestroyGenerator(generator));
  int version = 0, major = 0;
  CHECK(curandGetVersion(&version));
  CHECK(curandGetProperty(0, &major));
  REQUIRE(version >= 10000 && major == 10);
}

int main() {
  test_against_kernels();
  test_host_generators();
  test_graph();
  test_discrete();
  test_errors();
  std::printf("passed\n");
}
