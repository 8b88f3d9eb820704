// Parts that the programs share: see driver.c for how they run, programs.h for their list.
#pragma once
#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

// A program in two forms that compute the same.
struct program {
  const char *name;
  // Makes the inputs on the host, and names the outputs.
  void (*prepare)(void);
  // Runs the form in C with OpenMP once, on the arrays of the host.
  void (*openmp)(void);
  // Runs the form in CUDA once, on the arrays of the device.
  void (*cuda)(void);
};

// An array on the host, and one on the device with the same bytes.
struct array {
  void *host;
  CUdeviceptr device;
  size_t bytes;
};

// Ends the process with a message if this is an error code.
void need(CUresult code, const char *text);
#define NEED(call) need((call), #call)

// Makes an array of zeros. Its contents on the host are copied to the device when the device is opened.
struct array new_array(size_t bytes);
// Compares an output with that of the other form: floats and doubles with their tolerance relative to the value plus a typical
// size, other types by their bytes.
void float_output(struct array array, double typical);
void double_output(struct array array, double typical);
void exact_output(struct array array);

// Next number of a fixed sequence: of 31 bits, and from 0 to 1.
unsigned next_random(void);
float next_unit(void);
// Fills an array of floats with numbers between these.
void fill_floats(struct array array, float low, float high);

// Grid of a launch: blocks and threads of a block.
struct grid {
  unsigned blocks[2], threads[2];
};
#define GRID(x, tx) ((struct grid){{(x), 1}, {(tx), 1}})
#define GRID_2D(x, y, tx, ty) ((struct grid){{(x), (y)}, {(tx), (ty)}})
// Number of blocks of this many threads that cover a number of elements.
static inline unsigned blocks_of(size_t count, unsigned threads) { return (unsigned)((count + threads - 1) / threads); }
// Launches a kernel of the program's module; arguments are pointers to values.
void launch(const char *kernel, struct grid grid, void *const *arguments);
// Copies bytes of the host into a constant of the program's module.
void set_constant(const char *name, const void *bytes, size_t size);
#define LAUNCH(kernel, grid, ...) launch(kernel, grid, (void *const[]){__VA_ARGS__})

// Values of an array on the host.
#define FLOATS(array) ((float *)(array).host)
#define DOUBLES(array) ((double *)(array).host)
#define INTS(array) ((int *)(array).host)
#define WORDS(array) ((uint32_t *)(array).host)
#define BYTES(array) ((uint8_t *)(array).host)

// A directed graph in compressed rows.
struct graph {
  // Edges of node i are those from starts[i] to starts[i + 1].
  struct array starts, ends;
  int nodes, edges;
};
// Makes a random graph with 0 to twice `degree` edges a node; a few nodes are the ends of many edges if it is skewed.
struct graph new_graph(int nodes, int degree, int is_skewed);
