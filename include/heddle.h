/* Questions that a lane asks the lanes next to it, and arrays in tiles, for C and C++.
 *
 * A function that Heddle makes vector code of runs once in each lane. What is declared here ranges over the lanes that
 * execute the call together, in ascending order. Compiled by anybody else, there is one lane: `heddle_any(x)` is `x`.
 *
 *     heddle_any(bool)  heddle_all(bool)      whether the condition holds in some lane, in every lane
 *     heddle_popcount(bool)                   in how many
 *     heddle_ballot(bool)  heddle_mask()      a bit for each lane where it holds, for each lane that is here; of the first 64
 *     heddle_lane()  heddle_width()           this lane's number, and how many lanes there are, here or not
 *     heddle_shuffle(value, lane)             the value that another lane, chosen by each lane, has here
 *     heddle_broadcast(value, lane)           the value that one lane, the same for all, has here
 *     heddle_first(value)                     the value of the lowest lane that is here
 *     heddle_reduce_add(value)                all lanes' values combined; also mul min max, of integers and or xor
 *     heddle_scan_add(value)                  those of the lanes up to this one
 *     heddle_scan_before_add(value)           those of the lanes before this one
 *
 * A lane that is read must be active. Values are of 32 or 64 bits: integers, `float`, `double`. In C++ these are
 * overloads, in C11 macros; their names with a suffix, as in `heddle_shuffle_u32`, work everywhere. `min` and `max` of
 * floats ignore NaN. Floats are added and multiplied strictly in order.
 *
 * An array in tiles has blocks of rows x columns elements next to each other, row after row of each block:
 *
 *     heddle_tile(y, x, pitch, rows, columns)     place of the element in row y and column x
 *     heddle_tile_cells(height, pitch, rows)      elements of the array
 *     heddle_to_tiles(to, pitch, rows, columns, from, height, width, bytes)      copies an array of rows, of elements of so many bytes
 *     heddle_from_tiles(to, height, width, from, pitch, rows, columns, bytes)    the other way
 *
 * `rows` and `columns` are constant powers of two, and `pitch` is a multiple of `columns`. Of nests over such arrays whose indices begin at a
 * constant, lanes of several rows share loads.
 */
#ifndef HEDDLE_H
#define HEDDLE_H

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define HEDDLE_INLINE static inline __attribute__((always_inline))
#else
#define HEDDLE_INLINE static inline
#endif

#ifdef __HEDDLE__
#define HEDDLE_FUNCTION(result, name, params, one_lane) \
  __attribute__((convergent, nomerge, nothrow)) extern result heddle_##name params;
#else
#define HEDDLE_FUNCTION(result, name, params, one_lane) \
  static inline result heddle_##name params { return one_lane; }
#endif

