// A step of k-means: the nearest center of each point, and sums of the points of a center, in shared memory first.
#define DIMENSIONS 8
#define CENTERS 16

extern "C" __global__ void assign(const float *points, const float *centers, int *nearest, float *sums, unsigned *counts, int count) {
  __shared__ float own_centers[CENTERS * DIMENSIONS], own_sums[CENTERS * DIMENSIONS];
  __shared__ unsigned own_counts[CENTERS];
  int t = threadIdx.x, at = blockIdx.x * blockDim.x + t;
  if (t < CENTERS * DIMENSIONS) {
    own_centers[t] = centers[t];
    own_sums[t] = 0;
  }
  if (t < CENTERS) own_counts[t] = 0;
  __syncthreads();
  if (at < count) {
    float point[DIMENSIONS], least = INFINITY;
    int best = 0;
    for (int d = 0; d < DIMENSIONS; d++) point[d] = points[d * count + at];
    for (int c = 0; c < CENTERS; c++) {
      float distance = 0;
      for (int d = 0; d < DIMENSIONS; d++) {
        float off = point[d] - own_centers[c * DIMENSIONS + d];
        distance += off * off;
      }
      if (distance < least) {
        least = distance;
        best = c;
      }
    }
    nearest[at] = best;
    for (int d = 0; d < DIMENSIONS; d++) atomicAdd(&own_sums[best * DIMENSIONS + d], point[d]);
    atomicAdd(&own_counts[best], 1);
  }
  __syncthreads();
  if (t < CENTERS * DIMENSIONS) atomicAdd(&sums[t], own_sums[t]);
  if (t < CENTERS) atomicAdd(&counts[t], own_counts[t]);
}

extern "C" __global__ void update(const float *sums, const unsigned *counts, float *centers) {
  int t = threadIdx.x;
  centers[t] = counts[t / DIMENSIONS] > 0 ? sums[t] / counts[t / DIMENSIONS] : 0.0f;
}
