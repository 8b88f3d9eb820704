#define SINGLE
#include "log2.inc"
