#define SINGLE
#include "log10.inc"
