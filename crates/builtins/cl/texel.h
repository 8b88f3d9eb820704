// Descriptors of images, and their texels: decoded, encoded, and found by coordinates.
//
// An image is the address of a descriptor, which a driver makes (`crates/builtins/src/texel.rs`); a sampler is its bits.
// Texels are decoded in functions that are called, one for each kind of result: their branches on the format are
// uniform, and a program has them once. Launches know the formats of their images: code for them has no such branches.
// Kernels that take images are recognized by the functions' names. Coordinates outside of an image never lead outside of its memory.
#include "common.h"

typedef struct {
  __global uchar *data;
  // Address of the data again, for images that no work-item writes.
  const __constant uchar *texels;
  // Linear values of the 256 sRGB bytes.
  const __constant float *srgb;
  // In bytes.
  int row_pitch, slice_pitch;
  int width, height, depth, layers;
  int layout, order;
  float border_alpha;
  int channel_type, channel_order;
} Image;
#define IMAGE const __constant Image *

#define READS __attribute__((always_inline, nothrow, pure))
#define LONG_READS __attribute__((noinline, nothrow, pure))
#define WRITES __attribute__((always_inline, nothrow))
#define LONG_WRITES __attribute__((noinline, nothrow))

// Layouts: what a channel is, and the logarithm of the channels of a texel.
enum {
  UNORM8, SNORM8, UNORM16, SNORM16, HALF, FLOAT, SRGB8, SINT8, SINT16, SINT32, UINT8, UINT16, UINT32,
  PACKED_565, PACKED_555, PACKED_101010, PACKED_101010_2
};
#define LAYOUT(kind, channels) ((kind)*4 + (channels))

// Orders of channels that are not RGBA, or its first ones.
enum { IN_ORDER, ALPHA, RED_ALPHA, INTENSITY, LUMINANCE, BGRA, ARGB, ABGR };

#define MODE(sampler) ((sampler)&14)
#define IS_NORMALIZED(sampler) ((sampler)&CLK_NORMALIZED_COORDS_TRUE)
#define IS_LINEAR(sampler) (((sampler)&48) == CLK_FILTER_LINEAR)

// --- texels to numbers ---

#define BITS_AT(t, low, count) (((t) >> (low)) & ((1u << (count)) - 1))
#define SIGNED_AT(t, low, count) ((int)((t) << (32 - (low) - (count))) >> (32 - (count)))

static PURE float from_unorm8(uint t) { return (float)(int)t * (1 / 255.0f); }
static PURE float from_unorm16(uint t) { return (float)(int)t * (1 / 65535.0f); }
static PURE float from_snorm8(int t) { return __builtin_fmaxf((float)t * (1 / 127.0f), -1.0f); }
static PURE float from_snorm16(int t) { return __builtin_fmaxf((float)t * (1 / 32767.0f), -1.0f); }
static PURE float from_half(uint t) { return (float)__builtin_astype((ushort)t, half); }

#define U8(t, low) from_unorm8(BITS_AT(t, low, 8))
#define S8(t, low) from_snorm8(SIGNED_AT(t, low, 8))
#define U16(t, low) from_unorm16(BITS_AT(t, low, 16))
#define S16(t, low) from_snorm16(SIGNED_AT(t, low, 16))
#define H16(t, low) from_half(BITS_AT(t, low, 16))
#define L8(t, low) image->srgb[BITS_AT(t, low, 8)]
#define I8(t, low) (uint) SIGNED_AT(t, low, 8)
#define I16(t, low) (uint) SIGNED_AT(t, low, 16)
#define N8(t, low) BITS_AT(t, low, 8)
#define N16(t, low) BITS_AT(t, low, 16)

