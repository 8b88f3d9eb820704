kernel void add(global const float *a, global float *b, int n) {
  int r = get_global_id(0), c = get_global_id(1);
  b[r * n + c] += a[r * n + c];
}
