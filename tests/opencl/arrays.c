// Private arrays, as kernels use them: hashes, sorting, matrices, structures, unions, tables, ciphers. The kernels are compiled
// as C as well, and each item must compute what the function of its name does.
#include "check.h"

#define kernel static
#define global
typedef unsigned uint;
typedef unsigned char uchar;

static size_t item;
static size_t get_global_id(uint dimension) { return dimension ? 0 : item; }
static uint rotate(uint x, uint n) { return x << n | x >> (32 - n); }

#define BOTH(...) \
  __VA_ARGS__ \
  static const char *source = #__VA_ARGS__;

BOTH(
typedef struct { float m[16]; int turns; } Matrix;
typedef union { uchar bytes[16]; uint words[4]; } Block;
typedef struct { uint h[5]; uint length; uchar tag; } Hash;

// Copies of arrays in an outer loop.
kernel void copies(global const uint *in, global uint *out, uint rounds) {
  size_t at = get_global_id(0);
  uint a[5], o[5];
  for (int k = 0; k < 5; k++) a[k] = in[at * 16 + k];
  for (int k = 0; k < 5; k++) o[k] = 0;
  for (uint r = 0; r < rounds; r++) {
    uint s[5];
    for (int k = 0; k < 5; k++) s[k] = a[k];
    for (int t = 0; t < 20; t++) {
      uint f = (s[1] & s[2]) | (~s[1] & s[3]);
      uint next = rotate(s[0], 5u) + f + s[4] + 0x5a827999u + r;
      s[4] = s[3]; s[3] = s[2]; s[2] = rotate(s[1], 30u); s[1] = s[0]; s[0] = next;
    }
    for (int k = 0; k < 5; k++) a[k] += s[k];
    for (int k = 0; k < 5; k++) o[k] = a[k];
  }
  for (int k = 0; k < 16; k++) out[at * 16 + k] = k < 5 ? o[k] : 0;
}

// A block of SHA-1 over private state.
static void compress(uint *h, const uint *block) {
  uint w[16]; uint s[5];
  for (int k = 0; k < 16; k++) w[k] = block[k];
  for (int k = 0; k < 5; k++) s[k] = h[k];
  for (int t = 0; t < 80; t++) {
    uint x = w[t & 15];
    if (t >= 16) {
      x = rotate(w[(t + 13) & 15] ^ w[(t + 8) & 15] ^ w[(t + 2) & 15] ^ w[t & 15], 1u);
      w[t & 15] = x;
    }
    uint f; uint c;
    if (t < 20) { f = (s[1] & s[2]) | (~s[1] & s[3]); c = 0x5a827999u; }
    else if (t < 40) { f = s[1] ^ s[2] ^ s[3]; c = 0x6ed9eba1u; }
    else if (t < 60) { f = (s[1] & s[2]) | (s[1] & s[3]) | (s[2] & s[3]); c = 0x8f1bbcdcu; }
    else { f = s[1] ^ s[2] ^ s[3]; c = 0xca62c1d6u; }
    uint next = rotate(s[0], 5u) + f + s[4] + c + x;
    s[4] = s[3]; s[3] = s[2]; s[2] = rotate(s[1], 30u); s[1] = s[0]; s[0] = next;
  }
  for (int k = 0; k < 5; k++) h[k] += s[k];
}

// The nest of PBKDF2: an inner and an outer hash in each round, and their sum.
kernel void derive(global const uint *in, global uint *out, uint rounds) {
  size_t at = get_global_id(0);
  uint inner[5], outer[5], sum[5], block[16];
  for (int k = 0; k < 5; k++) { inner[k] = in[at * 16 + k]; outer[k] = ~in[at * 16 + k]; sum[k] = 0; }
  for (int k = 0; k < 16; k++) block[k] = in[at * 16 + k];
  for (uint r = 0; r < rounds; r++) {
    uint h[5];
    for (int k = 0; k < 5; k++) h[k] = inner[k];
    compress(h, block);
    for (int k = 0; k < 5; k++) block[k] = h[k];
    for (int k = 0; k < 5; k++) h[k] = outer[k];
    compress(h, block);
    for (int k = 0; k < 5; k++) { block[k] = h[k]; sum[k] ^= h[k]; }
  }
  for (int k = 0; k < 16; k++) out[at * 16 + k] = k < 5 ? sum[k] : block[k];
}

kernel void sort(global const uint *in, global uint *out, uint rounds) {
  size_t at = get_global_id(0);
  uint a[32];
  for (int k = 0; k < 32; k++) a[k] = in[at * 16 + (k & 15)] * (k < 16 ? 1 : rounds);
  for (int i = 1; i < 32; i++) {
    uint v = a[i];
    int j = i - 1;
    while (j >= 0 && a[j] > v) { a[j + 1] = a[j]; j--; }
    a[j + 1] = v;
  }
  for (int k = 0; k < 16; k++) out[at * 16 + k] = a[2 * k] ^ a[2 * k + 1];
}

static Matrix product(Matrix a, Matrix b) {
  Matrix c;
  c.turns = a.turns + b.turns;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      float s = 0.0f;
      for (int k = 0; k < 4; k++) s += a.m[i * 4 + k] * b.m[k * 4 + j];
      c.m[i * 4 + j] = s * 0.25f;
    }
  return c;
}

// Structures with an array, by value.
kernel void matrices(global const uint *in, global uint *out, uint rounds) {
  size_t at = get_global_id(0);
  Matrix a, b;
  a.turns = 1; b.turns = 2;
  for (int k = 0; k < 16; k++) { a.m[k] = (float)(in[at * 16 + k] & 7); b.m[k] = (float)(in[at * 16 + 15 - k] & 3); }
  for (uint r = 0; r < (rounds & 3); r++) { Matrix c = product(a, b); a = b; b = c; }
  for (int k = 0; k < 16; k++) out[at * 16 + k] = (uint)b.m[k] + b.turns;
}

