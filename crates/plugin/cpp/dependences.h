// Whether iterations of a loop wait for each other's memory.
#pragma once

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Function.h"
#include <string>

namespace heddle {

/// The hint of a loop whose iterations wait for none of each other.
inline constexpr char independent_hint[] = "heddle.independent";

/// The hint of this name in a loop's metadata.
const llvm::MDNode *hint(const llvm::MDNode *id, llvm::StringRef name);

/// The number that a hint gives; without one, `otherwise`.
uint64_t number_of(const llvm::MDNode *id, llvm::StringRef name, uint64_t otherwise);

/// Whether each access of a loop is in a group of accesses that no iteration waits for.
bool is_parallel(const llvm::Loop &loop);

/// Whether a loop's width is that of `safelen`: so many iterations that follow each other wait for none of each other. The
/// width of clang's own pragma, which promises nothing, comes with a word on scalable vectors.
bool is_safe_width(const llvm::Loop &loop);

/// Objects that begin to live in each iteration: it has them for itself.
llvm::SmallPtrSet<const llvm::Value *, 8> objects_of_iterations(const llvm::Loop &loop);

/// ` (line 7)`, if the line is known: that of the loop's own text, where something was inlined.
std::string at_line(const llvm::Instruction &instruction, const llvm::Loop &loop);

/// What a loop needs so that iterations may run together.
struct Independence {
  /// How many iterations may run together at most; 0 if any number may.
  unsigned width = 0;
  /// Whether it runs only if its arrays do not overlap; else the loop runs as it was.
  bool is_versioned = false;
  /// Why they may not.
  std::string refusal;
};

/// Proves of a loop in simple form that no iteration waits for the memory of another that runs next to it, with questions in
/// front of the loop where that helps: if the answer is no, the loop runs as it was. With `is_promised`, `width` iterations
/// wait for none of each other, unless a clause that LLVM IR does not contain orders them.
Independence make_independent(llvm::BasicBlock &header, unsigned width, bool is_promised);

/// Reason why iterations that are marked independent share memory all the same: clang gives each lane of a reduction of an array
/// a copy, but only one for all of them in its code. Empty if they do not.
std::string find_shared_object(const llvm::Loop &loop, llvm::ScalarEvolution &evolution);

/// Tells LLVM's vectorizers that there is nothing in a loop for them.
void leave_alone(llvm::Loop &loop);

} // namespace heddle
