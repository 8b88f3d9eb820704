// A step of k-means with 262144 points of 8 dimensions and 16 centers. Each dimension of the points is an array.
#include "kit.h"
#include <math.h>

enum { POINTS = 1 << 18, DIMENSIONS = 8, CENTERS = 16, GROUP = 256 };
static struct array points, centers, nearest, sums, counts, moved;

static void prepare(void) {
  points = new_array((size_t)POINTS * DIMENSIONS * sizeof(float));
  centers = new_array(CENTERS * DIMENSIONS * sizeof(float));
  nearest = new_array(POINTS * sizeof(int));
  sums = new_array(CENTERS * DIMENSIONS * sizeof(float));
  counts = new_array(CENTERS * sizeof(uint32_t));
  moved = new_array(CENTERS * DIMENSIONS * sizeof(float));
  fill_floats(points, 0, 1);
  fill_floats(centers, 0, 1);
  // A point between two centers may go to either, since products may be fused with sums or not.
  float_output(moved, 1);
}

static void openmp(void) {
  const float *from = FLOATS(points), *center = FLOATS(centers);
  float all[CENTERS * DIMENSIONS] = {0};
  uint32_t members[CENTERS] = {0};
#pragma omp parallel for reduction(+ : all, members)
  for (int start = 0; start < POINTS; start += GROUP) {
    float least[GROUP];
    int best[GROUP];
    for (int i = 0; i < GROUP; i++) {
      least[i] = INFINITY;
      best[i] = 0;
    }
    for (int c = 0; c < CENTERS; c++) {
#pragma omp simd
      for (int i = 0; i < GROUP; i++) {
        float distance = 0;
        for (int d = 0; d < DIMENSIONS; d++) {
          float off = from[(size_t)d * POINTS + start + i] - center[c * DIMENSIONS + d];
          distance += off * off;
        }
        best[i] = distance < least[i] ? c : best[i];
        least[i] = distance < least[i] ? distance : least[i];
      }
    }
    for (int i = 0; i < GROUP; i++) {
      INTS(nearest)[start + i] = best[i];
      members[best[i]]++;
      for (int d = 0; d < DIMENSIONS; d++)
        all[best[i] * DIMENSIONS + d] += from[(size_t)d * POINTS + start + i];
    }
  }
  for (int i = 0; i < CENTERS * DIMENSIONS; i++)
    FLOATS(moved)[i] = members[i / DIMENSIONS] > 0 ? all[i] / members[i / DIMENSIONS] : 0.0f;
}

static void cuda(void) {
  int count = POINTS;
  NEED(cuMemsetD32(sums.device, 0, CENTERS * DIMENSIONS));
  NEED(cuMemsetD32(counts.device, 0, CENTERS));
  LAUNCH("assign", GRID(POINTS / 256, 256), &points.device, &centers.device, &nearest.device, &sums.device, &counts.device, &count);
  LAUNCH("update", GRID(1, CENTERS * DIMENSIONS), &sums.device, &counts.device, &moved.device);
}

const struct program kmeans_program = {"kmeans", prepare, openmp, cuda};
