// Operations of a work-group: copies, collectives, sub-groups.
#include "common.h"

#define CONVERGENT __attribute__((overloadable, always_inline, nothrow, convergent))
#define QUERY __attribute__((overloadable, nothrow, const))
QUERY size_t get_local_id(uint dimension);
QUERY size_t get_local_size(uint dimension);
QUERY size_t get_enqueued_local_size(uint dimension);
QUERY size_t get_group_id(uint dimension);
QUERY size_t get_global_id(uint dimension);
QUERY size_t get_global_size(uint dimension);
QUERY size_t get_global_offset(uint dimension);
__attribute__((overloadable, convergent, nothrow)) void barrier(cl_mem_fence_flags flags);

PURE size_t get_local_linear_id(void) {
  return (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0);
}
PURE size_t get_global_linear_id(void) {
  return ((get_global_id(2) - get_global_offset(2)) * get_global_size(1) + get_global_id(1) - get_global_offset(1)) *
             get_global_size(0) +
         get_global_id(0) - get_global_offset(0);
}
static PURE size_t group_size(void) { return get_local_size(0) * get_local_size(1) * get_local_size(2); }

// --- copies ---

// All work-items copy; waiting for an event waits for all of them.
#define COPY(T, to_space, from_space) \
  CONVERGENT event_t async_work_group_copy(to_space T *to, const from_space T *from, size_t count, event_t event) { \
    for (size_t i = get_local_linear_id(); i < count; i += group_size()) { \
      to[i] = from[i]; \
    } \
    return event; \
  }
#define COPY_STRIDED(T) \
  CONVERGENT event_t async_work_group_strided_copy(__local T *to, const __global T *from, size_t count, size_t stride, \
                                                   event_t event) { \
    for (size_t i = get_local_linear_id(); i < count; i += group_size()) { \
      to[i] = from[i * stride]; \
    } \
    return event; \
  } \
  CONVERGENT event_t async_work_group_strided_copy(__global T *to, const __local T *from, size_t count, size_t stride, \
                                                   event_t event) { \
    for (size_t i = get_local_linear_id(); i < count; i += group_size()) { \
      to[i * stride] = from[i]; \
    } \
    return event; \
  } \
  FUNCTION void prefetch(const __global T *from, size_t count) {}
#define COPIES(T) COPY(T, __local, __global) COPY(T, __global, __local) COPY_STRIDED(T)
NUMBERS(WIDTHS, COPIES)

// Copies of lines and planes. Offsets and distances count elements of `bytes` bytes.
#define COPY_LINES(to_space, from_space) \
  CONVERGENT event_t async_work_group_copy_3D3D( \
      to_space void *to, size_t to_offset, const from_space void *from, size_t from_offset, size_t bytes, size_t elements, \
      size_t lines, size_t planes, size_t from_line, size_t from_plane, size_t to_line, size_t to_plane, event_t event) { \
    to_space char *target = (to_space char *)to + to_offset * bytes; \
    const from_space char *source = (const from_space char *)from + from_offset * bytes; \
    for (size_t plane = 0; plane < planes; plane++) { \
      for (size_t line = 0; line < lines; line++) { \
        to_space char *row = target + (plane * to_plane + line * to_line) * bytes; \
        const from_space char *source_row = source + (plane * from_plane + line * from_line) * bytes; \
        for (size_t i = get_local_linear_id(); i < elements * bytes; i += group_size()) { \
          row[i] = source_row[i]; \
        } \
      } \
    } \
    return event; \
  } \
  CONVERGENT event_t async_work_group_copy_2D2D(to_space void *to, size_t to_offset, const from_space void *from, \
                                                size_t from_offset, size_t bytes, size_t elements, size_t lines, \
                                                size_t from_line, size_t to_line, event_t event) { \
    return async_work_group_copy_3D3D(to, to_offset, from, from_offset, bytes, elements, lines, 1, from_line, 0, to_line, \
                                      0, event); \
  }
COPY_LINES(__local, __global)
COPY_LINES(__global, __local)

