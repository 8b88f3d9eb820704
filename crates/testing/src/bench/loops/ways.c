#include "ways.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *only_loops = "";

static double seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

double seconds_of(void (*run)(void *of, int way), void *of) {
  run(of, 0);
  double start = seconds();
  run(of, 0);
  return seconds() - start;
}

void alternate(struct turn turn) {
  if (strncmp(turn.name, only_loops, strlen(only_loops)))
    return;
  printf("%s;%d", turn.name, turn.ways);
  for (int way = 0; way < turn.ways; way++) {
    turn.run(turn.of, way);
    printf(";%g", turn.off(turn.of, way));
  }
  unsigned repeats = 1;
  for (;; repeats *= 2) {
    double start = seconds();
    for (unsigned again = 0; again < repeats; again++)
      turn.run(turn.of, 0);
    if (seconds() - start > 0.003)
      break;
  }
  for (int round = 0; round < turn.rounds; round++)
    for (int way = 0; way < turn.ways; way++) {
      double start = seconds();
      for (unsigned again = 0; again < repeats; again++)
        turn.run(turn.of, way);
      printf(";%g", (seconds() - start) / repeats);
    }
  printf("\n");
  fflush(stdout);
}
