#include "sin.inc"
