// heddle opt FILE -p params:varying,canonicalize --dump-each
// What is known of lanes stands beside the instructions, with the names of the source.
int collatz(int start, int most) {
  int n = 0;
  for (int x = start; x > 1 && n < most; n++) x = x & 1 ? 3 * x + 1 : x / 2;
  return n;
}
