// What C++ may throw. A call within `omp simd` ends the program if it throws; an iteration that shows that it ends it is refused.
#include <cstdio>
#include <cstdlib>

enum { MOST = 70 };

struct shape {
  int width, height;
  shape(int width, int height) : width(width), height(height) {}
  virtual int area() const = 0;
};

struct box : shape {
  using shape::shape;
  int area() const override { return width * height; }
};

struct triangle : shape {
  using shape::shape;
  int area() const override { return width * height / 2; }
};

static inline int checked(const int *a, int n, int at) {
  if (at >= n)
    throw at;
  return a[at];
}

__attribute__((noinline)) void areas(int *out, const shape *const *shapes, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++)
    out[i] = shapes[i]->area() + i;
}

__attribute__((noinline)) void from_places(int *out, const int *in, const int *places, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++)
    out[i] =
        checked(in, MOST, places[i]);
}

__attribute__((noinline)) void asserted(int *out, const int *in, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++) {
    if (in[i] < 0)
      abort();
    out[i] = in[i] * 2;
  }
}

int main() {
  static int in[MOST], places[MOST], out[MOST];
  static const shape *shapes[MOST];
  for (int i = 0; i < MOST; i++) {
    in[i] = i * 37 % 101;
    places[i] = i * 3 % MOST;
    shapes[i] = i % 3 ? static_cast<shape *>(new box(i, 3)) : new triangle(i, 5);
  }
  unsigned hash = 0;
  auto eat = [&] {
    for (int one : out)
      hash = hash * 31 + static_cast<unsigned>(one);
  };
  for (int n = 0; n <= MOST; n++) {
    areas(out, shapes, n), eat();
    from_places(out, in, places, n), eat();
    asserted(out, in, n), eat();
    std::printf("%u\n", hash);
  }
}
