// Nests whose iterations clang counts by one counter.
#pragma once

#include "llvm/IR/Function.h"

namespace heddle {

/// Restores the nests that marked loops of a function stand for: clang counts the iterations under `collapse` by one counter, and computes
/// the nest's counters by divisions. All loops of the nest keep the mark if it promises independence; else only the innermost one does.
/// Runs at the start of the pipeline. True if the function has loops to vectorize.
bool restore_nests(llvm::Function &function);

} // namespace heddle
