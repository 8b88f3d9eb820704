// Monte Carlo, finance and statistics.

static float next_float(uint *state) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) * (1.0f / 16777216.0f);
}

//! global=16384 local=128 args=I:16384,n=200,u=7
kernel void pi_hits(global uint *hits, int samples, uint seed) {
  uint state = seed + get_global_id(0) * 2654435761u, inside = 0;
  for (int i = 0; i < samples; i++) {
    float x = next_float(&state), y = next_float(&state);
    if (x * x + y * y < 1.0f)
      inside++;
  }
  hits[get_global_id(0)] = inside;
}

//! global=8192 local=64 args=f:8192,F:8192,n=64
kernel void asian_option(global const float *strike, global float *price, int steps) {
  uint state = get_global_id(0) * 9781u + 1;
  float s = 100.0f, sum = 0.0f;
  for (int i = 0; i < steps; i++) {
    float u = fmax(next_float(&state), 1e-7f), v = next_float(&state);
    float normal = sqrt(-2.0f * log(u)) * cos(6.2831853f * v);
    s *= exp(-0.0002f + 0.02f * normal);
    sum += s;
  }
  price[get_global_id(0)] = fmax(sum / steps - 90.0f - 20.0f * strike[get_global_id(0)], 0.0f);
}

//! global=4096 local=32 args=f:4096,F:4096,n=64
kernel void binomial_tree(global const float *vol, global float *price, int steps) {
  float value[65], sigma = 0.1f + 0.4f * vol[get_global_id(0)], up = exp(sigma * 0.125f), down = 1 / up, p = (1.001f - down) / (up - down);
  float s = 100.0f * pown(down, steps);
  for (int i = 0; i <= steps; i++) {
    value[i] = fmax(s - 100.0f, 0.0f);
    s *= up * up;
  }
  for (int level = steps; level > 0; level--)
    for (int i = 0; i < level; i++)
      value[i] = 0.999f * (p * value[i + 1] + (1 - p) * value[i]);
  price[get_global_id(0)] = value[0];
}

//! global=65536 args=f:65536,F:65536,n=65536
kernel void error_function(global const float *x, global float *y, int n) {
  int i = get_global_id(0);
  if (i >= n)
    return;
  float v = 4.0f * x[i] - 2.0f;
  y[i] = 0.5f * erfc(-v * 0.70710678f) + tgamma(1.0f + x[i]);
}

//! global=256 local=64 args=f:262144,F:512,n=1024
kernel void mean_deviation(global const float *rows, global float *out, int width) {
  int r = get_global_id(0);
  float mean = 0, m2 = 0;
  for (int i = 0; i < width; i++) {
    float d = rows[r * width + i] - mean;
    mean += d / (i + 1);
    m2 += d * (rows[r * width + i] - mean);
  }
  out[2 * r] = mean;
  out[2 * r + 1] = sqrt(m2 / width);
}
