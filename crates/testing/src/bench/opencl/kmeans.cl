// The nearest of some centres, for each point. Coordinates of points lie apart, those of a centre together.
kernel void assign(global const float *points, global const float *centres, global int *nearest, int count, int centre_count,
                   int dimensions) {
  int i = get_global_id(0);
  float least = FLT_MAX;
  int best = 0;
  for (int c = 0; c < centre_count; c++) {
    float distance = 0.0f;
    for (int d = 0; d < dimensions; d++) {
      float difference = points[d * count + i] - centres[c * dimensions + d];
      distance += difference * difference;
    }
    if (distance < least) {
      least = distance;
      best = c;
    }
  }
  nearest[i] = best;
}
