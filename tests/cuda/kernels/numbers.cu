// Numbers: the SDK's Mandelbrot, options and random numbers, and bits.
#include "device.cuh"

// launch: @mandelbrot(&out, 16, 40) local=16 groups=8 with out: i32 zero 128
KERNEL mandelbrot(int *out, int width, int most) {
  int at = thread_number();
  float cx = (at % width) * 0.1875f - 2.0f, cy = (at / width) * 0.25f - 1.0f, x = 0, y = 0;
  int count = 0;
  while (x * x + y * y <= 4.0f && count < most) {
    float next = x * x - y * y + cx;
    y = 2.0f * x * y + cy;
    x = next;
    count++;
  }
  out[at] = count;
}

// launch: @pi(&hits, 7, 20) local=32 groups=2 with hits: i32 zero 1
KERNEL pi(int *hits, unsigned seed, int samples) {
  unsigned state = seed + thread_number() * 747796405u;
  int inside = 0;
  for (int i = 0; i < samples; i++) {
    state = state * 1664525u + 1013904223u;
    float x = (state >> 8) * (1.0f / 16777216.0f);
    state = state * 1664525u + 1013904223u;
    float y = (state >> 8) * (1.0f / 16777216.0f);
    inside += x * x + y * y < 1.0f;
  }
  for (int by = 16; by > 0; by /= 2) inside += __shfl_down_sync(~0u, inside, by);
  if (threadIdx.x % 32 == 0) atomicAdd(hits, inside);
}

DEVICE float normal(float d) {
  float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
  float sum = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  float tail = 0.39894228f * exponential(-0.5f * d * d) * sum;
  return d > 0 ? 1.0f - tail : tail;
}
// launch: @black_scholes(&price, &strike, &years, &call, &put, 0.02, 0.3, 60) local=32 groups=2 with price: f32 below 30 64; strike: f32 below 100 64; years: f32 below 10 64; call: f32 zero 64; put: f32 zero 64
KERNEL black_scholes(const float *price, const float *strike, const float *years, float *call, float *put, float rate, float volatility, int count) {
  int at = thread_number();
  if (at >= count) return;
  float s = price[at] + 1.0f, k = strike[at] + 1.0f, t = years[at] + 0.25f, root = sqrtf(t);
  float d1 = (logarithm(s / k) * 0.69314718f + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
  float d2 = d1 - volatility * root, discounted = k * exponential(-rate * t);
  call[at] = s * normal(d1) - discounted * normal(d2);
  put[at] = discounted * (1.0f - normal(d2)) - s * (1.0f - normal(d1));
}

// launch: @binomial(&strike, &out, 16) local=32 groups=2 with strike: f32 below 100 2; out: f32 zero 2
KERNEL binomial(const float *strike, float *out, int steps) {
  __shared__ float value[33];
  int t = threadIdx.x;
  value[t] = fmaxf(60.0f + 4.0f * (t - steps / 2) - strike[blockIdx.x], 0.0f);
  if (t == 0) value[32] = 0;
  __syncthreads();
  for (int step = steps; step > 0; step--) {
    float next = 0.51f * value[t + 1] + 0.48f * value[t];
    __syncthreads();
    if (t < step) value[t] = next;
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = value[0];
}

// launch: @collatz(&out, 1) local=64 groups=2 with out: i32 zero 128
KERNEL collatz(int *out, int first) {
  long long n = thread_number() + first;
  int steps = 0;
  while (n != 1) {
    n = n & 1 ? 3 * n + 1 : n >> 1;
    steps++;
  }
  out[thread_number()] = steps;
}

// launch: @sieve(&composite, 128) local=16 groups=1 with composite: i32 zero 4
KERNEL sieve(unsigned *composite, int limit) {
  int n = threadIdx.x + 2;
  if (n * n >= limit) return;
  for (int m = 2; m < n; m++)
    if (n % m == 0) return;
  for (int multiple = n * n; multiple < limit; multiple += n) atomicOr(&composite[multiple / 32], 1u << multiple % 32);
}

__constant__ unsigned polynomial = 0xedb88320u;
// launch: @crc(&data, &out, 16) local=32 groups=2 with data: i8 random 1024; out: i32 zero 64
KERNEL crc(const unsigned char *data, unsigned *out, int length) {
  unsigned sum = ~0u;
  const unsigned char *own = data + thread_number() * length;
  for (int i = 0; i < length; i++) {
    sum ^= own[i];
    for (int bit = 0; bit < 8; bit++) sum = sum & 1 ? sum >> 1 ^ polynomial : sum >> 1;
  }
  out[thread_number()] = ~sum;
}

// launch: @rounds(&state, 20) local=32 groups=1 with state: i32 random 128
KERNEL rounds(unsigned *state, int count) {
  unsigned *own = state + threadIdx.x * 4, a = own[0], b = own[1], c = own[2], d = own[3];
  for (int i = 0; i < count; i++) {
    a += b;
    d ^= a;
    d = d << 16 | d >> 16;
    c += d;
    b ^= c;
    b = b << 12 | b >> 20;
  }
  own[0] = a;
  own[1] = b;
  own[2] = c;
  own[3] = d;
}

// launch: @bits(&in, &out) local=32 groups=2 with in: i32 random 64; out: i32 zero 256
KERNEL bits(const int *in, int *out) {
  int at = thread_number(), x = in[at];
  out[at * 4] = __popc(x);
  out[at * 4 + 1] = __clz(x);
  out[at * 4 + 2] = __brev(x) + __ffs(x);
  out[at * 4 + 3] = __umulhi(x, 0x9e3779b9u) ^ (x / 7) ^ (x % 13) ^ (int)((unsigned)x / 10u);
}

// launch: @horner(&x, &out, 9) local=32 groups=2 with x: f64 random 64; out: f64 zero 64
KERNEL horner(const double *x, double *out, int degree) {
  int at = thread_number();
  double sum = 1.0;
  for (int k = degree; k > 0; k--) sum = 1.0 + sum * x[at] / k;
  out[at] = sum;
}
// launch: @powers(&base, &out, 1000003) local=32 groups=2 with base: i32 below 100000 64; out: i64 zero 64
KERNEL powers(const int *base, unsigned long long *out, unsigned long long modulus) {
  unsigned long long x = base[thread_number()], result = 1;
  for (int exponent = thread_number() + 3; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = result * x % modulus;
    x = x * x % modulus;
  }
  out[thread_number()] = result;
}
