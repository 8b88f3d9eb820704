// No loop is marked: what comes out is what comes out without the plugin.
int sum(const int *a, int n) {
  int s = 0;
  for (int i = 0; i < n; i++)
    s += a[i];
  return s;
}

void copy(int *restrict out, const int *in, int n) {
#pragma clang loop vectorize(disable)
  for (int i = 0; i < n; i++)
    out[i] = in[i];
}

void unroll(int *out, const int *in, int n) {
#pragma clang loop unroll_count(3)
  for (int i = 0; i < n; i++)
    out[i] = in[i] * out[i];
}

int main(void) { return 0; }
