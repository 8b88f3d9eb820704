#include "fmod.inc"
