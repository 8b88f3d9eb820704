// Sizes, alignments and offsets, in C and in OpenCL C: arguments and buffers are laid out by the host.
#ifndef __OPENCL_C_VERSION__
typedef unsigned char uchar;
typedef unsigned long size_t;
typedef int int2 __attribute__((ext_vector_type(2)));
typedef uchar uchar3 __attribute__((ext_vector_type(3)));
typedef float float3 __attribute__((ext_vector_type(3)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef double double16 __attribute__((ext_vector_type(16)));
#endif

struct small { char c; short s; char d; };
struct vectors { char c; float3 v; int i; };
struct nested { int a; struct vectors b; long l; struct small c[3]; uchar3 u; };
struct __attribute__((packed)) tight { char c; double d; int2 v; };
union either { char c; double16 d; struct nested n; };

int probe(int which) {
  switch (which) {
    case 0: return sizeof(int2);
    case 1: return sizeof(uchar3);
    case 2: return sizeof(float3);
    case 3: return __alignof__(float3);
    case 4: return sizeof(double16);
    case 5: return __alignof__(double16);
    case 6: return sizeof(size_t);
    case 7: return sizeof(void *);
    case 8: return sizeof(long);
    case 9: return sizeof(struct small);
    case 10: return sizeof(struct vectors);
    case 11: return __builtin_offsetof(struct vectors, v);
    case 12: return __builtin_offsetof(struct vectors, i);
    case 13: return sizeof(struct nested);
    case 14: return __builtin_offsetof(struct nested, l);
    case 15: return __builtin_offsetof(struct nested, c[2].s);
    case 16: return __builtin_offsetof(struct nested, u);
    case 17: return sizeof(struct tight);
    case 18: return __builtin_offsetof(struct tight, v);
    case 19: return sizeof(union either);
    case 20: return __alignof__(union either);
    case 21: return sizeof(enum { ONE });
    case 22: return sizeof(float4) + sizeof(double);
    default: return -1;
  }
}
