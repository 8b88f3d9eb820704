#include "asin.inc"
