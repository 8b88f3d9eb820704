// Bilateral filter of an image of bytes.
//! extent 256 256
//! input b:65536 global const uchar *a
//! output uchar B
float middle = a[y * w + x], sum = 0.0f, weights = 0.0f;
for (int j = -2; j <= 2; j++)
  for (int i = -2; i <= 2; i++) {
    int column = clamp((int)x + i, 0, (int)w - 1), row = clamp((int)y + j, 0, (int)h - 1);
    float value = a[row * w + column], distance = value - middle;
    float weight = native_exp(-0.002f * distance * distance - 0.1f * (i * i + j * j));
    sum += weight * value;
    weights += weight;
  }
r = convert_uchar_rte(sum / weights);
