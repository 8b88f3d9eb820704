// Stacks kept by hand instead of recursion.
#include <stdint.h>

uint64_t tree(uint64_t a, uint64_t b, int32_t *mem) {
  uint32_t stack[32], top = 0, visits = 0;
  uint64_t sum = 0;
  stack[top++] = 1;
  while (top) {
    uint32_t node = stack[--top];
    sum = sum * 31 + node;
    mem[node & 31] ^= (int32_t)visits;
    if (++visits > 60) break;
    if (node < 16 + (a & 31)) {
      if ((b >> (node & 31)) & 1) stack[top++] = 2 * node;
      if ((a >> (node & 31)) & 1) stack[top++] = 2 * node + 1;
    }
  }
  return sum;
}

typedef struct { int8_t low, high; } Range;

uint64_t quick(uint64_t a, uint64_t b, int32_t *mem) {
  Range stack[20];
  int top = 0, steps = 0;
  stack[top++] = (Range){0, 15 + (int8_t)(a & 15)};
  while (top > 0) {
    Range r = stack[--top];
    if (r.low >= r.high) continue;
    int32_t pivot = mem[r.high];
    int8_t at = r.low;
    for (int8_t i = r.low; i < r.high; i++) {
      if (mem[i] < pivot) { int32_t t = mem[i]; mem[i] = mem[at]; mem[at] = t; at++; }
      steps++;
    }
    mem[r.high] = mem[at];
    mem[at] = pivot;
    // The larger part first, so that the stack stays small.
    Range left = {r.low, (int8_t)(at - 1)}, right = {(int8_t)(at + 1), r.high};
    int larger = at - r.low > r.high - at;
    stack[top++] = larger ? left : right;
    stack[top++] = larger ? right : left;
  }
  return (uint64_t)steps + (b & 1);
}
