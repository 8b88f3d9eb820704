// clang inside of the process: source text in memory to a module of LLVM, for `opencl.rs`.
//
// Nothing here throws or keeps state: each call has its own compiler, its own file system in memory above the real one, and
// a context of LLVM of its own, so several threads may be here at once.

#include <clang/Basic/DiagnosticOptions.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendOptions.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm-c/Types.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

namespace {

struct Text {
  const char *start;
  size_t size;
};

struct File {
  Text path;
  Text contents;
};

llvm::StringRef ref(Text text) { return {text.start, text.size}; }

// A file system with these files above the real one.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> file_system(const File *files, size_t count) {
  auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  for (size_t index = 0; index < count; ++index) {
    // What clang reads ends in a zero byte, which only a copy is sure to have.
    auto contents = llvm::MemoryBuffer::getMemBufferCopy(ref(files[index].contents), ref(files[index].path));
    memory->addFile(ref(files[index].path), 0, std::move(contents));
  }
  auto both = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(llvm::vfs::getRealFileSystem());
  both->pushOverlay(memory);
  return both;
}

} // namespace

// Compiles as `clang -cc1` does with these arguments, each of which ends in a zero byte. Messages are written in any case,
// module and context only where there is a module; all three are the caller's.
extern "C" bool heddle_clang_compile(const char *const *arguments, size_t argument_count, const File *files,
                                     size_t file_count, LLVMContextRef *context, LLVMModuleRef *module,
                                     char **messages) {
  std::string log;
  std::unique_ptr<llvm::LLVMContext> own_context(new llvm::LLVMContext);
  std::unique_ptr<llvm::Module> made;
  {
    llvm::raw_string_ostream stream(log);
    clang::DiagnosticOptions options;
    clang::TextDiagnosticPrinter printer(stream, options);
    auto system = file_system(files, file_count);
    auto engine = clang::CompilerInstance::createDiagnostics(*system, options, &printer, false);
    auto invocation = std::make_shared<clang::CompilerInvocation>();
    llvm::ArrayRef<const char *> list(arguments, argument_count);
    if (clang::CompilerInvocation::CreateFromArgs(*invocation, list, *engine)) {
      clang::CompilerInstance compiler(invocation);
      compiler.setVirtualFileSystem(system);
      clang::TextDiagnosticPrinter own_printer(stream, invocation->getDiagnosticOpts());
      compiler.createDiagnostics(&own_printer, false);
      compiler.setVerboseOutputStream(stream);
      clang::EmitLLVMOnlyAction action(own_context.get());
      if (compiler.ExecuteAction(action)) {
        made = action.takeModule();
      }
    }
  }
  *messages = strdup(log.c_str());
  if (!made) {
    return false;
  }
  *module = reinterpret_cast<LLVMModuleRef>(made.release());
  *context = reinterpret_cast<LLVMContextRef>(own_context.release());
  return true;
}
