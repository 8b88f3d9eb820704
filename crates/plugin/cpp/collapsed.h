// Splits loops that clang makes of whole nests (`collapse`).
#pragma once

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"

namespace heddle {

/// Splits a loop that divides its counter by a loop-invariant number into two loops without divisions: the quotient is constant in the
/// inner loop, whose counter is the remainder. Iterations keep their order. Requires one entry, and a latch that is the only exiting block.
/// True if the loop was split; then all analyses are invalid.
bool make_nest_again(llvm::Loop &loop, llvm::DominatorTree &dominators, llvm::LoopInfo &loops,
                     llvm::ScalarEvolution &evolution);

} // namespace heddle
