// Search trees: what one lane does with them, for `./x bench loops` and `./x bench native`, and how they are made.
#pragma once
#include <stdlib.h>

#define LANE static inline __attribute__((always_inline))

struct node {
  float key;
  int left, right, unused;
};

/// A search tree: as structures, and the same as columns.
struct tree {
  const struct node *nodes;
  const float *keys;
  const int *lefts, *rights;
  /// Keys within this distance are neighbours.
  float near;
};

/// How deep a key is.
LANE float lookup(float key, const struct node *nodes) {
  int node = 0, depth = 0;
  while (node >= 0 && nodes[node].key != key) {
    node = key < nodes[node].key ? nodes[node].left : nodes[node].right;
    depth++;
  }
  return (float)depth;
}

LANE float lookup_in_columns(float key, const float *keys, const int *lefts, const int *rights) {
  int node = 0, depth = 0;
  while (node >= 0 && keys[node] != key) {
    node = key < keys[node] ? lefts[node] : rights[node];
    depth++;
  }
  return (float)depth;
}

/// Counts keys near a query, on a stack of nodes that are still to be visited.
LANE float neighbours_by_own_stack(float query, const struct node *nodes, float near) {
  float low = query - near, high = query + near;
  int stack[64], top = 0, found = 0;
  stack[top++] = 0;
  while (top > 0) {
    const struct node *node = &nodes[stack[--top]];
    float key = node->key;
    int left = node->left, right = node->right;
    found += low <= key && key <= high;
    if (left >= 0 && low <= key)
      stack[top++] = left;
    if (right >= 0 && key <= high)
      stack[top++] = right;
  }
  return (float)found;
}

/// The same with one stack for all lanes: a node is visited if any lane wants to.
LANE float neighbours_by_one_stack(float query, const struct node *nodes, float near) {
  float low = query - near, high = query + near;
  int stack[64], top = 0, found = 0;
  stack[top++] = 0;
  while (top > 0) {
    const struct node *node = &nodes[stack[--top]];
    float key = node->key;
    int left = node->left, right = node->right;
    found += low <= key && key <= high;
    if (left >= 0 && heddle_any(low <= key))
      stack[top++] = left;
    if (right >= 0 && heddle_any(key <= high))
      stack[top++] = right;
  }
  return (float)found;
}

#ifdef PLANTS_TREES
#include "given.h"

/// A search tree of random keys in the order in which they come.
static struct tree plant(int count) {
  struct node *nodes = room(count, sizeof *nodes);
  for (int next = 0; next < count; next++) {
    float key = (float)draw_unit();
    nodes[next] = (struct node){key, -1, -1, 0};
    for (int at = 0; at != next;) {
      int *side = key < nodes[at].key ? &nodes[at].left : &nodes[at].right;
      if (*side < 0)
        *side = next;
      at = *side;
    }
  }
  float *keys = room(count, sizeof *keys);
  int *lefts = room(count, sizeof *lefts), *rights = room(count, sizeof *rights);
  for (int at = 0; at < count; at++) {
    keys[at] = nodes[at].key;
    lefts[at] = nodes[at].left;
    rights[at] = nodes[at].right;
  }
  return (struct tree){nodes, keys, lefts, rights, 4.0f / (float)count};
}

/// Size of a kernel's data: in the first-level cache, in the second, or beyond.
static const struct {
  const char *name;
  int nodes;
} sizes[] = {{"L1", 512}, {"L2", 1 << 14}, {"memory", 1 << 20}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static int by_size(const void *one, const void *other) {
  float a = *(const float *)one, b = *(const float *)other;
  return (a > b) - (a < b);
}
#endif
