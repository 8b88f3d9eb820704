// Four iterations of PageRank on 131072 nodes with 2 million edges. Edges are listed by the node that they lead to.
#include "kit.h"

enum { NODES = 1 << 17, ITERATIONS = 4 };
static const float DAMPING = 0.85f;
static struct graph graph;
static struct array degrees, first, ranks, shares;

static void prepare(void) {
  graph = new_graph(NODES, 16, 1);
  degrees = new_array(NODES * sizeof(int));
  first = new_array(NODES * sizeof(float));
  ranks = new_array(NODES * sizeof(float));
  shares = new_array(NODES * sizeof(float));
  for (int i = 0; i < graph.edges; i++)
    INTS(degrees)[INTS(graph.ends)[i]]++;
  for (int i = 0; i < NODES; i++)
    FLOATS(first)[i] = 1.0f / NODES;
  float_output(ranks, 1.0 / NODES);
}

static void iterate(const float *from) {
  const int *starts = INTS(graph.starts), *sources = INTS(graph.ends), *degree = INTS(degrees);
  float *share = FLOATS(shares), *rank = FLOATS(ranks);
#pragma omp parallel
  {
#pragma omp for simd
    for (int i = 0; i < NODES; i++)
      share[i] = degree[i] > 0 ? from[i] / degree[i] : 0.0f;
#pragma omp for schedule(dynamic, 1024)
    for (int i = 0; i < NODES; i++) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int edge = starts[i]; edge < starts[i + 1]; edge++)
        sum += share[sources[edge]];
      rank[i] = (1.0f - DAMPING) / NODES + DAMPING * sum;
    }
  }
}

static void openmp(void) {
  for (int i = 0; i < ITERATIONS; i++)
    iterate(FLOATS(i == 0 ? first : ranks));
}

static void cuda(void) {
  int nodes = NODES;
  float damping = DAMPING;
  struct grid grid = GRID(blocks_of(NODES, 256), 256);
  for (int i = 0; i < ITERATIONS; i++) {
    LAUNCH("share", grid, i == 0 ? &first.device : &ranks.device, &degrees.device, &shares.device, &nodes);
    LAUNCH("collect", grid, &graph.starts.device, &graph.ends.device, &shares.device, &ranks.device, &nodes, &damping);
  }
}

const struct program page_rank_program = {"page_rank", prepare, openmp, cuda};
