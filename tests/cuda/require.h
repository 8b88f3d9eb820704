// Ends a program that finds something wrong.
#pragma once
#include <cstdio>
#include <cstdlib>

#define REQUIRE(condition)                                                                                         \
  do {                                                                                                             \
    if (!(condition)) {                                                                                            \
      std::printf("%d: not %s\n", __LINE__, #condition);                                                           \
      std::exit(1);                                                                                                \
    }                                                                                                              \
  } while (false)
