// Textures and surfaces against a reference on the host, which follows the CUDA programming guide's formulas: formats, filters,
// addressing, dimensions, layers, arrays, linear and pitched memory, copies, surfaces and their boundary modes, refusals.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define DO(call) \
  do { \
    cudaError_t code = (call); \
    if (code != cudaSuccess) { \
      std::printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(code)); \
      std::exit(1); \
    } \
  } while (0)
#define EXPECT(condition) \
  do { \
    if (!(condition)) { \
      std::printf("line %d: not %s\n", __LINE__, #condition); \
      std::exit(1); \
    } \
  } while (0)

static unsigned seed = 1;
static unsigned random_bits() { return (seed = seed * 1664525u + 1013904223u) >> 8; }

// --- the reference ---

struct Image {
  int dims;
  bool layered;
  int size[3];
  int layers;
  std::vector<double> texels;  // four components each
  const double *at(int i, int j, int k, int layer) const {
    return &texels[4 * ((static_cast<size_t>(layer + k) * size[1] + j) * size[0] + i)];
  }
};

// An index along one dimension by its addressing mode; -1 is the border.
static int address(int i, int size, int mode) {
  switch (mode) {
    case cudaAddressModeWrap: return ((i % size) + size) % size;
    case cudaAddressModeMirror: {
      int period = ((i % (2 * size)) + 2 * size) % (2 * size);
      return period < size ? period : 2 * size - 1 - period;
    }
    case cudaAddressModeBorder: return i < 0 || i >= size ? -1 : i;
    default: return std::min(std::max(i, 0), size - 1);
  }
}

struct Modes {
  int addressing[3];
  bool linear, normalized;
  float border[4];
};

static void look_up(const Image &image, const Modes &modes, const int at[3], int layer, double out[4]) {
  int index[3] = {0, 0, 0};
  for (int d = 0; d < image.dims; d++) {
    int mode = modes.addressing[d];
    if (!modes.normalized && mode != cudaAddressModeBorder) mode = cudaAddressModeClamp;
    index[d] = address(at[d], image.size[d], mode);
    if (index[d] < 0) {
      for (int c = 0; c < 4; c++) out[c] = modes.border[c];
      return;
    }
  }
  std::memcpy(out, image.at(index[0], index[1], index[2], layer), 4 * sizeof(double));
}

static void reference(const Image &image, const Modes &modes, const float *at, int layer, double out[4]) {
  layer = std::min(std::max(layer, 0), image.layers - 1);
  int low[3] = {0, 0, 0};
  double weight[3] = {0, 0, 0};
  for (int d = 0; d < image.dims; d++) {
    double x = at[d];
    if (modes.normalized) x *= image.size[d];
    double shifted = modes.linear ? x - 0.5 : x;
    low[d] = int(std::floor(shifted));
    // Fractions have 8 bits, rounded to nearest with ties up.
    if (modes.linear) weight[d] = std::floor((shifted - low[d]) * 256 + 0.5) / 256;
  }
  for (int c = 0; c < 4; c++) out[c] = 0;
  for (int corner = 0; corner < (modes.linear ? 1 << image.dims : 1); corner++) {
    int place[3];
    double share = 1, texel[4];
    for (int d = 0; d < 3; d++) {
      bool high = corner >> d & 1;
      place[d] = low[d] + high;
      share *= high ? weight[d] : 1 - weight[d];
    }
    look_up(image, modes, place, layer, texel);
    for (int c = 0; c < 4; c++) out[c] += share * texel[c];
  }
}

// --- textures of arrays ---

enum Way { LINE, PLANE, VOLUME, LINES, PLANES };

template <class T, int way>
__global__ void sample(cudaTextureObject_t texture, const float4 *at, T *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 p = at[i];
  int layer = int(p.w);
  if (way == LINE) out[i] = tex1D<T>(texture, p.x);
  if (way == PLANE) out[i] = tex2D<T>(texture, p.x, p.y);
  if (way == VOLUME) out[i] = tex3D<T>(texture, p.x, p.y, p.z);
  if (way == LINES) out[i] = tex1DLayered<T>(texture, p.x, layer);
  if (way == PLANES) out[i] = tex2DLayered<T>(texture, p.x, p.y, layer);
}

template <class E> struct Element;
template <> struct Element<float> { static constexpr double one = 1; static float random() { return float(random_bits() % 1000) / 8 - 50; } };
template <> struct Element<__half> { static constexpr double one = 1; static __half random() { return __float2half(float(random_bits() % 1000) / 8 - 50); } };
#define INTEGER(T, maximum) \
  template <> struct Element<T> { static constexpr double one = maximum; static T random() { return static_cast<T>(random_bits() * 2654435761u >> 3); } };
INTEGER(unsigned char, 255.0)
INTEGER(signed char, 127.0)
INTEGER(unsigned short, 65535.0)
INTEGER(short, 32767.0)
INTEGER(int, 1)
INTEGER(unsigned, 1)
static double number(float v) { return v; }
static double number(__half v) { return __half2float(v); }
template <class E> static double number(E v) { return double(v); }

static int checked = 0;

// Compares textures of one format: elements `E`, `channels` of them, read as `T` with components `C`.
template <class E, class T, class C, int way>
static void compare(cudaTextureReadMode read, int channels, cudaChannelFormatDesc format) {
  constexpr int count = 192;
  Image image{};
  image.dims = way == LINE || way == LINES ? 1 : way == VOLUME ? 3 : 2;
  image.layered = way == LINES || way == PLANES;
  const int sizes[3] = {13, 8, 5};
  for (int d = 0; d < 3; d++) image.size[d] = d < image.dims ? sizes[d] : 1;
  image.layers = image.layered ? 3 : 1;
  size_t texels = size_t(image.size[0]) * image.size[1] * image.size[2] * image.layers;
  std::vector<E> data(texels * channels);
  image.texels.assign(texels * 4, 0);
  for (size_t i = 0; i < texels; i++) {
    for (int c = 0; c < channels; c++) {
      E element = Element<E>::random();
      data[i * channels + c] = element;
      double value = number(element);
      if (read == cudaReadModeNormalizedFloat) value = std::max(value / Element<E>::one, -1.0);
      image.texels[i * 4 + c] = value;
    }
  }
  cudaArray_t array;
  size_t height = image.dims > 1 ? image.size[1] : 0, depth = image.dims > 2 ? image.size[2] : image.layered ? image.layers : 0;
  DO(cudaMalloc3DArray(&array, &format, make_cudaExtent(image.size[0], height, depth), image.layered ? cudaArrayLayered : 0));
  cudaMemcpy3DParms copy{};
  size_t row = sizeof(E) * channels * image.size[0];
  copy.srcPtr = make_cudaPitchedPtr(data.data(), row, image.size[0], image.size[1]);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(image.size[0], image.size[1], std::max<size_t>(depth, 1));
  copy.kind = cudaMemcpyHostToDevice;
  DO(cudaMemcpy3D(&copy));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  float4 *at;
  T *out;
  DO(cudaMallocManaged(&at, count * sizeof(float4)));
  DO(cudaMallocManaged(&out, count * sizeof(T)));
  bool is_float = read == cudaReadModeNormalizedFloat || format.f == cudaChannelFormatKindFloat;
  for (int mode = 0; mode < 16; mode++) {
    Modes modes{};
    // Each dimension has a mode of its own.
    for (int d = 0; d < 3; d++) modes.addressing[d] = (mode + d * (mode >> 2)) & 3;
    modes.normalized = mode >> 3;
    modes.linear = mode >> 2 & 1;
    if (modes.linear && !is_float) continue;
    for (int c = 0; c < 4; c++) modes.border[c] = is_float ? 0.25f * (c + 1) : float(c + 1);
    cudaTextureDesc texture{};
    for (int d = 0; d < 3; d++) texture.addressMode[d] = cudaTextureAddressMode(modes.addressing[d]);
    texture.filterMode = modes.linear ? cudaFilterModeLinear : cudaFilterModePoint;
    texture.readMode = read;
    texture.normalizedCoords = modes.normalized;
    std::memcpy(texture.borderColor, modes.border, sizeof modes.border);
    cudaTextureObject_t object;
    DO(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
    for (int i = 0; i < count; i++) {
      // Fractions that floats hold, inside and outside.
      float *p = &at[i].x;
      for (int d = 0; d < 3; d++) {
        int range = modes.normalized ? 4096 : 3 * image.size[d] * 1024;
        p[d] = float(int(random_bits() % (modes.normalized ? 4 * range : range)) - (modes.normalized ? 2 * range : range / 3)) / (modes.normalized ? 4096 : 1024);
      }
      at[i].w = float(int(random_bits() % 6) - 1);
    }
    // A row of neighbours.
    for (int i = 0; i < 64 && !modes.normalized; i++) at[i] = make_float4(i - 20.0f, 3.5f, 1.5f, 1);
    sample<T, way><<<3, 64>>>(object, at, out, count);
    DO(cudaGetLastError());
    DO(cudaDeviceSynchronize());
    for (int i = 0; i < count; i++) {
      double expected[4];
      reference(image, modes, &at[i].x, int(at[i].w), expected);
      const C *got = reinterpret_cast<const C *>(&out[i]);
      for (int c = 0; c < channels; c++) {
        // Integers wrap to the type that is read.
        double value = double(got[c]), wanted = expected[c];
        double slack = is_float ? 1e-5 * std::max(1.0, std::fabs(wanted)) : 0;
        if (std::fabs(value - wanted) > slack) {
          std::printf("format %d/%d/%d way %d mode %d: at (%g, %g, %g, %g) component %d is %.9g, not %.9g\n", format.x, channels,
                      int(format.f), way, mode, at[i].x, at[i].y, at[i].z, at[i].w, c, value, wanted);
          std::exit(1);
        }
        checked++;
      }
    }
    DO(cudaDestroyTextureObject(object));
  }
  cudaChannelFormatDesc found;
  cudaExtent extent;
  unsigned flags;
  DO(cudaArrayGetInfo(&found, &extent, &flags, array));
  EXPECT(std::memcmp(&found, &format, sizeof found) == 0 && extent.width == 13 && extent.height == height && extent.depth == depth);
  DO(cudaFree(at));
  DO(cudaFree(out));
  DO(cudaFreeArray(array));
}

static cudaChannelFormatDesc channels(int bits, int count, cudaChannelFormatKind kind) {
  return cudaCreateChannelDesc(bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 2 ? bits : 0, kind);
}

static void formats() {
  const auto E = cudaReadModeElementType, N = cudaReadModeNormalizedFloat;
  const auto S = cudaChannelFormatKindSigned, U = cudaChannelFormatKindUnsigned, F = cudaChannelFormatKindFloat;
  compare<float, float, float, PLANE>(E, 1, channels(32, 1, F));
  compare<float, float2, float, PLANE>(E, 2, channels(32, 2, F));
  compare<float, float4, float, PLANE>(E, 4, channels(32, 4, F));
  compare<__half, float, float, PLANE>(E, 1, channels(16, 1, F));
  compare<__half, float4, float, PLANE>(E, 4, channels(16, 4, F));
  compare<unsigned char, unsigned char, unsigned char, PLANE>(E, 1, channels(8, 1, U));
  compare<unsigned char, uchar4, unsigned char, PLANE>(E, 4, channels(8, 4, U));
  compare<unsigned char, float, float, PLANE>(N, 1, channels(8, 1, U));
  compare<unsigned char, float4, float, PLANE>(N, 4, channels(8, 4, U));
  compare<signed char, char2, signed char, PLANE>(E, 2, channels(8, 2, S));
  compare<signed char, float2, float, PLANE>(N, 2, channels(8, 2, S));
  compare<unsigned short, unsigned short, unsigned short, PLANE>(E, 1, channels(16, 1, U));
  compare<unsigned short, float4, float, PLANE>(N, 4, channels(16, 4, U));
  compare<short, short2, short, PLANE>(E, 2, channels(16, 2, S));
  compare<short, float, float, PLANE>(N, 1, channels(16, 1, S));
  compare<int, int, int, PLANE>(E, 1, channels(32, 1, S));
  compare<int, int4, int, PLANE>(E, 4, channels(32, 4, S));
  compare<unsigned, uint2, unsigned, PLANE>(E, 2, channels(32, 2, U));
  compare<float, float, float, LINE>(E, 1, channels(32, 1, F));
  compare<unsigned char, uchar4, unsigned char, LINE>(E, 4, channels(8, 4, U));
  compare<float, float, float, VOLUME>(E, 1, channels(32, 1, F));
  compare<unsigned char, float4, float, VOLUME>(N, 4, channels(8, 4, U));
  compare<float, float, float, LINES>(E, 1, channels(32, 1, F));
  compare<float, float2, float, PLANES>(E, 2, channels(32, 2, F));
  compare<short, short2, short, PLANES>(E, 2, channels(16, 2, S));
}

// --- textures of linear and pitched memory, gathers ---

__global__ void fetch(cudaTextureObject_t texture, int *out, int n) {
  int i = threadIdx.x;
  if (i < n) out[i] = tex1Dfetch<int>(texture, i - 4);
}

__global__ void fetch_bytes(cudaTextureObject_t texture, float *out) {
  out[threadIdx.x] = tex1Dfetch<float>(texture, int(threadIdx.x));
}

__global__ void pitched(cudaTextureObject_t texture, float *out, int width) {
  out[threadIdx.y * width + threadIdx.x] = tex2D<float>(texture, threadIdx.x + 0.5f, threadIdx.y + 0.5f) +
                                           1000 * tex2DLod<float>(texture, threadIdx.x, threadIdx.y, 2.0f);
}

__global__ void gather(cudaTextureObject_t texture, float4 *out) {
  out[threadIdx.x] = tex2Dgather<float4>(texture, threadIdx.x + 0.75f, 2.25f, 1);
}

static void memories() {
  int *numbers, *out;
  DO(cudaMalloc(&numbers, 32 * sizeof(int)));
  DO(cudaMallocManaged(&out, 64 * sizeof(int)));
  std::vector<int> data(32);
  for (int i = 0; i < 32; i++) data[i] = 100 + i;
  DO(cudaMemcpy(numbers, data.data(), 32 * sizeof(int), cudaMemcpyHostToDevice));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = numbers;
  resource.res.linear.desc = cudaCreateChannelDesc<int>();
  resource.res.linear.sizeInBytes = 32 * sizeof(int);
  cudaTextureDesc texture{};
  texture.readMode = cudaReadModeElementType;
  cudaTextureObject_t object;
  DO(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
  fetch<<<1, 64>>>(object, out, 40);
  DO(cudaDeviceSynchronize());
  for (int i = 0; i < 40; i++) EXPECT(out[i] == (i < 4 || i >= 36 ? 0 : 96 + i));
  DO(cudaDestroyTextureObject(object));
  EXPECT(cudaDestroyTextureObject(object) == cudaErrorInvalidValue);
  // Bytes as fractions.
  resource.res.linear.desc = cudaCreateChannelDesc<unsigned char>();
  texture.readMode = cudaReadModeNormalizedFloat;
  DO(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
  fetch_bytes<<<1, 64>>>(object, reinterpret_cast<float *>(out));
  DO(cudaDeviceSynchronize());
  for (int i = 0; i < 64; i++) {
    float wanted = reinterpret_cast<unsigned char *>(data.data())[i] / 255.0f;
    EXPECT(std::fabs(reinterpret_cast<float *>(out)[i] - wanted) < 1e-6f);
  }
  DO(cudaDestroyTextureObject(object));
  // Rows with gaps.
  float *rows, *seen;
  size_t pitch;
  DO(cudaMallocPitch(reinterpret_cast<void **>(&rows), &pitch, 6 * sizeof(float), 5));
  DO(cudaMallocManaged(&seen, 30 * sizeof(float)));
  std::vector<float> values(30);
  for (int i = 0; i < 30; i++) values[i] = float(i);
  DO(cudaMemcpy2D(rows, pitch, values.data(), 24, 24, 5, cudaMemcpyHostToDevice));
  resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = rows;
  resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
  resource.res.pitch2D.width = 6;
  resource.res.pitch2D.height = 5;
  resource.res.pitch2D.pitchInBytes = pitch;
  texture.readMode = cudaReadModeElementType;
  texture.addressMode[0] = texture.addressMode[1] = cudaAddressModeClamp;
  DO(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
  pitched<<<1, dim3(6, 5)>>>(object, seen, 6);
  DO(cudaDeviceSynchronize());
  for (int i = 0; i < 30; i++) EXPECT(seen[i] == 1001 * values[i]);
  DO(cudaDestroyTextureObject(object));
  DO(cudaFree(rows));
  // Gathers: the second component of four texels.
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float2>();
  cudaArray_t array;
  DO(cudaMallocArray(&array, &format, 5, 3, cudaArrayTextureGather));
  DO(cudaMemcpy2DToArray(array, 0, 0, values.data(), 40, 40, 3, cudaMemcpyHostToDevice));
  resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  DO(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
  float4 *four;
  DO(cudaMallocManaged(&four, 4 * sizeof(float4)));
  gather<<<1, 4>>>(object, four);
  DO(cudaDeviceSynchronize());
  for (int i = 0; i < 4; i++) {
    auto texel = [&](int x, int y) { return values[10 * y + 2 * std::min(x, 4) + 1]; };
    EXPECT(four[i].x == texel(i, 2) && four[i].y == texel(i + 1, 2) && four[i].z == texel(i + 1, 1) && four[i].w == texel(i, 1));
  }
  DO(cudaDestroyTextureObject(object));
  DO(cudaFreeArray(array));
}

// --- surfaces ---

__global__ void invert(cudaSurfaceObject_t surface, int width, int height) {
  int x = threadIdx.x, y = threadIdx.y;
  if (x >= width || y >= height) return;
  uchar4 value = surf2Dread<uchar4>(surface, x * 4, y);
  surf2Dwrite(make_uchar4(value.y, value.x, value.w, 255 - value.z), surface, x * 4, y);
}

__global__ void around(cudaSurfaceObject_t surface, float *out) {
  int x = int(threadIdx.x) - 2;
  out[threadIdx.x] = surf1Dread<float>(surface, x * 4, cudaBoundaryModeZero);
  out[8 + threadIdx.x] = surf1Dread<float>(surface, x * 4, cudaBoundaryModeClamp);
  __syncthreads();
  surf1Dwrite(10.0f + x, surface, x * 4, cudaBoundaryModeZero);
}

__global__ void volumes(cudaSurfaceObject_t volume, cudaSurfaceObject_t layers) {
  int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  surf3Dwrite(make_short2(short(x + 10 * y), short(z)), volume, x * 4, y, z);
  surf2DLayeredwrite(make_short2(short(z), short(x + 10 * y)), layers, x * 4, y, z);
}

__global__ void beyond(cudaSurfaceObject_t surface) { surf1Dwrite(1.0f, surface, 4 * 4); }

static cudaSurfaceObject_t surface_of(cudaArray_t array) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface;
  DO(cudaCreateSurfaceObject(&surface, &resource));
  return surface;
}

static void surfaces() {
  cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
  cudaArray_t plane;
  DO(cudaMallocArray(&plane, &format, 7, 5, cudaArraySurfaceLoadStore));
  std::vector<uchar4> pixels(35), seen(35);
  for (uchar4 &pixel : pixels) pixel = make_uchar4(random_bits(), random_bits(), random_bits(), random_bits());
  DO(cudaMemcpy2DToArray(plane, 0, 0, pixels.data(), 28, 28, 5, cudaMemcpyHostToDevice));
  cudaSurfaceObject_t surface = surface_of(plane);
  invert<<<1, dim3(8, 8)>>>(surface, 7, 5);
  DO(cudaDeviceSynchronize());
  DO(cudaMemcpy2DFromArray(seen.data(), 28, plane, 0, 0, 28, 5, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 35; i++) {
    uchar4 is = seen[i], was = pixels[i];
    EXPECT(is.x == was.y && is.y == was.x && is.z == was.w && is.w == 255 - was.z);
  }
  DO(cudaDestroySurfaceObject(surface));
  // A part of one array into another.
  cudaArray_t other;
  DO(cudaMallocArray(&other, &format, 7, 5));
  DO(cudaMemcpy2DArrayToArray(other, 4, 1, plane, 8, 2, 12, 2));
  DO(cudaMemcpy2DFromArray(pixels.data(), 12, other, 4, 1, 12, 2, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 6; i++) EXPECT(std::memcmp(&pixels[i], &seen[(2 + i / 3) * 7 + 2 + i % 3], 4) == 0);
  EXPECT(cudaMemcpy2DToArray(plane, 4, 0, seen.data(), 28, 28, 5, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  DO(cudaFreeArray(plane));
  DO(cudaFreeArray(other));
  // Outside of a line.
  format = cudaCreateChannelDesc<float>();
  cudaArray_t line;
  DO(cudaMallocArray(&line, &format, 4, 0, cudaArraySurfaceLoadStore));
  const float four[4] = {1, 2, 3, 4};
  DO(cudaMemcpyToArray(line, 0, 0, four, 16, cudaMemcpyHostToDevice));
  surface = surface_of(line);
  float *out;
  DO(cudaMallocManaged(&out, 16 * sizeof(float)));
  around<<<1, 8>>>(surface, out);
  DO(cudaDeviceSynchronize());
  const float zeros[8] = {0, 0, 1, 2, 3, 4, 0, 0}, clamped[8] = {1, 1, 1, 2, 3, 4, 4, 4};
  EXPECT(std::memcmp(out, zeros, 32) == 0 && std::memcmp(out + 8, clamped, 32) == 0);
  DO(cudaMemcpyFromArray(out, line, 0, 0, 16, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 4; i++) EXPECT(out[i] == 10 + i);
  // Volumes and layers.
  format = cudaCreateChannelDesc<short2>();
  cudaArray_t volume, layers;
  DO(cudaMalloc3DArray(&volume, &format, make_cudaExtent(4, 3, 2), cudaArraySurfaceLoadStore));
  DO(cudaMalloc3DArray(&layers, &format, make_cudaExtent(4, 3, 2), cudaArraySurfaceLoadStore | cudaArrayLayered));
  cudaSurfaceObject_t of_volume = surface_of(volume), of_layers = surface_of(layers);
  volumes<<<1, dim3(4, 3, 2)>>>(of_volume, of_layers);
  DO(cudaDeviceSynchronize());
  for (cudaArray_t from : {volume, layers}) {
    short2 all[2][3][4];
    cudaMemcpy3DParms copy{};
    copy.srcArray = from;
    copy.dstPtr = make_cudaPitchedPtr(all, 16, 4, 3);
    copy.extent = make_cudaExtent(4, 3, 2);
    copy.kind = cudaMemcpyDeviceToHost;
    DO(cudaMemcpy3D(&copy));
    for (int z = 0; z < 2; z++)
      for (int y = 0; y < 3; y++)
        for (int x = 0; x < 4; x++) {
          short2 wanted = from == volume ? make_short2(x + 10 * y, z) : make_short2(z, x + 10 * y);
          EXPECT(std::memcmp(&all[z][y][x], &wanted, 4) == 0);
        }
  }
  // What is not there says so.
  cudaMipmappedArray_t mipmapped;
  EXPECT(cudaMallocMipmappedArray(&mipmapped, &format, make_cudaExtent(4, 4, 0), 2) == cudaErrorNotSupported);
  cudaArray_t cubes;
  EXPECT(cudaMalloc3DArray(&cubes, &format, make_cudaExtent(4, 4, 6), cudaArrayCubemap) == cudaErrorNotSupported);
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = layers;
  cudaTextureDesc texture{};
  texture.filterMode = cudaFilterModeLinear;
  cudaTextureObject_t object;
  EXPECT(cudaCreateTextureObject(&object, &resource, &texture, nullptr) != cudaSuccess);
  cudaGetLastError();
  // The default mode ends the launch.
  beyond<<<1, 1>>>(surface);
  EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

int main() {
  formats();
  memories();
  surfaces();
  std::printf("%d components agree; passed\n", checked);
  return 0;
}
