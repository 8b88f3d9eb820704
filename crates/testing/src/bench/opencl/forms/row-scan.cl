// Prefix sums of rows by a group each.
//! extent 128 512
//! input i:65536:1000 global const uint *a
//! output uint I
//! group 128 1
//! local uint sums[GX];
sums[lx] = a[y * w + x];
barrier(CLK_LOCAL_MEM_FENCE);
for (int step = 1; step < GX; step *= 2) {
  uint other = lx >= step ? sums[lx - step] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  sums[lx] += other;
  barrier(CLK_LOCAL_MEM_FENCE);
}
r = sums[lx];
