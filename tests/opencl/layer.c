// A layer between a program and the driver, loaded by LD_PRELOAD: it notes which functions of extensions a program calls and which
// sources it builds, in files whose names begin with LAYER_TRACE, and behaves wrongly in the one respect that LAYER_FAULT names.
//
// Faults of command buffers execute a second buffer, which is recorded anew when the first one is finalized.
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef long word;
typedef word (*function)(word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word);
#define WORDS word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k, word l, word m, word n, word o, word p
#define PASSED a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p

// Functions with their numbers of arguments.
#define FUNCTIONS(F) \
  F(clCreateCommandBufferKHR, 4) F(clFinalizeCommandBufferKHR, 1) F(clRetainCommandBufferKHR, 1) F(clReleaseCommandBufferKHR, 1) \
  F(clEnqueueCommandBufferKHR, 6) F(clGetCommandBufferInfoKHR, 5) F(clCommandBarrierWithWaitListKHR, 7) \
  F(clCommandNDRangeKernelKHR, 12) F(clCommandCopyBufferKHR, 12) F(clCommandCopyBufferRectKHR, 16) \
  F(clCommandCopyBufferToImageKHR, 12) F(clCommandCopyImageKHR, 12) F(clCommandCopyImageToBufferKHR, 12) \
  F(clCommandFillBufferKHR, 12) F(clCommandFillImageKHR, 11) F(clCommandSVMMemcpyKHR, 10) F(clCommandSVMMemFillKHR, 11) \
  F(clUpdateMutableCommandsKHR, 4) F(clGetMutableCommandInfoKHR, 5) F(clSVMAllocWithPropertiesKHR, 5) \
  F(clSVMFreeWithPropertiesKHR, 4) F(clGetSVMPointerInfoKHR, 7) F(clGetSVMSuggestedTypeIndexKHR, 6) F(clHostMemAllocINTEL, 5) \
  F(clDeviceMemAllocINTEL, 6) F(clSharedMemAllocINTEL, 6) F(clMemFreeINTEL, 2) F(clMemBlockingFreeINTEL, 2) \
  F(clGetMemAllocInfoINTEL, 6) F(clSetKernelArgMemPointerINTEL, 3) F(clEnqueueMemFillINTEL, 8) F(clEnqueueMemcpyINTEL, 8) \
  F(clEnqueueMigrateMemINTEL, 7) F(clEnqueueMemAdviseINTEL, 7) F(clSetKernelArgDevicePointerEXT, 3) F(clCreateProgramWithILKHR, 4) \
  F(clGetKernelSuggestedLocalWorkSizeKHR, 6) F(clGetKernelSuggestedLocalWorkSize, 6) F(clCreateCommandQueueWithPropertiesKHR, 4) \
  F(clGetKernelSubGroupInfoKHR, 8)

enum {
#define NUMBER(name, count) name##_number,
  FUNCTIONS(NUMBER) COUNT
};
static const struct {
  const char *name;
  int arguments;
} known[COUNT] = {
#define KNOWN(name, count) {#name, count},
  FUNCTIONS(KNOWN)};
static function real[COUNT];
static char called[COUNT];

static word call(int number, const word *w) {
  return real[number](w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13], w[14], w[15]);
}

static int has_fault(const char *name) {
  const char *fault = getenv("LAYER_FAULT");
  return fault && !strcmp(fault, name);
}

// Commands as they were recorded, and the buffers that are executed in place of others.
static struct {
  int number;
  word words[16];
} recorded[4096];
static int recorded_count;
static struct {
  word made, executed, queue;
  int times;
} buffers[256];
static int buffer_count;

static int buffer_of(word made) {
  for (int at = buffer_count - 1; at >= 0; at--)
    if (buffers[at].made == made) return at;
  return -1;
}

static void record_anew(int at) {
  word list[16] = {1, (word)&buffers[at].queue}, made = call(clCreateCommandBufferKHR_number, list);
  for (int step = 0; step < recorded_count; step++) {
    int index = has_fault("reversed") ? recorded_count - 1 - step : step;
    if (recorded[index].words[0] != buffers[at].made) continue;
    word words[16];
    memcpy(words, recorded[index].words, sizeof words);
    words[0] = made;
    if (recorded[index].number == clCommandNDRangeKernelKHR_number) words[2] = 0;
    int count = known[recorded[index].number].arguments;
    memset(words + count - 4, 0, 4 * sizeof *words);
    call(recorded[index].number, words);
  }
  call(clFinalizeCommandBufferKHR_number, (word[16]){made});
  buffers[at].executed = made;
}

static word held[16];

static word recording(int number, word *w) {
  int count = known[number].arguments;
  if (has_fault("sync points unchecked")) w[count - 4] = w[count - 3] = 0;
  word result = call(number, w);
  if (!result && has_fault("sync points equal") && w[count - 2]) *(cl_uint *)w[count - 2] = 1;
  if (!result && recorded_count < 4096) {
    recorded[recorded_count].number = number;
    memcpy(recorded[recorded_count++].words, w, 16 * sizeof *w);
  }
  return result;
}

static word of_buffer(int number, word *w) {
  int at = buffer_of(number == clEnqueueCommandBufferKHR_number ? w[2] : w[0]);
  if (number == clFinalizeCommandBufferKHR_number) {
    word result = call(number, w);
    if (!result && (has_fault("reversed") || has_fault("arguments late") || has_fault("updates lost"))) record_anew(at);
    return result;
  }
  if (at >= 0 && buffers[at].executed) w[2] = buffers[at].executed;
  if (at >= 0 && buffers[at].times++ && has_fault("executed once")) w[2] = call(clCreateCommandBufferKHR_number, (word[16]){1, (word)&buffers[at].queue}), call(clFinalizeCommandBufferKHR_number, (word[16]){w[2]});
  if (w[3] && has_fault("captured late")) {
    memcpy(held, w, sizeof held);
    return 0;
  }
  return call(number, w);
}

