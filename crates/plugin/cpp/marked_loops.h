// Loops that the programmer marked: finding them, bringing them into a simple form, taking them out into functions.
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

/// A marked loop, known by its header: that block stays whatever happens around it.
struct MarkedLoop {
  llvm::WeakTrackingVH header;
  /// How many iterations may run together at most, as the pragma says; 0 if it does not say.
  unsigned width = 0;
  /// How many vectors shall run side by side; 0 if the pragma does not say.
  unsigned interleaved = 0;
  /// Whether no iteration waits for the memory of another: each access is in a group of the loop.
  bool is_parallel = false;
  /// Whether no iteration waits for another of the `width` that run together: the programmer says so.
  bool is_promised = false;
  /// True for a nest, both of whose levels become dimensions of a brush.
  bool is_nest = false;
  /// Width of a nest's inner level, as its pragma says; 0 if it does not say.
  unsigned inner_width = 0;
  /// Trip counts of a nest's levels; 0 if they are not constant.
  unsigned outer_trips = 0, inner_trips = 0;
  llvm::DebugLoc place;
  /// Headers of marked loops around it, which stay loops.
  llvm::SmallVector<llvm::WeakTrackingVH, 2> around;
};

/// What comes before all other passes: what marks say is written so that passes keep it. Whether there are any.
bool open_marks(llvm::Module &module);

/// Makes calls that mark loops hints of the loops that they are in. Whether there were any.
bool take_marks(llvm::Module &module);

/// The loops of a module that ask for vector code, one level of each nest or a tensor, in the order of the module. With `wants_tensors`, nests
/// without widths become tensors, too.
std::vector<MarkedLoop> find_marked_loops(llvm::Module &module, bool wants_tensors);

/// Lets one level of a nest become a vector instead of a tensor.
void refuse_tensor(const MarkedLoop &nest);

/// Unrolls, as LLVM does, kept levels inside of those that become lanes. True if there are any.
bool release_inner_levels(llvm::Module &module, bool wants_tensors);

/// Unrolls, as LLVM does, all levels that are still kept. True if there are any.
bool release_levels(llvm::Module &module);

/// A loop as a function of its own, and the one call of it.
struct Outlined {
  llvm::Function *function = nullptr;
  llvm::CallInst *call = nullptr;
  /// How many iterations may run together at most; 0 if any number may.
  unsigned width = 0;
  /// Whether it runs only if its arrays do not overlap; else the loop runs as it was.
  bool is_versioned = false;
  /// Whether it can begin and end with any iteration, and the numbers of the parameters that say which.
  bool is_resumable = false;
  unsigned first = 0, last = 0;
  /// One less than the number of iterations, outside of it.
  llvm::WeakTrackingVH last_iteration;
  /// Why there is none.
  std::string refusal;
};

/// True if a function has loops with hints.
bool has_loop_hints(const llvm::Function &function);

/// Takes a loop out of its function. The loop then counts its iterations from 0 and is tested at its end.
Outlined outline(const MarkedLoop &loop, llvm::StringRef name);

/// Whether two outlined functions are the same, instruction by instruction.
bool are_alike(const llvm::Function &one, const llvm::Function &other);

/// Lets up to `few` iterations run by a copy of the loop as it is, before the call. The call of the copy; null if the loop is known
/// to have more, or always has as many.
llvm::CallInst *call_for_few(const Outlined &own, unsigned few);

/// Lets a copy of the loop as it is run the iterations that fill no vector of so many lanes, after the call, which then runs the others,
/// if there are any. The call of the copy; null if `lanes` is 0 or the loop is not resumable.
llvm::CallInst *call_for_rest(Outlined &own, unsigned lanes);

/// Lets `remainder` run the iterations of a resumable loop that fill no group of so many, after the call, which then runs the others, if there are any.
/// Where `is_refused` holds, which stands before the call, `remainder` runs all of them.
llvm::CallInst *call_for_remainder(Outlined &own, unsigned group, llvm::Function &remainder, llvm::Value *is_refused = nullptr);

/// A function with the parameters of both, of which those numbered `first` and `last` say which iterations run: `vector` runs whole groups of so
/// many, `remainder` the others.
llvm::Function &with_remainder(llvm::Function &vector, llvm::Function &remainder, unsigned group, unsigned first, unsigned last);

/// Puts the body of an outlined function in the place of its call, and memory that only passed values back into registers.
void put_back(llvm::CallInst *call);

} // namespace heddle
