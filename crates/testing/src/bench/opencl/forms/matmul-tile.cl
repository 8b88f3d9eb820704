// Product of square matrices with tiles in local memory.
//! extent 256 256
//! input f:65536 global const float *a
//! input f:65536 global const float *b
//! output float F
//! group 16 16
//! group 8 8
//! local float tile_a[GX * GY], tile_b[GX * GY];
r = 0.0f;
for (INDEX t = 0; t < w; t += GX) {
  tile_a[ly * GX + lx] = a[y * w + t + lx];
  tile_b[ly * GX + lx] = b[(t + ly) * w + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < GX; k++)
    r += tile_a[ly * GX + k] * tile_b[k * GX + lx];
  barrier(CLK_LOCAL_MEM_FENCE);
}
