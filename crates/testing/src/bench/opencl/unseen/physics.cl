// Physics: stencils, particles and lattices.

//! global=512,512 args=f:262144,F:262144,n=512,x=0.1
kernel void heat_rows(global const float *u, global float *v, int n, float k) {
  int i = get_global_id(0), j = get_global_id(1);
  if (i == 0 || j == 0 || i == n - 1 || j == n - 1)
    return;
  v[i * n + j] = u[i * n + j] + k * (u[(i - 1) * n + j] + u[(i + 1) * n + j] + u[i * n + j - 1] + u[i * n + j + 1] - 4 * u[i * n + j]);
}

//! global=64,64,64 local=8,8,4 args=f:262144,F:262144,n=64
kernel void laplace3d(global const float *u, global float *v, int n) {
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2), i = (z * n + y) * n + x;
  if (x < 1 || y < 1 || z < 1 || x > n - 2 || y > n - 2 || z > n - 2) {
    v[i] = u[i];
    return;
  }
  v[i] = (u[i - 1] + u[i + 1] + u[i - n] + u[i + n] + u[i - n * n] + u[i + n * n]) / 6;
}

typedef struct { float4 position; float4 velocity; } Particle;

//! global=2048 local=64 args=f:16384,F:8192,n=2048
kernel void gravity(global const Particle *p, global float4 *force, int n) {
  float3 at = p[get_global_id(0)].position.xyz, sum = 0.0f;
  for (int j = 0; j < n; j++) {
    float3 d = p[j].position.xyz - at;
    float r2 = dot(d, d) + 0.01f;
    sum += d * p[j].position.w * rsqrt(r2) / r2;
  }
  force[get_global_id(0)] = (float4)(sum, 0.0f);
}

//! global=65536 args=f:524288,F:524288,n=65536,x=0.01
kernel void bounce(global const Particle *in, global Particle *out, int n, float dt) {
  int i = get_global_id(0);
  if (i >= n)
    return;
  Particle p = in[i];
  p.velocity.y -= 9.81f * dt;
  p.position += p.velocity * dt;
  if (p.position.y < 0.0f) {
    p.position.y = -p.position.y;
    p.velocity.y *= -0.9f;
  }
  out[i] = p;
}

//! global=256,256 args=f:589824,F:589824,n=256
kernel void lattice_step(global const float *f, global float *g, int n) {
  const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
  const float w[9] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};
  int x = get_global_id(0), y = get_global_id(1);
  float own[9], rho = 0.001f, ux = 0, uy = 0;
  for (int k = 0; k < 9; k++) {
    int sx = (x - cx[k] + n) % n, sy = (y - cy[k] + n) % n;
    own[k] = f[(k * n + sy) * n + sx];
    rho += own[k];
    ux += own[k] * cx[k];
    uy += own[k] * cy[k];
  }
  ux /= rho;
  uy /= rho;
  for (int k = 0; k < 9; k++) {
    float cu = 3 * (cx[k] * ux + cy[k] * uy);
    float equal = rho * w[k] * (1 + cu + 0.5f * cu * cu - 1.5f * (ux * ux + uy * uy));
    g[(k * n + y) * n + x] = own[k] + 0.6f * (equal - own[k]);
  }
}

//! global=512,512 local=16,16 args=i:262144:2,I:262144,n=512
kernel void life(global const int *in, global int *out, int n) {
  int x = get_global_id(0), y = get_global_id(1), count = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      if (dx || dy)
        count += in[((y + dy + n) % n) * n + (x + dx + n) % n];
  out[y * n + x] = count == 3 || (count == 2 && in[y * n + x]);
}

//! global=4096 local=64 args=f:12288,r:4097:24,i:98304:4096,F:12288
kernel void lennard_jones(global const float *position, global const int *start, global const int *neighbour, global float *force) {
  int i = get_global_id(0);
  float3 at = vload3(i, position), sum = 0;
  for (int k = start[i]; k < start[i + 1]; k++) {
    float3 d = at - vload3(neighbour[k], position);
    float r2 = dot(d, d) + 0.05f;
    if (r2 < 1.0f) {
      float s = 1 / (r2 * r2 * r2);
      sum += d * (24 * s * (2 * s - 1) / r2);
    }
  }
  vstore3(sum * 1e-6f, i, force);
}

//! global=128,128 args=D:16384,n=128,n=100
kernel void julia_double(global double *out, int n, int limit) {
  double x = 3.0 * get_global_id(0) / n - 1.5, y = 3.0 * get_global_id(1) / n - 1.5;
  int i = 0;
  for (; i < limit && x * x + y * y < 4.0; i++) {
    double t = x * x - y * y - 0.8;
    y = 2 * x * y + 0.156;
    x = t;
  }
  out[get_global_id(1) * n + get_global_id(0)] = i;
}
