// One lane: a step towards the mean of the neighbours, where they are close.
void smooth(const float *from, float *to, float limit, long i) {
  float mean = 0.5f * (from[i - 1] + from[i + 1]);
  float step = mean - from[i];
  to[i] = step * step < limit ? from[i] + 0.5f * step : from[i];
}
