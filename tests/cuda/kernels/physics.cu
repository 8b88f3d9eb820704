// Bodies, particles and fluids, as the SDK's nbody and Rodinia's lavaMD, cfd and particlefilter.
#include "device.cuh"

struct __attribute__((aligned(16))) Body {
  float x, y, z, mass;
};
// launch: @nbody(&bodies, &speeds, 64, 0.01) local=32 groups=2 with bodies: f32 random 256; speeds: f32 zero 256
KERNEL nbody(const Body *bodies, Body *speeds, int count, float step) {
  __shared__ Body tile[32];
  int at = thread_number();
  Body own = bodies[at];
  float ax = 0, ay = 0, az = 0;
  for (int start = 0; start < count; start += 32) {
    tile[threadIdx.x] = bodies[start + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < 32; i++) {
      float dx = tile[i].x - own.x, dy = tile[i].y - own.y, dz = tile[i].z - own.z;
      float r2 = dx * dx + dy * dy + dz * dz + 0.001f;
      float inverse = 1.0f / sqrtf(r2 * r2 * r2);
      ax += dx * tile[i].mass * inverse;
      ay += dy * tile[i].mass * inverse;
      az += dz * tile[i].mass * inverse;
    }
    __syncthreads();
  }
  Body speed = speeds[at];
  speed.x += ax * step;
  speed.y += ay * step;
  speed.z += az * step;
  speeds[at] = speed;
}

// launch: @lennard_jones(&xs, &neighbours, &forces, 8, 0.8) local=32 groups=2 with xs: f64 random 64; neighbours: i32 below 64 512; forces: f64 zero 64
KERNEL lennard_jones(const double *xs, const int *neighbours, double *forces, int each, double cut) {
  int at = thread_number();
  double force = 0;
  for (int i = 0; i < each; i++) {
    int other = neighbours[i * 64 + at];
    double d = xs[at] - xs[other], r2 = d * d;
    if (other == at || r2 > cut * cut) continue;
    double inverse = 1.0 / (r2 + 0.01), inverse3 = inverse * inverse * inverse;
    force += d * inverse * inverse3 * (inverse3 - 0.5);
  }
  forces[at] = force;
}

// launch: @boxes(&box, &places, &charge, &out, 0.5) local=16 groups=4 with box: i32 below 4 12; places: f32 random 64; charge: f32 random 64; out: f32 zero 64
KERNEL boxes(const int *box, const float *places, const float *charge, float *out, float alpha) {
  __shared__ float near_places[16], near_charge[16];
  float own = places[thread_number()], sum = 0;
  for (int i = 0; i < 3; i++) {
    int neighbour = box[blockIdx.x * 3 + i];
    near_places[threadIdx.x] = places[neighbour * 16 + threadIdx.x];
    near_charge[threadIdx.x] = charge[neighbour * 16 + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < 16; j++) {
      float d = own - near_places[j];
      sum += near_charge[j] * exponential(-alpha * d * d);
    }
    __syncthreads();
  }
  out[thread_number()] = sum;
}

// launch: @resample(&cumulative, &u, &out, 64) local=32 groups=2 with cumulative: f32 step 1 64; u: f32 below 63 64; out: i32 zero 64
KERNEL resample(const float *cumulative, const float *u, int *out, int count) {
  int at = thread_number(), found = count - 1;
  for (int i = 0; i < count; i++)
    if (cumulative[i] >= u[at]) {
      found = i;
      break;
    }
  out[at] = found;
}

// launch: @flux(&density, &speed, &around, &out, 60) local=32 groups=2 with density: f32 below 5 64; speed: f32 random 64; around: i32 below 64 256; out: f32 zero 64
KERNEL flux(const float *density, const float *speed, const int *around, float *out, int cells) {
  int cell = thread_number();
  if (cell >= cells) return;
  float own = density[cell] + 1.0f, sum = 0;
  for (int side = 0; side < 4; side++) {
    int other = around[side * 64 + cell];
    if (other >= 4) sum += 0.5f * (speed[cell] + speed[other]) * (density[other] - own);
    else if (other == 0) sum -= own * speed[cell];
    else sum += own;
  }
  out[cell] = sum;
}

// launch: @anneal(&spins, &seeds, 6) local=32 groups=2 with spins: i32 below 2 64; seeds: i32 random 64
KERNEL anneal(int *spins, unsigned *seeds, int steps) {
  int at = thread_number(), left = spins[max(at - 1, 0)], right = spins[min(at + 1, 63)], spin = spins[at];
  unsigned seed = seeds[at];
  __syncthreads();
  for (int step = 0; step < steps; step++) {
    seed = seed * 1664525u + 1013904223u;
    int energy = (spin == left) + (spin == right);
    if (energy < 1 || (seed >> 24) < 40u) spin = 1 - spin;
  }
  seeds[at] = seed + spin;
}
