// An iteration of PageRank: shares of each node, then sums over the edges that lead to a node.
extern "C" __global__ void share(const float *ranks, const int *degrees, float *shares, int nodes) {
  int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node < nodes) shares[node] = degrees[node] > 0 ? ranks[node] / degrees[node] : 0.0f;
}

extern "C" __global__ void collect(const int *starts, const int *sources, const float *shares, float *ranks, int nodes, float damping) {
  int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= nodes) return;
  float sum = 0;
  for (int edge = starts[node]; edge < starts[node + 1]; edge++) sum += shares[sources[edge]];
  ranks[node] = (1.0f - damping) / nodes + damping * sum;
}
