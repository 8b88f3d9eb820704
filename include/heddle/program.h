/* Heddle as a library for C: kernels in OpenCL C, compiled for this machine's vector units and launched over its threads.
 *
 *     heddle_program *program = heddle_program_from_opencl_c(source, "-cl-std=CL3.0");
 *     heddle_kernel *saxpy = heddle_program_kernel(program, "saxpy");
 *     heddle_kernel_set_value(saxpy, 0, &a, sizeof a);
 *     heddle_kernel_set_memory(saxpy, 1, x);
 *     heddle_kernel_set_memory(saxpy, 2, y);
 *     if (!heddle_kernel_launch(saxpy, 1, &count, NULL)) fputs(heddle_kernel_messages(saxpy), stderr);
 *     heddle_kernel_free(saxpy);
 *     heddle_program_free(program);
 *
 * Link with what `pkg-config --cflags --libs heddle` says, or -lheddle. Strings are UTF-8 and end with a zero byte. What a
 * function gives belongs to the object that it was requested from, and lives until the next call that takes this object. A program
 * may serve many threads at once; a kernel is for one thread at a time, and one program gives as many as are requested. NULL as
 * an object is an error that the functions take: they give NULL or false.
 */
#ifndef HEDDLE_PROGRAM_H
#define HEDDLE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A program in OpenCL C, or why there is none. */
typedef struct heddle_program heddle_program;

/* A kernel with its arguments, or why there is none. */
typedef struct heddle_kernel heddle_kernel;

/* Compiles a program. Options are those of clBuildProgram, in a line; NULL is none. Gives an object in any case;
 * `heddle_program_ok` says whether there is a program in it, `heddle_program_messages` all that there is to say. */
heddle_program *heddle_program_from_opencl_c(const char *source, const char *options);
/* The same of a program in SPIR-V, by its bytes. */
heddle_program *heddle_program_from_spirv(const void *words, size_t size, const char *options);
void heddle_program_free(heddle_program *program);
bool heddle_program_ok(const heddle_program *program);
const char *heddle_program_messages(const heddle_program *program);

/* Names of its kernels, in the order of the source; NULL beyond their number. */
size_t heddle_program_kernel_count(const heddle_program *program);
const char *heddle_program_kernel_name(const heddle_program *program, size_t index);

/* A kernel by its name. Gives an object in any case, which needs the program no more. */
heddle_kernel *heddle_program_kernel(const heddle_program *program, const char *name);
void heddle_kernel_free(heddle_kernel *kernel);
bool heddle_kernel_ok(const heddle_kernel *kernel);
/* What is wrong with the kernel, or with the last call that took it. */
const char *heddle_kernel_messages(const heddle_kernel *kernel);

/* Sets an argument, counted from 0: a value by its bytes, which are copied; the address of memory, aligned as the kernel's
 * type is (float4 by 16 bytes); or as many bytes of the memory that each work-group has for itself. False if the kernel has no
 * such parameter, and the messages say why. Arguments stay set from launch to launch. */
bool heddle_kernel_set_value(heddle_kernel *kernel, size_t index, const void *value, size_t size);
bool heddle_kernel_set_memory(heddle_kernel *kernel, size_t index, void *memory);
bool heddle_kernel_set_local(heddle_kernel *kernel, size_t index, size_t size);

/* Launches a kernel over work-items along 1 to 3 dimensions, in groups of a size for each, or of any size if that is NULL. Comes
 * back when all are done; the first launch compiles. False if it was not launched, and the messages say why.
 * The memory of the arguments has to be as large as the kernel takes it to be. */
bool heddle_kernel_launch(heddle_kernel *kernel, unsigned dimensions, const size_t *global, const size_t *local);

/* Report on the kernel as compiled for the launches so far: lanes, barriers, branches, accesses, code that runs one lane at a time. */
const char *heddle_kernel_report(heddle_kernel *kernel);

/* What a parameter takes. */
typedef enum heddle_kind {
  HEDDLE_VALUE = 0,       /* a value, by its bytes */
  HEDDLE_MEMORY = 1,      /* the address of memory */
  HEDDLE_LOCAL = 2,       /* bytes of memory for each work-group */
  HEDDLE_UNSUPPORTED = 3, /* image, sampler, pipe, event, queue */
} heddle_kind;

/* A parameter of a kernel as declared; texts live as long as the kernel. */
typedef struct heddle_parameter {
  const char *name;       /* empty if SPIR-V does not have it */
  const char *type;       /* "float*", "uint" */
  const char *qualifiers; /* among "const", "restrict", "volatile" */
  heddle_kind kind;
  size_t size;    /* bytes of a value */
  bool read_only; /* memory that the kernel only reads */
} heddle_parameter;

size_t heddle_kernel_parameter_count(const heddle_kernel *kernel);
/* Describes the parameter of this number; false if there is none. */
bool heddle_kernel_parameter(const heddle_kernel *kernel, size_t index, heddle_parameter *parameter);

/* An argument: a value's bytes and their number; an address, and the number of bytes from it on that the kernel accesses through it, or 0 if that is
 * not known (code may be faster where arguments do not overlap); or the number of bytes for each work-group. */
typedef struct heddle_argument {
  heddle_kind kind;
  void *memory;
  size_t size;
} heddle_argument;

/* Launches a kernel with all of its arguments, from any number of threads at once; arguments that were set do not count.
 * NULL if it was launched, or why not, as a text for `heddle_text_free`. */
char *heddle_kernel_call(const heddle_kernel *kernel, unsigned dimensions, const size_t *global, const size_t *local,
                         const heddle_argument *arguments, size_t count);
/* The report of `heddle_kernel_report`, as a text for `heddle_text_free`; for any number of threads. */
char *heddle_kernel_describe(const heddle_kernel *kernel);
void heddle_text_free(char *text);

/* Function of numbers over arrays. Kernels of its layouts have a parameter per input, and a pointer to the result at the end:
 * inputs are pointers to consecutive elements, or values where the layout has their bit. */
typedef struct heddle_elements heddle_elements;
/* `sizes` has the bytes of an element of each operand, the result's at the end; the kernel is that of layout 0. NULL if they do not
 * fit each other. The kernels may be freed before the function. */
heddle_elements *heddle_elements_new(const heddle_kernel *kernel, const size_t *sizes, size_t count);
void heddle_elements_add(const heddle_elements *elements, unsigned layout, const heddle_kernel *kernel);
void heddle_elements_free(heddle_elements *elements);
/* Computes `*count` results: the loop of a NumPy ufunc, whose data are the function. Operands may have any step in bytes; from any
 * number of threads at once. Leaves the floating-point status as it was. */
void heddle_elements_loop(char **operands, const intptr_t *count, const intptr_t *steps, void *elements);
/* Not 0 if a loop failed since `heddle_elements_failure` was called, which returns why, as a text for `heddle_text_free`. */
const volatile unsigned char *heddle_elements_flag(const heddle_elements *elements);
char *heddle_elements_failure(const heddle_elements *elements);

/* Version of the library, as in "0.2.0". */
const char *heddle_version(void);

#ifdef __cplusplus
}
#endif

#endif
