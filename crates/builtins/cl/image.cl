// OpenCL C's images and samplers (`texel.h` has their texels). Samplers that the program states are constants, which decide
// all branches on modes.
#include "texel.h"

__attribute__((always_inline, const, nothrow)) uint translated_sampler(uint bits) __asm(
    "__translate_sampler_initializer");
uint translated_sampler(uint bits) { return bits; }

// --- samples ---

static PURE float4 border_float(IMAGE image) { return (float4)(0, 0, 0, image->border_alpha); }
static PURE uint4 border_uint(IMAGE image) { return (uint4)(0, 0, 0, (uint)image->border_alpha); }

// Samples at `offset` bytes, in one to three dimensions.
#define HAS_BORDER(sampler) (MODE(sampler) == CLK_ADDRESS_CLAMP)
#define NEAREST(dims, kind) \
  texel_##kind(image, HAS_BORDER(sampler), nearest(sampler, u, image->width), \
               dims > 1 ? nearest(sampler, v, image->height) : 0, dims > 2 ? nearest(sampler, w, image->depth) : 0, \
               offset, border_##kind(image))
#define CORNER(i, j, k) texel_float(image, HAS_BORDER(sampler), i, j, k, offset, border_float(image))
#define ALONG_X(j, k) mixed(CORNER(x.low, j, k), CORNER(x.high, j, k), x.weight)
#define ALONG_Y(k) (dims > 1 ? mixed(ALONG_X(y.low, k), ALONG_X(y.high, k), y.weight) : ALONG_X(0, k))
#define SAMPLE(dims_of) \
  static READS float4 sample_inline_float_##dims_of(IMAGE image, uint sampler, float u, float v, float w, int offset) { \
    enum { dims = dims_of }; \
    if (!IS_LINEAR(sampler)) { \
      return NEAREST(dims, float); \
    } \
    Pair x = neighbours(sampler, u, image->width); \
    Pair y = neighbours(sampler, v, image->height); \
    Pair z = neighbours(sampler, w, image->depth); \
    return dims > 2 ? mixed(ALONG_Y(z.low), ALONG_Y(z.high), z.weight) : ALONG_Y(0); \
  } \
  static READS uint4 sample_inline_uint_##dims_of(IMAGE image, uint sampler, float u, float v, float w, int offset) { \
    return NEAREST(dims_of, uint); \
  } \
  SAMPLE_CALLED(float, float4, dims_of) \
  SAMPLE_CALLED(uint, uint4, dims_of)
// A sampler that is an argument decides at run time, in a function of its own.
#define SAMPLE_CALLED(kind, V, dims_of) \
  static LONG_READS V sample_called_##kind##_##dims_of(IMAGE image, uint sampler, float u, float v, float w, \
                                                       int offset) { \
    return sample_inline_##kind##_##dims_of(image, sampler, u, v, w, offset); \
  } \
  static READS V sample_##kind##_##dims_of(IMAGE image, uint sampler, float u, float v, float w, int offset) { \
    return __builtin_constant_p(sampler) ? sample_inline_##kind##_##dims_of(image, sampler, u, v, w, offset) \
                                         : sample_called_##kind##_##dims_of(image, sampler, u, v, w, offset); \
  }
SAMPLE(1)
SAMPLE(2)
SAMPLE(3)

// Texels at whole coordinates: outside of the image they are the border's with CLK_ADDRESS_CLAMP, else the nearest.
#define FETCH(kind, V) \
  static READS V fetch_##kind(IMAGE image, uint sampler, int x, int y, int z, int offset) { \
    return HAS_BORDER(sampler) \
               ? texel_##kind(image, true, x, y, z, offset, border_##kind(image)) \
               : texel_##kind(image, false, at_edge(x, image->width), at_edge(y, image->height), \
                              at_edge(z, image->depth), offset, border_##kind(image)); \
  } \
  static READS V data_fetch_##kind(IMAGE image, int x, int y, int z, int offset) { \
    int row = at_edge(z, image->depth) * image->slice_pitch + at_edge(y, image->height) * image->row_pitch; \
    return data_##kind(image, offset + row, at_edge(x, image->width)); \
  }
FETCH(float, float4)
FETCH(uint, uint4)

// Stores outside of the image are left out.
#define STORE(kind, V) \
  static WRITES void store_##kind(IMAGE image, int x, int y, int z, int layer, V color) { \
    bool is_inside = IS_INSIDE(x, image->width) && IS_INSIDE(y, image->height) && IS_INSIDE(z, image->depth) && \
                     IS_INSIDE(layer, image->layers); \
    if (is_inside) { \
      put_##kind(image, (z + layer) * image->slice_pitch + y * image->row_pitch, x, color); \
    } \
  }
STORE(float, float4)
STORE(uint, uint4)

// --- builtins ---

