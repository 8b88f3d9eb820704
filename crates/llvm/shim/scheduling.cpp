// Sets options of LLVM's instruction schedulers that have no place in its C interface.

#include <llvm/ADT/StringMap.h>
#include <llvm/Support/CommandLine.h>

namespace {

// Sets an option unless the command line has set it. Returns false if this LLVM lacks it.
bool set(const char *name, unsigned value) {
  auto &options = llvm::cl::getRegisteredOptions();
  auto found = options.find(name);
  if (found == options.end())
    return false;
  if (found->second->getNumOccurrences() == 0)
    static_cast<llvm::cl::opt<unsigned> *>(found->second)->setValue(value);
  return true;
}

} // namespace

extern "C" bool heddle_limit_scheduling(unsigned most, unsigned reduced) {
  bool limits = set("dag-maps-huge-region", most);
  return set("dag-maps-reduction-size", reduced) && limits;
}
