// Times mathematical functions on vectors: Heddle's, those of SLEEF and of libmvec where they can be loaded, and the C
// library's one by one. All are called through pointers, in turn, on the same numbers.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT 1024
#define REPEATS 20
#define ROUNDS 41
#define PEERS 5
#define SCALAR 3

typedef float vector_f __attribute__((vector_size(BYTES)));
typedef double vector_d __attribute__((vector_size(BYTES)));

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

#define TIMES(NAME, VECTOR, SCALAR)                                                                                    \
  static void NAME(void *function, int arity, int is_vector, const SCALAR *a, const SCALAR *b, SCALAR *c) {            \
    long lanes = sizeof(VECTOR) / sizeof(SCALAR);                                                                      \
    if (is_vector && arity == 1) {                                                                                     \
      VECTOR (*f)(VECTOR) = function;                                                                                  \
      for (long i = 0; i < COUNT; i += lanes) *(VECTOR *)(c + i) = f(*(const VECTOR *)(a + i));                        \
    } else if (is_vector) {                                                                                            \
      VECTOR (*f)(VECTOR, VECTOR) = function;                                                                          \
      for (long i = 0; i < COUNT; i += lanes)                                                                          \
        *(VECTOR *)(c + i) = f(*(const VECTOR *)(a + i), *(const VECTOR *)(b + i));                                    \
    } else if (arity == 1) {                                                                                           \
      SCALAR (*f)(SCALAR) = function;                                                                                  \
      for (long i = 0; i < COUNT; i++) c[i] = f(a[i]);                                                                 \
    } else {                                                                                                           \
      SCALAR (*f)(SCALAR, SCALAR) = function;                                                                          \
      for (long i = 0; i < COUNT; i++) c[i] = f(a[i], b[i]);                                                           \
    }                                                                                                                  \
  }
TIMES(once_f, vector_f, float)
TIMES(once_d, vector_d, double)

static _Alignas(64) char a[COUNT * 8], b[COUNT * 8], c[COUNT * 8], expected[COUNT * 8];

// Numbers spread evenly over an interval, the same in each run.
static void fill(char *to, int is_double, double least, double most) {
  static unsigned long long state = 0x9e3779b97f4a7c15ull;
  for (long i = 0; i < COUNT; i++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    double x = least + (most - least) * (double)(state >> 11) * 0x1p-53;
    if (is_double) ((double *)to)[i] = x;
    else ((float *)to)[i] = (float)x;
  }
}

static void measure(const char *name, int is_double, int arity, double least, double most, double least_b,
                    double most_b, void *own, void *sleef, void *mvec, void *scalar, void *fast) {
  void *peers[PEERS] = {own, sleef, mvec, scalar, fast};
  double times[PEERS][ROUNDS];
  fill(a, is_double, least, most);
  fill(b, is_double, least_b, most_b);
  for (int round = 0; round < ROUNDS; round++) {
    for (int peer = 0; peer < PEERS; peer++) {
      if (!peers[peer]) continue;
      double start = seconds();
      for (int repeat = 0; repeat < REPEATS; repeat++) {
        if (is_double) once_d(peers[peer], arity, peer != SCALAR, (double *)a, (double *)b, (double *)c);
        else once_f(peers[peer], arity, peer != SCALAR, (float *)a, (float *)b, (float *)c);
      }
      times[peer][round] = (seconds() - start) / (REPEATS * COUNT) * 1e9;
    }
  }
  // How far Heddle's numbers are from the C library's.
  double off = 0;
  if (is_double) once_d(scalar, arity, 0, (double *)a, (double *)b, (double *)expected);
  else once_f(scalar, arity, 0, (float *)a, (float *)b, (float *)expected);
  if (is_double) once_d(own, arity, 1, (double *)a, (double *)b, (double *)c);
  else once_f(own, arity, 1, (float *)a, (float *)b, (float *)c);
  for (long i = 0; i < COUNT; i++) {
    double x = is_double ? ((double *)c)[i] : ((float *)c)[i];
    double y = is_double ? ((double *)expected)[i] : ((float *)expected)[i];
    if (x != x && y != y) continue;
    double unit = is_double ? nextafter(fabs(y), INFINITY) - fabs(y) : nextafterf(fabsf((float)y), INFINITY) - fabsf((float)y);
    double distance = x == y ? 0 : fabs(x - y) / unit;
    if (!(distance <= off)) off = distance;
  }
  printf("%s %.2f", name, off);
  for (int peer = 0; peer < PEERS; peer++) {
    if (!peers[peer]) {
      printf(" -");
      continue;
    }
    qsort(times[peer], ROUNDS, sizeof(double), by_size);
    printf(" %.4f", times[peer][ROUNDS / 2]);
  }
  printf("\n");
}

static void *sleef, *mvec, *libm;

static void *named(void *library, const char *format, const char *name, int is_double, int arity) {
  char text[64];
  int lanes = BYTES / (is_double ? 8 : 4);
  size_t length = strlen(name) - !is_double;
  if (!library) return 0;
  if (strchr(format, '#')) {
    // libmvec: _ZGV, the registers, the lanes, a `v` for each parameter, the name.
    snprintf(text, sizeof text, "_ZGV%cN%d%s_%s", BYTES == 64 ? 'e' : 'd', lanes, arity == 2 ? "vv" : "v", name);
  } else {
    snprintf(text, sizeof text, "Sleef_%.*s%c%d_%s%s", (int)length, name, is_double ? 'd' : 'f', lanes, format,
             BYTES == 64 ? "avx512f" : "avx2");
  }
  return dlsym(library, text);
}

#define FUNCTION(name, is_double, arity, least, most, least_b, most_b)                                                 \
  extern char heddle_##name[];                                                                                         \
  extern char heddle_fast_##name[] __attribute__((weak));                                                              \
  static void bench_##name(void) {                                                                                     \
    void *u10 = named(sleef, "u10", #name, is_double, arity);                                                          \
    if (!u10) u10 = named(sleef, "u15", #name, is_double, arity);                                                      \
    if (!u10) u10 = named(sleef, "u05", #name, is_double, arity);                                                      \
    measure(#name, is_double, arity, least, most, least_b, most_b, heddle_##name, u10,                                 \
            named(mvec, "#", #name, is_double, arity), dlsym(libm, #name), heddle_fast_##name);                        \
  }
#include "functions.list"
#undef FUNCTION

int main(void) {
  sleef = dlopen(getenv("HEDDLE_SLEEF") ? getenv("HEDDLE_SLEEF") : "libsleef.so.3", RTLD_NOW);
  mvec = dlopen("libmvec.so.1", RTLD_NOW);
  libm = dlopen("libm.so.6", RTLD_NOW);
#define FUNCTION(name, ...) bench_##name();
#include "functions.list"
  return 0;
}
