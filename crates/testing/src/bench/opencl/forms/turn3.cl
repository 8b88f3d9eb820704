// Three dimensions, of which the first and the last change places.
//! extent 64 64 64
//! input f:262144 global const float *a
//! output float F
//! at (x * h + y) * d + z
r = a[(z * h + y) * w + x];
