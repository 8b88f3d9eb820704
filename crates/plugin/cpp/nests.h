// Nests that clang counts by one counter.
#pragma once

#include "llvm/IR/Function.h"

namespace heddle {

/// Makes nests of the marked loops of a function that stand for nests: clang counts what `collapse` names by one counter, and
/// computes the counters of the nest by divisions. All loops of the nest keep the mark if it promises independence, else the innermost
/// one does. Works at the start of the pipeline. True if anything changed.
bool restore_nests(llvm::Function &function);

} // namespace heddle
