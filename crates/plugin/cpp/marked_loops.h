// Finds loops that the programmer marked, simplifies them, and outlines them into functions.
#pragma once

#include "llvm/ADT/SmallSet.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ValueHandle.h"
#include <string>
#include <vector>

namespace heddle {

/// A marked loop, identified by its header: transforms of other loops keep that block.
struct MarkedLoop {
  llvm::WeakTrackingVH header;
  /// Maximum number of iterations that may run together by the pragma; 0 without one.
  unsigned width = 0;
  /// Number of interleaved vectors by the pragma; 0 without one.
  unsigned interleaved = 0;
  /// True if all iterations are marked independent, as `is_parallel` finds.
  bool is_parallel = false;
  /// True if the programmer promises that iterations which run together, at most `width`, are independent.
  bool is_promised = false;
  /// True for a nest, both of whose levels become dimensions of a brush.
  bool is_nest = false;
  /// Width of a nest's inner level by its pragma; 0 without one.
  unsigned inner_width = 0;
  /// Trip counts of a nest's levels; 0 if they are not constant.
  unsigned outer_trips = 0, inner_trips = 0;
  llvm::DebugLoc place;
  /// Headers of marked loops around it, which stay loops.
  llvm::SmallVector<llvm::WeakTrackingVH, 2> around;
};

/// Prepares marks before all other passes, so that these keep them: adds hints of independence, restores nests, and keeps levels from being
/// unrolled. True if anything changed.
bool open_marks(llvm::Module &module);

/// Replaces calls that mark loops by hints of the loops around them. True if the module declares the function of such calls.
bool take_marks(llvm::Module &module);

/// Returns the marked loops of a module to vectorize, in the order of the module: of each nest the chosen level, or a tensor. With
/// `wants_tensors`, nests without widths become tensors, too.
std::vector<MarkedLoop> find_marked_loops(llvm::Module &module, bool wants_tensors);

/// Excludes a nest from tensors, so that one of its levels becomes a vector.
void refuse_tensor(const MarkedLoop &nest);

/// Unrolls, as LLVM does, kept levels inside of those that become lanes. True if there are any.
bool release_inner_levels(llvm::Module &module, bool wants_tensors);

/// Unrolls, as LLVM does, all levels that are still kept. True if there are any.
bool release_levels(llvm::Module &module);

/// A loop outlined into a function, and the only call of that function.
struct Outlined {
  llvm::Function *function = nullptr;
  llvm::CallInst *call = nullptr;
  /// Maximum number of iterations that may run together; 0 for any number.
  unsigned width = 0;
  /// True if the vector loop runs only where its arrays do not overlap; elsewhere the original loop runs.
  bool is_versioned = false;
  /// True if the function can run any range of iterations; then `first` and `last` are the numbers of the range's parameters.
  bool is_resumable = false;
  unsigned first = 0, last = 0;
  /// Number of iterations minus one, as a value before the call.
  llvm::WeakTrackingVH last_iteration;
  /// Reason why the loop cannot be outlined; empty if it was.
  std::string refusal;
};

/// True if a function has loops with hints.
bool has_loop_hints(const llvm::Function &function);

/// Outlines a loop into a function. The loop then counts its iterations from 0 and tests at its end.
Outlined outline(const MarkedLoop &loop, llvm::StringRef name);

/// True if two outlined functions agree instruction by instruction, except for values of constants.
bool are_alike(const llvm::Function &one, const llvm::Function &other);

/// Lets a scalar copy of the loop run in place of the call if the loop has at most `few` iterations. Returns the call of the copy; null if
/// `few` is 0, or if the trip count is constant or unknown.
llvm::CallInst *call_for_few(const Outlined &own, unsigned few);

/// Lets a scalar copy of the loop run the last iterations, which fill no vector of `lanes`, after the call; the call runs the others, if
/// there are any. Returns the call of the copy; null if `lanes` is 0 or the loop is not resumable.
llvm::CallInst *call_for_rest(Outlined &own, unsigned lanes);

/// Lets `remainder` run the last iterations of a resumable loop, which fill no group of `group`, after the call; the call runs the others,
/// if there are any. Where `is_refused`, a value before the call, is true, `remainder` runs all iterations. Returns the call of
/// `remainder`.
llvm::CallInst *call_for_remainder(Outlined &own, unsigned group, llvm::Function &remainder, llvm::Value *is_refused = nullptr);

/// Creates a function with the parameters of both, which runs the iterations from parameter `first` to parameter `last`: `vector` runs
/// whole groups of `group` iterations, `remainder` the others.
llvm::Function &with_remainder(llvm::Function &vector, llvm::Function &remainder, unsigned group, unsigned first, unsigned last);

/// Inlines an outlined function at its call, and promotes memory that only passed values to registers.
void put_back(llvm::CallInst *call);

} // namespace heddle
