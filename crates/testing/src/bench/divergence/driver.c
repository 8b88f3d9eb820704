// Times the forms of a kernel in turn; all must leave the same bytes as the first. What a kernel writes to holds at first what
// it reads.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS = 15, MOST_FORMS = 8, WRITTEN = 4 * 4096, MOST_READ = 1 << 16, PART = 16 };

typedef void Kernel(const char *, char *);

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static _Alignas(64) char source[MOST_READ], from[MOST_READ], to[WRITTEN];
static char expected[WRITTEN], expected_from[MOST_READ];

static void once(Kernel *kernel, int runs) {
  for (int run = 0; run < runs; run++) kernel(from + run * PART, to + run * PART * 4);
}

static void measure(const char *file, int bytes, Kernel *const *forms, int count, int runs) {
  double least[MOST_FORMS];
  int repeat = 1, wrong = 0;
  FILE *input = fopen(file, "rb");
  memset(source, 0, sizeof source);
  if (!input || bytes > MOST_READ || count > MOST_FORMS || fread(source, 1, bytes, input) != (size_t)bytes) exit(1);
  fclose(input);
  for (int form = 0; form < count; form++) {
    memcpy(from, source, bytes);
    memcpy(to, source, WRITTEN);
    once(forms[form], runs);
    if (form == 0) {
      memcpy(expected, to, WRITTEN);
      memcpy(expected_from, from, bytes);
    } else if (memcmp(expected, to, WRITTEN) || memcmp(expected_from, from, bytes)) {
      wrong = form;
    }
  }
  // How often one is called for a time that can be taken: at least a ten thousandth of a second.
  for (double took = 0; took < 1e-4; repeat *= took < 1e-4 ? 2 : 1) {
    double start = seconds();
    for (int i = 0; i < repeat; i++) once(forms[0], runs);
    took = seconds() - start;
  }
  for (int turn = 0; turn < TURNS; turn++) {
    for (int form = 0; form < count; form++) {
      memcpy(from, source, bytes);
      memcpy(to, source, WRITTEN);
      double start = seconds();
      for (int i = 0; i < repeat; i++) once(forms[form], runs);
      double took = (seconds() - start) / repeat;
      if (turn == 0 || took < least[form]) least[form] = took;
    }
  }
  printf("%d", wrong);
  for (int form = 0; form < count; form++) printf(" %g", least[form]);
  puts("");
}

#include "forms.h"

int main(void) {
  MEASURE_ALL
  return 0;
}
