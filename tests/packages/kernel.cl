kernel void add(global const float *x, global float *y) {
  size_t i = get_global_id(0);
  y[i] += x[i];
}
