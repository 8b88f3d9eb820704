#include "atan.inc"
