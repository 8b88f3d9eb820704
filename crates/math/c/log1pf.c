#define SINGLE
#include "log1p.inc"
