#define SINGLE
#include "cos.inc"
