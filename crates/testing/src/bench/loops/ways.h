// Compilers of the loops of `./x bench loops`, which alternate. The first one is the reference of the checks.
#pragma once
#include "given.h"

#define WAYS(apply) apply(scalar) apply(clang) apply(gcc) apply(unguarded) apply(heddle)

#define COUNTED(way) way_##way,
enum { WAYS(COUNTED) WAY_COUNT };

/// ISPC's way comes after the others, where there is a compiler of it, for loops that are written in its language too.
#ifdef ISPC
#define ISPC_WAY(apply) apply(ispc)
#else
#define ISPC_WAY(apply)
#endif

/// Prefix of the names of timed kernels; empty for all.
extern const char *only_loops;

/// Times what each way makes of one kernel, and prints a line: its name, the number of ways, how far each is from the first one, and
/// the seconds of a run of each way in turn.
struct turn {
  const char *name;
  int ways;
  /// Runs the kernel of a way once, and says how far its result is from the first way's.
  void (*run)(void *of, int way);
  double (*off)(void *of, int way);
  void *of;
  int rounds;
};
void alternate(struct turn turn);

/// Seconds of a run of the first way after another one.
double seconds_of(void (*run)(void *of, int way), void *of);