CONVERGENT void wait_group_events(int count, __private event_t *events) {
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}
CONVERGENT void wait_group_events(int count, __generic event_t *events) {
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}

// --- collectives of the work-group ---
//
// Each work-item stores its value into its slot, and loads its result when the slots are combined.

__attribute__((const, nothrow)) __local long *group_slots(void) __asm("heddle.group_slots");

static CONVERGENT size_t linear(size_t x) { return x; }
static CONVERGENT size_t linear(size_t x, size_t y) { return y * get_local_size(0) + x; }
static CONVERGENT size_t linear(size_t x, size_t y, size_t z) {
  return (z * get_local_size(1) + y) * get_local_size(0) + x;
}
#define BROADCAST(T) \
  static CONVERGENT T broadcast_from(T value, size_t id) { \
    __local T *slots = (__local T *)group_slots(); \
    if (get_local_linear_id() == id) { \
      slots[0] = value; \
    } \
    barrier(CLK_LOCAL_MEM_FENCE); \
    T result = slots[0]; \
    barrier(CLK_LOCAL_MEM_FENCE); \
    return result; \
  } \
  CONVERGENT T work_group_broadcast(T value, size_t x) { return broadcast_from(value, linear(x)); } \
  CONVERGENT T work_group_broadcast(T value, size_t x, size_t y) { return broadcast_from(value, linear(x, y)); } \
  CONVERGENT T work_group_broadcast(T value, size_t x, size_t y, size_t z) { \
    return broadcast_from(value, linear(x, y, z)); \
  }

#define JOIN_add(a, b) ((a) + (b))
#define JOIN_min(a, b) ((b) < (a) ? (b) : (a))
#define JOIN_max(a, b) ((a) < (b) ? (b) : (a))
#define JOIN_and(a, b) ((a) & (b))
#define JOIN_or(a, b) ((a) | (b))
#define JOIN_xor(a, b) ((a) ^ (b))
#define JOIN_mul(a, b) ((a) * (b))
// Number of work-items that combine the slots of a large group: each every LEADERS-th one, next to one another. Then all work-items combine the
// leaders' results in pairs. The order is that of the group, whatever its lanes.
#define LEADERS 16
#define PAIR(by, T, to, a, b) T to = JOIN_##by(a, b);
#define NEXT(by, T, i) \
  if (i < count) { \
    T here = slots[i]; \
    result = JOIN_##by(result, here); \
  }
#define REDUCE(name, by, T) \
  CONVERGENT T name(T value) { \
    __local T *slots = (__local T *)group_slots(); \
    uint id = (uint)get_local_linear_id(), count = (uint)group_size(); \
    slots[id] = value; \
    barrier(CLK_LOCAL_MEM_FENCE); \
    if (id < LEADERS && count > LEADERS) { \
      T sum = slots[id]; \
      uint whole = count / LEADERS * LEADERS; \
      for (uint i = LEADERS; i < whole; i += LEADERS) { \
        T here = slots[i + id]; \
        sum = JOIN_##by(sum, here); \
      } \
      if (whole + id < count) { \
        T here = slots[whole + id]; \
        sum = JOIN_##by(sum, here); \
      } \
      slots[id] = sum; \
    } \
    barrier(CLK_LOCAL_MEM_FENCE); \
    T result = slots[0]; \
    if (count >= LEADERS) { \
      PAIR(by, T, a0, result, slots[8]) \
      PAIR(by, T, a1, slots[1], slots[9]) \
      PAIR(by, T, a2, slots[2], slots[10]) \
      PAIR(by, T, a3, slots[3], slots[11]) \
      PAIR(by, T, a4, slots[4], slots[12]) \
      PAIR(by, T, a5, slots[5], slots[13]) \
      PAIR(by, T, a6, slots[6], slots[14]) \
      PAIR(by, T, a7, slots[7], slots[15]) \
      PAIR(by, T, b0, a0, a4) \
      PAIR(by, T, b1, a1, a5) \
      PAIR(by, T, b2, a2, a6) \
      PAIR(by, T, b3, a3, a7) \
      PAIR(by, T, c0, b0, b2) \
      PAIR(by, T, c1, b1, b3) \
      result = JOIN_##by(c0, c1); \
    } else { \
      NEXT(by, T, 1) NEXT(by, T, 2) NEXT(by, T, 3) NEXT(by, T, 4) NEXT(by, T, 5) NEXT(by, T, 6) NEXT(by, T, 7) \
      NEXT(by, T, 8) NEXT(by, T, 9) NEXT(by, T, 10) NEXT(by, T, 11) NEXT(by, T, 12) NEXT(by, T, 13) NEXT(by, T, 14) \
    } \
    barrier(CLK_LOCAL_MEM_FENCE); \
    return result; \
  }
