// Rows of memory that evict one another from the first-level cache while a brush of several rows runs.
#pragma once

#include "marked_loops.h"

namespace heddle {

/// Condition under which rows of memory evict one another.
struct Evictions {
  /// Value before the call of the outlined nest; null if rows never evict one another, or if their distance is unknown.
  llvm::Value *condition = nullptr;
  /// Number of rows that a brush reads and writes.
  uint64_t rows = 0;
  /// Rows evict one another if their distance is a multiple of this, in bytes.
  uint64_t distance = 0;
};

/// Finds the condition under which rows of an outlined nest evict one another, if `height` iterations of its outer level run together.
/// Computes it from the arguments of the call. None if `cache`, the size of the cache in bytes, is 0.
Evictions find_evictions(const Outlined &own, unsigned height, uint64_t cache);

} // namespace heddle