// Coordinates and layers of an argument `at`.
#define NO_LAYER(at) 0
#define LAYER_Y(at) at.y
#define LAYER_Z(at) at.z
#define C1_X(at) at
#define C1_Y(at) 0
#define C1_Z(at) 0
#define C2_X(at) at.x
#define C2_Y(at) at.y
#define C2_Z(at) 0
#define C3_X(at) at.x
#define C3_Y(at) at.y
#define C3_Z(at) at.z
#define CA_X(at) at.x
#define CA_Y(at) 0
#define CA_Z(at) 0

// X(dims, type name, mangled type, coordinates, vector suffix, mangled vector prefix, layer)
#define SAMPLED(X, ...) \
  X(1, image1d, "14ocl_image1d", C1, , "", NO_LAYER, __VA_ARGS__) \
  X(2, image2d, "14ocl_image2d", C2, 2, "Dv2_", NO_LAYER, __VA_ARGS__) \
  X(3, image3d, "14ocl_image3d", C3, 4, "Dv4_", NO_LAYER, __VA_ARGS__) \
  X(1, image1d_array, "20ocl_image1d_array", CA, 2, "Dv2_", LAYER_Y, __VA_ARGS__) \
  X(2, image2d_array, "20ocl_image2d_array", C2, 4, "Dv4_", LAYER_Z, __VA_ARGS__)
#define INDEXED(X, ...) SAMPLED(X, __VA_ARGS__) X(1, image1d_buffer, "21ocl_image1d_buffer", C1, , "", NO_LAYER, __VA_ARGS__)
#define DEPTH(X, ...) \
  X(2, image2d_depth, "20ocl_image2d_depth", C2, 2, "Dv2_", NO_LAYER, __VA_ARGS__) \
  X(2, image2d_array_depth, "26ocl_image2d_array_depth", C2, 4, "Dv4_", LAYER_Z, __VA_ARGS__)

// Defines the functions of one result: `name` with its mangled length, the kind of texels, the type, the cast.
#define READ(dims, type, mangled, C, n, vector, layer, name, name_mangled, kind, V, cast) \
  READS V name##_##type##_sampled(IMAGE image, uint sampler, float##n at) __asm( \
      name_mangled mangled "_ro11ocl_sampler" vector "f"); \
  READS V name##_##type##_sampled(IMAGE image, uint sampler, float##n at) { \
    int offset = layer_of(layer(at), image->layers) * image->slice_pitch; \
    return cast(sample_##kind##_##dims(image, sampler, C##_X(at), C##_Y(at), C##_Z(at), offset)); \
  } \
  READS V name##_##type##_at(IMAGE image, uint sampler, int##n at) __asm( \
      name_mangled mangled "_ro11ocl_sampler" vector "i"); \
  READS V name##_##type##_at(IMAGE image, uint sampler, int##n at) { \
    int offset = at_edge(layer(at), image->layers) * image->slice_pitch; \
    return cast(fetch_##kind(image, sampler, C##_X(at), C##_Y(at), C##_Z(at), offset)); \
  }
#define READ_PLAIN(dims, type, mangled, C, n, vector, layer, name, name_mangled, kind, V, cast) \
  READS V name##_##type##_ro(IMAGE image, int##n at) __asm(name_mangled mangled "_ro" vector "i"); \
  READS V name##_##type##_ro(IMAGE image, int##n at) { \
    int offset = at_edge(layer(at), image->layers) * image->slice_pitch; \
    return cast(fetch_##kind(image, 0, C##_X(at), C##_Y(at), C##_Z(at), offset)); \
  } \
  READS V name##_##type##_rw(IMAGE image, int##n at) __asm(name_mangled mangled "_rw" vector "i"); \
  READS V name##_##type##_rw(IMAGE image, int##n at) { \
    int offset = at_edge(layer(at), image->layers) * image->slice_pitch; \
    return cast(data_fetch_##kind(image, C##_X(at), C##_Y(at), C##_Z(at), offset)); \
  }
#define AS_INT(v) __builtin_astype(v, int4)
#define RED(v) (v).x
SAMPLED(READ, read_imagef, "_Z11read_imagef", float, float4, )
#define AS_HALVES(v) __builtin_convertvector(v, half4)
SAMPLED(READ, read_imageh, "_Z11read_imageh", float, half4, AS_HALVES)
SAMPLED(READ, read_imagei, "_Z11read_imagei", uint, int4, AS_INT)
SAMPLED(READ, read_imageui, "_Z12read_imageui", uint, uint4, )
DEPTH(READ, read_imagef, "_Z11read_imagef", float, float, RED)
INDEXED(READ_PLAIN, read_imagef, "_Z11read_imagef", float, float4, )
INDEXED(READ_PLAIN, read_imageh, "_Z11read_imageh", float, half4, AS_HALVES)
INDEXED(READ_PLAIN, read_imagei, "_Z11read_imagei", uint, int4, AS_INT)
INDEXED(READ_PLAIN, read_imageui, "_Z12read_imageui", uint, uint4, )
DEPTH(READ_PLAIN, read_imagef, "_Z11read_imagef", float, float, RED)

