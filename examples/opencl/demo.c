// Mandelbrot, n-body and Black-Scholes on every CPU platform that the loader finds, in turn: checks the results against
// plain C, prints how long they take, and writes the picture.
//   cc -O2 -ffp-contract=off demo.c -lOpenCL -lm -o demo && ./demo demo.cl picture.png
#define CL_TARGET_OPENCL_VERSION 120
#define _GNU_SOURCE
#include <CL/cl.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PLATFORMS = 8, WORKS = 3, ROUNDS = 5 };
enum { WIDTH = 1536, HEIGHT = 1024, LIMIT = 512, BODIES = 8192, TILE = 256, OPTIONS = 1 << 21 };
static const float LEFT = -2.4f, TOP = -1.2f, PIXEL = 3.6f / WIDTH, RATE = 0.03f, VOLATILITY = 0.2f;
// How long a platform runs a kernel at a time, in seconds.
static const double SLICE = 0.1;

// The data, and what plain C makes of it.
static cl_float4 bodies[BODIES], pulls[BODIES];
static float spots[OPTIONS], strikes[OPTIONS], years[OPTIONS], calls[OPTIONS];
static uint16_t steps[WIDTH * HEIGHT];
// What the first platform makes of the first kernel.
static uint16_t picture[WIDTH * HEIGHT];

static const struct work {
  const char *name, *kernel;
  void (*in_c)(void);
  const void *wanted;
  size_t bytes;
  float tolerance;
} works[WORKS];

// A platform, and what it took.
struct platform {
  char name[64], version[96], device[96];
  cl_context context;
  cl_command_queue queue;
  cl_program program;
  cl_kernel kernels[WORKS];
  cl_mem results[WORKS];
  double built, best[WORKS], off[WORKS];
  bool broken;
};

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

static void *must(void *memory, const char *what) {
  if (memory) return memory;
  fprintf(stderr, "demo: %s\n", what);
  exit(1);
}

// --- the same in C ---

static void mandelbrot_in_c(void) {
  for (int row = 0; row < HEIGHT; row++)
    for (int column = 0; column < WIDTH; column++) {
      float cx = LEFT + PIXEL * column, cy = TOP + PIXEL * row, x = 0, y = 0;
      int n = 0;
      while (n < LIMIT && x * x + y * y < 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        n++;
      }
      steps[row * WIDTH + column] = (uint16_t)n;
    }
}

static void attract_in_c(void) {
  for (int i = 0; i < BODIES; i++) {
    float ax = 0, ay = 0, az = 0;
    for (int j = 0; j < BODIES; j++) {
      float dx = bodies[j].s[0] - bodies[i].s[0], dy = bodies[j].s[1] - bodies[i].s[1], dz = bodies[j].s[2] - bodies[i].s[2];
      float inverse = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      float pull = bodies[j].s[3] * inverse * inverse * inverse;
      ax += pull * dx, ay += pull * dy, az += pull * dz;
    }
    pulls[i] = (cl_float4){{ax, ay, az, 0}};
  }
}

static float normal(float x) { return 0.5f * erfcf(x * -0.70710678f); }

static void price_in_c(void) {
  for (int i = 0; i < OPTIONS; i++) {
    float spread = VOLATILITY * sqrtf(years[i]);
    float d1 = (logf(spots[i] / strikes[i]) + (RATE + 0.5f * VOLATILITY * VOLATILITY) * years[i]) / spread;
    calls[i] = spots[i] * normal(d1) - strikes[i] * expf(-RATE * years[i]) * normal(d1 - spread);
  }
}

static const struct work works[WORKS] = {
    {"Mandelbrot, 1536 x 1024 pixels", "mandelbrot", mandelbrot_in_c, steps, sizeof steps, 0},
    {"N-body, one step of 8192", "attract", attract_in_c, pulls, sizeof pulls, 1e-3f},
    {"Black-Scholes, 2 million options", "price", price_in_c, calls, sizeof calls, 1e-4f},
};

static void make_data(void) {
  uint32_t state = 1;
#define RANDOM() ((state = state * 1664525u + 1013904223u) >> 8) * (1.0f / (1 << 24))
  for (int i = 0; i < BODIES; i++)
    for (int axis = 0; axis < 4; axis++) bodies[i].s[axis] = RANDOM();
  for (int i = 0; i < OPTIONS; i++) {
    spots[i] = 20.0f + 80.0f * RANDOM();
    strikes[i] = 20.0f + 80.0f * RANDOM();
    years[i] = 0.25f + 9.75f * RANDOM();
  }
}

