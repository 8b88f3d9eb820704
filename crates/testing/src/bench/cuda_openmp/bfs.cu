// A level of a breadth-first search: nodes of the level give the next one to neighbours without a level.
extern "C" __global__ void visit(const int *starts, const int *ends, int *levels, int *changed, int nodes, int level) {
  int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= nodes || levels[node] != level) return;
  for (int edge = starts[node]; edge < starts[node + 1]; edge++) {
    int to = ends[edge];
    if (levels[to] < 0) {
      levels[to] = level + 1;
      *changed = 1;
    }
  }
}
