#include "expm1.inc"