#define HEDDLE_COMBINED(T, S, by, neutral) \
  HEDDLE_FUNCTION(T, reduce_##by##_##S, (T value), value) \
  HEDDLE_FUNCTION(T, scan_##by##_##S, (T value), value) \
  HEDDLE_FUNCTION(T, scan_before_##by##_##S, (T value), ((void)value, neutral))

#define HEDDLE_MOVED(T, S) \
  HEDDLE_FUNCTION(T, shuffle_##S, (T value, uint32_t lane), ((void)lane, value)) \
  HEDDLE_FUNCTION(T, broadcast_##S, (T value, uint32_t lane), ((void)lane, value)) \
  HEDDLE_FUNCTION(T, first_##S, (T value), value)

#define HEDDLE_INTEGER(T, S, least, greatest) \
  HEDDLE_MOVED(T, S) \
  HEDDLE_COMBINED(T, S, add, 0) \
  HEDDLE_COMBINED(T, S, mul, 1) \
  HEDDLE_COMBINED(T, S, min, greatest) \
  HEDDLE_COMBINED(T, S, max, least) \
  HEDDLE_COMBINED(T, S, and, (T)-1) \
  HEDDLE_COMBINED(T, S, or, 0) \
  HEDDLE_COMBINED(T, S, xor, 0)

#define HEDDLE_FLOAT(T, S) \
  HEDDLE_MOVED(T, S) \
  HEDDLE_COMBINED(T, S, add, -(T)0) \
  HEDDLE_COMBINED(T, S, mul, 1) \
  HEDDLE_COMBINED(T, S, min, (T)INFINITY) \
  HEDDLE_COMBINED(T, S, max, -(T)INFINITY)

#ifdef __cplusplus
extern "C" {
#endif

HEDDLE_FUNCTION(bool, any, (bool condition), condition)
HEDDLE_FUNCTION(bool, all, (bool condition), condition)
HEDDLE_FUNCTION(uint32_t, popcount, (bool condition), condition)
HEDDLE_FUNCTION(uint64_t, ballot, (bool condition), condition)
HEDDLE_FUNCTION(uint64_t, mask, (void), 1)
HEDDLE_FUNCTION(uint32_t, lane, (void), 0)
HEDDLE_FUNCTION(uint32_t, width, (void), 1)
HEDDLE_INTEGER(int32_t, i32, INT32_MIN, INT32_MAX)
HEDDLE_INTEGER(uint32_t, u32, 0, UINT32_MAX)
HEDDLE_INTEGER(int64_t, i64, INT64_MIN, INT64_MAX)
HEDDLE_INTEGER(uint64_t, u64, 0, UINT64_MAX)
HEDDLE_FLOAT(float, f32)
HEDDLE_FLOAT(double, f64)

#ifdef __cplusplus
} /* extern "C" */

#define HEDDLE_OVERLOAD(name, T, S) \
  HEDDLE_INLINE T heddle_##name(T value) { return (T)heddle_##name##_##S(value); }

#define HEDDLE_OVERLOADS(T, S, by) \
  HEDDLE_OVERLOAD(reduce_##by, T, S) HEDDLE_OVERLOAD(scan_##by, T, S) HEDDLE_OVERLOAD(scan_before_##by, T, S)

#define HEDDLE_NUMBER(T, S) \
  HEDDLE_INLINE T heddle_shuffle(T value, uint32_t lane) { return (T)heddle_shuffle_##S(value, lane); } \
  HEDDLE_INLINE T heddle_broadcast(T value, uint32_t lane) { return (T)heddle_broadcast_##S(value, lane); } \
  HEDDLE_OVERLOAD(first, T, S) \
  HEDDLE_OVERLOADS(T, S, add) HEDDLE_OVERLOADS(T, S, mul) HEDDLE_OVERLOADS(T, S, min) HEDDLE_OVERLOADS(T, S, max)

#define HEDDLE_BITS(T, S) \
  HEDDLE_NUMBER(T, S) HEDDLE_OVERLOADS(T, S, and) HEDDLE_OVERLOADS(T, S, or) HEDDLE_OVERLOADS(T, S, xor)

HEDDLE_BITS(int, i32)
HEDDLE_BITS(unsigned int, u32)
#if ULONG_MAX > 0xffffffff
HEDDLE_BITS(long, i64)
HEDDLE_BITS(unsigned long, u64)
#else
HEDDLE_BITS(long, i32)
HEDDLE_BITS(unsigned long, u32)
#endif
HEDDLE_BITS(long long, i64)
HEDDLE_BITS(unsigned long long, u64)
HEDDLE_NUMBER(float, f32)
HEDDLE_NUMBER(double, f64)

#undef HEDDLE_BITS
#undef HEDDLE_NUMBER
#undef HEDDLE_OVERLOADS
#undef HEDDLE_OVERLOAD

#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L

#if ULONG_MAX > 0xffffffff
#define HEDDLE_LONG(name) long: name##_i64, unsigned long: name##_u64
#else
#define HEDDLE_LONG(name) long: name##_i32, unsigned long: name##_u32
#endif
#define HEDDLE_INTEGERS(name) \
  int: name##_i32, unsigned int: name##_u32, HEDDLE_LONG(name), long long: name##_i64, unsigned long long: name##_u64
#define HEDDLE_BITS(name, value) _Generic((value), HEDDLE_INTEGERS(name))(value)
#define HEDDLE_NUMBER(name, value) _Generic((value), HEDDLE_INTEGERS(name), float: name##_f32, double: name##_f64)

#define heddle_shuffle(value, lane) HEDDLE_NUMBER(heddle_shuffle, value)(value, lane)
#define heddle_broadcast(value, lane) HEDDLE_NUMBER(heddle_broadcast, value)(value, lane)
#define heddle_first(value) HEDDLE_NUMBER(heddle_first, value)(value)
#define heddle_reduce_add(value) HEDDLE_NUMBER(heddle_reduce_add, value)(value)
#define heddle_reduce_mul(value) HEDDLE_NUMBER(heddle_reduce_mul, value)(value)
#define heddle_reduce_min(value) HEDDLE_NUMBER(heddle_reduce_min, value)(value)
#define heddle_reduce_max(value) HEDDLE_NUMBER(heddle_reduce_max, value)(value)
#define heddle_reduce_and(value) HEDDLE_BITS(heddle_reduce_and, value)
#define heddle_reduce_or(value) HEDDLE_BITS(heddle_reduce_or, value)
#define heddle_reduce_xor(value) HEDDLE_BITS(heddle_reduce_xor, value)
#define heddle_scan_add(value) HEDDLE_NUMBER(heddle_scan_add, value)(value)
#define heddle_scan_mul(value) HEDDLE_NUMBER(heddle_scan_mul, value)(value)
#define heddle_scan_min(value) HEDDLE_NUMBER(heddle_scan_min, value)(value)
#define heddle_scan_max(value) HEDDLE_NUMBER(heddle_scan_max, value)(value)
#define heddle_scan_and(value) HEDDLE_BITS(heddle_scan_and, value)
#define heddle_scan_or(value) HEDDLE_BITS(heddle_scan_or, value)
#define heddle_scan_xor(value) HEDDLE_BITS(heddle_scan_xor, value)
#define heddle_scan_before_add(value) HEDDLE_NUMBER(heddle_scan_before_add, value)(value)
#define heddle_scan_before_mul(value) HEDDLE_NUMBER(heddle_scan_before_mul, value)(value)
#define heddle_scan_before_min(value) HEDDLE_NUMBER(heddle_scan_before_min, value)(value)
#define heddle_scan_before_max(value) HEDDLE_NUMBER(heddle_scan_before_max, value)(value)
#define heddle_scan_before_and(value) HEDDLE_BITS(heddle_scan_before_and, value)
#define heddle_scan_before_or(value) HEDDLE_BITS(heddle_scan_before_or, value)
#define heddle_scan_before_xor(value) HEDDLE_BITS(heddle_scan_before_xor, value)

#endif

HEDDLE_INLINE size_t heddle_tile(size_t y, size_t x, size_t pitch, size_t rows, size_t columns) {
  return y / rows * (rows * pitch) + x / columns * (columns * rows) + y % rows * columns + x % columns;
}

HEDDLE_INLINE size_t heddle_tile_cells(size_t height, size_t pitch, size_t rows) {
  return (height + rows - 1) / rows * rows * pitch;
}

HEDDLE_INLINE void heddle_to_tiles(void *to, size_t pitch, size_t rows, size_t columns, const void *from, size_t height,
                                   size_t width, size_t bytes) {
  for (size_t y = 0; y < height; y++)
    for (size_t x = 0; x < width; x += columns)
      memcpy((char *)to + heddle_tile(y, x, pitch, rows, columns) * bytes, (const char *)from + (y * width + x) * bytes,
             (width - x < columns ? width - x : columns) * bytes);
}

HEDDLE_INLINE void heddle_from_tiles(void *to, size_t height, size_t width, const void *from, size_t pitch, size_t rows,
                                     size_t columns, size_t bytes) {
  for (size_t y = 0; y < height; y++)
    for (size_t x = 0; x < width; x += columns)
      memcpy((char *)to + (y * width + x) * bytes, (const char *)from + heddle_tile(y, x, pitch, rows, columns) * bytes,
             (width - x < columns ? width - x : columns) * bytes);
}

#undef HEDDLE_INLINE
#undef HEDDLE_FLOAT
#undef HEDDLE_INTEGER
#undef HEDDLE_MOVED
#undef HEDDLE_COMBINED
#undef HEDDLE_FUNCTION

#endif /* HEDDLE_H */
