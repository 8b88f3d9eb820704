// Where private arrays live, and what is still gathered. All accesses to arrays of the source are contiguous, permutes or registers
// but for the last kernels.

// Copies in an outer loop: registers.
kernel void copies(global const uint *in, global uint *out, uint rounds) {
  size_t at = get_global_id(0);
  uint a[5], o[5];
  for (int k = 0; k < 5; k++) a[k] = in[k * 1024 + at];
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
  for (int k = 0; k < 5; k++) out[k * 1024 + at] = o[k];
}

// Insertion sort: elements interleaved by lane. Lanes that are in the inner loop have one index.
kernel void sort(global const float *in, global float *out) {
  size_t at = get_global_id(0);
  float a[32];
  for (int k = 0; k < 32; k++) a[k] = in[k * 1024 + at];
  for (int i = 1; i < 32; i++) {
    float v = a[i];
    int j = i - 1;
    while (j >= 0 && a[j] > v) { a[j + 1] = a[j]; j--; }
    a[j + 1] = v;
  }
  for (int k = 0; k < 32; k++) out[k * 1024 + at] = a[k];
}

typedef struct { float m[16]; int turns; } Matrix;

static Matrix product(Matrix a, Matrix b) {
  Matrix c;
  c.turns = a.turns + b.turns;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      float s = 0.0f;
      for (int k = 0; k < 4; k++) s += a.m[i * 4 + k] * b.m[k * 4 + j];
      c.m[i * 4 + j] = s;
    }
  return c;
}

// Structures by value.
kernel void matrices(global const float *in, global float *out, int rounds) {
  size_t at = get_global_id(0);
  Matrix a, b;
  a.turns = 1; b.turns = 2;
  for (int k = 0; k < 16; k++) { a.m[k] = in[k * 1024 + at]; b.m[k] = in[(15 - k) * 1024 + at]; }
  for (int r = 0; r < rounds; r++) { Matrix c = product(a, b); a = b; b = c; }
  for (int k = 0; k < 16; k++) out[k * 1024 + at] = b.m[k] + b.turns;
}

typedef union { uchar bytes[16]; uint words[4]; } Block;

// Bytes of words.
kernel void puns(global const uint *in, global uint *out, uint rounds) {
  size_t at = get_global_id(0);
  Block u;
  for (int k = 0; k < 4; k++) u.words[k] = in[k * 1024 + at];
  for (uint r = 0; r < rounds; r++) {
    for (int k = 0; k < 16; k++) u.bytes[k] = (uchar)(u.bytes[k] * 3 + k);
    u.bytes[r & 15] ^= r;
    u.words[r & 3] += u.words[0];
  }
  for (int k = 0; k < 4; k++) out[k * 1024 + at] = u.words[k];
}

// A table that all lanes fill alike: a permute.
kernel void table(global const uint *in, global uint *out, int rounds) {
  size_t at = get_global_id(0);
  uint t[16];
  for (int k = 0; k < 16; k++) t[k] = k * k * 7 + rounds;
  uint x = in[at];
  for (int r = 0; r < rounds; r++) x = (x >> 4) ^ t[x & 15];
  out[at] = x;
}

// A table of each lane's own, of bytes, at an index of each lane's own: gathers within one array, of 32 bits each.
kernel void stream(global uint *out, uint rounds) {
  size_t at = get_global_id(0);
  uchar s[256];
  for (int k = 0; k < 256; k++) s[k] = (uchar)(k * (uint)at);
  uint x = (uint)at;
  for (uint r = 0; r < rounds; r++) x = x * 31 + s[x & 255];
  out[at] = x;
}

// A pointer to one of two arrays.
kernel void either(global const uint *in, global uint *out, uint rounds) {
  size_t at = get_global_id(0);
  uint a[8], b[8];
  for (int k = 0; k < 8; k++) a[k] = b[k] = 0;
  for (uint r = 0; r < rounds; r++) {
    uint x = in[r * 1024 + at];
    uint *p = x & 1 ? a : b;
    p[x & 7] += r;
  }
  uint sum = 0;
  for (uint r = 0; r < rounds; r++) sum += a[r & 7] ^ b[(r + 1) & 7];
  out[at] = sum;
}

#define STEP(t) \
  x = rotate(x ^ w[t], 7u) + (x & w[(t + 5) & 7]); \
  x ^= (x >> 3) * w[(t + 2) & 7] + w[(t + 3) & 7]; \
  w[t] += x;
#define STEPS STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)

uint long_mix(uint *w, uint x) {
  STEPS STEPS STEPS STEPS STEPS
  return x;
}

// A long function with one call: inlined, so the array is in registers.
kernel void mixed(global const uint *in, global uint *out) {
  size_t at = get_global_id(0);
  uint w[8];
  for (int k = 0; k < 8; k++) w[k] = in[k * 1024 + at];
  out[at] = long_mix(w, (uint)at);
}
