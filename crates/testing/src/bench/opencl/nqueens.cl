// How many ways there are to place the queens of the rows that are left; each work-item has its first rows given.
kernel void solve(global const uint *columns, global const uint *falling, global const uint *rising, global uint *ways,
                  int rows, uint all) {
  uint open[16], column[16], fall[16], rise[16];
  int i = get_global_id(0), depth = 0;
  uint found = 0;
  column[0] = columns[i];
  fall[0] = falling[i];
  rise[0] = rising[i];
  open[0] = all & ~(column[0] | fall[0] | rise[0]);
  while (depth >= 0) {
    uint free = open[depth];
    if (free == 0) {
      depth--;
      continue;
    }
    uint bit = free & -free;
    open[depth] = free ^ bit;
    if (depth == rows - 1) {
      found++;
      continue;
    }
    column[depth + 1] = column[depth] | bit;
    fall[depth + 1] = (fall[depth] | bit) >> 1;
    rise[depth + 1] = (rise[depth] | bit) << 1;
    depth++;
    open[depth] = all & ~(column[depth] | fall[depth] | rise[depth]);
  }
  ways[i] = found;
}
