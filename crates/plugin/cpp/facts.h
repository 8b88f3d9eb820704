// Analyses of one function's loops.
#pragma once

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

namespace heddle {

/// Analyses of one function's loops.
struct Facts {
  llvm::DominatorTree dominators;
  llvm::LoopInfo loops;
  llvm::AssumptionCache assumptions;
  llvm::TargetLibraryInfoImpl library_names;
  llvm::TargetLibraryInfo library;
  llvm::ScalarEvolution evolution;
  llvm::TargetTransformInfo costs;

  explicit Facts(llvm::Function &function)
      : dominators(function), loops(dominators), assumptions(function),
        library_names(function.getParent()->getTargetTriple()), library(library_names, &function),
        evolution(function, library, assumptions, dominators, loops), costs(function.getParent()->getDataLayout()) {}
};

} // namespace heddle
