// heddle vectorize FILE --func median -o OUT/f.o
int median(const int *values, int count) {
  int sorted[count];
  for (int i = 0; i < count; i++) {
    int j = i;
    for (; j > 0 && sorted[j - 1] > values[i]; j--) sorted[j] = sorted[j - 1];
    sorted[j] = values[i];
  }
  return sorted[count / 2];
}

// output
// error: variable-length-array.c:3:3: @median: variable-length array: its size is not known before the program runs [not-imported]
//       int sorted[count];
//       ^^^
//   in LLVM IR: `%4 = alloca i32, i64 %3, align 16`
//   help: give the array a constant size, or let the caller pass it
// exit code 1
