#include "log.inc"
