// Interchange of the levels of a nest.
#pragma once

#include "llvm/IR/Module.h"

namespace heddle {

/// Moves the level of each marked nest whose iterations become lanes inwards, past levels whose iterations are independent and whose trip
/// counts do not depend on it. True if any moves.
bool interchange_levels(llvm::Module &module);

} // namespace heddle
