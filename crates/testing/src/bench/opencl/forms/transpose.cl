// Transposition without local memory.
//! extent 512 512
//! input f:262144 global const float *a
//! output float F
//! at x * h + y
r = a[y * w + x];
