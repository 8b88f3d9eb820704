// CUDA's textures and surfaces, which PTX reaches by numbers: the addresses of their descriptors, which the CUDA driver makes
// (`crates/builtins/src/texel.rs`).
//
// The descriptor alone decides the type of a texture read: floats if the format or the read mode has them, else integers.
// Both come as 32 bits. Filters weigh texels by fractions of 8 bits, as GPUs do.
#include "texel.h"

typedef struct {
  Image image;
  // One along each dimension; the filter is the same in all.
  uint samplers[3];
  float border[4];
  int has_border, is_float, texel_bytes;
  // Memory for accesses outside of a surface that are to read zeros or to do nothing.
  ulong zeros, sink;
} Texture;
#define OF(handle) ((const __constant Texture *)(handle))

#define BORDER_FLOAT (float4)(t->border[0], t->border[1], t->border[2], t->border[3])
#define BORDER_UINT \
  (uint4)((uint)(int)t->border[0], (uint)(int)t->border[1], (uint)(int)t->border[2], (uint)(int)t->border[3])
#define BITS(color) __builtin_astype(color, uint4)

// The texel at indices that may be outside only along dimensions with a border.
static READS uint4 texel(const __constant Texture *t, int i, int j, int k, int offset) {
  return t->is_float ? BITS(texel_float(&t->image, t->has_border, i, j, k, offset, BORDER_FLOAT))
                     : texel_uint(&t->image, t->has_border, i, j, k, offset, BORDER_UINT);
}

// GPUs mirror indices, where OpenCL mirrors coordinates: edges of texels belong to the texel above them in both directions.
#define IS_MIRRORED(sampler) (MODE(sampler) == CLK_ADDRESS_MIRRORED_REPEAT)
static PURE float in_two_periods(float u, int size) { return (u - 2.0f * __builtin_floorf(0.5f * u)) * (float)size; }
static PURE int mirrored(float index, int size) {
  int i = (int)bounded(index, 0, 2.0f * (float)size);
  return at_edge(i > size - 1 ? 2 * size - 1 - i : i, size);
}
static PURE int nearest_index(uint sampler, float u, int size) {
  return IS_MIRRORED(sampler) ? mirrored(__builtin_floorf(in_two_periods(u, size)), size) : nearest(sampler, u, size);
}

static PURE Pair indices_of(uint sampler, float u, int size) {
  if (!IS_MIRRORED(sampler)) return neighbours(sampler, u, size);
  float v = in_two_periods(u, size) - 0.5f, low = __builtin_floorf(v);
  Pair pair = {mirrored(low, size), mirrored(low + 1.0f, size), v - low};
  return pair;
}

// GPUs round weights to the nearest multiple of 1/256, ties up.
static PURE Pair pair_of(uint sampler, float u, int size) {
  Pair pair = indices_of(sampler, u, size);
  pair.weight = __builtin_floorf(pair.weight * 256.0f + 0.5f) * (1 / 256.0f);
  return pair;
}

#define CORNER(i, j, k) texel_float(&t->image, t->has_border, i, j, k, offset, BORDER_FLOAT)
#define ALONG_X(j, k) mixed(CORNER(x.low, j, k), CORNER(x.high, j, k), x.weight)
#define ALONG_Y(k) (dims > 1 ? mixed(ALONG_X(y.low, k), ALONG_X(y.high, k), y.weight) : ALONG_X(0, k))
static READS uint4 sample(const __constant Texture *t, int dims, float u, float v, float w, int layer) {
  int offset = at_edge(layer, t->image.layers) * t->image.slice_pitch;
  const __constant uint *samplers = t->samplers;
  if (!IS_LINEAR(samplers[0])) {
    return texel(t, nearest_index(samplers[0], u, t->image.width),
                 dims > 1 ? nearest_index(samplers[1], v, t->image.height) : 0,
                 dims > 2 ? nearest_index(samplers[2], w, t->image.depth) : 0, offset);
  }
  Pair x = pair_of(samplers[0], u, t->image.width);
  Pair y = pair_of(samplers[1], v, t->image.height);
  Pair z = pair_of(samplers[2], w, t->image.depth);
  return BITS((dims > 2 ? mixed(ALONG_Y(z.low), ALONG_Y(z.high), z.weight) : ALONG_Y(0)));
}

