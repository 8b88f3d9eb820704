// Checks of the statuses of CUDA's libraries; `SUCCESS` is the program's.
#pragma once
#include "require.h"

#define CHECK(call) expect_code(call, SUCCESS, #call, __LINE__)
#define FAILS(call, status) expect_code(call, status, #call, __LINE__)

static void expect_code(int found, int status, const char *call, int line) {
  if (found != status) {
    std::printf("%d: %s gives %d\n", line, call, found);
    std::exit(1);
  }
}
