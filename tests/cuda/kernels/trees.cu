// Trees, walked by each lane on its own, as Treelogy's benchmarks do.
#include "device.cuh"

// launch: @kd_nearest(&xs, &queries, &out, 63) local=32 groups=2 with xs: i32 below 1000 64; queries: i32 below 1000 64; out: i32 zero 64
KERNEL kd_nearest(const int *xs, const int *queries, int *out, int nodes) {
  int query = queries[thread_number()], best = 1 << 30, stack[8], top = 0;
  stack[top++] = 0;
  while (top > 0) {
    int node = stack[--top];
    if (node >= nodes) continue;
    int d = xs[node] - query;
    best = min(best, abs(d));
    int near = d > 0 ? 2 * node + 1 : 2 * node + 2, far = d > 0 ? 2 * node + 2 : 2 * node + 1;
    if (abs(d) < best + 50) stack[top++] = far;
    stack[top++] = near;
  }
  out[thread_number()] = best;
}

struct Ball {
  float x, y, radius;
  int size;
};
// launch: @correlate(&tree, &points, &out, 31, 0.5) local=32 groups=1 with tree: f32 random 124; points: f32 random 64; out: i32 zero 32
KERNEL correlate(const Ball *tree, const float *points, int *out, int nodes, float radius) {
  float x = points[threadIdx.x * 2], y = points[threadIdx.x * 2 + 1];
  int found = 0, node = 0;
  while (node < nodes) {
    Ball ball = tree[node];
    float dx = ball.x - x, dy = ball.y - y, far = fabsf(ball.radius) + radius;
    if (dx * dx + dy * dy > far * far) {
      // Over the whole subtree, which lies after it.
      int skip = node, width = 1;
      while (skip + width < nodes && width < 4) width *= 2;
      node = skip + width;
      continue;
    }
    found++;
    node++;
  }
  out[threadIdx.x] = found;
}

struct Cell {
  float x, y, mass, width;
  int child, next;
};
DEVICE float pull(float dx, float dy, float mass) {
  float r2 = dx * dx + dy * dy + 0.01f;
  return mass / (r2 * sqrtf(r2));
}
// launch: @barnes_hut(&xs, &ys, &mass, &first, &next, &out, 0.5) local=32 groups=1 with xs: f32 random 32; ys: f32 random 32; mass: f32 random 32; first: i32 [1, 4, 7, 10, -1, -1, -1, 13, 16, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1]; next: i32 [-1, 2, 3, -1, 5, 6, 2, 8, 9, 3, 11, 12, -1, 14, 15, 8, 17, 18, 9]; out: f32 zero 64
KERNEL barnes_hut(const float *xs, const float *ys, const float *mass, const int *first, const int *next, float *out, float theta) {
  int body = threadIdx.x, node = 0;
  float ax = 0, ay = 0, width = 4.0f;
  while (node >= 0) {
    float dx = xs[node] - xs[body], dy = ys[node] - ys[body];
    bool is_far = width * width < theta * (dx * dx + dy * dy);
    if (first[node] < 0 || is_far) {
      float force = pull(dx, dy, fabsf(mass[node]));
      ax += dx * force;
      ay += dy * force;
      node = next[node];
    } else {
      node = first[node];
      width *= 0.5f;
    }
  }
  out[body * 2] = ax;
  out[body * 2 + 1] = ay;
}

// launch: @vantage(&points, &limits, &queries, &out, 31, 100) local=32 groups=1 with points: i32 below 1000 31; limits: i32 below 300 31; queries: i32 below 1000 32; out: i32 zero 32
KERNEL vantage(const int *points, const int *limits, const int *queries, int *out, int nodes, int radius) {
  int query = queries[threadIdx.x], stack[12], top = 1, inside = 0;
  stack[0] = 0;
  while (top > 0) {
    int node = stack[--top];
    int d = abs(points[node] - query);
    inside += d <= radius;
    if (2 * node + 2 >= nodes) continue;
    if (d - radius <= limits[node]) stack[top++] = 2 * node + 1;
    if (d + radius >= limits[node]) stack[top++] = 2 * node + 2;
  }
  out[threadIdx.x] = inside;
}

struct Box {
  float low[2], high[2];
  int left, leaf;
};
// launch: @trace(&boxes, &rays, &out, 15) local=32 groups=1 with boxes: f32 random 90; rays: f32 random 64; out: i32 zero 32
KERNEL trace(const float *boxes, const float *rays, int *out, int nodes) {
  float ox = rays[threadIdx.x * 2], oy = rays[threadIdx.x * 2 + 1];
  int hits = 0, stack[8], top = 0, node = 0;
  for (;;) {
    const float *box = boxes + node * 6;
    float near = fmaxf(fminf(box[0], box[2]) - ox, fminf(box[1], box[3]) - oy);
    float far = fminf(fmaxf(box[0], box[2]) - ox, fmaxf(box[1], box[3]) - oy);
    if (near <= far + 0.5f && 2 * node + 2 < nodes) {
      stack[top++] = 2 * node + 2;
      node = 2 * node + 1;
      continue;
    }
    hits += near <= far;
    if (top == 0) break;
    node = stack[--top];
  }
  out[threadIdx.x] = hits;
}

// launch: @btree_find(&keys, &queries, &out, 3) local=32 groups=2 with keys: i32 step 2 340; queries: i32 below 700 64; out: i32 zero 64
KERNEL btree_find(const int *keys, const int *queries, int *out, int height) {
  int query = queries[thread_number()], node = 0;
  for (int level = 0; level < height; level++) {
    int at = 0;
    while (at < 3 && keys[node * 4 + at] < query) at++;
    node = node * 4 + at + 1;
  }
  out[thread_number()] = node;
}

// launch: @decide(&features, &thresholds, &samples, &votes, 5, 3) local=32 groups=2 with features: i32 below 4 93; thresholds: f32 random 93; samples: f32 random 256; votes: i32 zero 64
KERNEL decide(const int *features, const float *thresholds, const float *samples, int *votes, int depth, int trees) {
  int sample = thread_number(), vote = 0;
  for (int tree = 0; tree < trees; tree++) {
    int node = 0;
    for (int level = 0; level < depth - 1; level++) {
      int at = tree * 31 + node;
      node = 2 * node + (samples[sample * 4 + features[at]] < thresholds[at] ? 1 : 2);
    }
    vote += node & 1;
  }
  votes[sample] = vote;
}
