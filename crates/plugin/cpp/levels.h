// The loop of a nest whose iterations become lanes.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"

namespace heddle {

/// True if a loop is marked.
bool is_marked(const llvm::Loop &loop);

/// Chooses the loops of a nest to vectorize; none of them contains another one. The nest's outermost loop is marked. The other loops stay
/// loops.
llvm::SmallVector<llvm::Loop *> choose_levels(llvm::Loop &nest, const llvm::LoopInfo &loops,
                                                llvm::ScalarEvolution &evolution);

/// True if both levels of a nest may become dimensions of a brush: the inner one is the only loop in the outer one.
bool may_be_tensor(const llvm::Loop &outer, const llvm::Loop &inner, llvm::ScalarEvolution &evolution);

/// Returns the outer and the inner level that may become dimensions of a brush, one of which is the given loop; null if there are none. The
/// inner one is the only loop in the outer one.
std::pair<llvm::Loop *, llvm::Loop *> tensor_levels(llvm::Loop &level, llvm::ScalarEvolution &evolution);

/// Keeps LLVM from unrolling the levels of nests of marked loops before one of them is chosen. True if there are any.
bool keep_levels(llvm::Function &function);

/// Lets LLVM unroll a level that `keep_levels` kept. True if the level was kept.
bool release_level(llvm::Loop &level);

/// Unrolls loops of a function after levels were released, as LLVM does early in its pipeline.
void unroll_released_levels(llvm::Function &function);

} // namespace heddle
