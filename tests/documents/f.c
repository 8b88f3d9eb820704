void f(float *a, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++)
    if (a[i] > 0) a[i] *= 2;
}
