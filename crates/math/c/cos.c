#include "cos.inc"
