// Kernels that nobody tuned for: launches are described by a line before each kernel in the files of `unseen/`.
//
//   //! [options=OPTION] [offset=X[,Y[,Z]]] global=X[,Y[,Z]] [local=X[,Y[,Z]]] args=ARGUMENT,...
//
// Arguments: `f:N` N floats from 0 to 1, `d:N` doubles, `b:N` bytes, `i:N:M` integers below M, `r:N:S` multiples of S in order; in
// capitals (`F:N`, `D:N`, `B:N`, `I:N`) the same of zeros, which the kernel writes; `l:N` bytes of local memory; `n=V`, `u=V`,
// `q=V`, `x=V` a number (int, uint, ulong, float); `s=V:W` a structure of two longs.
//
// There is no other implementation to compare with; `unseen_sum` is a sum over all outputs, which the implementations share.
#define _GNU_SOURCE
#include "kit.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 12 };

struct unseen {
  size_t offset[3], global[3], local[3];
  cl_uint dimensions;
  int has_local, outputs;
  cl_mem output[MOST];
  size_t bytes[MOST];
  char kind[MOST];
};

static void sizes(const char *text, size_t out[3], cl_uint *count) {
  *count = 0;
  for (char *end; *count < 3; text = end + 1) {
    out[(*count)++] = strtoul(text, &end, 10);
    if (*end != ',')
      break;
  }
}

static size_t width_of(char kind) {
  switch (tolower(kind)) {
  case 'd':
    return 8;
  case 'b':
    return 1;
  default:
    return 4;
  }
}

static cl_mem input(struct run *run, char kind, size_t count, unsigned long more) {
  size_t bytes = count * width_of(kind);
  char *data = fresh(bytes);
  for (size_t i = 0; i < count; i++)
    switch (kind) {
    case 'f':
      ((float *)data)[i] = next_unit();
      break;
    case 'd':
      ((double *)data)[i] = next_unit();
      break;
    case 'b':
      data[i] = (char)(next_random() >> 7);
      break;
    case 'i':
      ((unsigned *)data)[i] = next_random() % (unsigned)more;
      break;
    case 'r':
      ((unsigned *)data)[i] = (unsigned)(i * more);
      break;
    }
  cl_mem buffer = buffer_of(run, data, bytes);
  free(data);
  return buffer;
}

// Copies the description of a kernel, and returns whether there is one.
int unseen_line(const char *source, const char *kernel, char line[1024]) {
  char head[128];
  snprintf(head, sizeof head, "kernel void %s(", kernel);
  const char *at = strstr(source, head);
  if (!at)
    return 0;
  const char *from = at;
  while (from > source && strncmp(from, "//!", 3))
    from--;
  if (strncmp(from, "//!", 3))
    return 0;
  size_t length = strcspn(from, "\n");
  snprintf(line, 1024, "%.*s", (int)(length < 1023 ? length : 1023), from);
  return 1;
}

void unseen_options(const char *line, char options[256]) {
  const char *at = strstr(line, "options=");
  if (at)
    snprintf(options, 256, "%.*s", (int)strcspn(at + 8, " "), at + 8);
}

void unseen_prepare(struct run *run, const char *line) {
  struct unseen *own = fresh(sizeof *own);
  run->own = own;
  cl_uint ignored;
  const char *offset = strstr(line, "offset="), *global = strstr(line, "global="), *local = strstr(line, "local="),
             *args = strstr(line, "args=");
  if (offset)
    sizes(offset + 7, own->offset, &ignored);
  sizes(global + 7, own->global, &own->dimensions);
  own->has_local = local != NULL;
  if (local)
    sizes(local + 6, own->local, &ignored);
  cl_kernel kernel = run->kernels[0];
  cl_uint index = 0;
  for (const char *at = args + 5; *at && *at != '\n'; index++) {
    char kind = *at;
    char *end;
    if (kind == 's' || kind == 'q') {
      cl_ulong words[2] = {strtoull(at + 2, &end, 10), 0};
      if (kind == 's')
        words[1] = strtoull(end + 1, &end, 10);
      need(clSetKernelArg(kernel, index, kind == 's' ? sizeof words : sizeof *words, words), "clSetKernelArg");
    } else if (at[1] == '=') {
      double value = strtod(at + 2, &end);
      cl_int whole = (cl_int)value;
      cl_float real = (cl_float)value;
      need(clSetKernelArg(kernel, index, 4, kind == 'x' ? (void *)&real : (void *)&whole), "clSetKernelArg");
    } else {
      size_t count = strtoul(at + 2, &end, 10);
      unsigned long more = *end == ':' ? strtoul(end + 1, &end, 10) : 1;
      if (kind == 'l') {
        need(clSetKernelArg(kernel, index, count, NULL), "clSetKernelArg");
      } else {
        cl_mem buffer = isupper(kind) ? buffer_of(run, NULL, count * width_of(kind)) : input(run, kind, count, more);
        need(clSetKernelArg(kernel, index, sizeof buffer, &buffer), "clSetKernelArg");
        if (isupper(kind) && own->outputs < MOST) {
          own->output[own->outputs] = buffer;
          own->kind[own->outputs] = kind;
          own->bytes[own->outputs++] = count * width_of(kind);
        }
      }
    }
    at = *end == ',' ? end + 1 : end;
  }
}

void unseen_launch(struct run *run) {
  struct unseen *own = run->own;
  need(clEnqueueNDRangeKernel(run->queue, run->kernels[0], own->dimensions, own->offset, own->global,
                              own->has_local ? own->local : NULL, 0, NULL, NULL),
       "clEnqueueNDRangeKernel");
}

// Returns an element of an output.
static double element_of(const char *data, char kind, size_t i) {
  switch (kind) {
  case 'F':
    return ((const float *)data)[i];
  case 'D':
    return ((const double *)data)[i];
  case 'B':
    return ((const unsigned char *)data)[i];
  default:
    return ((const unsigned *)data)[i];
  }
}

double unseen_sum(struct run *run) {
  struct unseen *own = run->own;
  double sum = 0.0;
  for (int at = 0; at < own->outputs; at++) {
    char *data = fresh(own->bytes[at]);
    read_out(run, own->output[at], data, own->bytes[at]);
    size_t count = own->bytes[at] / width_of(own->kind[at]);
    for (size_t i = 0; i < count; i++)
      sum += (1.0 + (double)(i % 7)) * element_of(data, own->kind[at], i);
    free(data);
  }
  return sum;
}

// Exchanged elements and single wrong ones change this sum by more than rounding does.
void unseen_check(struct run *run, double out[2]) {
  struct unseen *own = run->own;
  double sum = 0.0, squares = 0.0;
  for (int at = 0; at < own->outputs; at++) {
    char *data = fresh(own->bytes[at]);
    read_out(run, own->output[at], data, own->bytes[at]);
    size_t count = own->bytes[at] / width_of(own->kind[at]);
    for (size_t i = 0; i < count; i++) {
      double value = element_of(data, own->kind[at], i);
      unsigned weight = (unsigned)i * 2654435761u;
      sum += ((weight ^ weight >> 15) % 2001 / 1000.0 - 1.0) * value;
      squares += value * value;
    }
    free(data);
  }
  out[0] = sum;
  out[1] = sqrt(squares);
}
