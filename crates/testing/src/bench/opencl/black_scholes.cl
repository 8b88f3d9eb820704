// Prices of a European option, call and put, by the formula of Black and Scholes.
float normal(float x) {
  float t = 1.0f / (1.0f + 0.2316419f * fabs(x));
  float sum = t * (0.319381530f + t * (-0.356563782f + t * (1.781477937f + t * (-1.821255978f + t * 1.330274429f))));
  float below = 1.0f - 0.398942280f * exp(-0.5f * x * x) * sum;
  return x < 0.0f ? 1.0f - below : below;
}

kernel void price(global const float *random, global float *call, global float *put) {
  int i = get_global_id(0);
  float in = random[i];
  float spot = 10.0f * in + 100.0f * (1.0f - in);
  float strike = 10.0f * in + 100.0f * (1.0f - in);
  float years = 1.0f * in + 10.0f * (1.0f - in);
  float rate = 0.01f * in + 0.05f * (1.0f - in);
  float sigma = 0.01f * in + 0.10f * (1.0f - in);
  float root = sigma * sqrt(years);
  float d1 = (log(spot / strike) + (rate + sigma * sigma / 2.0f) * years) / root;
  float d2 = d1 - root;
  float discounted = strike * exp(-rate * years);
  call[i] = spot * normal(d1) - discounted * normal(d2);
  put[i] = discounted * normal(-d2) - spot * normal(-d1);
}
