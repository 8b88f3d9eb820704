// Run-time selection: variants of a loop run as trials, and the fastest runs the rest.
#pragma once

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Function.h"
#include <string>

namespace heddle {

/// Parameters of an outlined function for the range of iterations that it runs.
struct Range {
  llvm::Instruction *first = nullptr;
  llvm::Instruction *last = nullptr;
};

/// Lets a loop that counts its iterations from 0 to `last` start and end at any of them. The starts of its inductions are computed in a
/// block of their own before the loop. Excludes targets other than x86, loops that carry other values than inductions to later iterations
/// or to code after them, and innermost loops that access consecutive elements of 4 bytes or more: their speed does not depend on the data.
/// Returns the two numbers, which stay 0 and `last` here; null for an excluded loop.
Range make_resumable(llvm::Loop &loop, llvm::DominatorTree &dominators, llvm::LoopInfo &loops,
                     llvm::ScalarEvolution &evolution);

/// Replaces operations across lanes by their results for one lane: `heddle_any(x)` by `x`. False if one of them is unknown; then nothing
/// changes.
bool ask_one_lane(llvm::Function &function);

/// Replaces selects of addresses in the loops of a scalar function by branches. A branch that is predicted right does not wait for its
/// condition; a mispredicted one costs more than a select. In innermost loops each side gets its own copy of the rest of the iteration, so
/// that the processor predicts the code after each side separately. True if anything changed.
bool branch_on_choices(llvm::Function &function);

/// Creates a function that runs iterations `first` to `last` (the parameters of these numbers) by the fastest of `forms`; by the first one
/// until their times are known. It has the parameters of each. Variants from number `scalar` on are scalar code. A trial runs `trial`
/// iterations of each variant.
llvm::Function *select_at_run_time(llvm::ArrayRef<llvm::Function *> forms, size_t scalar, unsigned first, unsigned last,
                           unsigned trial, llvm::StringRef name);

} // namespace heddle
