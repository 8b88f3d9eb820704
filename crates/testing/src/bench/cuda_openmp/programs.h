// The programs: NAME.cu has the kernels, NAME.c the form in OpenMP, the data and the launches.
#define PROGRAMS(X) \
  X(heat) \
  X(stencil3d) \
  X(nbody) \
  X(monte_carlo) \
  X(page_rank) \
  X(attention) \
  X(softmax) \
  X(layer_norm) \
  X(histogram) \
  X(scan) \
  X(radix_sort) \
  X(kmeans) \
  X(lu) \
  X(bfs) \
  X(spmv) \
  X(black_scholes) \
  X(fft) \
  X(bilateral) \
  X(functions) \
  X(life) \
  X(match)
