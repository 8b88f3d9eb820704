// One pass over all pairs of nodes: ways that go by node `k`.
kernel void relax(global uint *distance, global uint *by, uint nodes, uint k) {
  uint x = get_global_id(0), y = get_global_id(1);
  uint known = distance[y * nodes + x];
  uint other = distance[y * nodes + k] + distance[k * nodes + x];
  if (other < known) {
    distance[y * nodes + x] = other;
    by[y * nodes + x] = k;
  }
}