// Bytes of words.
kernel void puns(global const uint *in, global uint *out, uint rounds) {
  size_t at = get_global_id(0);
  Block u;
  for (int k = 0; k < 4; k++) u.words[k] = in[at * 16 + k];
  for (uint r = 0; r < rounds; r++) {
    for (int k = 0; k < 16; k++) u.bytes[k] = (uchar)(u.bytes[k] * 3 + k);
    for (int k = 0; k < 4; k++) u.words[k] ^= u.words[(k + 1) & 3] >> 7;
    u.bytes[in[at * 16 + (r & 15)] & 15] ^= r;
  }
  for (int k = 0; k < 16; k++) out[at * 16 + k] = k < 4 ? u.words[k] : u.bytes[k];
}

static void note(Hash *hash, uint word, int where) { hash->h[where] = word; hash->length += 4; hash->tag ^= (uchar)word; }

// A structure that is passed by pointer and copied, under a condition.
kernel void records(global const uint *in, global uint *out, uint rounds) {
  size_t at = get_global_id(0);
  Hash a, b;
  for (int k = 0; k < 5; k++) a.h[k] = k;
  a.length = 0; a.tag = 0;
  b = a;
  for (uint r = 0; r < rounds; r++) {
    uint x = in[at * 16 + (r & 15)];
    note(&a, x, (int)(x % 5u));
    if (x & 1) b = a;
    else note(&b, x ^ r, (int)(r % 5u));
  }
  for (int k = 0; k < 16; k++) out[at * 16 + k] = k < 5 ? b.h[k] : k < 10 ? a.h[k - 5] : b.length + a.tag;
}

// A table that is filled in a loop, the same for all items, and one of each item's own.
kernel void tables(global const uint *in, global uint *out, uint rounds) {
  size_t at = get_global_id(0);
  uint common[16], own[16]; uchar bytes[64];
  for (int k = 0; k < 16; k++) { common[k] = k * k * 7 + 3; own[k] = in[at * 16 + k]; }
  for (int k = 0; k < 64; k++) bytes[k] = (uchar)(k * 5 + 1);
  uint x = in[at * 16];
  for (uint r = 0; r < rounds; r++) {
    x = (x >> 4) ^ common[x & 15] ^ (own[(x >> 5) & 15] << 7) ^ bytes[(x >> 11) & 63];
    own[x & 15] += r;
  }
  for (int k = 0; k < 16; k++) out[at * 16 + k] = x ^ own[k];
}

// The table of a stream cipher.
kernel void stream(global const uint *in, global uint *out, uint rounds) {
  size_t at = get_global_id(0);
  uchar s[256]; uchar j = 0;
  for (int i = 0; i < 256; i++) s[i] = (uchar)i;
  for (int i = 0; i < 256; i++) { j += s[i] + (uchar)in[at * 16 + (i & 15)]; uchar t = s[i]; s[i] = s[j]; s[j] = t; }
  uchar a = 0; uchar b = 0; uint sum = 0;
  for (uint r = 0; r < rounds; r++) {
    a++; b += s[a];
    uchar t = s[a]; s[a] = s[b]; s[b] = t;
    uchar k = s[(uchar)(s[a] + s[b])];
    if (k & 1) sum = sum * 31 + k;
    else s[k] ^= s[(uchar)(k + 1)];
  }
  for (int k = 0; k < 16; k++) out[at * 16 + k] = sum + s[k * 16];
}
)

enum { ITEMS = 203, WORDS = ITEMS * 16 };

typedef void (*function)(const uint *, uint *, uint);

static uint in[WORDS], out[WORDS], expected[WORDS];

int main(void) {
  struct setting s = start(0);
  cl_program program = build(s, source, "-cl-std=CL3.0");
  const char *names[] = {"copies", "derive", "sort", "matrices", "puns", "records", "tables", "stream"};
  function functions[] = {copies, derive, sort, matrices, puns, records, tables, stream};
  for (int i = 0; i < WORDS; i++) in[i] = (uint)i * 2654435761u ^ (uint)i >> 3;
  for (int which = 0; which < 8; which++) {
    cl_int error;
    cl_uint rounds = 39;
    cl_kernel code = clCreateKernel(program, names[which], &error);
    CHECK(error);
    cl_mem from = clCreateBuffer(s.context, CL_MEM_COPY_HOST_PTR, sizeof in, in, &error);
    CHECK(error);
    cl_mem to = clCreateBuffer(s.context, 0, sizeof out, NULL, &error);
    CHECK(error);
    CHECK(clSetKernelArg(code, 0, sizeof from, &from));
    CHECK(clSetKernelArg(code, 1, sizeof to, &to));
    CHECK(clSetKernelArg(code, 2, sizeof rounds, &rounds));
    size_t items = ITEMS;
    CHECK(clEnqueueNDRangeKernel(s.queue, code, 1, NULL, &items, NULL, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(s.queue, to, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
    for (item = 0; item < ITEMS; item++) functions[which](in, expected, rounds);
    for (int i = 0; i < WORDS; i++) {
      if (out[i] != expected[i]) {
        fprintf(stderr, "%s: out[%d] is %x, not %x\n", names[which], i, out[i], expected[i]);
        return 1;
      }
    }
    CHECK(clReleaseMemObject(from));
    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseKernel(code));
  }
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
