// Rays that go on by the distance to the nearest of some spheres and a floor, until they hit or have gone too far.
float nearest(float x, float y, float z) {
  float least = y + 1.0f;
  for (int i = 0; i < 4; i++) {
    float dx = x - (i * 1.5f - 2.25f), dy = y - 0.25f * i, dz = z - 4.0f - 0.5f * i;
    least = fmin(least, sqrt(dx * dx + dy * dy + dz * dz) - 0.75f);
  }
  return least;
}

kernel void march(global float *image, int width, int height) {
  int column = get_global_id(0), row = get_global_id(1);
  float dx = (column - 0.5f * width) / width, dy = (0.5f * height - row) / width, dz = 1.0f;
  float length = sqrt(dx * dx + dy * dy + dz * dz);
  dx /= length;
  dy /= length;
  dz /= length;
  float way = 0.0f;
  int steps = 0;
  while (steps < 96) {
    float distance = nearest(dx * way, dy * way, dz * way);
    if (distance < 0.001f)
      break;
    way += distance;
    if (way > 20.0f)
      break;
    steps++;
  }
  image[row * width + column] = way > 20.0f ? 0.0f : 1.0f / (1.0f + way);
}
