// clang's words, with the names and lines of the source.
kernel void scale(global float *values, float by) {
  values[get_global_id(0)] *= factor;
}
