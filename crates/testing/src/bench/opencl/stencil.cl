// Each point of a grid becomes the mean of its neighbours and itself; the border stays.
kernel void smooth(global const float *in, global float *out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  int at = y * width + x;
  if (x == 0 || y == 0 || x == width - 1 || y == height - 1)
    out[at] = in[at];
  else
    out[at] = 0.2f * (in[at] + in[at - 1] + in[at + 1] + in[at - width] + in[at + width]);
}
