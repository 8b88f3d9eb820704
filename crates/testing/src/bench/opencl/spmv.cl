// A sparse matrix in rows times a vector, a work-item for each row.
kernel void multiply(global const int *starts, global const int *columns, global const float *values,
                     global const float *in, global float *out) {
  int row = get_global_id(0);
  float sum = 0.0f;
  for (int at = starts[row]; at < starts[row + 1]; at++)
    sum += values[at] * in[columns[at]];
  out[row] = sum;
}
