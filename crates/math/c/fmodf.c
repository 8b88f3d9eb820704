#define SINGLE
#include "fmod.inc"
