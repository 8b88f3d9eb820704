// Five-point stencil with a tile and its border in local memory.
//! extent 512 512
//! input f:262144 global const float *a
//! output float F
//! group 16 16
//! group 32 8
//! group 64 1
//! local float tile[(GX + 2) * (GY + 2)];
const int pitch = GX + 2, at = (ly + 1) * pitch + lx + 1;
tile[at] = a[y * w + x];
if (lx == 0)
  tile[at - 1] = x > 0 ? a[y * w + x - 1] : 0.0f;
if (lx == GX - 1)
  tile[at + 1] = x + 1 < w ? a[y * w + x + 1] : 0.0f;
if (ly == 0)
  tile[at - pitch] = y > 0 ? a[(y - 1) * w + x] : 0.0f;
if (ly == GY - 1)
  tile[at + pitch] = y + 1 < h ? a[(y + 1) * w + x] : 0.0f;
barrier(CLK_LOCAL_MEM_FENCE);
r = 0.5f * tile[at] + 0.125f * (tile[at - 1] + tile[at + 1] + tile[at - pitch] + tile[at + pitch]);
