#include "log2.inc"
