#define SINGLE
#include "exp.inc"
