#include "acos.inc"
