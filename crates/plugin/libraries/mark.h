/* Marks each `for` of a file that is compiled with `-include mark.h`. Nothing is promised: the plugin has to prove that
 * iterations may run together. */
#ifndef __ASSEMBLER__
#define for _Pragma("clang loop vectorize(enable)") for
#endif
