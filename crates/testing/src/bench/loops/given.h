// Random numbers and memory for benchmarks.
#pragma once

/// Random numbers, the same in each run: of 32 bits, and from 0 to 1.
unsigned draw(void);
double draw_unit(void);

/// Memory for so many, or the end.
void *room(int count, unsigned long each);
