/* Calls of include/heddle that are wrong or taken back: each is answered, none ends the process. */
#include <heddle/compiler.h>
#include <heddle/program.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void check(bool holds, int line, const char *what, const char *message) {
  if (!holds) printf("line %d: %s: %s\n", line, what, message ? message : "(nothing)"), failures++;
}
#define CHECK(condition, message) check(condition, __LINE__, #condition, message)
#define SAYS(object, text) CHECK(strstr(heddle_kernel_messages(object), text) != NULL, heddle_kernel_messages(object))

static void cancel(void) {
  static const char text[] = "func @twice(v0: i32) -> i32 {\nblock0:\n  v1 = shl v0, 1\n  ret v1\n}\n";
  heddle_request request = {.file = "twice.hed", .text = text, .text_size = sizeof text - 1, .func = "twice"};
  heddle_session *session = heddle_open("avx2", NULL);
  heddle_code *code = heddle_vectorize(session, &request);
  CHECK(heddle_ok(code), heddle_messages(code));
  heddle_free(code);
  heddle_cancel(session);
  code = heddle_vectorize(session, &request);
  CHECK(!heddle_ok(code) && strstr(heddle_messages(code), "[cancelled]"), heddle_messages(code));
  heddle_free(code);
  heddle_close(session);
  heddle_cancel(NULL);
}

/* Launches in one call, and the declared parameters of a kernel. */
static void call(heddle_kernel *k) {
  heddle_parameter parameter;
  CHECK(heddle_kernel_parameter_count(k) == 3 && heddle_kernel_parameter_count(NULL) == 0, NULL);
  CHECK(!heddle_kernel_parameter(k, 3, &parameter) && !heddle_kernel_parameter(k, 0, NULL), NULL);
  CHECK(heddle_kernel_parameter(k, 1, &parameter) && parameter.kind == HEDDLE_VALUE && parameter.size == 4, NULL);
  CHECK(!strcmp(parameter.name, "by") && !strcmp(parameter.type, "int"), parameter.name);
  CHECK(heddle_kernel_parameter(k, 2, &parameter) && parameter.kind == HEDDLE_LOCAL, NULL);
  int memory[8] = {0}, by = 3;
  const size_t items = 8;
  heddle_argument given[] = {{HEDDLE_MEMORY, memory, 0}, {HEDDLE_VALUE, &by, sizeof by}, {HEDDLE_LOCAL, NULL, 64}};
  CHECK(!heddle_kernel_call(k, 1, &items, NULL, given, 3) && memory[7] == 3, NULL);
  char *wrong[] = {heddle_kernel_call(NULL, 1, &items, NULL, given, 3), heddle_kernel_call(k, 1, &items, NULL, given, 2),
                   heddle_kernel_call(k, 1, &items, NULL, NULL, 3),     heddle_kernel_call(k, 4, &items, NULL, given, 3),
                   heddle_kernel_call(k, 1, NULL, NULL, given, 3)};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CHECK(wrong[i] && strstr(wrong[i], "[launch]"), wrong[i]);
    heddle_text_free(wrong[i]);
  }
  given[1].kind = HEDDLE_UNSUPPORTED;
  char *unknown = heddle_kernel_call(k, 1, &items, NULL, given, 3), *report = heddle_kernel_describe(k);
  CHECK(unknown && strstr(unknown, "unknown kind 3"), unknown);
  CHECK(report && strstr(report, "kernel k"), report);
  heddle_text_free(unknown);
  heddle_text_free(report);
  heddle_text_free(NULL);
  CHECK(!heddle_kernel_describe(NULL) && strchr(heddle_version(), '.'), NULL);
  heddle_program *none = heddle_program_from_spirv(NULL, 0, NULL);
  CHECK(!heddle_program_ok(none) && heddle_program_kernel_count(none) == 0 && !heddle_program_kernel_name(none, 0), NULL);
  heddle_program_free(none);
}

