// Calls compiled functions on what comes in by the standard input, and writes to the standard output what they leave
// after. Each object ends where a page begins that nothing may touch, but for the alignment of 16 bytes.
#include <stdint.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/mman.h>

extern void (*const entries[])(const uint8_t *, uint8_t *);
extern uint8_t *const symbols[];

enum { SLOTS = 24, ROOM = 1 << 18, GUARD = 1 << 16, EDGE = 64, PAINT = 0xa5, KEEP = 1, SILENT = 2, SECONDS = 10 };

static uint8_t *object[SLOTS];
static uint32_t length[SLOTS], is_symbol[SLOTS], objects;
static uint8_t *slots, *input;
static uint8_t results[1 << 16] __attribute__((aligned(64))), arguments[1 << 16] __attribute__((aligned(64)));

// bf16 comes back in the lower bits of the register of an f32. Weak: newer libraries have them.
static float from_bits(uint32_t bits) { float x; memcpy(&x, &bits, 4); return x; }
static uint32_t to_bits(float x) { uint32_t bits; memcpy(&bits, &x, 4); return bits; }
__attribute__((weak)) float __truncsfbf2(float x) {
  uint32_t bits = to_bits(x);
  if (x != x) return from_bits(bits >> 16 | 0x40);
  return from_bits((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
__attribute__((weak)) float __truncdfbf2(double x) {
  float near = (float)x;
  if (near != near || near == x) return __truncsfbf2(near);
  double size = near < 0 ? -(double)near : near, wanted = x < 0 ? -x : x;
  return __truncsfbf2(from_bits((to_bits(near) - (size > wanted)) | 1));
}

static uint32_t word(void) { uint32_t x; memcpy(&x, input, 4); input += 4; return x; }
static uint8_t *bytes(uint32_t count) { uint8_t *at = input; input += (count + 3) / 4 * 4; return at; }

static void answer(const uint8_t *from, uint32_t count) {
  while (count) {
    ssize_t done = write(1, from, count);
    if (done <= 0) _exit(3);
    from += done, count -= (uint32_t)done;
  }
}

static uint8_t *place(uint32_t slot, uint32_t count) {
  uint8_t *end = slots + (size_t)(slot + 1) * (ROOM + GUARD) - GUARD;
  uint32_t rounded = (count + 15) / 16 * 16;
  memset(end - rounded - EDGE, PAINT, rounded + EDGE);
  return end - rounded;
}

static uint32_t is_damaged(void) {
  for (uint32_t i = 0; i < objects; i++) {
    if (is_symbol[i]) continue;
    for (uint32_t at = 1; at <= EDGE; at++) if (object[i][-(int)at] != PAINT) return 1;
    for (uint32_t at = length[i]; at % 16; at++) if (object[i][at] != PAINT) return 1;
  }
  return 0;
}

static void one_call(void) {
  uint32_t entry = word(), args = word(), size = word(), count = word(), pointers = word(), flags = word();
  if (!(flags & KEEP)) {
    if (count > SLOTS) _exit(4);
    objects = count;
    for (uint32_t i = 0; i < count; i++) {
      uint32_t symbol = word();
      length[i] = word(), is_symbol[i] = symbol != UINT32_MAX;
      object[i] = is_symbol[i] ? symbols[symbol] : place(i, length[i]);
      memcpy(object[i], bytes(length[i]), length[i]);
    }
  }
  uint8_t *places = bytes(pointers * 8);
  memcpy(arguments, bytes(args), args);
  for (uint32_t i = 0; i < pointers; i++) {
    uint32_t at, which;
    memcpy(&at, places + i * 8, 4), memcpy(&which, places + i * 8 + 4, 4);
    memcpy(arguments + at, &object[which], sizeof(uint8_t *));
  }
  memset(results, 0, size);
  alarm(SECONDS);
  entries[entry](arguments, results);
  if (flags & SILENT) return;
  answer(results, size);
  for (uint32_t i = 0; i < objects; i++) answer(object[i], length[i]);
  uint32_t damaged = is_damaged();
  answer((uint8_t *)&damaged, 4);
}

int main(void) {
  size_t held = 0, room = 1 << 20;
  uint8_t *all = malloc(room);
  for (ssize_t got; (got = read(0, all + held, room - held)) > 0;) {
    held += (size_t)got;
    if (held == room) all = realloc(all, room *= 2);
    if (!all) return 5;
  }
  slots = mmap(0, (size_t)SLOTS * (ROOM + GUARD), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (slots == MAP_FAILED) return 6;
  for (int i = 0; i < SLOTS; i++)
    if (mprotect(slots + (size_t)i * (ROOM + GUARD), ROOM, PROT_READ | PROT_WRITE)) return 7;
  input = all;
  for (uint32_t calls = word(); calls; calls--) one_call();
  return 0;
}
