// Indices of 32 bits in marked loops.
#pragma once

#include "llvm/Analysis/LoopInfo.h"

namespace heddle {

/// Computes indices of 32 bits in the wider type that addresses have, counters included, where they are sums and products of counters
/// that do not overflow. Works at the start of the pipeline: LLVM's passes forget what does not overflow when they reorder sums, and
/// nobody knows then that neighbours are side by side.
void widen_indices(llvm::Loop &loop);

} // namespace heddle
