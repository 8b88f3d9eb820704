#include "exp.inc"
