// Runs a function of the library: `program NAME COUNT < columns > results`; both columns are `COUNT` numbers.
// `ENTRIES` is a list of `ENTRY(name, type)`.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY(name, real) void array_##name(real *, const real *, const real *, long);
ENTRIES
#undef ENTRY

typedef void array_function(void *, const void *, const void *, long);
static const struct {
  const char *name;
  array_function *run;
  size_t bytes;
} entries[] = {
#define ENTRY(name, real) {#name, (array_function *)array_##name, sizeof(real)},
    ENTRIES
};

int main(int count, char **words) {
  for (size_t at = 0; count == 3 && at < sizeof entries / sizeof *entries; at++) {
    if (strcmp(entries[at].name, words[1]) != 0)
      continue;
    long numbers = atol(words[2]);
    size_t bytes = entries[at].bytes, whole = bytes * (size_t)numbers;
    char *all = malloc(3 * whole + 1);
    if (!all || fread(all, 1, 2 * whole, stdin) != 2 * whole)
      return 1;
    entries[at].run(all + 2 * whole, all, all + whole, numbers);
    return fwrite(all + 2 * whole, 1, whole, stdout) != whole;
  }
  return 2;
}
