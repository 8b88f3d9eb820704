// Rows sorted in local memory by a bitonic network.
//! extent 128 256
//! input i:32768:65536 global const uint *a
//! output uint I
//! group 128 1
//! local uint values[GX];
values[lx] = a[y * w + x];
barrier(CLK_LOCAL_MEM_FENCE);
for (uint size = 2; size <= GX; size *= 2)
  for (uint step = size / 2; step > 0; step /= 2) {
    uint other = lx ^ step;
    if (other > lx) {
      uint one = values[lx], two = values[other];
      if ((one > two) == ((lx & size) == 0)) {
        values[lx] = two;
        values[other] = one;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
r = values[lx];
