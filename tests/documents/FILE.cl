kernel void NAME(global int *x, int VARIABLE) {
  size_t i = get_global_id(0);
  if (x[i] > VARIABLE) x[i] = 0;
}
