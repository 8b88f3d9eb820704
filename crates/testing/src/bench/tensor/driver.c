// Times the nests of `./x bench tensor`: the compilers alternate. Prints what the driver of `./x bench loops` prints.
#include "nests.h"
#include "../loops/ways.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEST_WAYS(apply)                                                                                               \
  apply(scalar) apply(clang) apply(clang_collapse) apply(clang_levels) apply(gcc) apply(gcc_collapse)                  \
  apply(gcc_levels) apply(heddle_collapse) apply(heddle_levels)

#define DECLARE(way) extern const struct nest nests_##way[NESTS];
NEST_WAYS(DECLARE)
#define NESTS_OF(way) nests_##way,
static const struct nest *const nests[] = {NEST_WAYS(NESTS_OF)};

enum { ALL_WAYS = sizeof nests / sizeof *nests, ROUNDS = 15 };
enum element { element_double, element_float, element_byte };

#define ELEMENT_OF(function, name, element) _Generic((element)0, double: 0, float: 1, unsigned char: 2),
static const int elements[] = {NEST_LIST(ELEMENT_OF)};

struct nest_request {
  int nest;
  size_t bytes;
  /// Output of the first way. All ways write to the same place, so that none has a better one.
  void *first;
  struct nest_data data;
};

static void run(void *of, int way) {
  struct nest_request *request = of;
  nests[way][request->nest].run(&request->data);
}

static double value(const struct nest_request *request, const void *out, size_t index) {
  switch (elements[request->nest]) {
  case element_double:
    return ((const double *)out)[index];
  case element_float:
    return ((const float *)out)[index];
  default:
    return ((const unsigned char *)out)[index];
  }
}

static double off(void *of, int way) {
  struct nest_request *request = of;
  static const size_t sizes[] = {sizeof(double), sizeof(float), 1};
  if (way == 0)
    memcpy(request->first, request->data.out, request->bytes);
  double worst = 0;
  for (size_t i = 0; i < request->bytes / sizes[elements[request->nest]]; i++) {
    double right = value(request, request->first, i), far = fabs(value(request, request->data.out, i) - right) / (1 + fabs(right));
    if (!(far <= worst))
      worst = far;
  }
  memset(request->data.out, 0, request->bytes);
  return worst;
}

static void *zeros(size_t bytes) { return memset(room((int)bytes, 1), 0, bytes); }

static void measure(int nest, struct nest_data data) {
  size_t cells = (size_t)data.width * data.height * data.depth;
  float *floats = room((int)cells, sizeof *floats), *others = room((int)cells, sizeof *others), weights[9];
  double *doubles = room((int)cells, sizeof *doubles);
  unsigned char *bytes = room((int)cells, 1);
  static const int integer_weights[9] = {-1, 2, -1, 3, 11, 2, 1, -2, 1};
  for (size_t i = 0; i < cells; i++) {
    doubles[i] = floats[i] = (float)draw_unit();
    others[i] = (float)draw_unit();
    bytes[i] = (unsigned char)(draw() >> 24);
  }
  for (int i = 0; i < 9; i++)
    weights[i] = (float)draw_unit() / 4;
  struct nest_request request = {nest, cells * sizeof(double), NULL, data};
  request.data.floats = floats;
  request.data.others = others;
  request.data.weights = weights;
  request.data.doubles = doubles;
  request.data.bytes = bytes;
  request.data.integer_weights = integer_weights;
  request.first = zeros(request.bytes);
  request.data.out = zeros(request.bytes);
  char name[96];
  snprintf(name, sizeof name, "%s, %d", nests[0][nest].name, data.width);
  alternate((struct turn){name, ALL_WAYS, run, off, &request, ROUNDS});
  free(request.first);
  free(request.data.out);
  free(floats);
  free(others);
  free(doubles);
  free(bytes);
}

int main(int count, char **arguments) {
  if (count > 1)
    only_loops = arguments[1];
  static const struct nest_data plane[] = {{.width = 100, .height = 75, .depth = 1},
                                           {.width = 1000, .height = 750, .depth = 1}};
  static const struct nest_data space[] = {{.width = 40, .height = 30, .depth = 20},
                                           {.width = 150, .height = 100, .depth = 70}};
  static const struct nest_data square[] = {{.width = 60, .height = 60, .depth = 1},
                                            {.width = 250, .height = 250, .depth = 1}};
  for (int nest = 0; nest < NESTS; nest++)
    for (int size = 0; size < 2; size++) {
      struct nest_data data = nest == HEAT ? space[size] : nest == PRODUCT ? square[size] : plane[size];
      data.from_width = data.width * 3 / 5;
      data.from_height = data.height * 3 / 5;
      data.radius = 2;
      measure(nest, data);
    }
}
