// Median of nine neighbours by exchanges.
//! extent 256 256
//! input f:65536 global const float *a
//! output float F
//! top #define EXCHANGE(i, j) { float least = fmin(v[i], v[j]); v[j] = fmax(v[i], v[j]); v[i] = least; }
float v[9];
for (int j = 0; j < 3; j++)
  for (int i = 0; i < 3; i++) {
    INDEX column = min((INDEX)(x + i), (INDEX)(w - 1)), row = min((INDEX)(y + j), (INDEX)(h - 1));
    v[j * 3 + i] = a[row * w + column];
  }
for (int i = 0; i < 5; i++)
  for (int j = i + 1; j < 9; j++)
    EXCHANGE(i, j)
r = v[4];