// Lanes that read or write neighbours of one row access memory in one piece. Coordinates rarely show it to the compiler:
// they are clamped, and often computed from floats.
__attribute__((const, nothrow)) int own_lane(void) __asm("heddle.lane");
__attribute__((convergent, nothrow)) bool own_all(bool) __asm("heddle.all");
__attribute__((convergent, nothrow)) int own_first(int) __asm("heddle.first_i32");
#define IN_ROW(call, ...) \
  int lane = own_lane(), first = own_first(x - lane), first_row = own_first(row); \
  if (own_all(x - lane == first && row == first_row)) { \
    call(image, first_row, (long)first + lane, ##__VA_ARGS__); \
  } else { \
    call(image, row, x, ##__VA_ARGS__); \
  }

#define TEXEL_AT(space, T) (((const space T *)at)[x])
// Cases of one, two and four channels of 8, 16 or 32 bits; `from` decodes bits of a word.
#define CASES_8(kind, space, V, from, alpha) \
  case LAYOUT(kind, 0): { \
    uint t = TEXEL_AT(space, uchar); \
    return (V)(from(t, 0), 0, 0, 1); \
  } \
  case LAYOUT(kind, 1): { \
    uint t = TEXEL_AT(space, ushort); \
    return (V)(from(t, 0), from(t, 8), 0, 1); \
  } \
  case LAYOUT(kind, 2): { \
    uint t = TEXEL_AT(space, uint); \
    return (V)(from(t, 0), from(t, 8), from(t, 16), alpha(t, 24)); \
  }
#define CASES_16(kind, space, V, from) \
  case LAYOUT(kind, 0): { \
    uint t = TEXEL_AT(space, ushort); \
    return (V)(from(t, 0), 0, 0, 1); \
  } \
  case LAYOUT(kind, 1): { \
    uint t = TEXEL_AT(space, uint); \
    return (V)(from(t, 0), from(t, 16), 0, 1); \
  } \
  case LAYOUT(kind, 2): { \
    uint2 t = TEXEL_AT(space, uint2); \
    return (V)(from(t.x, 0), from(t.x, 16), from(t.y, 0), from(t.y, 16)); \
  }
#define CASES_32(kind, space, V, T) \
  case LAYOUT(kind, 0): { \
    T t = TEXEL_AT(space, T); \
    return (V)(t, 0, 0, 1); \
  } \
  case LAYOUT(kind, 1): { \
    T##2 t = TEXEL_AT(space, T##2); \
    return (V)(t.x, t.y, 0, 1); \
  } \
  case LAYOUT(kind, 2): { \
    return TEXEL_AT(space, T##4); \
  }

// The color of channels in their order in memory.
#define IN_RGBA(V) \
  static PURE V in_rgba(V c, int order) { \
    switch (order) { \
      case ALPHA: return (V)(0, 0, 0, c.x); \
      case RED_ALPHA: return (V)(c.x, 0, 0, c.y); \
      case INTENSITY: return (V)(c.x, c.x, c.x, c.x); \
      case LUMINANCE: return (V)(c.x, c.x, c.x, 1); \
      case BGRA: return (V)(c.z, c.y, c.x, c.w); \
      case ARGB: return (V)(c.y, c.z, c.w, c.x); \
      case ABGR: return (V)(c.w, c.z, c.y, c.x); \
      default: return c; \
    } \
  }
IN_RGBA(float4)
IN_RGBA(uint4)

// The texel `x` of a row, which is `row` bytes behind the image's start.
#define TEXELS(space, field) \
  static READS float4 field##_channels_float(IMAGE image, int row, long x) { \
    const space uchar *at = image->field + row; \
    switch (image->layout) { \
      CASES_8(UNORM8, space, float4, U8, U8) \
      CASES_8(SNORM8, space, float4, S8, S8) \
      CASES_8(SRGB8, space, float4, L8, U8) \
      CASES_16(UNORM16, space, float4, U16) \
      CASES_16(SNORM16, space, float4, S16) \
      CASES_16(HALF, space, float4, H16) \
      CASES_32(FLOAT, space, float4, float) \
      case LAYOUT(PACKED_565, 0): { \
        uint t = TEXEL_AT(space, ushort); \
        return (float4)(BITS_AT(t, 11, 5) * (1 / 31.0f), BITS_AT(t, 5, 6) * (1 / 63.0f), \
                        BITS_AT(t, 0, 5) * (1 / 31.0f), 1); \
      } \
      case LAYOUT(PACKED_555, 0): { \
        uint t = TEXEL_AT(space, ushort); \
        return (float4)(BITS_AT(t, 10, 5) * (1 / 31.0f), BITS_AT(t, 5, 5) * (1 / 31.0f), \
                        BITS_AT(t, 0, 5) * (1 / 31.0f), 1); \
      } \
      case LAYOUT(PACKED_101010, 0): { \
        uint t = TEXEL_AT(space, uint); \
        return (float4)(BITS_AT(t, 20, 10) * (1 / 1023.0f), BITS_AT(t, 10, 10) * (1 / 1023.0f), \
                        BITS_AT(t, 0, 10) * (1 / 1023.0f), 1); \
      } \
      case LAYOUT(PACKED_101010_2, 0): { \
        uint t = TEXEL_AT(space, uint); \
        return (float4)(BITS_AT(t, 22, 10) * (1 / 1023.0f), BITS_AT(t, 12, 10) * (1 / 1023.0f), \
                        BITS_AT(t, 2, 10) * (1 / 1023.0f), BITS_AT(t, 0, 2) * (1 / 3.0f)); \
      } \
      default: return (float4)(0, 0, 0, 0); \
    } \
  } \
  static READS uint4 field##_channels_uint(IMAGE image, int row, long x) { \
    const space uchar *at = image->field + row; \
    switch (image->layout) { \
      CASES_8(SINT8, space, uint4, I8, I8) \
      CASES_8(UINT8, space, uint4, N8, N8) \
      CASES_16(SINT16, space, uint4, I16) \
      CASES_16(UINT16, space, uint4, N16) \
      CASES_32(SINT32, space, uint4, uint) \
      CASES_32(UINT32, space, uint4, uint) \
      /* The bits of floats, as GPUs give them: programs keep doubles so. */ \
      CASES_32(FLOAT, space, uint4, uint) \
      default: return (uint4)(0, 0, 0, 0); \
    } \
  } \
  static LONG_READS float4 field##_float(IMAGE image, int row, int x) __asm("heddle.image." #field "_float"); \
  static LONG_READS float4 field##_float(IMAGE image, int row, int x) { \
    float4 channels; \
    IN_ROW(channels = field##_channels_float) \
    return in_rgba(channels, image->order); \
  } \
  static LONG_READS uint4 field##_uint(IMAGE image, int row, int x) __asm("heddle.image." #field "_uint"); \
  static LONG_READS uint4 field##_uint(IMAGE image, int row, int x) { \
    uint4 channels; \
    IN_ROW(channels = field##_channels_uint) \
    return in_rgba(channels, image->order); \
  }
TEXELS(__constant, texels)
TEXELS(__global, data)

// --- numbers to texels ---

static PURE int rounded(float x, float low, float high) {
  return (int)__builtin_rintf(__builtin_fminf(__builtin_fmaxf(x, low), high));
}
static PURE uint limited(uint x, uint high) { return x < high ? x : high; }
static PURE uint limited_signed(uint x, int low, int high) {
  int y = (int)x;
  return (uint)(y < low ? low : y < high ? y : high);
}

#define TO_U8(v) (uint) rounded((v)*255.0f, 0, 255)
#define TO_S8(v) ((uint)rounded((v)*127.0f, -128, 127) & 0xff)
#define TO_U16(v) (uint) rounded((v)*65535.0f, 0, 65535)
#define TO_S16(v) ((uint)rounded((v)*32767.0f, -32768, 32767) & 0xffff)
#define TO_H16(v) (uint) __builtin_astype((half)(v), ushort)
#define TO_I8(v) (limited_signed(v, -128, 127) & 0xff)
#define TO_I16(v) (limited_signed(v, -32768, 32767) & 0xffff)
#define TO_N8(v) limited(v, 0xff)
#define TO_N16(v) limited(v, 0xffff)

#define PUT(T, value) \
  ((__global T *)at)[x] = (T)(value); \
  break;
#define PUT_8(kind, to) \
  case LAYOUT(kind, 0): PUT(uchar, to(c.x)) \
  case LAYOUT(kind, 1): PUT(ushort, to(c.x) | to(c.y) << 8) \
  case LAYOUT(kind, 2): PUT(uint, to(c.x) | to(c.y) << 8 | to(c.z) << 16 | to(c.w) << 24)
#define PUT_16(kind, to) \
  case LAYOUT(kind, 0): PUT(ushort, to(c.x)) \
  case LAYOUT(kind, 1): PUT(uint, to(c.x) | to(c.y) << 16) \
  case LAYOUT(kind, 2): PUT(uint2, ((uint2)(to(c.x) | to(c.y) << 16, to(c.z) | to(c.w) << 16)))
#define PUT_32(kind, T) \
  case LAYOUT(kind, 0): PUT(T, c.x) \
  case LAYOUT(kind, 1): PUT(T##2, c.xy) \
  case LAYOUT(kind, 2): PUT(T##4, c)

// Channels in their order in memory.
#define IN_MEMORY(V) \
  static PURE V in_memory(V c, int order) { \
    switch (order) { \
      case ALPHA: return (V)(c.w, 0, 0, 0); \
      case RED_ALPHA: return (V)(c.x, c.w, 0, 0); \
      case BGRA: return (V)(c.z, c.y, c.x, c.w); \
      case ARGB: return (V)(c.w, c.x, c.y, c.z); \
      case ABGR: return (V)(c.w, c.z, c.y, c.x); \
      default: return c; \
    } \
  }
IN_MEMORY(float4)
IN_MEMORY(uint4)

static WRITES void put_channels_float(IMAGE image, int row, long x, float4 c) {
  __global uchar *at = image->data + row;
  switch (image->layout) {
    PUT_8(UNORM8, TO_U8)
    PUT_8(SNORM8, TO_S8)
    PUT_16(UNORM16, TO_U16)
    PUT_16(SNORM16, TO_S16)
    PUT_16(HALF, TO_H16)
    PUT_32(FLOAT, float)
    case LAYOUT(PACKED_565, 0):
      PUT(ushort, rounded(c.x * 31.0f, 0, 31) << 11 | rounded(c.y * 63.0f, 0, 63) << 5 | rounded(c.z * 31.0f, 0, 31))
    case LAYOUT(PACKED_555, 0):
      PUT(ushort, rounded(c.x * 31.0f, 0, 31) << 10 | rounded(c.y * 31.0f, 0, 31) << 5 | rounded(c.z * 31.0f, 0, 31))
    case LAYOUT(PACKED_101010, 0):
      PUT(uint, rounded(c.x * 1023.0f, 0, 1023) << 20 | rounded(c.y * 1023.0f, 0, 1023) << 10 |
                    rounded(c.z * 1023.0f, 0, 1023))
    case LAYOUT(PACKED_101010_2, 0):
      PUT(uint, (uint)rounded(c.x * 1023.0f, 0, 1023) << 22 | (uint)rounded(c.y * 1023.0f, 0, 1023) << 12 |
                    (uint)rounded(c.z * 1023.0f, 0, 1023) << 2 | (uint)rounded(c.w * 3.0f, 0, 3))
    default: break;
  }
}

static WRITES void put_channels_uint(IMAGE image, int row, long x, uint4 c) {
  __global uchar *at = image->data + row;
  switch (image->layout) {
    PUT_8(SINT8, TO_I8)
    PUT_8(UINT8, TO_N8)
    PUT_16(SINT16, TO_I16)
    PUT_16(UINT16, TO_N16)
    PUT_32(SINT32, uint)
    PUT_32(UINT32, uint)
    PUT_32(FLOAT, uint)
    default: break;
  }
}

static LONG_WRITES void put_float(IMAGE image, int row, int x, float4 color) __asm("heddle.image.put_float");
static LONG_WRITES void put_float(IMAGE image, int row, int x, float4 color) {
  float4 channels = in_memory(color, image->order);
  IN_ROW(put_channels_float, channels)
}
static LONG_WRITES void put_uint(IMAGE image, int row, int x, uint4 color) __asm("heddle.image.put_uint");
static LONG_WRITES void put_uint(IMAGE image, int row, int x, uint4 color) {
  uint4 channels = in_memory(color, image->order);
  IN_ROW(put_channels_uint, channels)
}

// --- coordinates ---

static PURE int at_edge(int i, int size) {
  i = i < size - 1 ? i : size - 1;
  return i > 0 ? i : 0;
}
static PURE int layer_of(float layer, int layers) {
  return (int)__builtin_fmaxf(__builtin_fminf(__builtin_rintf(layer), (float)(layers - 1)), 0.0f);
}
static PURE float bounded(float x, float low, float high) { return __builtin_fminf(__builtin_fmaxf(x, low), high); }

// The index of the nearest texel along one dimension; -1 or the size for the border.
static PURE int nearest(uint sampler, float u, int size) {
  float s = (float)size;
  switch (MODE(sampler)) {
    case CLK_ADDRESS_REPEAT: {
      int i = (int)bounded(__builtin_floorf((u - __builtin_floorf(u)) * s), 0, s);
      return i > size - 1 ? i - size : i;
    }
    case CLK_ADDRESS_MIRRORED_REPEAT: {
      float v = __builtin_fabsf(u - 2.0f * __builtin_rintf(0.5f * u));
      return at_edge((int)bounded(__builtin_floorf(v * s), 0, s), size);
    }
    default: {
      int i = (int)bounded(__builtin_floorf(IS_NORMALIZED(sampler) ? u * s : u), -1, s);
      return MODE(sampler) == CLK_ADDRESS_CLAMP ? i : at_edge(i, size);
    }
  }
}

// The texels on both sides, and the weight of the second.
typedef struct {
  int low, high;
  float weight;
} Pair;
static PURE Pair neighbours(uint sampler, float u, int size) {
  float s = (float)size;
  Pair pair;
  switch (MODE(sampler)) {
    case CLK_ADDRESS_REPEAT: {
      float v = (u - __builtin_floorf(u)) * s - 0.5f, low = __builtin_floorf(v);
      pair.weight = v - low;
      pair.low = (int)bounded(low, -1, s - 1);
      pair.high = pair.low + 1;
      pair.low = pair.low < 0 ? pair.low + size : pair.low;
      pair.high = pair.high > size - 1 ? pair.high - size : pair.high;
      return pair;
    }
    case CLK_ADDRESS_MIRRORED_REPEAT: {
      float v = __builtin_fabsf(u - 2.0f * __builtin_rintf(0.5f * u)) * s - 0.5f, low = __builtin_floorf(v);
      pair.weight = v - low;
      pair.low = (int)bounded(low, -1, s - 1);
      pair.high = at_edge(pair.low + 1, size);
      pair.low = at_edge(pair.low, size);
      return pair;
    }
    default: {
      float v = (IS_NORMALIZED(sampler) ? u * s : u) - 0.5f, low = __builtin_floorf(v);
      pair.weight = v - low;
      pair.low = (int)bounded(low, -2, s);
      pair.high = pair.low + 1;
      if (MODE(sampler) != CLK_ADDRESS_CLAMP) {
        pair.low = at_edge(pair.low, size);
        pair.high = at_edge(pair.high, size);
      }
      return pair;
    }
  }
}

#define IS_INSIDE(i, size) ((uint)(i) < (uint)(size))

// Texels whose indices may be outside where the sampler has a border, and are inside otherwise.
#define TEXEL_OR_BORDER(kind, V) \
  static READS V texel_##kind(IMAGE image, bool has_border, int i, int j, int k, int offset, V border) { \
    if (!has_border) { \
      return texels_##kind(image, offset + k * image->slice_pitch + j * image->row_pitch, i); \
    } \
    bool is_inside = IS_INSIDE(i, image->width) && IS_INSIDE(j, image->height) && IS_INSIDE(k, image->depth); \
    int row = is_inside ? k * image->slice_pitch + j * image->row_pitch : 0; \
    V texel = texels_##kind(image, offset + row, is_inside ? i : 0); \
    return is_inside ? texel : border; \
  }
TEXEL_OR_BORDER(float, float4)
TEXEL_OR_BORDER(uint, uint4)

static PURE float4 mixed(float4 a, float4 b, float weight) { return a * (1.0f - weight) + b * weight; }
