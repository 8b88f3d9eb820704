// Indices of 32 bits in marked loops.
#pragma once

#include "llvm/Analysis/LoopInfo.h"

namespace heddle {

/// Computes indices of 32 bits in the wider type that addresses have, counters included, where they are sums and products of counters that
/// do not overflow. Runs at the start of the pipeline: LLVM's passes drop the flags against overflow when they reorder sums, and accesses
/// of consecutive iterations are not provably contiguous then.
void widen_indices(llvm::Loop &loop);

} // namespace heddle
