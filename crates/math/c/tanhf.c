#define SINGLE
#include "tanh.inc"
