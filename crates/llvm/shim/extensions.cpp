// Extensions that Debian's LLVM is configured with and its archives leave to the program.

#include <llvm/Plugins/PassPlugin.h>

// clang's code generator registers Polly. Its passes are off by default; without them the archives of Polly are not needed.
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "Polly", LLVM_VERSION_STRING, [](llvm::PassBuilder &) {}};
}
