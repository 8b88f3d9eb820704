// Bilinear interpolation to twice the size.
//! extent 512 512
//! input f:65536 global const float *a
//! output float F
float column = 0.5f * x, row = 0.5f * y;
int i = (int)column, j = (int)row;
int next_i = min(i + 1, (int)w / 2 - 1), next_j = min(j + 1, (int)h / 2 - 1);
float s = column - i, t = row - j;
float above = mix(a[j * (w / 2) + i], a[j * (w / 2) + next_i], s);
float below = mix(a[next_j * (w / 2) + i], a[next_j * (w / 2) + next_i], s);
r = mix(above, below, t);
