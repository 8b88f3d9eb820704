// Dependences through memory between iterations of a loop.
#pragma once

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Function.h"
#include <string>

namespace heddle {

/// Hint of a loop whose iterations are independent.
inline constexpr char independent_hint[] = "heddle.independent";

/// Returns the hint of this name in a loop's metadata; null if there is none.
const llvm::MDNode *hint(const llvm::MDNode *id, llvm::StringRef name);

/// Returns the number of a hint; `otherwise` without one.
uint64_t number_of(const llvm::MDNode *id, llvm::StringRef name, uint64_t otherwise);

/// True if the iterations of a loop are marked independent: by Heddle's hint, or since each access is in a parallel access group.
bool is_parallel(const llvm::Loop &loop);

/// True if a loop's width comes from `safelen`, which promises that so many consecutive iterations are independent. The width of clang's
/// own pragma promises nothing; it comes with a hint on scalable vectors.
bool is_safe_width(const llvm::Loop &loop);

/// Returns the objects whose lifetime starts in a loop: each iteration has its own.
llvm::SmallPtrSet<const llvm::Value *, 8> objects_of_iterations(const llvm::Loop &loop);

/// Returns ` (line 7)`, or nothing if the line is unknown. For inlined code it is the line of the call in the loop's own text.
std::string at_line(const llvm::Instruction &instruction, const llvm::Loop &loop);

/// Condition for running iterations of a loop together.
struct Independence {
  /// Maximum number of iterations that may run together; 0 for any number.
  unsigned width = 0;
  /// True if the vector loop runs only where its arrays do not overlap; elsewhere the original loop runs.
  bool is_versioned = false;
  /// Reason why iterations may not run together; empty if they may.
  std::string refusal;
};

/// Proves that iterations of a loop in simple form that run together are independent. Adds checks before the loop where they help; if a
/// check fails, the original loop runs. With `is_promised`, `width` consecutive iterations are independent, unless a clause that LLVM IR
/// does not contain orders them.
Independence make_independent(llvm::BasicBlock &header, unsigned width, bool is_promised);

/// Returns the reason why iterations that are marked independent share memory; empty if they do not. In a reduction of an array each lane
/// has a copy, but clang's code contains one copy for all lanes.
std::string find_shared_object(const llvm::Loop &loop, llvm::ScalarEvolution &evolution);

/// Excludes a loop from LLVM's vectorizers.
void leave_alone(llvm::Loop &loop);

} // namespace heddle
