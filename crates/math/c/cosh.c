#include "cosh.inc"
