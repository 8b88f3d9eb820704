#define SINGLE
#include "log.inc"
