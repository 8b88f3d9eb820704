// Each element over the sum of its row, which a group adds up as a tree.
//! extent 256 256
//! input f:65536 global const float *a
//! output float F
//! group 256 1
//! local float sums[GX];
sums[lx] = a[y * w + x];
barrier(CLK_LOCAL_MEM_FENCE);
for (int step = GX / 2; step > 0; step /= 2) {
  if (lx < step)
    sums[lx] += sums[lx + step];
  barrier(CLK_LOCAL_MEM_FENCE);
}
r = a[y * w + x] / (sums[0] + 1.0f);
