#define SINGLE
#include "exp10.inc"
