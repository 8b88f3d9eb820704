// heddle vectorize FILE --func escape --lanes 8 --brushes auto --target avx2 --report -o OUT/f.o
int escape(float cx, float cy) {
  float x = 0, y = 0;
  int n = 0;
  while (n < 100 && x * x + y * y <= 4) {
    float next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
    n++;
  }
  return n;
}

// output
// note: @escape: vectorized for 16 lanes, 2 brushes of 8 [code-shape]
//   branches: 2 in the source, 2 in the vector code
//   instructions: 20 vector, 9 scalar
//   loads and stores: 0 contiguous, 0 gathered or scattered, 0 scalar
// note: brushes-that-pay.c:5:31: @escape: 2 brushes next to each other: an iteration waits 10.6 cycles for the previous one, occupies the machine for 6.4, and needs 4 vector registers, on avx2 [brush-count]
// exit code 0
