// Filters on pictures of bytes, 16-bit numbers and floats.
#include "nests.h"
#include <math.h>

#define PLANE(columns, rows) {.width = columns, .height = rows, .depth = 1}
static const struct nest_data floats[] = {PLANE(64, 48), PLANE(320, 240), PLANE(1920, 1080), {0}};
static const struct nest_data bytes[] = {PLANE(120, 90), PLANE(640, 480), PLANE(1920, 1080), {0}};
static const struct nest_data many_bytes[] = {PLANE(120, 90), PLANE(640, 480), PLANE(1920, 1080), PLANE(8192, 4096), {0}};

typedef unsigned char byte;
static inline int clamped(int value) { return value < 0 ? 0 : value > 255 ? 255 : value; }
static inline int least(int a, int b) { return a < b ? a : b; }
static inline int most(int a, int b) { return a > b ? a : b; }

/// A filter with weights that are read from an array. Sums of integers are shifted and clamped, those of floats are not.
#define FILTER(function, pixel, weight, sum_type, radius, start, result)                                               \
  static void function(struct nest_data *d) {                                                                          \
    pixel *restrict out = d->out;                                                                                      \
    const pixel *restrict in = d->in;                                                                                  \
    const weight *restrict weights = d->weights;                                                                       \
    long width = d->width, height = d->height;                                                                         \
    NEST(2)                                                                                                            \
    for (long y = radius; y < height - radius; y++)                                                                    \
      INNER                                                                                                            \
      for (long x = radius; x < width - radius; x++) {                                                                 \
        sum_type sum = start;                                                                                          \
        for (int v = -radius; v <= radius; v++)                                                                        \
          for (int u = -radius; u <= radius; u++)                                                                      \
            sum += weights[(v + radius) * (2 * radius + 1) + u + radius] * in[(y + v) * width + x + u];                \
        out[y * width + x] = result;                                                                                   \
      }                                                                                                                \
  }
FILTER(filter3, float, float, float, 1, 0, sum)
FILTER(filter5, float, float, float, 2, 0, sum)
FILTER(filter7, float, float, float, 3, 0, sum)
FILTER(filter9, float, float, float, 4, 0, sum)
FILTER(byte_filter5, byte, int, int, 2, 32, clamped(sum >> 6))
FILTER(byte_filter7, byte, int, int, 3, 64, clamped(sum >> 7))
FILTER(short_filter3, short, int, int, 1, 8, most(-32768, least(sum >> 4, 32767)))

/// The two passes of a separable filter.
#define PASS(function, along_x, pixel, value)                                                                          \
  static void function(struct nest_data *d) {                                                                          \
    pixel *restrict out = d->out;                                                                                      \
    const pixel *restrict in = d->in;                                                                                  \
    long width = d->width, height = d->height, step = along_x ? 1 : width;                                             \
    long left = along_x ? 3 : 0, top = along_x ? 0 : 3;                                                                \
    NEST(2)                                                                                                            \
    for (long y = top; y < height - top; y++)                                                                          \
      INNER                                                                                                            \
      for (long x = left; x < width - left; x++) {                                                                     \
        const pixel *at = &in[y * width + x];                                                                          \
        out[y * width + x] = value;                                                                                    \
      }                                                                                                                \
  }
#define GAUSS_FLOAT                                                                                                    \
  0.376f * at[0] + 0.239f * (at[-step] + at[step]) + 0.061f * (at[-2 * step] + at[2 * step]) +                         \
      0.012f * (at[-3 * step] + at[3 * step])
#define GAUSS_BYTE                                                                                                     \
  (20 * at[0] + 15 * (at[-step] + at[step]) + 6 * (at[-2 * step] + at[2 * step]) + at[-3 * step] + at[3 * step] + 32) >> 6
PASS(gauss_row, 1, float, GAUSS_FLOAT)
PASS(gauss_column, 0, float, GAUSS_FLOAT)
PASS(byte_gauss_row, 1, byte, GAUSS_BYTE)
PASS(byte_gauss_column, 0, byte, GAUSS_BYTE)

/// Distances of a block of 8 x 8 pixels from each block of a picture.
static void match(struct nest_data *d) {
  unsigned short *restrict out = d->out;
  const byte *restrict in = d->in, *restrict block = d->other;
  long width = d->width, height = d->height;
  NEST(2)
  for (long y = 0; y < height - 7; y++)
    INNER
    for (long x = 0; x < width - 7; x++) {
      int sum = 0;
      for (int v = 0; v < 8; v++)
        for (int u = 0; u < 8; u++) {
          int difference = in[(y + v) * width + x + u] - block[v * 8 + u];
          sum += difference < 0 ? -difference : difference;
        }
      out[y * width + x] = sum;
    }
}

