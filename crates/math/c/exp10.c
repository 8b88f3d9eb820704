#include "exp10.inc"
