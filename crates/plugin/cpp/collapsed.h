// Loops that `collapse` has made of nests.
#pragma once

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"

namespace heddle {

/// Makes a loop that divides its counter by a number the inner one of two loops, which needs no division: quotients are the same in
/// all of its iterations, and what is left over counts them. Iterations keep their order. The loop has the form of one entry, and one
/// latch that leaves it. Analyses are void if this was done.
bool make_nest_again(llvm::Loop &loop, llvm::DominatorTree &dominators, llvm::LoopInfo &loops,
                     llvm::ScalarEvolution &evolution);

} // namespace heddle
