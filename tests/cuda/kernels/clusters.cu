// Clusters and neighbours, as Rodinia's kmeans, nn and streamcluster.
#include "device.cuh"

// launch: @kmeans_assign(&points, &centres, &owner, &moved, 60, 4, 5) local=32 groups=2 with points: f32 random 256; centres: f32 random 20; owner: i32 below 5 64; moved: i32 zero 1
KERNEL kmeans_assign(const float *points, const float *centres, int *owner, int *moved, int count, int features, int clusters) {
  int point = thread_number();
  if (point >= count) return;
  int best = -1;
  float least = 3.4e38f;
  for (int cluster = 0; cluster < clusters; cluster++) {
    float sum = 0;
    for (int f = 0; f < features; f++) {
      float d = points[f * 64 + point] - centres[cluster * features + f];
      sum += d * d;
    }
    if (sum < least) {
      least = sum;
      best = cluster;
    }
  }
  if (owner[point] != best) atomicAdd(moved, 1);
  owner[point] = best;
}

// launch: @kmeans_sums(&points, &owner, &sums, &counts, 60) local=32 groups=2 with points: i32 below 9 64; owner: i32 below 5 64; sums: i32 zero 5; counts: i32 zero 5
KERNEL kmeans_sums(const int *points, const int *owner, int *sums, int *counts, int count) {
  __shared__ int own_sums[5], own_counts[5];
  if (threadIdx.x < 5) own_sums[threadIdx.x] = own_counts[threadIdx.x] = 0;
  __syncthreads();
  int point = thread_number();
  if (point < count) {
    atomicAdd(&own_sums[owner[point]], points[point]);
    atomicAdd(&own_counts[owner[point]], 1);
  }
  __syncthreads();
  if (threadIdx.x < 5) {
    atomicAdd(&sums[threadIdx.x], own_sums[threadIdx.x]);
    atomicAdd(&counts[threadIdx.x], own_counts[threadIdx.x]);
  }
}

struct Place {
  float latitude, longitude;
};
// launch: @nearest(&places, &out, 60, 0.1, 0.2) local=32 groups=2 with places: f32 random 128; out: f32 zero 64
KERNEL nearest(const Place *places, float *out, int count, float latitude, float longitude) {
  int at = thread_number();
  if (at >= count) return;
  Place place = places[at];
  float dx = latitude - place.latitude, dy = longitude - place.longitude;
  out[at] = sqrtf(dx * dx + dy * dy);
}

// launch: @k_nearest(&points, &out, 40) local=32 groups=1 with points: i32 below 1000 72; out: i32 zero 128
KERNEL k_nearest(const int *points, int *out, int count) {
  int best[4] = {1 << 30, 1 << 30, 1 << 30, 1 << 30}, own = points[threadIdx.x];
  for (int i = 0; i < count; i++) {
    int d = abs(points[i + 32] - own);
    if (d >= best[3]) continue;
    int at = 3;
    while (at > 0 && best[at - 1] > d) {
      best[at] = best[at - 1];
      at--;
    }
    best[at] = d;
  }
  for (int i = 0; i < 4; i++) out[threadIdx.x * 4 + i] = best[i];
}

// launch: @gain(&points, &costs, &centre, &lower, &total, 3, 60) local=32 groups=2 with points: f32 random 128; costs: f32 random 64; centre: i32 below 4 64; lower: f32 zero 4; total: i32 zero 1
KERNEL gain(const float *points, const float *costs, const int *centre, float *lower, int *total, int candidate, int count) {
  int at = thread_number();
  if (at >= count) return;
  float dx = points[at] - points[candidate], dy = points[64 + at] - points[64 + candidate];
  float change = dx * dx + dy * dy - costs[at];
  if (change < 0) atomicAdd(total, 1);
  else lower[centre[at]] = 1.0f;
}
