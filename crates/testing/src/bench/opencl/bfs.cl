// One level of a breadth-first search: nodes that are reached give their level to neighbours that are not.
kernel void level(global const int *starts, global const int *edges, global int *levels, int current) {
  int node = get_global_id(0);
  if (levels[node] != current)
    return;
  for (int at = starts[node]; at < starts[node + 1]; at++) {
    int next = edges[at];
    if (levels[next] < 0)
      levels[next] = current + 1;
  }
}
