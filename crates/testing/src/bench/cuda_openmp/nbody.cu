// Accelerations of bodies: blocks take the others through shared memory, a tile at a time.
extern "C" __global__ void accelerate(const float4 *bodies, float4 *out, int count, float softening) {
  __shared__ float4 tile[256];
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  float4 own = bodies[at];
  float ax = 0, ay = 0, az = 0;
  for (int start = 0; start < count; start += blockDim.x) {
    tile[threadIdx.x] = bodies[start + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int i = 0; i < blockDim.x; i++) {
      float4 other = tile[i];
      float x = other.x - own.x, y = other.y - own.y, z = other.z - own.z;
      float inverse = rsqrtf(x * x + y * y + z * z + softening);
      float pull = other.w * inverse * inverse * inverse;
      ax += x * pull;
      ay += y * pull;
      az += z * pull;
    }
    __syncthreads();
  }
  out[at] = make_float4(ax, ay, az, 0);
}
