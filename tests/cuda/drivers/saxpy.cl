// A vector, and another one times a number.
kernel void saxpy(global float *y, global const float *x, float a) {
  int i = get_global_id(0);
  y[i] = a * x[i] + y[i];
}
