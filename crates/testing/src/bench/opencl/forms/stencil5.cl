// Five-point stencil, rows and columns beyond the edge repeated.
//! extent 512 512
//! input f:262144 global const float *a
//! output float F
//! variant array
INDEX left = x > 0 ? x - 1 : x, right = x + 1 < w ? x + 1 : x;
INDEX above = y > 0 ? y - 1 : y, below = y + 1 < h ? y + 1 : y;
#ifdef ARRAY
float values[5], factors[5] = {0.5f, 0.125f, 0.125f, 0.125f, 0.125f};
values[0] = a[y * w + x];
values[1] = a[y * w + left];
values[2] = a[y * w + right];
values[3] = a[above * w + x];
values[4] = a[below * w + x];
r = 0.0f;
for (int i = 0; i < 5; i++)
  r += factors[i] * values[i];
#else
r = 0.5f * a[y * w + x];
r += 0.125f * a[y * w + left];
r += 0.125f * a[y * w + right];
r += 0.125f * a[above * w + x];
r += 0.125f * a[below * w + x];
#endif
