// The loop of a nest whose iterations become lanes.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"

namespace heddle {

/// True if a loop is marked.
bool is_marked(const llvm::Loop &loop);

/// Chooses the loops to vectorize of a nest whose outermost loop is marked: none of them contains another one. The others stay loops.
llvm::SmallVector<llvm::Loop *> choose_levels(llvm::Loop &nest, const llvm::LoopInfo &loops,
                                                llvm::ScalarEvolution &evolution);

/// True if both levels of a nest may become dimensions of a brush: the inner one is the only loop in the outer one.
bool may_be_tensor(const llvm::Loop &outer, const llvm::Loop &inner, llvm::ScalarEvolution &evolution);

/// The two levels, outer and inner, of which a loop is one, that may become dimensions of a brush; null if there are none. The inner one is
/// the only loop in the outer one.
std::pair<llvm::Loop *, llvm::Loop *> tensor_levels(llvm::Loop &level, llvm::ScalarEvolution &evolution);

/// Keeps LLVM from unrolling the levels of nests of marked loops before one of them is chosen. True if there are any.
bool keep_levels(llvm::Function &function);

/// Lets LLVM unroll a level that was kept, if it was. True if it was.
bool release_level(llvm::Loop &level);

/// Unrolls loops of a function as LLVM does early, after levels of it were released.
void unroll_released_levels(llvm::Function &function);

} // namespace heddle
