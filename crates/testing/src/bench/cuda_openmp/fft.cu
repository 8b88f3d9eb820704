// A stage of a Fourier transform by Stockham's algorithm: a thread computes a butterfly.
extern "C" __global__ void stage(const float2 *in, float2 *out, const float2 *roots, int half, int log_stride) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= half) return;
  int stride = 1 << log_stride, q = at & (stride - 1), p = at >> log_stride;
  float2 a = in[at], b = in[at + half], root = roots[p << log_stride];
  float x = a.x - b.x, y = a.y - b.y;
  int to = q + (p << (log_stride + 1));
  out[to] = make_float2(a.x + b.x, a.y + b.y);
  out[to + stride] = make_float2(x * root.x - y * root.y, x * root.y + y * root.x);
}
