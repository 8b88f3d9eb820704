#define SINGLE
#include "exp2.inc"
