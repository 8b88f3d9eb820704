#include "given.h"
#include <stdlib.h>

static unsigned drawn = 12345;
unsigned draw(void) { return drawn = drawn * 1664525 + 1013904223; }
double draw_unit(void) { return (double)(draw() >> 8) / 16777216; }

void *room(int count, unsigned long each) {
  void *at = aligned_alloc(64, ((unsigned long)count * each + 127) / 64 * 64);
  if (!at)
    exit(1);
  return at;
}