/// A mean of 5 x 5 pixels in which those that differ count less: by a table of differences, and by a quotient.
static void byte_bilateral(struct nest_data *d) {
  byte *restrict out = d->out;
  const byte *restrict in = d->in;
  const float *restrict table = d->weights;
  long width = d->width, height = d->height;
  NEST(2)
  for (long y = 2; y < height - 2; y++)
    INNER
    for (long x = 2; x < width - 2; x++) {
      int here = in[y * width + x];
      float sum = 0, total = 0;
      for (int v = -2; v <= 2; v++)
        for (int u = -2; u <= 2; u++) {
          int there = in[(y + v) * width + x + u], difference = there - here;
          float weight = table[difference < 0 ? -difference : difference];
          sum += weight * (float)there;
          total += weight;
        }
      out[y * width + x] = (byte)(sum / total);
    }
}

static void bilateral(struct nest_data *d) {
  float *restrict out = d->out;
  const float *restrict in = d->in;
  long width = d->width, height = d->height;
  NEST(2)
  for (long y = 2; y < height - 2; y++)
    INNER
    for (long x = 2; x < width - 2; x++) {
      float here = in[y * width + x], sum = 0, total = 0;
      for (int v = -2; v <= 2; v++)
        for (int u = -2; u <= 2; u++) {
          float there = in[(y + v) * width + x + u], difference = there - here;
          float weight = 1 / (1 + 20 * difference * difference);
          sum += weight * there;
          total += weight;
        }
      out[y * width + x] = sum / total;
    }
}

/// The middle one of nine pixels, by exchanges of two.
#define SORT(a, b)                                                                                                     \
  {                                                                                                                    \
    pixel low = a < b ? a : b, high = a < b ? b : a;                                                                   \
    a = low;                                                                                                           \
    b = high;                                                                                                          \
  }
#define MEDIAN(function, type)                                                                                         \
  static void function(struct nest_data *d) {                                                                          \
    typedef type pixel;                                                                                                \
    pixel *restrict out = d->out;                                                                                      \
    const pixel *restrict in = d->in;                                                                                  \
    long width = d->width, height = d->height;                                                                         \
    NEST(2)                                                                                                            \
    for (long y = 1; y < height - 1; y++)                                                                              \
      INNER                                                                                                            \
      for (long x = 1; x < width - 1; x++) {                                                                           \
        const pixel *at = &in[y * width + x], *above = at - width, *below = at + width;                                \
        pixel a = above[-1], b = above[0], c = above[1], e = at[-1], f = at[0], g = at[1];                             \
        pixel h = below[-1], i = below[0], j = below[1];                                                               \
        SORT(b, c) SORT(f, g) SORT(i, j) SORT(a, b) SORT(e, f) SORT(h, i) SORT(b, c) SORT(f, g) SORT(i, j)             \
        SORT(a, e) SORT(g, j) SORT(f, i) SORT(e, h) SORT(b, f) SORT(c, g) SORT(f, i) SORT(f, c) SORT(h, f) SORT(f, c)  \
        out[y * width + x] = f;                                                                                        \
      }                                                                                                                \
  }
MEDIAN(median, float)
MEDIAN(byte_median, byte)

/// Steepness of a picture.
static void byte_sobel(struct nest_data *d) {
  byte *restrict out = d->out;
  const byte *restrict in = d->in;
  long width = d->width, height = d->height;
  NEST(2)
  for (long y = 1; y < height - 1; y++)
    INNER
    for (long x = 1; x < width - 1; x++) {
      const byte *at = &in[y * width + x], *above = at - width, *below = at + width;
      int across = above[1] + 2 * at[1] + below[1] - above[-1] - 2 * at[-1] - below[-1];
      int down = below[-1] + 2 * below[0] + below[1] - above[-1] - 2 * above[0] - above[1];
      int sum = (across < 0 ? -across : across) + (down < 0 ? -down : down);
      out[y * width + x] = sum > 255 ? 255 : sum;
    }
}

static void sobel(struct nest_data *d) {
  float *restrict out = d->out;
  const float *restrict in = d->in;
  long width = d->width, height = d->height;
  NEST(2)
  for (long y = 1; y < height - 1; y++)
    INNER
    for (long x = 1; x < width - 1; x++) {
      const float *at = &in[y * width + x], *above = at - width, *below = at + width;
      float across = above[1] + 2 * at[1] + below[1] - above[-1] - 2 * at[-1] - below[-1];
      float down = below[-1] + 2 * below[0] + below[1] - above[-1] - 2 * above[0] - above[1];
      out[y * width + x] = sqrtf(across * across + down * down);
    }
}

