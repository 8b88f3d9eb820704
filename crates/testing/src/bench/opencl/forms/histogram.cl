// Entropy-like sum of the counts of sixteen values in a row.
//! extent 4096
//! input i:131072:16 global const uint *a
//! output uint I
uint counts[16];
for (int i = 0; i < 16; i++)
  counts[i] = 0;
for (int k = 0; k < 32; k++)
  counts[a[x * 32 + k]]++;
r = 0;
for (int i = 0; i < 16; i++)
  r += counts[i] * counts[i] * (i + 1);
