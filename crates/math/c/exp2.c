#include "exp2.inc"
