#include "log10.inc"
