#include "library.h"
#include "nests.h"
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

// Names and integers as in the wheels of OpenBLAS, whose integers have 64 bits.
typedef void float_product(int order, int a_as, int b_as, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                           int64_t a_row, const float *b, int64_t b_row, float beta, float *c, int64_t c_row);
typedef void double_product(int order, int a_as, int b_as, int64_t m, int64_t n, int64_t k, double alpha, const double *a,
                            int64_t a_row, const double *b, int64_t b_row, double beta, double *c, int64_t c_row);
enum { ROWS = 101, AS_IT_IS = 111 };

static float_product *of_floats;
static double_product *of_doubles;

void open_library(const char *path) {
  void *library = dlopen(path, RTLD_NOW);
  if (!library)
    return;
  char *(*version)(void) = (char *(*)(void))dlsym(library, "scipy_openblas_get_config64_");
  void (*threads)(int) = (void (*)(int))dlsym(library, "scipy_openblas_set_num_threads64_");
  of_floats = (float_product *)dlsym(library, "scipy_cblas_sgemm64_");
  of_doubles = (double_product *)dlsym(library, "scipy_cblas_dgemm64_");
  if (!version || !threads || !has_library())
    return;
  threads(1);
  printf("library;%s\n", version());
}

int has_library(void) { return of_floats && of_doubles; }

void library_product(int is_double, struct nest_data *data) {
  int64_t size = data->width;
  if (is_double)
    of_doubles(ROWS, AS_IT_IS, AS_IT_IS, size, size, size, 1, data->in, size, data->other, size, 0, data->out, size);
  else
    of_floats(ROWS, AS_IT_IS, AS_IT_IS, size, size, size, 1, data->in, size, data->other, size, 0, data->out, size);
}
