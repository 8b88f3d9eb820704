#include "tan.inc"
