#define SINGLE
#include "sinh.inc"
