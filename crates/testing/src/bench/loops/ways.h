// The ways to compile the loops of `./x bench loops`, and how they take turns. The first is what others are checked by.
#pragma once
#include "given.h"

#define WAYS(apply) apply(scalar) apply(clang) apply(gcc) apply(unguarded) apply(heddle)

#define COUNTED(way) way_##way,
enum { WAYS(COUNTED) WAY_COUNT };

/// ISPC's way comes behind the others, where there is a compiler of it, for loops that are written in its language too.
#ifdef ISPC
#define ISPC_WAY(apply) apply(ispc)
#else
#define ISPC_WAY(apply)
#endif

/// What the names of kernels begin with that are timed; all of them, if nothing is said.
extern const char *only_loops;

/// Times what each way makes of one kernel, and prints a line: its name, the number of ways, how far each is from the first one, and
/// the seconds of each way's runs in turn.
struct turn {
  const char *name;
  int ways;
  /// Runs the kernel of a way once, and says how far its result is from the first way's.
  void (*run)(void *of, int way);
  double (*off)(void *of, int way);
  void *of;
  int rounds;
};
void take_turns(struct turn turn);
