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

/// Lets a loop that counts its iterations from 0 to `last` start at any of them, in a block of its own before the loop.
/// Only loops with inner ones or with accesses that may be scattered, from which nothing goes to iterations or code after: others
/// are as fast whatever the data.
/// Returns the two numbers, which stay 0 and `last` here; none where that can't be.
Range make_resumable(llvm::Loop &loop, llvm::DominatorTree &dominators, llvm::LoopInfo &loops,
                     llvm::ScalarEvolution &evolution);

/// Makes what lanes ask each other what it is for one lane: `heddle_any(x)` is `x`. Whether it is known for all that they ask;
/// else nothing changes.
bool ask_one_lane(llvm::Function &function);

/// Lets a function of one lane branch where it chooses, in a loop, which of two addresses it goes on with. A branch that is foreseen
/// right does not wait for what it asks; one that is not costs more than a choice. In innermost loops each side gets the rest of the
/// round as code of its own, so that what comes after a side is foreseen by itself. Whether there was something to do.
bool branch_on_choices(llvm::Function &function);

/// A function with the parameters of several that runs iterations `first` to `last` (the parameters of these numbers) by the
/// one that takes least time for its share; by the first until that is known. Forms from number `scalar` on are scalar code.
/// Trials are of `trial` iterations each.
llvm::Function *select_at_run_time(llvm::ArrayRef<llvm::Function *> forms, size_t scalar, unsigned first, unsigned last,
                           unsigned trial, llvm::StringRef name);

} // namespace heddle
