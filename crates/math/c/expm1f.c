#define SINGLE
#include "expm1.inc"
