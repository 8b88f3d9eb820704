// A step of Gaussian elimination.
//! extent 512 512
//! input f:262144 global const float *a
//! input f:512 global const float *factors
//! output float F
r = a[y * w + x] - factors[y] * a[3 * w + x];
