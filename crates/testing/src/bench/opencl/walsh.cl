// One step of the fast Walsh transform.
kernel void butterfly(global float *values, uint step) {
  uint i = get_global_id(0);
  uint first = 2 * step * (i / step) + i % step;
  uint second = first + step;
  float a = values[first], b = values[second];
  values[first] = a + b;
  values[second] = a - b;
}
