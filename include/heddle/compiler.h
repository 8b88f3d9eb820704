/* Heddle as a library for C: vector code of a function that is written for one lane.
 *
 *     heddle_session *session = heddle_open(NULL, NULL);
 *     heddle_request request = {.file = "smooth.c", .func = "smooth", .lanes = "8", .params = "uniform,linear:1"};
 *     heddle_code *code = heddle_vectorize(session, &request);
 *     if (!heddle_ok(code)) fputs(heddle_messages(code), stderr);
 *     void (*smooth)(float *, long) = (void (*)(float *, long))heddle_function(code);
 *
 * Link with -lheddle. Strings are UTF-8 and end with a zero byte. What a function gives belongs to the object that it was
 * requested from, and lives as long. A session may serve many threads at once; one `heddle_code` is for one thread at a time.
 * NULL as an object is an error that the functions take: they give NULL, 0 or false.
 */
#ifndef HEDDLE_COMPILER_H
#define HEDDLE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A machine and options. */
typedef struct heddle_session heddle_session;

/* Vector code, or why there is none. */
typedef struct heddle_code heddle_code;

/* What to make vector code of. */
typedef struct heddle_request {
  const char *file;         /* .c .cpp .cl .ll .bc .hed: a file, or the name of `text` */
  const void *text;         /* what stands in the file, of .ll .bc .hed; NULL: the file is read */
  size_t text_size;         /* its bytes */
  const char *func;         /* the function */
  const char *lanes;        /* "8", or along two dimensions "8x2"; NULL is "8" */
  const char *params;       /* "uniform,varying,linear:4" in order, or by name: "n=uniform"; NULL: all vary */
  bool masked;              /* with one more parameter, a mask of the lanes that are there */
  const char *const *flags; /* for clang, ends with NULL; may be NULL */
} heddle_request;

/* What code is written as. */
typedef enum heddle_output {
  HEDDLE_LLVM_TEXT = 0,
  HEDDLE_LLVM_BITCODE = 1,
  HEDDLE_ASSEMBLY = 2,
  HEDDLE_OBJECT = 3,
  HEDDLE_HED = 4,
} heddle_output;

/* A session for a CPU by LLVM's name or an instruction set ("avx2"); NULL is this machine. Options are a line such as
 * "math=fast,brushes=auto"; NULL is none. An unknown name is an error of the compilation. */
heddle_session *heddle_open(const char *cpu, const char *options);
void heddle_close(heddle_session *session);
/* Ends what other threads ask of the session, between two passes: they get no code, and a message that says so. It makes
 * nothing any more after that. */
void heddle_cancel(const heddle_session *session);

/* Makes vector code. Gives an object in any case; `heddle_ok` says whether there is code in it. */
heddle_code *heddle_vectorize(const heddle_session *session, const heddle_request *request);
void heddle_free(heddle_code *code);

/* Whether there is code. */
bool heddle_ok(const heddle_code *code);
/* All that there is to say, a line or more for each diagnostic; as JSON, an array of objects. */
const char *heddle_messages(const heddle_code *code);
const char *heddle_messages_json(const heddle_code *code);
/* The symbol: of the x86 vector ABI (`_ZGVdN8ul_smooth`) where that has a form, else Heddle's own (`smooth.w8`). */
const char *heddle_name(const heddle_code *code);
/* The code, written; NULL if it cannot be, and the messages say why. */
const void *heddle_bytes(heddle_code *code, heddle_output output, size_t *size);
/* The code, callable in this process; NULL if it cannot be made. It lives until `heddle_free`. */
void *heddle_function(heddle_code *code);

#ifdef __cplusplus
}
#endif

#endif
