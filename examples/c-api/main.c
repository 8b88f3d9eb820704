// Vector code of smooth.c at run time, next to the same loop in scalar code:
//   cc -ffp-contract=off main.c smooth.c -lheddle -o main && ./main smooth.c
#include <heddle/compiler.h>
#include <stdio.h>

enum { COUNT = 1024, LANES = 8 };

void smooth(const float *from, float *to, float limit, long i);

// For eight lanes: pointers and the limit are the same for all, the index is that of the first.
typedef void wide_smooth(const float *from, float *to, float limit, long i);

int main(int argc, char **argv) {
  heddle_session *session = heddle_open(NULL, NULL);
  // Both round each operation by itself.
  const char *const flags[] = {"-ffp-contract=off", NULL};
  heddle_request request = {
      .file = argc > 1 ? argv[1] : "smooth.c",
      .func = "smooth",
      .lanes = "8",
      .params = "from=uniform,to=uniform,limit=uniform,i=linear:1",
      .flags = flags,
  };
  heddle_code *code = heddle_vectorize(session, &request);
  wide_smooth *wide = (wide_smooth *)heddle_function(code);
  if (!wide) {
    fputs(heddle_messages(code), stderr);
    return 1;
  }
  static float from[COUNT + 2], scalar[COUNT + 2], vector[COUNT + 2];
  for (int i = 0; i < COUNT + 2; i++) from[i] = (float)(i * 37 % 101);
  for (long i = 1; i <= COUNT; i++) smooth(from, scalar, 900.0f, i);
  for (long i = 1; i <= COUNT; i += LANES) wide(from, vector, 900.0f, i);
  int wrong = 0;
  for (int i = 0; i < COUNT + 2; i++) wrong += scalar[i] != vector[i];
  printf("%s: %d of %d values differ\n", heddle_name(code), wrong, COUNT);
  heddle_free(code);
  heddle_close(session);
  return wrong != 0;
}
