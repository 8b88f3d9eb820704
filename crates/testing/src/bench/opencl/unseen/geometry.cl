// Geometry.

//! global=16384 local=64 args=f:98304,f:576,F:16384,n=64
kernel void nearest_triangle(global const float *rays, constant float *triangles, global float *hit, int count) {
  size_t i = get_global_id(0);
  float3 from = vload3(2 * i, rays), along = vload3(2 * i + 1, rays) - 0.5f;
  float best = 1e9f;
  for (int t = 0; t < count; t++) {
    float3 a = vload3(3 * t, triangles), e1 = vload3(3 * t + 1, triangles) - a, e2 = vload3(3 * t + 2, triangles) - a;
    float3 p = cross(along, e2);
    float det = dot(e1, p);
    if (fabs(det) < 1e-6f)
      continue;
    float3 s = from - a;
    float u = dot(s, p) / det;
    if (u < 0 || u > 1)
      continue;
    float3 q = cross(s, e1);
    float v = dot(along, q) / det, d = dot(e2, q) / det;
    if (v >= 0 && u + v <= 1 && d > 1e-4f && d < best)
      best = d;
  }
  hit[i] = best < 1e9f ? best : -1.0f;
}

//! global=65536 args=f:262144,F:262144,x=0.3
kernel void rotate_points(global const float4 *in, global float4 *out, float angle) {
  float c = cos(angle), s = sin(angle);
  float4 p = in[get_global_id(0)];
  out[get_global_id(0)] = (float4)(c * p.x - s * p.y, s * p.x + c * p.y, p.z, 1.0f);
}

//! global=65536 args=f:131072,f:64,I:65536,n=32
kernel void point_in_polygon(global const float2 *points, constant float2 *corner, global int *inside, int corners) {
  float2 p = points[get_global_id(0)];
  int odd = 0;
  for (int i = 0, j = corners - 1; i < corners; j = i++) {
    float2 a = corner[i], b = corner[j];
    if ((a.y > p.y) != (b.y > p.y) && p.x < (b.x - a.x) * (p.y - a.y) / (b.y - a.y) + a.x)
      odd = !odd;
  }
  inside[get_global_id(0)] = odd;
}

//! global=16384 local=128 args=f:49152,f:1536,I:16384,n=512
kernel void nearest_center(global const float *points, constant float *centers, global int *nearest, int count) {
  int i = get_global_id(0), best = 0;
  float x = points[3 * i], y = points[3 * i + 1], z = points[3 * i + 2], least = MAXFLOAT;
  for (int c = 0; c < count; c++) {
    float dx = x - centers[3 * c], dy = y - centers[3 * c + 1], dz = z - centers[3 * c + 2], d = dx * dx + dy * dy + dz * dz;
    if (d < least) {
      least = d;
      best = c;
    }
  }
  nearest[i] = best;
}

//! global=262144 args=i:262144:1024,I:262144
kernel void morton(global const uint *cell, global uint *code) {
  uint v = cell[get_global_id(0)], x = v & 31, y = (v >> 5) & 31, m = 0;
  for (int b = 0; b < 5; b++)
    m |= ((x >> b) & 1) << (2 * b) | ((y >> b) & 1) << (2 * b + 1);
  code[get_global_id(0)] = m;
}
