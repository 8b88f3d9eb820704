#define SINGLE
#include "atan.inc"