/* Functions of numbers over arrays: any steps, layouts, and kernels that fit none. */
static void elements(const heddle_kernel *other) {
  heddle_program *program = heddle_program_from_opencl_c(
      "kernel void dense(global const float *x, global const float *y, global float *z) { int i = get_global_id(0); z[i] = x[i] - y[i]; }"
      "kernel void value(global const float *x, float y, global float *z) { int i = get_global_id(0); z[i] = x[i] - y; }"
      "kernel void faults(global const float *x, global const float *y, global float *z) { z[0] = x[0] + *(volatile global float *)8; }",
      NULL);
  heddle_kernel *dense = heddle_program_kernel(program, "dense"), *value = heddle_program_kernel(program, "value");
  heddle_kernel *faults = heddle_program_kernel(program, "faults");
  const size_t sizes[] = {4, 4, 4}, odd[] = {4, 3, 4};
  CHECK(!heddle_elements_new(NULL, sizes, 3) && !heddle_elements_new(dense, NULL, 3) && !heddle_elements_new(other, odd, 3), NULL);
  CHECK(!heddle_elements_new(dense, sizes, 2) && !heddle_elements_new(dense, odd, 3), NULL);
  heddle_elements *minus = heddle_elements_new(dense, sizes, 3), *fault = heddle_elements_new(faults, sizes, 3);
  heddle_elements_add(minus, 2, value);
  heddle_elements_add(minus, 2, NULL);
  heddle_elements_add(NULL, 2, value);
  heddle_kernel_free(dense);
  heddle_kernel_free(value);
  heddle_kernel_free(faults);
  heddle_program_free(program);
  static float x[10000], y[10000], z[10000];
  for (int i = 0; i < 10000; i++) x[i] = 3 * i, y[i] = i;
  const struct {
    intptr_t count, steps[3];
    int first, by_x, by_y;
  } calls[] = {{10000, {4, 4, 4}, 0, 1, 1}, {9000, {4, 0, 4}, 1, 1, 0}, {4999, {8, 4, 4}, 0, 2, 1}, {1, {0, 0, 0}, 5, 0, 0},
               {9000, {0, 4, 4}, 2, 0, 1}, {4096, {0, 0, 4}, 7, 0, 0}, {0, {4, 4, 4}, 0, 1, 1}};
  for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
    char *operands[] = {(char *)&x[calls[c].first], (char *)&y[calls[c].first], (char *)z};
    heddle_elements_loop(operands, &calls[c].count, calls[c].steps, minus);
    int wrong = 0;
    for (int i = 0; i < calls[c].count; i++)
      wrong += z[i] != x[calls[c].first + i * calls[c].by_x] - y[calls[c].first + i * calls[c].by_y];
    CHECK(wrong == 0 && !*heddle_elements_flag(minus), NULL);
  }
  char *operands[] = {(char *)x, (char *)y, (char *)z};
  const intptr_t few = 10, steps[] = {4, 4, 4};
  heddle_elements_loop(operands, &few, steps, fault);
  CHECK(*heddle_elements_flag(fault), NULL);
  char *reason = heddle_elements_failure(fault);
  CHECK(reason && strstr(reason, "@faults") && !*heddle_elements_flag(fault) && !heddle_elements_failure(fault), reason);
  heddle_text_free(reason);
  heddle_elements_loop(operands, &few, steps, NULL);
  CHECK(!heddle_elements_flag(NULL) && !heddle_elements_failure(NULL), NULL);
  heddle_elements_free(minus);
  heddle_elements_free(fault);
  heddle_elements_free(NULL);
}

