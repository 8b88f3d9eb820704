#include "log1p.inc"