#define INDEX(sampler, i, size) ((MODE(sampler) == CLK_ADDRESS_CLAMP) ? (i) : at_edge(i, size))
static READS uint4 fetch(const __constant Texture *t, int dims, int i, int j, int k, int layer) {
  int offset = at_edge(layer, t->image.layers) * t->image.slice_pitch;
  return texel(t, INDEX(t->samplers[0], i, t->image.width), dims > 1 ? INDEX(t->samplers[1], j, t->image.height) : 0,
               dims > 2 ? INDEX(t->samplers[2], k, t->image.depth) : 0, offset);
}

#define SAMPLES(name, dims) \
  LONG_READS uint4 sample_##name(ulong handle, float x, float y, float z, int layer) __asm("heddle.texture.sample_" #name); \
  LONG_READS uint4 sample_##name(ulong handle, float x, float y, float z, int layer) { \
    return sample(OF(handle), dims, x, y, z, layer); \
  } \
  LONG_READS uint4 fetch_##name(ulong handle, int x, int y, int z, int layer) __asm("heddle.texture.fetch_" #name); \
  LONG_READS uint4 fetch_##name(ulong handle, int x, int y, int z, int layer) { \
    return fetch(OF(handle), dims, x, y, z, layer); \
  }
SAMPLES(1d, 1)
SAMPLES(2d, 2)
SAMPLES(3d, 3)

// One component of the four texels that a linear filter would weigh, counter-clockwise from the lower left.
LONG_READS uint4 gather(ulong handle, float x, float y, int component) __asm("heddle.texture.gather");
LONG_READS uint4 gather(ulong handle, float u, float v, int component) {
  const __constant Texture *t = OF(handle);
  Pair x = indices_of(t->samplers[0], u, t->image.width), y = indices_of(t->samplers[1], v, t->image.height);
  uint4 a = texel(t, x.low, y.high, 0, 0), b = texel(t, x.high, y.high, 0, 0);
  uint4 c = texel(t, x.high, y.low, 0, 0), d = texel(t, x.low, y.low, 0, 0);
  switch (component) {
    case 0: return (uint4)(a.x, b.x, c.x, d.x);
    case 1: return (uint4)(a.y, b.y, c.y, d.y);
    case 2: return (uint4)(a.z, b.z, c.z, d.z);
    default: return (uint4)(a.w, b.w, c.w, d.w);
  }
}

#define SIZE_OF(name) \
  READS uint size_##name(ulong handle) __asm("heddle.texture." #name); \
  READS uint size_##name(ulong handle) { return (uint)OF(handle)->image.name; }
SIZE_OF(width)
SIZE_OF(height)
SIZE_OF(depth)

// Clamp modes of surface accesses, as the PTX lowering numbers them.
enum { TRAP, CLAMP, READ_ZERO, WRITE_NOTHING };

// An address that faults. Null would not do: compilers conclude that it does not occur.
#define NOWHERE 64

// The address of `bytes` bytes of a surface, `x` bytes into a row.
READS ulong surface_address(ulong handle, int x, int y, int z, int layer, int bytes, int mode) __asm(
    "heddle.surface.address");
READS ulong surface_address(ulong handle, int x, int y, int z, int layer, int bytes, int mode) {
  const __constant Texture *t = OF(handle);
  IMAGE image = &t->image;
  int last = image->width * t->texel_bytes - bytes;
  bool is_inside = x >= 0 && x <= last && IS_INSIDE(y, image->height) && IS_INSIDE(z, image->depth) &&
                   IS_INSIDE(layer, image->layers);
  x = at_edge(x, last + 1);
  y = at_edge(y, image->height);
  z = at_edge(z, image->depth);
  layer = at_edge(layer, image->layers);
  ulong inside = (ulong)image->data + (ulong)(z + layer) * (ulong)image->slice_pitch + (ulong)y * (ulong)image->row_pitch + (ulong)x;
  ulong outside = mode == CLAMP ? inside : mode == READ_ZERO ? t->zeros : mode == WRITE_NOTHING ? t->sink : NOWHERE;
  return is_inside ? inside : outside;
}
