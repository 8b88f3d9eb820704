// heddle vectorize FILE --func look --lanes 8 --target avx2 -o OUT/f.ll -- -O0
int look(int i) {
  static const int table[4] = {3, 1, 4, 1};
  static int counts[4];
  counts[i & 3]++;
  return table[i & 3] + counts[0];
}

// output
// exit code 0