// Inclusive or exclusive scan: the first work-item combines all slots in order.
#define SCAN(name, by, T, neutral, keep) \
  CONVERGENT T name(T value) { \
    __local T *slots = (__local T *)group_slots(); \
    size_t id = get_local_linear_id(); \
    slots[id] = value; \
    barrier(CLK_LOCAL_MEM_FENCE); \
    if (id == 0) { \
      T sum = neutral; \
      size_t count = group_size(); \
      for (size_t i = 0; i < count; ++i) { \
        T before = sum, here = slots[i]; \
        sum = i == 0 ? here : JOIN_##by(sum, here); \
        slots[i] = keep; \
      } \
    } \
    barrier(CLK_LOCAL_MEM_FENCE); \
    T result = slots[id]; \
    barrier(CLK_LOCAL_MEM_FENCE); \
    return result; \
  }
#define GROUP_RUNS(T, by, neutral) \
  REDUCE(work_group_reduce_##by, by, T) \
  SCAN(work_group_scan_inclusive_##by, by, T, neutral, sum) \
  SCAN(work_group_scan_exclusive_##by, by, T, neutral, before)
#define GROUP(T, least, most) \
  BROADCAST(T) \
  GROUP_RUNS(T, add, 0) \
  GROUP_RUNS(T, mul, 1) \
  GROUP_RUNS(T, min, most) \
  GROUP_RUNS(T, max, least)
#define GROUP_BITS(T) GROUP_RUNS(T, and, ~(T)0) GROUP_RUNS(T, or, 0) GROUP_RUNS(T, xor, 0)
GROUP(int, INT_MIN, INT_MAX)
GROUP(uint, 0, UINT_MAX)
GROUP(long, LONG_MIN, LONG_MAX)
GROUP(ulong, 0, ULONG_MAX)
GROUP(half, -(half)__builtin_inff(), (half)__builtin_inff())
GROUP(float, -__builtin_inff(), __builtin_inff())
GROUP(double, -__builtin_inf(), __builtin_inf())
GROUP_BITS(int)
GROUP_BITS(uint)
GROUP_BITS(long)
GROUP_BITS(ulong)
static REDUCE(reduce_and, and, int)
static REDUCE(reduce_or, or, int)
CONVERGENT int work_group_all(int predicate) { return reduce_and(predicate != 0); }
CONVERGENT int work_group_any(int predicate) { return reduce_or(predicate != 0); }

// --- sub-groups: the lanes of a brush, in the order of local linear ids ---

#define ASK __attribute__((convergent, nothrow))
__attribute__((const, nothrow)) int own_lane(void) __asm("heddle.lane");
__attribute__((const, nothrow)) int own_width(void) __asm("heddle.width");
ASK bool own_any(bool) __asm("heddle.any");
ASK bool own_all(bool) __asm("heddle.all");
#define ASKS(T, suffix) \
  __attribute__((overloadable, convergent, nothrow)) T own_broadcast(T, int) __asm("heddle.broadcast_" #suffix); \
  ASKS_BY(add, T, suffix) ASKS_BY(min, T, suffix) ASKS_BY(max, T, suffix)
#define ASKS_BY(by, T, suffix) \
  __attribute__((overloadable, convergent, nothrow)) T own_reduce_##by(T) __asm("heddle.reduce_" #by "_" #suffix); \
  __attribute__((overloadable, convergent, nothrow)) T own_scan_##by(T) __asm("heddle.scan_" #by "_" #suffix); \
  __attribute__((overloadable, convergent, nothrow)) T own_scan_before_##by(T) \
      __asm("heddle.scan_before_" #by "_" #suffix);
ASKS(int, i32)
ASKS(uint, u32)
ASKS(long, i64)
ASKS(ulong, u64)
ASKS(float, f32)
ASKS(double, f64)

PURE uint get_max_sub_group_size(void) { return (uint)own_width(); }
PURE uint get_sub_group_local_id(void) { return (uint)own_lane(); }
// The quotient is equal in all lanes of a brush: that of any lane makes it uniform, so that accesses relative to it are contiguous.
__attribute__((overloadable, convergent, nothrow)) uint own_first(uint) __asm("heddle.first_u32");
PURE uint get_sub_group_id(void) { return own_first((uint)get_local_linear_id()) / (uint)own_width(); }
PURE uint get_num_sub_groups(void) { return ((uint)group_size() + (uint)own_width() - 1) / (uint)own_width(); }
PURE uint get_enqueued_num_sub_groups(void) {
  size_t size = get_enqueued_local_size(0) * get_enqueued_local_size(1) * get_enqueued_local_size(2);
  return ((uint)size + (uint)own_width() - 1) / (uint)own_width();
}
PURE uint get_sub_group_size(void) {
  uint left = (uint)group_size() - get_sub_group_id() * (uint)own_width();
  return left < (uint)own_width() ? left : (uint)own_width();
}
// Lanes of a brush run in lock-step: only their writes must become visible.
CONVERGENT void sub_group_barrier(cl_mem_fence_flags flags) {
  own_all(true);
  __atomic_thread_fence(__ATOMIC_ACQ_REL);
}
CONVERGENT void sub_group_barrier(cl_mem_fence_flags flags, memory_scope scope) { sub_group_barrier(flags); }
CONVERGENT int sub_group_all(int predicate) { return own_all(predicate != 0); }
CONVERGENT int sub_group_any(int predicate) { return own_any(predicate != 0); }
// W is the type of the horizontal operation. Sums of halves are computed in floats and rounded once. An exclusive scan
// starts with the neutral value of W, which a narrow T may not hold.
#define NARROWED_add(T, value, neutral) (T)(value)
#define NARROWED_min(T, value, neutral) (T)JOIN_min(value, neutral)
#define NARROWED_max(T, value, neutral) (T)JOIN_max(value, neutral)
#define SUB_GROUP_BY(prefix, T, W, by, neutral) \
  CONVERGENT T prefix##_reduce_##by(T value) { return (T)own_reduce_##by((W)value); } \
  CONVERGENT T prefix##_scan_inclusive_##by(T value) { return (T)own_scan_##by((W)value); } \
  CONVERGENT T prefix##_scan_exclusive_##by(T value) { \
    W before = own_scan_before_##by((W)value); \
    return NARROWED_##by(T, before, (W)(neutral)); \
  }
#define SUB_GROUP(T, W, least, most) \
  SUB_GROUP_BY(sub_group, T, W, add, 0) \
  SUB_GROUP_BY(sub_group, T, W, min, most) \
  SUB_GROUP_BY(sub_group, T, W, max, least) \
  SUB_GROUP_BY(sub_group_non_uniform, T, W, add, 0) \
  SUB_GROUP_BY(sub_group_non_uniform, T, W, min, most) \
  SUB_GROUP_BY(sub_group_non_uniform, T, W, max, least)
SUB_GROUP(char, int, CHAR_MIN, CHAR_MAX)
SUB_GROUP(uchar, uint, 0, UCHAR_MAX)
SUB_GROUP(short, int, SHRT_MIN, SHRT_MAX)
SUB_GROUP(ushort, uint, 0, USHRT_MAX)
SUB_GROUP(int, int, INT_MIN, INT_MAX)
SUB_GROUP(uint, uint, 0, UINT_MAX)
SUB_GROUP(long, long, LONG_MIN, LONG_MAX)
SUB_GROUP(ulong, ulong, 0, ULONG_MAX)
SUB_GROUP(half, float, -__builtin_inff(), __builtin_inff())
SUB_GROUP(float, float, -__builtin_inff(), __builtin_inff())
SUB_GROUP(double, double, -__builtin_inf(), __builtin_inf())

// --- sub-group communication: shuffles, ballots, votes of the active lanes ---

ASK ulong own_ballot(bool) __asm("heddle.ballot");
#define ASK_LANE(T, suffix) \
  __attribute__((overloadable, convergent, nothrow)) T own_shuffle(T, int) __asm("heddle.shuffle_" #suffix); \
  __attribute__((overloadable, convergent, nothrow)) T own_first(T) __asm("heddle.first_" #suffix);
ASK_LANE(int, i32)
ASK_LANE(uint, u32)
ASK_LANE(long, i64)
ASK_LANE(ulong, u64)
ASK_LANE(float, f32)
ASK_LANE(double, f64)

// INTO and FROM convert to W and back. Halves go by their bits: a conversion to float would change signaling NaNs.
#define CONVERTED(T, value) (T)(value)
#define HALF_BITS(T, value) (T)__builtin_astype((half)(value), ushort)
#define HALF_OF_BITS(T, value) __builtin_astype((ushort)(value), half)
#define LANES(T, W, INTO, FROM) \
  CONVERGENT T sub_group_broadcast(T value, uint lane) { return FROM(T, own_broadcast(INTO(W, value), (int)lane)); } \
  CONVERGENT T sub_group_shuffle(T value, uint lane) { return FROM(T, own_shuffle(INTO(W, value), (int)lane)); } \
  CONVERGENT T sub_group_shuffle_xor(T value, uint mask) { return FROM(T, own_shuffle(INTO(W, value), own_lane() ^ (int)mask)); } \
  CONVERGENT T sub_group_shuffle_up(T value, uint by) { return FROM(T, own_shuffle(INTO(W, value), own_lane() - (int)by)); } \
  CONVERGENT T sub_group_shuffle_down(T value, uint by) { return FROM(T, own_shuffle(INTO(W, value), own_lane() + (int)by)); } \
  CONVERGENT T sub_group_non_uniform_broadcast(T value, uint lane) { return FROM(T, own_shuffle(INTO(W, value), (int)lane)); } \
  CONVERGENT T sub_group_broadcast_first(T value) { return FROM(T, own_first(INTO(W, value))); } \
  CONVERGENT int sub_group_non_uniform_all_equal(T value) { return own_all(FROM(T, own_first(INTO(W, value))) == value); }
LANES(char, int, CONVERTED, CONVERTED)
LANES(uchar, uint, CONVERTED, CONVERTED)
LANES(short, int, CONVERTED, CONVERTED)
LANES(ushort, uint, CONVERTED, CONVERTED)
LANES(int, int, CONVERTED, CONVERTED)
LANES(uint, uint, CONVERTED, CONVERTED)
LANES(long, long, CONVERTED, CONVERTED)
LANES(ulong, ulong, CONVERTED, CONVERTED)
LANES(half, uint, HALF_BITS, HALF_OF_BITS)
LANES(float, float, CONVERTED, CONVERTED)
LANES(double, double, CONVERTED, CONVERTED)
#define BROADCAST_ELEMENT(s, f) f(value.s, lane)
#define BROADCAST_VECTOR(n, T) \
  CONVERGENT T##n sub_group_non_uniform_broadcast(T##n value, uint lane) { \
    return (T##n)(LIST##n(BROADCAST_ELEMENT, sub_group_non_uniform_broadcast)); \
  } \
  CONVERGENT T##n sub_group_broadcast(T##n value, uint lane) { \
    return (T##n)(LIST##n(BROADCAST_ELEMENT, sub_group_broadcast)); \
  }
#define BROADCAST_VECTORS(_, T) EACH_WIDTH(BROADCAST_VECTOR, T)
NUMBERS(BROADCAST_VECTORS, _)

// The lanes of a rotation: of the whole sub-group, or of clusters whose size is a power of two.
#define ROTATE(T, W, INTO, FROM) \
  CONVERGENT T sub_group_rotate(T value, int by) { \
    int width = own_width(), rest = (int)(((long)own_lane() + by) % width); \
    return FROM(T, own_shuffle(INTO(W, value), rest < 0 ? rest + width : rest)); \
  } \
  CONVERGENT T sub_group_clustered_rotate(T value, int by, uint size) { \
    int lane = own_lane(), inside = (int)size - 1; \
    return FROM(T, own_shuffle(INTO(W, value), (lane & ~inside) | ((int)((uint)lane + (uint)by) & inside))); \
  }
ROTATE(char, int, CONVERTED, CONVERTED)
ROTATE(uchar, uint, CONVERTED, CONVERTED)
ROTATE(short, int, CONVERTED, CONVERTED)
ROTATE(ushort, uint, CONVERTED, CONVERTED)
ROTATE(int, int, CONVERTED, CONVERTED)
ROTATE(uint, uint, CONVERTED, CONVERTED)
ROTATE(long, long, CONVERTED, CONVERTED)
ROTATE(ulong, ulong, CONVERTED, CONVERTED)
ROTATE(half, uint, HALF_BITS, HALF_OF_BITS)
ROTATE(float, float, CONVERTED, CONVERTED)
ROTATE(double, double, CONVERTED, CONVERTED)

// Reductions and scans that no horizontal operation does: over the active lanes in order, from `first` on.
#define JOIN_logical_and(a, b) ((a) != 0 && (b) != 0)
#define JOIN_logical_or(a, b) ((a) != 0 || (b) != 0)
#define JOIN_logical_xor(a, b) (((a) != 0) != ((b) != 0))
#define LOOP_OVER(T, W, by, neutral, first, count, counts) \
  ulong active = own_ballot(true); \
  int lane = own_lane(), start = first, end = start + (count); \
  T sum = (T)(neutral); \
  for (int i = start; i < end; ++i) { \
    T here = (T)own_shuffle((W)value, i); \
    sum = (active >> (i & 63) & 1) && (counts) ? (T)JOIN_##by(sum, here) : sum; \
  } \
  return sum;
#define LOOP_BY(name, T, W, by, neutral, counts) \
  CONVERGENT T name(T value) { LOOP_OVER(T, W, by, neutral, 0, own_width(), counts) }
#define LOOPS_NAMED(prefix, T, W, by, neutral) \
  LOOP_BY(prefix##_reduce_##by, T, W, by, neutral, true) \
  LOOP_BY(prefix##_scan_inclusive_##by, T, W, by, neutral, i <= lane) \
  LOOP_BY(prefix##_scan_exclusive_##by, T, W, by, neutral, i < lane)
#define CLUSTERED_BY(T, W, by, neutral) \
  CONVERGENT T sub_group_clustered_reduce_##by(T value, uint size) { \
    LOOP_OVER(T, W, by, neutral, own_lane() & ~((int)size - 1), (int)size, true) \
  }
#define LOOPS_BY(T, W, by, neutral) \
  LOOPS_NAMED(sub_group, T, W, by, neutral) \
  LOOPS_NAMED(sub_group_non_uniform, T, W, by, neutral) \
  CLUSTERED_BY(T, W, by, neutral)
#define LOOPS_OF_NUMBERS(T, W, least, most) \
  LOOPS_BY(T, W, mul, 1) \
  CLUSTERED_BY(T, W, add, 0) \
  CLUSTERED_BY(T, W, min, most) \
  CLUSTERED_BY(T, W, max, least)
#define LOOPS_OF_BITS(T, W, least, most) \
  LOOPS_OF_NUMBERS(T, W, least, most) \
  LOOPS_BY(T, W, and, ~(T)0) \
  LOOPS_BY(T, W, or, 0) \
  LOOPS_BY(T, W, xor, 0)
LOOPS_OF_BITS(char, int, CHAR_MIN, CHAR_MAX)
LOOPS_OF_BITS(uchar, uint, 0, UCHAR_MAX)
LOOPS_OF_BITS(short, int, SHRT_MIN, SHRT_MAX)
LOOPS_OF_BITS(ushort, uint, 0, USHRT_MAX)
LOOPS_OF_BITS(int, int, INT_MIN, INT_MAX)
LOOPS_OF_BITS(uint, uint, 0, UINT_MAX)
LOOPS_OF_BITS(long, long, LONG_MIN, LONG_MAX)
LOOPS_OF_BITS(ulong, ulong, 0, ULONG_MAX)
LOOPS_OF_NUMBERS(half, float, -__builtin_inff(), __builtin_inff())
LOOPS_OF_NUMBERS(float, float, -__builtin_inff(), __builtin_inff())
LOOPS_OF_NUMBERS(double, double, -__builtin_inf(), __builtin_inf())
LOOPS_NAMED(sub_group_non_uniform, int, int, logical_and, 1)
LOOPS_NAMED(sub_group_non_uniform, int, int, logical_or, 0)
LOOPS_NAMED(sub_group_non_uniform, int, int, logical_xor, 0)
CLUSTERED_BY(int, int, logical_and, 1)
CLUSTERED_BY(int, int, logical_or, 0)
CLUSTERED_BY(int, int, logical_xor, 0)

// Sub-groups have at most 64 lanes here: two of the four words.
static PURE uint4 as_words(ulong bits) { return (uint4)((uint)bits, (uint)(bits >> 32), 0, 0); }
static PURE ulong low_bits(uint size) { return size < 64 ? ((ulong)1 << size) - 1 : ~(ulong)0; }
// Bits of lanes that the largest sub-group of the launch has: a smaller one considers them, too.
static PURE ulong of_words(uint4 words) {
  return (words.x | (ulong)words.y << 32) & low_bits(get_max_sub_group_size());
}
static PURE ulong up_to_lane(void) { return ((ulong)2 << own_lane()) - 1; }
static PURE ulong lanes_there(void) { return low_bits(get_sub_group_size()); }
CONVERGENT uint4 sub_group_ballot(int predicate) { return as_words(own_ballot(predicate != 0)); }
CONVERGENT int sub_group_inverse_ballot(uint4 value) { return (of_words(value) >> own_lane()) & 1; }
PURE int sub_group_ballot_bit_extract(uint4 value, uint index) { return (of_words(value) >> index) & 1; }
PURE uint sub_group_ballot_bit_count(uint4 value) { return (uint)__builtin_popcountl(of_words(value)); }
CONVERGENT uint sub_group_ballot_inclusive_scan(uint4 value) {
  return (uint)__builtin_popcountl(of_words(value) & up_to_lane());
}
CONVERGENT uint sub_group_ballot_exclusive_scan(uint4 value) {
  return (uint)__builtin_popcountl(of_words(value) & (up_to_lane() >> 1));
}
CONVERGENT uint sub_group_ballot_find_lsb(uint4 value) { return (uint)__builtin_ctzg(of_words(value), 64); }
CONVERGENT uint sub_group_ballot_find_msb(uint4 value) { return 63 - (uint)__builtin_clzg(of_words(value), 63); }
CONVERGENT uint4 get_sub_group_eq_mask(void) { return as_words((ulong)1 << own_lane()); }
CONVERGENT uint4 get_sub_group_ge_mask(void) { return as_words(lanes_there() & ~(up_to_lane() >> 1)); }
CONVERGENT uint4 get_sub_group_gt_mask(void) { return as_words(lanes_there() & ~up_to_lane()); }
CONVERGENT uint4 get_sub_group_le_mask(void) { return as_words(up_to_lane()); }
CONVERGENT uint4 get_sub_group_lt_mask(void) { return as_words(up_to_lane() >> 1); }
CONVERGENT int sub_group_elect(void) { return own_first(own_lane()) == own_lane(); }
CONVERGENT int sub_group_non_uniform_all(int predicate) { return own_all(predicate != 0); }
CONVERGENT int sub_group_non_uniform_any(int predicate) { return own_any(predicate != 0); }