int main(void) {
  cancel();
  heddle_program_free(NULL);
  heddle_kernel_free(NULL);
  CHECK(!heddle_program_ok(NULL) && !heddle_program_messages(NULL), NULL);
  CHECK(!heddle_kernel_ok(NULL) && !heddle_kernel_messages(NULL) && !heddle_kernel_report(NULL), NULL);
  CHECK(!heddle_kernel_set_memory(NULL, 0, NULL) && !heddle_kernel_set_value(NULL, 0, NULL, 4), NULL);
  CHECK(!heddle_kernel_set_local(NULL, 0, 4) && !heddle_kernel_launch(NULL, 1, NULL, NULL), NULL);

  heddle_program *none = heddle_program_from_opencl_c(NULL, NULL);
  CHECK(none && !heddle_program_ok(none), NULL);
  heddle_kernel *of_none = heddle_program_kernel(none, "k");
  CHECK(of_none && !heddle_kernel_ok(of_none), NULL);
  CHECK(!heddle_kernel_launch(of_none, 1, (const size_t[]){1}, NULL), NULL);
  SAYS(of_none, "no program");
  heddle_kernel_free(of_none);
  heddle_program_free(none);

  heddle_program *broken = heddle_program_from_opencl_c("kernel void k(global int *a) { *a = b; }", "-DX");
  CHECK(!heddle_program_ok(broken) && strstr(heddle_program_messages(broken), "undeclared identifier 'b'"),
        heddle_program_messages(broken));
  heddle_program_free(broken);

  heddle_program *program =
      heddle_program_from_opencl_c("kernel void k(global int *a, int by, local int *l) { a[get_global_id(0)] += BY; }", "-D BY=by");
  CHECK(heddle_program_ok(program), heddle_program_messages(program));
  heddle_kernel *other = heddle_program_kernel(program, "other");
  CHECK(!heddle_kernel_ok(other), NULL);
  SAYS(other, "the kernels are k");
  heddle_kernel_free(other);

  heddle_kernel *k = heddle_program_kernel(program, "k");
  heddle_program_free(program);
  int memory[8] = {0}, by = 3;
  const size_t items = 8, empty = 0, groups[] = {3, 1, 1};
  CHECK(heddle_kernel_set_memory(k, 0, memory), heddle_kernel_messages(k));
  CHECK(!heddle_kernel_launch(k, 1, &items, NULL), NULL);
  SAYS(k, "argument 1 is not set");
  CHECK(!heddle_kernel_set_value(k, 1, &by, 2), NULL);
  SAYS(k, "argument 1, `by`: expected 4 bytes, found 2");
  CHECK(!heddle_kernel_set_value(k, 1, NULL, 4) && !heddle_kernel_set_memory(k, 1, memory), NULL);
  CHECK(!heddle_kernel_set_memory(k, 3, memory), NULL);
  SAYS(k, "no parameter 3: the kernel has 3");
  CHECK(!heddle_kernel_set_local(k, 0, 4) && !heddle_kernel_set_memory(k, 2, memory), NULL);
  CHECK(heddle_kernel_set_value(k, 1, &by, sizeof by) && heddle_kernel_set_local(k, 2, 64), heddle_kernel_messages(k));
  CHECK(!heddle_kernel_launch(k, 0, &items, NULL) && !heddle_kernel_launch(k, 4, &items, NULL), NULL);
  CHECK(!heddle_kernel_launch(k, 1, NULL, NULL), NULL);
  SAYS(k, "1 to 3 dimensions");
  SAYS(k, "[launch]");
  CHECK(!heddle_kernel_launch(k, 1, &items, &empty), NULL);
  CHECK(!heddle_kernel_launch(k, 1, (const size_t[]){(size_t)-1}, NULL), NULL);
  CHECK(heddle_kernel_launch(k, 1, &empty, NULL), heddle_kernel_messages(k));
  CHECK(heddle_kernel_launch(k, 1, &items, groups), heddle_kernel_messages(k));
  CHECK(heddle_kernel_launch(k, 3, (const size_t[]){8, 1, 1}, NULL), heddle_kernel_messages(k));
  for (int i = 0; i < 8; i++) CHECK(memory[i] == 6, "a work-item ran more or less than once in two launches");
  elements(k);
  call(k);
  heddle_kernel_free(k);
  puts(failures ? "failed" : "passed");
  return failures != 0;
}
