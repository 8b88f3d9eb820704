// heddle vectorize FILE --func count --lanes 8 -o OUT/f.o
static int calls;
int count(int x) {
  calls++;
  return x + calls;
}
int get_calls(void) { return calls; }

// output
// error: @calls: an object by itself cannot see this static variable; write the whole module (`.ll` or `.bc`), or take `static` away from the variable [not-linked]
// exit code 1
