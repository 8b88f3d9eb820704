// Graphs in rows of edges, as Rodinia's bfs and the SDK's samples walk them.
#include "device.cuh"

// launch: @bfs_level(&rows, &columns, &levels, &changed, 0, 64) local=32 groups=2 with rows: i32 step 4 65; columns: i32 below 64 256; levels: i32 below 3 64; changed: i32 zero 1
KERNEL bfs_level(const int *rows, const int *columns, int *levels, int *changed, int level, int nodes) {
  int node = thread_number();
  if (node >= nodes || levels[node] != level) return;
  for (int edge = rows[node]; edge < rows[node + 1]; edge++) {
    int old = atomicCAS(&levels[columns[edge]], 2, level + 1);
    if (old == 2) *changed = 1;
  }
}

// launch: @bfs_mark(&mask, &next, &visited, &stop, 60) local=32 groups=2 with mask: i8 zero 64; next: i8 below 2 64; visited: i8 zero 64; stop: i8 zero 1
KERNEL bfs_mark(char *mask, char *next, char *visited, char *stop, int nodes) {
  int node = thread_number();
  if (node < nodes && next[node]) {
    mask[node] = 1;
    visited[node] = 1;
    *stop = 1;
    next[node] = 0;
  }
}

// launch: @sssp_relax(&rows, &columns, &weights, &distances, 64) local=64 groups=1 with rows: i32 step 3 65; columns: i32 below 64 192; weights: i32 below 9 192; distances: i32 below 100 64
KERNEL sssp_relax(const int *rows, const int *columns, const int *weights, int *distances, int nodes) {
  __shared__ int own[64];
  int node = thread_number();
  own[threadIdx.x] = node < nodes ? distances[node] : 0;
  __syncthreads();
  if (node >= nodes) return;
  for (int edge = rows[node]; edge < rows[node + 1]; edge++) atomicMin(&distances[columns[edge]], own[threadIdx.x] + weights[edge]);
}

// launch: @pagerank_gather(&rows, &columns, &ranks, &out, 0.85, 60) local=32 groups=2 with rows: i32 step 4 65; columns: i32 below 64 256; ranks: f32 below 7 64; out: f32 zero 64
KERNEL pagerank_gather(const int *rows, const int *columns, const float *ranks, float *out, float damping, int nodes) {
  int node = thread_number();
  if (node >= nodes) return;
  float sum = 0;
  for (int edge = rows[node]; edge < rows[node + 1]; edge++) {
    int from = columns[edge];
    sum += ranks[from] / (float)(rows[from + 1] - rows[from]);
  }
  out[node] = (1.0f - damping) / nodes + damping * sum;
}

// launch: @triangles(&rows, &columns, &count, 40) local=64 groups=1 with rows: i32 step 4 65; columns: i32 below 64 256; count: i32 zero 1
KERNEL triangles(const int *rows, const int *columns, int *count, int nodes) {
  int node = thread_number(), found = 0;
  if (node < nodes)
    for (int edge = rows[node]; edge < rows[node + 1]; edge++) {
      int other = columns[edge];
      int here = rows[node], there = rows[other];
      while (here < rows[node + 1] && there < rows[other + 1]) {
        int a = columns[here], b = columns[there];
        found += a == b;
        here += a <= b;
        there += b <= a;
      }
    }
  if (found) atomicAdd(count, found);
}

// launch: @hook_components(&from, &to, &parents, 60) local=32 groups=2 with from: i32 below 64 64; to: i32 below 64 64; parents: i32 step 1 64
KERNEL hook_components(const int *from, const int *to, int *parents, int edges) {
  int edge = thread_number();
  if (edge >= edges) return;
  int a = from[edge], b = to[edge];
  if (a != b) atomicMin(&parents[max(a, b)], min(a, b));
}

// launch: @degrees(&columns, &counts, 250) local=64 groups=2 with columns: i32 below 64 256; counts: i32 zero 64
KERNEL degrees(const int *columns, int *counts, int edges) {
  for (int edge = thread_number(); edge < edges; edge += gridDim.x * blockDim.x) atomicAdd(&counts[columns[edge]], 1);
}
