#define SINGLE
#include "acos.inc"
