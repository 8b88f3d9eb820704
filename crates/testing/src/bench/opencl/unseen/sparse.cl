// Sparse matrices and graphs.

//! global=16384 local=64 args=r:16385:24,i:393216:16384,f:393216,f:16384,F:16384
kernel void csr_scalar(global const int *start, global const int *column, global const float *value, global const float *x, global float *y) {
  int row = get_global_id(0);
  float sum = 0;
  for (int k = start[row]; k < start[row + 1]; k++)
    sum += value[k] * x[column[k]];
  y[row] = sum;
}

//! global=16384 args=i:262144:16384,f:262144,f:16384,F:16384,n=16384,n=16
kernel void ellpack(global const int *column, global const float *value, global const float *x, global float *y, int rows, int width) {
  int row = get_global_id(0);
  if (row >= rows)
    return;
  float sum = 0;
  for (int k = 0; k < width; k++) {
    int c = column[k * rows + row];
    if (c >= 0)
      sum += value[k * rows + row] * x[c];
  }
  y[row] = sum;
}

//! global=16384 local=128 args=r:16385:8,i:131072:16384,f:16384,F:16384,n=16384,x=0.85
kernel void page_rank(global const int *start, global const int *from, global const float *rank, global float *out, int n, float damping) {
  int v = get_global_id(0);
  float sum = 0;
  for (int e = start[v]; e < start[v + 1]; e++)
    sum += rank[from[e]] * 0.125f;
  out[v] = (1 - damping) / n + damping * sum;
}

//! global=16384 local=128 args=r:16385:8,i:131072:16384,i:16384:100,I:16384
kernel void relax_edges(global const int *start, global const int *to, global const int *distance, global int *out) {
  int v = get_global_id(0), best = distance[v];
  for (int e = start[v]; e < start[v + 1]; e++) {
    int d = distance[to[e]] + 1 + (e & 7);
    best = d < best ? d : best;
  }
  out[v] = best;
}

//! global=65536 args=i:65536:65536,I:65536,n=6
kernel void pointer_jump(global const int *parent, global int *out, int rounds) {
  int v = get_global_id(0), p = parent[v];
  for (int i = 0; i < rounds && parent[p] != p; i++)
    p = parent[p];
  out[v] = p;
}

//! global=8192 local=64 args=r:8193:12,i:98304:8192,I:8192
kernel void triangles(global const int *start, global const int *to, global int *count) {
  int v = get_global_id(0), found = 0;
  for (int e = start[v]; e < start[v + 1]; e++) {
    int w = to[e];
    for (int f = start[w]; f < start[w + 1]; f++)
      found += to[f] == v;
  }
  count[v] = found;
}
