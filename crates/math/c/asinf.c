#define SINGLE
#include "asin.inc"