// --- OpenCL ---

// An error of a platform is printed once; the platform is skipped from then on.
static bool fine(struct platform *platform, cl_int code, const char *what) {
  if (code == CL_SUCCESS) return !platform->broken;
  if (!platform->broken) fprintf(stderr, "demo: %s is left out: %s gives %d\n", platform->name, what, code);
  platform->broken = true;
  return false;
}

static cl_mem buffer(struct platform *platform, const void *data, size_t bytes) {
  cl_int code;
  cl_mem_flags flags = data ? CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR : CL_MEM_WRITE_ONLY;
  cl_mem memory = clCreateBuffer(platform->context, flags, bytes, (void *)data, &code);
  fine(platform, code, "clCreateBuffer");
  return memory;
}

static void set(struct platform *platform, cl_kernel kernel, cl_uint index, size_t bytes, const void *value) {
  fine(platform, clSetKernelArg(kernel, index, bytes, value), "clSetKernelArg");
}

static void start(struct platform *platform, cl_device_id device, const char *source) {
  cl_int code;
  platform->context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  if (!fine(platform, code, "clCreateContext")) return;
  platform->queue = clCreateCommandQueue(platform->context, device, 0, &code);
  if (!fine(platform, code, "clCreateCommandQueue")) return;
  double begin = now();
  platform->program = clCreateProgramWithSource(platform->context, 1, &source, NULL, &code);
  if (!fine(platform, code, "clCreateProgramWithSource")) return;
  code = clBuildProgram(platform->program, 1, &device, "", NULL, NULL);
  platform->built = now() - begin;
  if (!fine(platform, code, "clBuildProgram")) {
    static char log[1 << 16];
    clGetProgramBuildInfo(platform->program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    fputs(log, stderr);
    return;
  }
  for (int work = 0; work < WORKS; work++) {
    platform->best[work] = INFINITY;
    platform->kernels[work] = clCreateKernel(platform->program, works[work].kernel, &code);
    if (!fine(platform, code, "clCreateKernel")) return;
    platform->results[work] = buffer(platform, NULL, works[work].bytes);
  }
  const cl_int limit = LIMIT, count = BODIES;
  cl_kernel kernel = platform->kernels[0];
  set(platform, kernel, 0, sizeof(cl_mem), &platform->results[0]);
  set(platform, kernel, 1, sizeof LEFT, &LEFT);
  set(platform, kernel, 2, sizeof TOP, &TOP);
  set(platform, kernel, 3, sizeof PIXEL, &PIXEL);
  set(platform, kernel, 4, sizeof limit, &limit);
  kernel = platform->kernels[1];
  cl_mem memory = buffer(platform, bodies, sizeof bodies);
  set(platform, kernel, 0, sizeof memory, &memory);
  set(platform, kernel, 1, sizeof(cl_mem), &platform->results[1]);
  set(platform, kernel, 2, sizeof count, &count);
  set(platform, kernel, 3, TILE * sizeof(cl_float4), NULL);
  kernel = platform->kernels[2];
  const float *inputs[] = {spots, strikes, years};
  for (cl_uint i = 0; i < 3; i++) {
    memory = buffer(platform, inputs[i], sizeof spots);
    set(platform, kernel, i, sizeof memory, &memory);
  }
  set(platform, kernel, 3, sizeof(cl_mem), &platform->results[2]);
  set(platform, kernel, 4, sizeof RATE, &RATE);
  set(platform, kernel, 5, sizeof VOLATILITY, &VOLATILITY);
}

static void launch(struct platform *platform, int work) {
  const size_t sizes[WORKS][2] = {{WIDTH, HEIGHT}, {BODIES, 1}, {OPTIONS, 1}}, tile[] = {TILE};
  cl_int code = clEnqueueNDRangeKernel(platform->queue, platform->kernels[work], work ? 1 : 2, NULL, sizes[work],
                                       work == 1 ? tile : NULL, 0, NULL, NULL);
  if (fine(platform, code, "clEnqueueNDRangeKernel")) fine(platform, clFinish(platform->queue), "clFinish");
}

// Runs a kernel for a slice of time, and keeps the shortest run.
static void time_slice(struct platform *platform, int work) {
  for (double begin = now(), last = begin; !platform->broken && last - begin < SLICE;) {
    launch(platform, work);
    double end = now();
    if (end - last < platform->best[work]) platform->best[work] = end - last;
    last = end;
  }
}

// How far results are from what C has, relative to the largest.
static double distance(const void *found, const struct work *work) {
  double most = 0, largest = 1e-30;
  if (work->tolerance == 0) return memcmp(found, work->wanted, work->bytes) ? 1 : 0;
  const float *here = found, *there = work->wanted;
  for (size_t i = 0; i < work->bytes / sizeof(float); i++) {
    most = fmax(most, isfinite(here[i]) ? fabs((double)here[i] - there[i]) : INFINITY);
    largest = fmax(largest, fabs(there[i]));
  }
  return most / largest;
}

static void check(struct platform *platform, int work, bool is_first) {
  void *found = must(malloc(works[work].bytes), "there is no memory");
  cl_int code = clEnqueueReadBuffer(platform->queue, platform->results[work], CL_TRUE, 0, works[work].bytes, found, 0, NULL, NULL);
  if (fine(platform, code, "clEnqueueReadBuffer")) platform->off[work] = distance(found, &works[work]);
  if (is_first && work == 0) memcpy(picture, found, sizeof picture);
  free(found);
}

static int find_platforms(struct platform *list, const char *source) {
  cl_platform_id ids[PLATFORMS];
  cl_uint there = 0;
  if (clGetPlatformIDs(PLATFORMS, ids, &there) != CL_SUCCESS) there = 0;
  int count = 0;
  for (cl_uint i = 0; i < there && i < PLATFORMS; i++) {
    struct platform *platform = &list[count];
    cl_device_id device;
    if (clGetDeviceIDs(ids[i], CL_DEVICE_TYPE_CPU, 1, &device, NULL) != CL_SUCCESS) continue;
    clGetPlatformInfo(ids[i], CL_PLATFORM_NAME, sizeof platform->name, platform->name, NULL);
    clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof platform->version, platform->version, NULL);
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof platform->device, platform->device, NULL);
    bool known = false;
    for (int other = 0; other < count; other++) known |= !strcmp(list[other].name, platform->name);
    if (known) continue;
    start(platform, device, source);
    if (!platform->broken) count++;
    else memset(platform, 0, sizeof *platform);
  }
  return count;
}