#define WRITE_TO(dims, type, mangled, C, n, vector, layer, access, name, name_mangled, kind, V, color, cast) \
  WRITES void name##_##type##_##access(IMAGE image, int##n at, V value) __asm( \
      name_mangled mangled "_" #access vector "i" color); \
  WRITES void name##_##type##_##access(IMAGE image, int##n at, V value) { \
    store_##kind(image, C##_X(at), C##_Y(at), C##_Z(at), layer(at), cast(value)); \
  }
#define NARROW(X, ...) \
  X(1, image1d, "14ocl_image1d", C1, , "", NO_LAYER, __VA_ARGS__) \
  X(1, image1d_buffer, "21ocl_image1d_buffer", C1, , "", NO_LAYER, __VA_ARGS__) \
  X(2, image2d, "14ocl_image2d", C2, 2, "Dv2_", NO_LAYER, __VA_ARGS__) \
  X(1, image1d_array, "20ocl_image1d_array", CA, 2, "Dv2_", LAYER_Y, __VA_ARGS__)
#define WIDE(X, ...) \
  X(3, image3d, "14ocl_image3d", C3, 4, "Dv4_", NO_LAYER, __VA_ARGS__) \
  X(2, image2d_array, "20ocl_image2d_array", C2, 4, "Dv4_", LAYER_Z, __VA_ARGS__)
#define AS_UINT(v) __builtin_astype(v, uint4)
#define AS_FLOATS(v) __builtin_convertvector(v, float4)
#define SPREAD(v) (float4)(v, 0, 0, 1)
#define WRITE_ACCESS(access) \
  INDEXED(WRITE_TO, access, write_imagef, "_Z12write_imagef", float, float4, "Dv4_f", ) \
  INDEXED(WRITE_TO, access, write_imageh, "_Z12write_imageh", float, half4, "Dv4_Dh", AS_FLOATS) \
  NARROW(WRITE_TO, access, write_imagei, "_Z12write_imagei", uint, int4, "Dv4_i", AS_UINT) \
  WIDE(WRITE_TO, access, write_imagei, "_Z12write_imagei", uint, int4, "S0_", AS_UINT) \
  INDEXED(WRITE_TO, access, write_imageui, "_Z13write_imageui", uint, uint4, "Dv4_j", ) \
  DEPTH(WRITE_TO, access, write_imagef, "_Z12write_imagef", float, float, "f", SPREAD)
WRITE_ACCESS(wo)
WRITE_ACCESS(rw)

#define QUERY_OF(name, type, access, label, T, value) \
  READS T name##_##type##_##access(IMAGE image) __asm(label); \
  READS T name##_##type##_##access(IMAGE image) { return value; }
#define QUERIES_OF(dims, type, mangled, C, n, vector, layer, access) \
  QUERY_OF(get_image_width, type, access, "_Z15get_image_width" mangled "_" #access, int, image->width) \
  QUERY_OF(get_image_channel_data_type, type, access, "_Z27get_image_channel_data_type" mangled "_" #access, int, \
           image->channel_type) \
  QUERY_OF(get_image_channel_order, type, access, "_Z23get_image_channel_order" mangled "_" #access, int, \
           image->channel_order)
#define SIZES_OF(type, mangled, access, V, ...) \
  QUERY_OF(get_image_height, type, access, "_Z16get_image_height" mangled "_" #access, int, image->height) \
  QUERY_OF(get_image_dim, type, access, "_Z13get_image_dim" mangled "_" #access, V, (V)(__VA_ARGS__))
#define LAYERS_OF(type, mangled, access) \
  QUERY_OF(get_image_array_size, type, access, "_Z20get_image_array_size" mangled "_" #access, size_t, \
           (size_t)image->layers)
#define QUERY_ACCESS(access) \
  INDEXED(QUERIES_OF, access) \
  DEPTH(QUERIES_OF, access) \
  SIZES_OF(image2d, "14ocl_image2d", access, int2, image->width, image->height) \
  SIZES_OF(image2d_array, "20ocl_image2d_array", access, int2, image->width, image->height) \
  SIZES_OF(image2d_depth, "20ocl_image2d_depth", access, int2, image->width, image->height) \
  SIZES_OF(image2d_array_depth, "26ocl_image2d_array_depth", access, int2, image->width, image->height) \
  SIZES_OF(image3d, "14ocl_image3d", access, int4, image->width, image->height, image->depth, 0) \
  QUERY_OF(get_image_depth, image3d, access, "_Z15get_image_depth14ocl_image3d_" #access, int, image->depth) \
  LAYERS_OF(image1d_array, "20ocl_image1d_array", access) \
  LAYERS_OF(image2d_array, "20ocl_image2d_array", access) \
  LAYERS_OF(image2d_array_depth, "26ocl_image2d_array_depth", access)
QUERY_ACCESS(ro)
QUERY_ACCESS(wo)
QUERY_ACCESS(rw)
