// The tables of what `kernels.ispc` defines.
#include "../../../../../include/heddle.h"
#include "kernels.h"

#define DECLARE(function, name) void function##_ispc(struct data *);
KERNEL_LIST(DECLARE)
PROGRAM_LIST(DECLARE)

#define ENTRY(function, name) {name, function##_ispc},
const struct kernel kernels_ispc[KERNELS] = {KERNEL_LIST(ENTRY)};
const struct kernel programs_ispc[PROGRAMS] = {PROGRAM_LIST(ENTRY)};
