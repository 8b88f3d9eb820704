// Transposition through a tile in local memory.
//! extent 512 512
//! input f:262144 global const float *a
//! output float F
//! group 16 16
//! group 32 32
//! group 8 8
//! local float tile[GY * (GX + 1)];
//! at (x - lx + ly) * h + y - ly + lx
tile[ly * (GX + 1) + lx] = a[y * w + x];
barrier(CLK_LOCAL_MEM_FENCE);
r = tile[lx * (GX + 1) + ly];
