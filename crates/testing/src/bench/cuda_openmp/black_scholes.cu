// Prices of European options by the formula of Black and Scholes.
__device__ float normal(float d) {
  float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
  float sum = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  float tail = 0.39894228f * expf(-0.5f * d * d) * sum;
  return d > 0 ? 1.0f - tail : tail;
}

extern "C" __global__ void prices(const float *price, const float *strike, const float *years, float *call, float *put, float rate, float volatility, int count) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count) return;
  float s = price[at], k = strike[at], t = years[at], root = sqrtf(t);
  float d1 = (logf(s / k) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root), d2 = d1 - volatility * root;
  float discounted = k * expf(-rate * t), first = normal(d1), second = normal(d2);
  call[at] = s * first - discounted * second;
  put[at] = discounted * (1.0f - second) - s * (1.0f - first);
}
