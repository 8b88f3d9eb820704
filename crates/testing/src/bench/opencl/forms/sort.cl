// Insertion sort in a private array.
//! extent 4096
//! input f:65536 global const float *a
//! output float F
float v[16];
for (int i = 0; i < 16; i++)
  v[i] = a[x * 16 + i];
for (int i = 1; i < 16; i++) {
  float value = v[i];
  int j = i;
  while (j > 0 && v[j - 1] > value) {
    v[j] = v[j - 1];
    j--;
  }
  v[j] = value;
}
r = 0.0f;
for (int i = 0; i < 16; i++)
  r += v[i] * i;
