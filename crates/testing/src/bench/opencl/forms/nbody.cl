// Potential of all points at each point, coordinates side by side or apart.
//! extent 1024
//! input f:4096 global const float *a
//! output float F
//! layout float4_points
//! layout apart
r = 0.0f;
for (int k = 0; k < w; k++) {
#ifdef FLOAT4_POINTS
  float4 p = vload4(x, a), q = vload4(k, a);
  float dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z, mass = q.w;
#elif defined APART
  float dx = a[x] - a[k], dy = a[w + x] - a[w + k], dz = a[2 * w + x] - a[2 * w + k], mass = a[3 * w + k];
#else
  float dx = a[x * 4] - a[k * 4], dy = a[x * 4 + 1] - a[k * 4 + 1], dz = a[x * 4 + 2] - a[k * 4 + 2], mass = a[k * 4 + 3];
#endif
  r += mass * rsqrt(dx * dx + dy * dy + dz * dz + 0.01f);
}
