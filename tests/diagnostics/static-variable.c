// heddle vectorize FILE --func count --lanes 8 -o OUT/f.o
static int calls;
int count(int x) {
  calls++;
  return x + calls;
}
int get_calls(void) { return calls; }

// output
// error: @calls: an object file of its own cannot access this static variable [not-linked]
//   help: write the whole module (`.ll` or `.bc`), or remove `static`
// exit code 1
