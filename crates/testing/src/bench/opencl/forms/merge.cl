// Sum of the smallest half of two ordered rows by two cursors.
//! extent 4096
//! input r:131072:3 global const uint *a
//! input r:131072:3 global const uint *b
//! output uint I
uint i = 0, j = 0, shift = x % 29;
r = 0;
for (int step = 0; step < 32; step++) {
  uint one = a[x * 32 + i], other = b[x * 32 + j] + shift;
  if (one <= other) {
    r += one * step;
    i++;
  } else {
    r += other * step;
    j++;
  }
}