// --- the picture: a PNG with a palette, not compressed ---

static uint32_t crc_of(uint32_t crc, const uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return crc;
}

static void put_word(uint8_t *to, uint32_t word) {
  for (int i = 0; i < 4; i++) to[i] = (uint8_t)(word >> (24 - 8 * i));
}

static void write_chunk(FILE *file, const char *kind, const uint8_t *bytes, size_t count) {
  uint8_t word[4];
  put_word(word, (uint32_t)count);
  fwrite(word, 4, 1, file);
  fwrite(kind, 4, 1, file);
  fwrite(bytes, 1, count, file);
  put_word(word, ~crc_of(crc_of(~0u, (const uint8_t *)kind, 4), bytes, count));
  fwrite(word, 4, 1, file);
}

static bool write_picture(const char *path) {
  FILE *file = fopen(path, "wb");
  if (!file) return false;
  uint8_t head[13] = {0}, palette[768] = {0};
  put_word(head, WIDTH);
  put_word(head + 4, HEIGHT);
  head[8] = 8, head[9] = 3;
  // From far away, dark, to the edge, and through it.
  static const double stops[][3] = {{4, 6, 30}, {14, 34, 110}, {40, 120, 200}, {235, 242, 250}, {255, 176, 40}, {130, 24, 16}, {30, 4, 40}};
  const int last = sizeof stops / sizeof *stops - 1;
  for (int color = 1; color < 256; color++) {
    double at = color / 255.0 * last, rest = at - fmin(floor(at), last - 1);
    const double(*stop)[3] = &stops[(int)fmin(floor(at), last - 1)];
    for (int part = 0; part < 3; part++)
      palette[3 * color + part] = (uint8_t)(stop[0][part] * (1 - rest) + stop[1][part] * rest);
  }
  // zlib's format: a head, stored blocks, a sum.
  const size_t raw = (size_t)HEIGHT * (WIDTH + 1), block = 65535;
  uint8_t *pixels = must(calloc(raw, 1), "there is no memory");
  for (int row = 0; row < HEIGHT; row++)
    for (int column = 0; column < WIDTH; column++) {
      int n = picture[row * WIDTH + column];
      pixels[(size_t)row * (WIDTH + 1) + 1 + column] = n == LIMIT ? 0 : (uint8_t)(1 + 254 * log2(n + 1) / log2(LIMIT + 1));
    }
  uint8_t *data = must(malloc(raw + raw / block * 5 + 16), "there is no memory"), *to = data;
  *to++ = 0x78, *to++ = 0x01;
  uint32_t a = 1, b = 0;
  for (size_t i = 0; i < raw; i++) a = (a + pixels[i]) % 65521, b = (b + a) % 65521;
  for (size_t at = 0; at < raw; at += block) {
    size_t size = raw - at < block ? raw - at : block;
    uint8_t start[5] = {at + size == raw, (uint8_t)size, (uint8_t)(size >> 8), (uint8_t)~size, (uint8_t)(~size >> 8)};
    memcpy(to, start, 5);
    memcpy(to + 5, pixels + at, size);
    to += 5 + size;
  }
  put_word(to, b << 16 | a);
  to += 4;
  fwrite("\x89PNG\r\n\x1a\n", 8, 1, file);
  write_chunk(file, "IHDR", head, sizeof head);
  write_chunk(file, "PLTE", palette, sizeof palette);
  write_chunk(file, "IDAT", data, (size_t)(to - data));
  write_chunk(file, "IEND", NULL, 0);
  free(pixels);
  free(data);
  return fclose(file) == 0;
}

