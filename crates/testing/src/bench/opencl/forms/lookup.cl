// A table of 256 values, indexed by bytes.
//! extent 512 512
//! input b:262144 global const uchar *a
//! input f:256 global const float *table
//! output float F
r = table[a[y * w + x]];
