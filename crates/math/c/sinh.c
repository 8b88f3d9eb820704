#include "sinh.inc"
