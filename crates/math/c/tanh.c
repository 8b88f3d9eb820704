#include "tanh.inc"
