// Rates of this machine that bound nests: vectors loaded, stored, computed and shuffled in a nanosecond, and bytes copied, with data
// of several sizes. Prints a line for each.
#include "../loops/given.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined __AVX512F__
enum { BYTES = 64 };
#define LANES 15, 13, 11, 9, 7, 5, 3, 1, 14, 12, 10, 8, 6, 4, 2, 0
#elif defined __AVX__
enum { BYTES = 32 };
#define LANES 7, 5, 3, 1, 6, 4, 2, 0
#else
enum { BYTES = 16 };
#define LANES 3, 1, 2, 0
#endif
typedef float vector __attribute__((vector_size(BYTES)));
typedef float anywhere __attribute__((vector_size(BYTES), aligned(4)));
typedef int integers __attribute__((vector_size(BYTES)));

// Keeps a value, or takes it for changed.
#if defined __x86_64__
#define KEEP(value) __asm__ volatile("" : : "v"(value))
#define CHANGED(value) __asm__ volatile("" : "+v"(value))
#else
#define KEEP(value) __asm__ volatile("" : : "w"(value))
#define CHANGED(value) __asm__ volatile("" : "+w"(value))
#endif

enum { CHAINS = 12, ROUNDS = 2000, TRIES = 400, ROOM = 8 * 1024 / BYTES, UNROLLED = 32 };
static vector room_of_vectors[ROOM + 1];

static double seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/// Loads of whole vectors, and of those that lie in two lines of the cache.
#define LOADS(function, from)                                                                                          \
  static void function(void) {                                                                                         \
    for (int round = 0; round < ROUNDS / 8; round++)                                                                   \
      for (int i = 0; i < ROOM; i += UNROLLED)                                                                         \
        _Pragma("clang loop unroll(full)") for (int j = 0; j < UNROLLED; j++) {                                        \
          vector loaded = *(const volatile anywhere *)((const char *)&room_of_vectors[i + j] + from);                  \
          KEEP(loaded);                                                                                                \
        }                                                                                                              \
  }
LOADS(load_all, 0)
LOADS(load_across, 8)

static void store_all(void) {
  vector stored = {1};
  CHANGED(stored);
  for (int round = 0; round < ROUNDS / 8; round++)
    for (int i = 0; i < ROOM; i += UNROLLED)
#pragma clang loop unroll(full)
      for (int j = 0; j < UNROLLED; j++)
        *(volatile vector *)&room_of_vectors[i + j] = stored;
}

#define CHAINED(function, type, step)                                                                                  \
  static void function(void) {                                                                                         \
    type chains[CHAINS], factor = {1}, term = {2};                                                                     \
    memset(chains, 0, sizeof chains);                                                                                  \
    CHANGED(factor);                                                                                                   \
    CHANGED(term);                                                                                                     \
    for (int round = 0; round < ROUNDS; round++)                                                                       \
      _Pragma("clang loop unroll(full)") for (int i = 0; i < CHAINS; i++) {                                            \
        chains[i] = step;                                                                                              \
        CHANGED(chains[i]);                                                                                            \
      }                                                                                                                \
    for (int i = 0; i < CHAINS; i++)                                                                                   \
      KEEP(chains[i]);                                                                                                 \
    KEEP(factor);                                                                                                      \
    KEEP(term);                                                                                                        \
  }
CHAINED(fuse_all, vector, chains[i] * factor + term)
CHAINED(add_all, vector, chains[i] + term)
CHAINED(add_integers, integers, chains[i] + term)
CHAINED(shuffle_all, integers, __builtin_shufflevector(chains[i], chains[i], LANES))

static double best(void (*work)(void)) {
  double least = 1;
  for (int again = 0; again < TRIES; again++) {
    double start = seconds();
    work();
    double time = seconds() - start;
    if (time < least)
      least = time;
  }
  return least;
}

static void print_copy(const char *name, size_t bytes) {
  char *from = room((int)(bytes / 64), 64), *to = room((int)(bytes / 64), 64);
  memset(from, 1, bytes);
  memset(to, 2, bytes);
  size_t repeats = bytes < 32u << 20 ? (32u << 20) / bytes : 1;
  double least = 1e9;
  for (int again = 0; again < 7; again++) {
    double start = seconds();
    for (size_t repeat = 0; repeat < repeats; repeat++)
      for (size_t i = 0; i < bytes; i += BYTES)
        *(volatile vector *)(to + i) = *(volatile vector *)(from + i);
    double time = seconds() - start;
    if (time < least)
      least = time;
  }
  printf("peak;%s;%g;%zu\n", name, 2.0 * (double)bytes * (double)repeats / least * 1e-9, 2 * bytes);
  free(from);
  free(to);
}

int main(void) {
  const double all = (double)(ROUNDS / 8) * ROOM, chained = (double)ROUNDS * CHAINS;
  printf("peak;vector;%d;0\n", BYTES);
  printf("peak;load;%g;0\n", all / best(load_all) * 1e-9);
  printf("peak;load across;%g;0\n", all / best(load_across) * 1e-9);
  printf("peak;store;%g;0\n", all / best(store_all) * 1e-9);
  printf("peak;fma;%g;0\n", chained / best(fuse_all) * 1e-9);
  printf("peak;add;%g;0\n", chained / best(add_all) * 1e-9);
  printf("peak;integer;%g;0\n", chained / best(add_integers) * 1e-9);
  printf("peak;shuffle;%g;0\n", chained / best(shuffle_all) * 1e-9);
  print_copy("copy", 12u << 10);
  print_copy("copy", 384u << 10);
  print_copy("copy", 6u << 20);
  print_copy("copy", 96u << 20);
}