/// A picture of twice the width and height.
static void upsample(struct nest_data *d) {
  byte *restrict out = d->out;
  const byte *restrict in = d->in;
  long width = d->width, height = d->height, from = width / 2;
  NEST(2)
  for (long y = 1; y < height - 1; y++)
    INNER
    for (long x = 1; x < width - 1; x++) {
      long near_x = x / 2, near_y = y / 2, far_x = near_x + (x % 2 ? 1 : -1), far_y = near_y + (y % 2 ? 1 : -1);
      out[y * width + x] = (9 * in[near_y * from + near_x] + 3 * in[near_y * from + far_x] + 3 * in[far_y * from + near_x] +
                            in[far_y * from + far_x] + 8) >> 4;
    }
}

/// Colours from a plane of brightness and two of half its width and height.
static void colours(struct nest_data *d) {
  byte *restrict out = d->out;
  const byte *restrict in = d->in, *restrict others = d->other;
  long width = d->width, height = d->height, half = width / 2, plane = half * (height / 2);
  NEST(2)
  for (long y = 0; y < height; y++)
    INNER
    for (long x = 0; x < width; x++) {
      int bright = 298 * (in[y * width + x] - 16) + 128;
      int blue = others[y / 2 * half + x / 2] - 128, red = others[plane + y / 2 * half + x / 2] - 128;
      byte *at = &out[3 * (y * width + x)];
      at[0] = clamped((bright + 409 * red) >> 8);
      at[1] = clamped((bright - 100 * blue - 208 * red) >> 8);
      at[2] = clamped((bright + 516 * blue) >> 8);
    }
}

const struct nest JOIN(nests, WAY)[] = {
    {"filter 3x3", "float", filter3, f32, f32, f32, {9, 1, 1, 9, 4}, floats},
    {"filter 5x5", "float", filter5, f32, f32, f32, {25, 1, 1, 25, 4}, floats},
    {"filter 7x7", "float", filter7, f32, f32, f32, {49, 1, 1, 49, 4}, floats},
    {"filter 9x9", "float", filter9, f32, f32, f32, {81, 1, 1, 81, 4}, floats},
    {"filter 3x3 on shorts", "shorts", short_filter3, i16, i32, i16, {9, 1, 1, 21, 4}, bytes},
    {"filter 5x5 on bytes", "bytes", byte_filter5, u8, i32, u8, {25, 1, 1, 53, 2}, bytes},
    {"filter 7x7 on bytes", "bytes", byte_filter7, u8, i32, u8, {49, 1, 1, 101, 2}, bytes},
    {"gauss in rows", "float", gauss_row, f32, f32, f32, {7, 1, 1, 7, 4}, floats},
    {"gauss in columns", "float", gauss_column, f32, f32, f32, {7, 1, 1, 7, 4}, floats},
    {"gauss in rows of bytes", "bytes", byte_gauss_row, u8, i32, u8, {7, 1, 1, 11, 2}, bytes},
    {"gauss in columns of bytes", "bytes", byte_gauss_column, u8, i32, u8, {7, 1, 1, 11, 2}, bytes},
    {"block matching", "bytes", match, u8, i32, i16, {64, 1, 1, 128, 1}, bytes},
    {"bilateral filter", "float", bilateral, f32, f32, f32, {25, 1, 1, 151, 4}, floats},
    {"bilateral filter on bytes", "bytes", byte_bilateral, u8, f32, u8, {50, 1, 1, 101, 4}, bytes},
    {"median", "float", median, f32, f32, f32, {9, 1, 1, 38, 4}, floats},
    {"median of bytes", "bytes", byte_median, u8, i32, u8, {9, 1, 1, 38, 1}, bytes},
    {"sobel", "float", sobel, f32, f32, f32, {8, 1, 1, 13, 4}, floats},
    {"sobel on bytes", "bytes", byte_sobel, u8, i32, u8, {8, 1, 1, 16, 2}, many_bytes},
    {"twice as large", "bytes", upsample, u8, i32, u8, {4, 0.25f, 1, 8, 2}, bytes},
    {"colours of YUV", "bytes", colours, u8, i32, u8, {3, 1.5f, 3, 20, 4}, bytes},
    {0},
};
