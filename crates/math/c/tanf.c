#define SINGLE
#include "tan.inc"
