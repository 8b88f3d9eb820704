// Bytes of a row that are one value.
//! extent 4096
//! input b:262144 global const uchar *a
//! output uint I
r = 0;
for (int k = 0; k < 64; k++)
  r += a[x * 64 + k] == 32;
