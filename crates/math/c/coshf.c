#define SINGLE
#include "cosh.inc"
