// Times the nests of one file of `./x bench tensor`: the compilers alternate. The options name the ways to compile
// (`NEST_WAYS(apply)`). The first argument is the name of the only nest, or empty; the second one a library with CBLAS, or absent.
// Prints for each nest and size a line of its counts, and the line that the driver of `./x bench loops` prints.
#include "library.h"
#include "nests.h"
#include "../loops/ways.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECLARE(way) extern const struct nest nests_##way[];
NEST_WAYS(DECLARE)
#define NESTS_OF(way) nests_##way,
static const struct nest *const nests[] = {NEST_WAYS(NESTS_OF)};

enum { ALL_WAYS = sizeof nests / sizeof *nests, ROUNDS = 11 };

static const size_t sizes[] = {[f32] = 4, [f64] = 8, [u8] = 1, [i16] = 2, [i32] = 4};

struct nest_request {
  int nest;
  /// Bytes of the output, and of the scratch array.
  size_t bytes, scratch_bytes;
  /// Output of the first way. All ways write to the same place, so that none has a better one.
  void *first;
  struct nest_data data;
};

/// Runs a way; the one after the last is the library.
static void run(void *of, int way) {
  struct nest_request *request = of;
  if (way == ALL_WAYS)
    library_product(nests[0][request->nest].in == f64, &request->data);
  else
    nests[way][request->nest].run(&request->data);
}

static double value(enum element element, const void *out, size_t index) {
  switch (element) {
  case f64:
    return ((const double *)out)[index];
  case f32:
    return ((const float *)out)[index];
  case i32:
    return ((const int *)out)[index];
  case i16:
    return ((const short *)out)[index];
  default:
    return ((const unsigned char *)out)[index];
  }
}

/// Maximum distance from the first way, relative to 1 plus the magnitude; 0 only if all bits are the same.
static double off(void *of, int way) {
  struct nest_request *request = of;
  enum element element = nests[0][request->nest].out;
  if (way == 0)
    memcpy(request->first, request->data.out, request->bytes);
  double worst = 0;
  if (memcmp(request->first, request->data.out, request->bytes)) {
    worst = DBL_MIN;
    for (size_t i = 0; i < request->bytes / sizes[element]; i++) {
      double right = value(element, request->first, i);
      double far = fabs(value(element, request->data.out, i) - right) / (1 + fabs(right));
      if (!(far <= worst))
        worst = far;
    }
  }
  memset(request->data.out, 0, request->bytes);
  memset(request->data.scratch, 0, request->scratch_bytes);
  return worst;
}

static void *zeros(size_t bytes) { return memset(room((int)(bytes / 8), 8), 0, bytes); }

static void *drawn(enum element element, size_t count) {
  void *at = room((int)count, sizes[element]);
  for (size_t i = 0; i < count; i++)
    switch (element) {
    case f64:
      ((double *)at)[i] = draw_unit();
      break;
    case f32:
      ((float *)at)[i] = (float)draw_unit();
      break;
    case i16:
      ((short *)at)[i] = (short)(draw() >> 20) - 2048;
      break;
    default:
      ((unsigned char *)at)[i] = (unsigned char)(draw() >> 24);
    }
  return at;
}

/// Floats that fall from a quarter to a sixteenth, or small integers.
static void *weights_of(enum element element) {
  static const int integers[9] = {-1, 2, -1, 3, 11, 2, 1, -2, 1};
  void *at = room(WEIGHTS, sizes[element]);
  for (int i = 0; i < WEIGHTS; i++) {
    double weight = 0.25 / (1 + i / 64.0);
    if (element == f64)
      ((double *)at)[i] = weight;
    else if (element == f32)
      ((float *)at)[i] = (float)weight;
    else
      ((int *)at)[i] = integers[i % 9];
  }
  return at;
}

/// Bytes of the different cells that a run reads and writes, by the counts.
static void print_counts(const char *name, const struct nest *nest, const struct nest_data *data) {
  double results = (double)data->width * data->height * data->depth, steps = nest->has_terms ? results * data->width : results;
  const struct nest_counts *counts = &nest->counts;
  double footprint = results * (double)(sizes[nest->in] * (nest->has_terms ? 2 : 1) + sizes[nest->out]);
  printf("counts;%s;%g;%g;%g;%g;%g;%d;%zu;%zu;%g\n", name, steps, counts->loads, counts->cells, counts->stores,
         counts->operations, counts->lane, sizes[nest->in], sizes[nest->out], footprint);
}

static void measure(int index, struct nest_data data) {
  const struct nest *nest = &nests[0][index];
  size_t cells = (size_t)data.width * data.height * data.depth;
  void *in = drawn(nest->in, cells), *other = drawn(nest->in, cells + 64), *weights = weights_of(nest->weights);
  struct nest_request request = {index, cells * 8, cells * 16, NULL, data};
  request.data.in = in;
  request.data.other = other;
  request.data.weights = weights;
  request.data.scratch = zeros(request.scratch_bytes);
  request.first = zeros(request.bytes);
  request.data.out = zeros(request.bytes);
  char name[96];
  int length = snprintf(name, sizeof name, "%s, %s, %dx%d", nest->name, nest->type, data.width, data.height);
  if (data.depth > 1)
    snprintf(name + length, sizeof name - (size_t)length, "x%d", data.depth);
  print_counts(name, nest, &data);
  int ways = ALL_WAYS + (has_library() && !strcmp(nest->name, "product"));
  double seconds = seconds_of(run, &request);
  int rounds = seconds < 0.02 ? ROUNDS : seconds < 0.1 ? 5 : 3;
  alternate((struct turn){name, ways, run, off, &request, rounds});
  free(request.first);
  free(request.data.out);
  free(request.data.scratch);
  free(in);
  free(other);
  free(weights);
}

int main(int count, char **arguments) {
  const char *only = count > 1 ? arguments[1] : "";
  if (count > 2)
    open_library(arguments[2]);
  for (int nest = 0; nests[0][nest].name; nest++)
    if (!*only || !strcmp(nests[0][nest].name, only))
      for (const struct nest_data *data = nests[0][nest].sizes; data->width; data++)
        measure(nest, *data);
}
