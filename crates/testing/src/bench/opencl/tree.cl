// Looks up keys in a binary search tree; what is not there gives -1.
kernel void lookup(global const int *keys, global const int *left, global const int *right, global const int *wanted,
                   global int *found) {
  int i = get_global_id(0);
  int key = wanted[i], node = 0;
  while (node >= 0) {
    int here = keys[node];
    if (here == key)
      break;
    node = key < here ? left[node] : right[node];
  }
  found[i] = node;
}