static word updating(word *w) {
  word result = 0;
  const void **configs = (const void **)w[3];
  if (has_fault("first update only") && w[1] > 1) w[1] = 1;
  if (has_fault("updates one by one") && w[1] > 1) {
    for (word at = 0; at < w[1] && !result; at++)
      result = call(clUpdateMutableCommandsKHR_number, (word[16]){w[0], 1, w[2], (word)(configs + at)});
    return result;
  }
  result = call(clUpdateMutableCommandsKHR_number, w);
  if (held[2]) call(clEnqueueCommandBufferKHR_number, held), held[2] = 0;
  return result;
}

static word of_svm(int number, word *w) {
  if (number == clSVMAllocWithPropertiesKHR_number && has_fault("properties lost") && w[2] != 2 && w[2] != 4) {
    // Wrong arguments are still refused.
    cl_int code;
    word words[16] = {w[0], w[1], w[2], w[3], (word)&code}, made = call(number, words);
    if (!code && w[1]) call(clSVMFreeWithPropertiesKHR_number, (word[16]){w[0], 0, 0, made}), w[1] = 0;
  }
  word result = call(number, w);
  cl_uint name = w[3];
  if (number == clSVMFreeWithPropertiesKHR_number && has_fault("frees anything")) return 0;
  if (number == clGetSVMSuggestedTypeIndexKHR_number && !result && has_fault("suggests the first")) *(cl_uint *)w[5] = 0;
  if (number == clGetSVMSuggestedTypeIndexKHR_number && has_fault("desires ignored")) return w[2] = 0, call(number, w);
  if (number == clSVMAllocWithPropertiesKHR_number && has_fault("type ignored")) return w[2] = w[2] == 2 || w[2] == 4 || w[2] > 5 ? w[2] : 1, call(number, w);
  if (number == clGetSVMPointerInfoKHR_number && !result && w[5]) {
    if (name == 0x419b && has_fault("base as given") && *(word *)w[5]) *(word *)w[5] = w[2];
    if (name == 0x419d && has_fault("device forgotten")) *(word *)w[5] = 0;
    if (name == 0x208b && has_fault("access forgotten")) *(word *)w[5] = 0;
  }
  return result;
}

static word enter(int number, WORDS) {
  word words[16] = {PASSED};
  called[number] = 1;
  int is_command = !strncmp(known[number].name, "clCommand", 9);
  if (is_command) return recording(number, words);
  if (number == clFinalizeCommandBufferKHR_number || number == clEnqueueCommandBufferKHR_number) return of_buffer(number, words);
  if (number == clUpdateMutableCommandsKHR_number) return updating(words);
  if (strstr(known[number].name, "SVM")) return of_svm(number, words);
  word result = call(number, words);
  if (number == clCreateCommandBufferKHR_number && result && buffer_count < 256) {
    memset(buffers + buffer_count, 0, sizeof *buffers);
    buffers[buffer_count].made = result;
    buffers[buffer_count++].queue = *(word *)words[1];
  }
  return result;
}

#define WRAPPER(name, count) \
  static word wrapped_##name(WORDS) { return enter(name##_number, PASSED); }
FUNCTIONS(WRAPPER)
static const function wrappers[COUNT] = {
#define WRAPPED(name, count) wrapped_##name,
  FUNCTIONS(WRAPPED)};

void *clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name) {
  void *(*next)(cl_platform_id, const char *);
  void *symbol = dlsym(RTLD_NEXT, "clGetExtensionFunctionAddressForPlatform");
  memcpy(&next, &symbol, sizeof next);
  void *found = next(platform, name);
  for (int at = 0; found && name && at < COUNT; at++) {
    if (strcmp(known[at].name, name)) continue;
    memcpy(&real[at], &found, sizeof found);
    memcpy(&found, &wrappers[at], sizeof found);
    return found;
  }
  return found;
}

static FILE *trace_file(const char *kind, const char *mode) {
  const char *prefix = getenv("LAYER_TRACE");
  char path[4096];
  if (!prefix || snprintf(path, sizeof path, "%s.%s", prefix, kind) >= (int)sizeof path) return NULL;
  return fopen(path, mode);
}

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts, const size_t *lengths, cl_int *error) {
  cl_program (*next)(cl_context, cl_uint, const char **, const size_t *, cl_int *);
  void *symbol = dlsym(RTLD_NEXT, "clCreateProgramWithSource");
  memcpy(&next, &symbol, sizeof next);
  static int times;
  FILE *file = trace_file("sources", times++ ? "a" : "w");
  for (cl_uint at = 0; file && texts && at < count; at++)
    if (texts[at]) fprintf(file, "%.*s\n", lengths && lengths[at] ? (int)lengths[at] : (int)strlen(texts[at]), texts[at]);
  if (file) fclose(file);
  return next(context, count, texts, lengths, error);
}

__attribute__((destructor)) static void note(void) {
  FILE *file = trace_file("functions", "w");
  for (int at = 0; file && at < COUNT; at++)
    if (called[at]) fprintf(file, "%s\n", known[at].name);
  if (file) fclose(file);
}
