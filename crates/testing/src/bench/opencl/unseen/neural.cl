// Layers of neural networks.

//! global=262144 args=f:262144,F:262144
kernel void gelu(global const float *x, global float *y) {
  float v = x[get_global_id(0)] * 4 - 2;
  y[get_global_id(0)] = 0.5f * v * (1 + tanh(0.79788456f * (v + 0.044715f * v * v * v)));
}

//! global=512 local=64 args=f:262144,F:262144,n=512
kernel void softmax_rows(global const float *x, global float *y, int n) {
  global const float *in = x + get_global_id(0) * n;
  global float *out = y + get_global_id(0) * n;
  float most = in[0], sum = 0;
  for (int i = 1; i < n; i++)
    most = fmax(most, in[i]);
  for (int i = 0; i < n; i++)
    sum += exp(in[i] - most);
  for (int i = 0; i < n; i++)
    out[i] = exp(in[i] - most) / sum;
}

//! global=65536 local=256 args=f:65536,f:256,f:256,F:65536,l:2048
kernel void layer_norm(global const float *x, global const float *gain, global const float *bias, global float *y, local float *part) {
  int l = get_local_id(0), n = get_local_size(0);
  float v = x[get_global_id(0)];
  part[l] = v;
  part[n + l] = v * v;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = n / 2; s > 0; s /= 2) {
    if (l < s) {
      part[l] += part[l + s];
      part[n + l] += part[n + l + s];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float mean = part[0] / n, variance = part[n] / n - mean * mean;
  y[get_global_id(0)] = (v - mean) * rsqrt(variance + 1e-5f) * gain[l] + bias[l];
}

//! global=28,28,32 args=f:8192,f:2304,F:25088,n=8
kernel void convolution3x3(global const float *in, constant float *weight, global float *out, int channels) {
  int x = get_global_id(0), y = get_global_id(1), o = get_global_id(2);
  float sum = 0;
  for (int c = 0; c < channels; c++)
    for (int j = 0; j < 3; j++)
      for (int i = 0; i < 3; i++)
        sum += in[(c * 32 + y + j) * 32 + x + i] * weight[((o * channels + c) * 3 + j) * 3 + i];
  out[(o * 28 + y) * 28 + x] = fmax(sum, 0.0f);
}

//! global=128,128,16 local=16,4,1 args=f:1048576,F:262144,n=128
kernel void max_pool(global const float *in, global float *out, int n) {
  int x = get_global_id(0), y = get_global_id(1), c = get_global_id(2);
  global const float *p = in + (c * 2 * n + 2 * y) * 2 * n + 2 * x;
  out[(c * n + y) * n + x] = fmax(fmax(p[0], p[1]), fmax(p[2 * n], p[2 * n + 1]));
}

//! global=256,64 local=16,4 args=b:65536,b:16384,I:16384,n=256
kernel void int8_product(global const char *a, global const char *b, global int *c, int depth) {
  int row = get_global_id(0), column = get_global_id(1), sum = 0;
  for (int k = 0; k < depth; k += 4) {
    char4 p = vload4(0, a + row * depth + k), q = vload4(0, b + column * depth + k);
    sum += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
  }
  c[row * get_global_size(1) + column] = sum;
}

//! global=131072 args=f:131072,f:131072,F:131072,F:131072,x=0.001,x=0.9
kernel void momentum_update(global const float *weight, global const float *gradient, global float *velocity, global float *out, float rate, float keep) {
  size_t i = get_global_id(0);
  float v = keep * velocity[i] - rate * gradient[i];
  velocity[i] = v;
  out[i] = weight[i] + v;
}
