// The ways to compile the loops of `./x bench loops`, and how they take turns. The first is what others are checked by.
#pragma once
#include "given.h"

#define WAYS(apply) apply(scalar) apply(clang) apply(gcc) apply(unguarded) apply(heddle)

#define COUNTED(way) way_##way,
enum { WAYS(COUNTED) WAY_COUNT };

/// What the names of kernels begin with that are timed; all of them, if nothing is said.
extern const char *only_loops;

/// Times what each way makes of one kernel, and prints a line: its name, how far each way is from the first one, and the seconds of
/// each way's runs in turn.
struct turn {
  const char *name;
  /// Runs the kernel of a way once, and says how far its result is from the first way's.
  void (*run)(void *of, int way);
  double (*off)(void *of, int way);
  void *of;
  int rounds;
};
void take_turns(struct turn turn);
