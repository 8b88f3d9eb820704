#define SINGLE
#include "sin.inc"
