// Stages of Fourier transforms, and filters of signals.

//! global=65536 args=f:262144,F:262144,u=8
kernel void fft_stage(global const float2 *in, global float2 *out, uint p) {
  uint i = get_global_id(0), t = get_global_size(0), k = i & (p - 1);
  float angle = -3.14159265f * k / p;
  float2 a = in[i], b = in[i + t], w = (float2)(native_cos(angle), native_sin(angle));
  b = (float2)(b.x * w.x - b.y * w.y, b.x * w.y + b.y * w.x);
  uint j = ((i - k) << 1) + k;
  out[j] = a + b;
  out[j + p] = a - b;
}

//! global=8192 local=64 args=f:131072,F:131072
kernel void fft8_private(global const float2 *in, global float2 *out) {
  float2 v[8];
  size_t base = get_global_id(0) * 8;
  for (int i = 0; i < 8; i++)
    v[i] = in[base + i];
  for (int half_size = 4; half_size >= 1; half_size /= 2)
    for (int i = 0; i < 8; i++)
      if (!(i & half_size)) {
        float2 a = v[i], b = v[i + half_size];
        float angle = -3.14159265f * (i % half_size) / half_size;
        float2 d = a - b, w = (float2)(cos(angle), sin(angle));
        v[i] = a + b;
        v[i + half_size] = (float2)(d.x * w.x - d.y * w.y, d.x * w.y + d.y * w.x);
      }
  for (int i = 0; i < 8; i++)
    out[base + i] = v[i];
}

//! global=65536 args=f:65600,f:64,F:65536,n=64
kernel void fir(global const float *in, constant float *taps, global float *out, int count) {
  int i = get_global_id(0);
  float sum = 0;
  for (int k = 0; k < count; k++)
    sum += taps[k] * in[i + k];
  out[i] = sum;
}

//! global=256 local=16 args=f:262144,F:262144,n=1024,x=0.9
kernel void iir_channels(global const float *in, global float *out, int length, float a) {
  int channel = get_global_id(0);
  float state = 0;
  for (int i = 0; i < length; i++) {
    state = a * state + (1 - a) * in[channel * length + i];
    out[channel * length + i] = state;
  }
}

//! global=32768 args=b:131072,F:65536
kernel void adpcm_delta(global const short *in, global float2 *out) {
  int i = get_global_id(0);
  short a = in[2 * i], b = in[2 * i + 1];
  out[i] = (float2)(a - b, sub_sat(a, b) >> 3);
}
