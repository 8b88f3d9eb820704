// Bit fields (cl_khr_extended_bit_ops) and dot products of bytes (cl_khr_integer_dot_product).
#include "common.h"

#define FIELDS(T, S, U) \
  PURE T bitfield_insert(T base, T insert, uint offset, uint count) { \
    U ones = count == 0 ? (U)0 : (U)((U)~(U)0 >> (sizeof(T) * 8 - count)); \
    U mask = (U)(ones << offset); \
    return (T)(((U)base & (U)~mask) | ((U)((U)insert << offset) & mask)); \
  } \
  PURE S bitfield_extract_signed(T base, uint offset, uint count) { \
    U raised = (U)((U)base << (sizeof(T) * 8 - count - offset)); \
    return count == 0 ? (S)0 : (S)((S)raised >> (sizeof(T) * 8 - count)); \
  } \
  PURE U bitfield_extract_unsigned(T base, uint offset, uint count) { \
    U raised = (U)((U)base << (sizeof(T) * 8 - count - offset)); \
    return count == 0 ? (U)0 : (U)(raised >> (sizeof(T) * 8 - count)); \
  } \
  EACH_WIDTH(FIELDS_AT, T, S, U)
#define INSERT_ELEMENT(s, f) f(base.s, insert.s, offset, count)
#define EXTRACT_ELEMENT(s, f) f(base.s, offset, count)
#define FIELDS_AT(n, T, S, U) \
  PURE T##n bitfield_insert(T##n base, T##n insert, uint offset, uint count) { \
    return (T##n)(LIST##n(INSERT_ELEMENT, bitfield_insert)); \
  } \
  PURE S##n bitfield_extract_signed(T##n base, uint offset, uint count) { \
    return (S##n)(LIST##n(EXTRACT_ELEMENT, bitfield_extract_signed)); \
  } \
  PURE U##n bitfield_extract_unsigned(T##n base, uint offset, uint count) { \
    return (U##n)(LIST##n(EXTRACT_ELEMENT, bitfield_extract_unsigned)); \
  }
FIELDS(char, char, uchar)
FIELDS(uchar, char, uchar)
FIELDS(short, short, ushort)
FIELDS(ushort, short, ushort)
FIELDS(int, int, uint)
FIELDS(uint, int, uint)
FIELDS(long, long, ulong)
FIELDS(ulong, long, ulong)

#define REVERSE(T, U, bits) \
  PURE T bit_reverse(T base) { return (T)__builtin_bitreverse##bits((U)base); } \
  UNARY(bit_reverse, T, T)
REVERSE(char, uchar, 8)
REVERSE(uchar, uchar, 8)
REVERSE(short, ushort, 16)
REVERSE(ushort, ushort, 16)
REVERSE(int, uint, 32)
REVERSE(uint, uint, 32)
REVERSE(long, ulong, 64)
REVERSE(ulong, ulong, 64)

#define DOT(R, A, B, least, most, packed) \
  PURE R dot(A a, B b) { return (R)a.x * (R)b.x + (R)a.y * (R)b.y + (R)a.z * (R)b.z + (R)a.w * (R)b.w; } \
  PURE R dot_acc_sat(A a, B b, R to) { \
    long sum = (long)dot(a, b) + (long)to; \
    return (R)(sum < (long)least ? (long)least : sum > (long)most ? (long)most : sum); \
  } \
  PURE R dot_4x8packed_##packed(uint a, uint b) { return dot(__builtin_astype(a, A), __builtin_astype(b, B)); } \
  PURE R dot_acc_sat_4x8packed_##packed(uint a, uint b, R to) { \
    return dot_acc_sat(__builtin_astype(a, A), __builtin_astype(b, B), to); \
  }
DOT(uint, uchar4, uchar4, 0, UINT_MAX, uu_uint)
DOT(int, char4, char4, INT_MIN, INT_MAX, ss_int)
DOT(int, uchar4, char4, INT_MIN, INT_MAX, us_int)
DOT(int, char4, uchar4, INT_MIN, INT_MAX, su_int)