// --- the table ---

static void print_table(const struct platform *list, int count, const double *in_c) {
  printf("\n%-34s", "milliseconds, best of many runs");
  for (int i = 0; i < count; i++) printf("%12.*s%*s", (int)strcspn(list[i].name, " "), list[i].name, i ? 8 : 0, "");
  printf("%12s\n", "C, 1 thread");
  for (int work = 0; work < WORKS; work++) {
    double first = list[0].best[work];
    printf("%-34s%12.2f", works[work].name, first * 1e3);
    for (int i = 1; i < count; i++) printf("%12.2f %5.2f x", list[i].best[work] * 1e3, list[i].best[work] / first);
    printf("%12.2f %5.1f x\n", in_c[work] * 1e3, in_c[work] / first);
  }
  printf("%-34s%12.1f", "building the program", list[0].built * 1e3);
  for (int i = 1; i < count; i++) printf("%12.1f %5.2f x", list[i].built * 1e3, list[i].built / list[0].built);
  printf("\n\n");
  if (count > 1) printf("x: as many times as long as %s\n", list[0].name);
}

int main(int argc, char **argv) {
  if (argc != 3) return fprintf(stderr, "usage: demo demo.cl PICTURE.png\n"), 2;
  static char source[1 << 16];
  FILE *file = must(fopen(argv[1], "rb"), "the kernels cannot be read");
  source[fread(source, 1, sizeof source - 1, file)] = 0;
  fclose(file);
  make_data();
  static struct platform list[PLATFORMS];
  int count = find_platforms(list, source);
  if (count == 0) return fprintf(stderr, "demo: the loader finds no platform with a CPU\n"), 1;
  // Heddle is what the others are compared with.
  for (int i = 1; i < count; i++)
    if (!strncmp(list[i].name, "Heddle", 6)) {
      struct platform first = list[i];
      list[i] = list[0];
      list[0] = first;
    }
  printf("%s: Mandelbrot, n-body and Black-Scholes through OpenCL, by\n", list[0].device);
  for (int i = 0; i < count; i++) printf("  %s, %s\n", list[i].name, list[i].version);
  if (count == 1) printf("  No other OpenCL platform for CPUs is installed; `./x peers` brings some.\n");
  fflush(stdout);

  double in_c[WORKS];
  for (int work = 0; work < WORKS; work++) {
    double begin = now();
    works[work].in_c();
    in_c[work] = now() - begin;
  }
  for (int work = 0; work < WORKS; work++) {
    // The first run may compile.
    for (int i = 0; i < count; i++) launch(&list[i], work), check(&list[i], work, i == 0);
    for (int round = 0; round < ROUNDS; round++)
      for (int i = 0; i < count; i++) time_slice(&list[i], work);
  }
  print_table(list, count, in_c);
  int wrong = 0;
  for (int i = 0; i < count; i++)
    for (int work = 0; work < WORKS; work++)
      if (list[i].broken || list[i].off[work] > works[work].tolerance) {
        printf("%s: %s is off by %g\n", list[i].name, works[work].name, list[i].off[work]);
        wrong += i == 0;
      }
  if (!wrong) printf("%s's pixels are those of C, all of them; its forces differ by %.0e, its prices by %.0e (relative to the largest)\n",
                     list[0].name, list[0].off[1], list[0].off[2]);
  if (!write_picture(argv[2])) return fprintf(stderr, "demo: %s cannot be written\n", argv[2]), 1;
  printf("the picture: %s\n", argv[2]);
  return wrong != 0;
}
