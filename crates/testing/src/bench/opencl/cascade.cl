// Eight ways to go on, by ranges of the input.
kernel void cascade(global const float *in, global float *out) {
  int i = get_global_id(0);
  float x = in[i], y = x;
  if (x < 0.125f) {
    for (int k = 0; k < 16; k++)
      y = y * 0.75f + x;
  } else if (x < 0.25f) {
    for (int k = 0; k < 16; k++)
      y = y * (1.0f - x) + 0.5f;
  } else if (x < 0.375f) {
    for (int k = 0; k < 16; k++)
      y = 0.25f - y * y * x;
  } else if (x < 0.5f) {
    y = sqrt(x) + sqrt(y + 1.0f) + sqrt(y + 2.0f);
  } else if (x < 0.625f) {
    for (int k = 0; k < 16; k++)
      y = (y + x) * 0.5f - y * x;
  } else if (x < 0.75f) {
    y = 1.0f / (1.0f + x / (2.0f + x / (3.0f + x)));
  } else if (x < 0.875f) {
    for (int k = 0; k < 16; k++)
      y = x - y * 0.25f;
  } else {
    for (int k = 0; k < 16; k++)
      y = y * y - x * 0.5f;
  }
  out[i] = y;
}
