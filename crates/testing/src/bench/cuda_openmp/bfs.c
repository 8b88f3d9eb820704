// Breadth-first search in a graph of 262144 nodes and 2 million edges.
#include "kit.h"
#include <string.h>

enum { NODES = 1 << 18 };
static struct graph graph;
static struct array levels, changed;
static int root;

static void prepare(void) {
  graph = new_graph(NODES, 8, 0);
  levels = new_array(NODES * sizeof(int));
  changed = new_array(sizeof(int));
  while (INTS(graph.starts)[root] == INTS(graph.starts)[root + 1])
    root++;
  exact_output(levels);
}

static void openmp(void) {
  const int *starts = INTS(graph.starts), *ends = INTS(graph.ends);
  int *level_of = INTS(levels);
  memset(level_of, 0xff, levels.bytes);
  level_of[root] = 0;
  int is_changed = 1;
  for (int level = 0; is_changed; level++) {
    is_changed = 0;
#pragma omp parallel for schedule(dynamic, 4096) reduction(| : is_changed)
    for (int node = 0; node < NODES; node++) {
      int own;
#pragma omp atomic read
      own = level_of[node];
      if (own != level)
        continue;
      for (int edge = starts[node]; edge < starts[node + 1]; edge++) {
        int *to = &level_of[ends[edge]], old;
#pragma omp atomic read
        old = *to;
        if (old < 0) {
#pragma omp atomic write
          *to = level + 1;
          is_changed = 1;
        }
      }
    }
  }
}

static void cuda(void) {
  int nodes = NODES, is_changed = 1;
  NEED(cuMemsetD32(levels.device, ~0u, NODES));
  NEED(cuMemsetD32(levels.device + root * sizeof(int), 0, 1));
  for (int level = 0; is_changed; level++) {
    NEED(cuMemsetD32(changed.device, 0, 1));
    LAUNCH("visit", GRID(blocks_of(NODES, 256), 256), &graph.starts.device, &graph.ends.device, &levels.device, &changed.device,
           &nodes, &level);
    NEED(cuMemcpyDtoH(&is_changed, changed.device, sizeof is_changed));
  }
}

const struct program bfs_program = {"bfs", prepare, openmp, cuda};
