// In-process clang for `opencl.rs`: compiles source text in memory to an LLVM module.
//
// No exceptions, no global state: each call has its own compiler, its own in-memory file system over the real one,
// and its own LLVM context, so concurrent calls are safe.

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Mangle.h>
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Frontend/FrontendOptions.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm-c/Types.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/IPO/Internalize.h>

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

// Returns the given in-memory files overlaid on the real file system.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> file_system(const File *files, size_t count) {
  auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  for (size_t index = 0; index < count; ++index) {
    // clang requires NUL-terminated buffers, which only a copy guarantees.
    auto contents = llvm::MemoryBuffer::getMemBufferCopy(ref(files[index].contents), ref(files[index].path));
    memory->addFile(ref(files[index].path), 0, std::move(contents));
  }
  auto both = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(llvm::vfs::getRealFileSystem());
  both->pushOverlay(memory);
  return both;
}

// Runs a clang action on files over the real ones; appends diagnostics to the log.
bool execute(clang::FrontendAction &action, llvm::ArrayRef<const char *> arguments, const File *files,
             size_t file_count, std::string &log) {
  llvm::raw_string_ostream stream(log);
  clang::DiagnosticOptions options;
  clang::TextDiagnosticPrinter printer(stream, options);
  auto system = file_system(files, file_count);
  auto engine = clang::CompilerInstance::createDiagnostics(*system, options, &printer, false);
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  if (!clang::CompilerInvocation::CreateFromArgs(*invocation, arguments, *engine)) {
    return false;
  }
  clang::CompilerInstance compiler(invocation);
  compiler.setVirtualFileSystem(system);
  clang::TextDiagnosticPrinter own_printer(stream, invocation->getDiagnosticOpts());
  compiler.createDiagnostics(&own_printer, false);
  compiler.setVerboseOutputStream(stream);
  return compiler.ExecuteAction(action);
}

// Writes a line per declared function: name, mangled name, type.
class ListFunctions : public clang::ASTConsumer {
public:
  explicit ListFunctions(std::string &list) : list(list) {}

  void HandleTranslationUnit(clang::ASTContext &context) override {
    std::unique_ptr<clang::MangleContext> names(context.createMangleContext());
    llvm::raw_string_ostream stream(list);
    for (const clang::Decl *decl : context.getTranslationUnitDecl()->decls()) {
      const auto *function = llvm::dyn_cast<clang::FunctionDecl>(decl);
      if (!function || !function->getIdentifier()) {
        continue;
      }
      stream << function->getName() << '\t';
      if (names->shouldMangleDeclName(function)) {
        names->mangleName(clang::GlobalDecl(function), stream);
      } else {
        stream << function->getName();
      }
      stream << '\t' << function->getType().getAsString() << '\n';
    }
  }

private:
  std::string &list;
};

class ListAction : public clang::ASTFrontendAction {
public:
  explicit ListAction(std::string &list) : list(list) {}

protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance &, llvm::StringRef) override {
    return std::make_unique<ListFunctions>(list);
  }

private:
  std::string &list;
};

} // namespace

// Compiles as `clang -cc1` with these NUL-terminated arguments. Always sets `messages`; sets `module` and `context`
// only on success. The caller owns all three.
extern "C" bool heddle_clang_compile(const char *const *arguments, size_t argument_count, const File *files,
                                     size_t file_count, LLVMContextRef *context, LLVMModuleRef *module,
                                     char **messages) {
  std::string log;
  std::unique_ptr<llvm::LLVMContext> own_context(new llvm::LLVMContext);
  std::unique_ptr<llvm::Module> made;
  {
    clang::EmitLLVMOnlyAction action(own_context.get());
    if (execute(action, {arguments, argument_count}, files, file_count, log)) {
      made = action.takeModule();
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

// Returns the declared functions, one per line, or the diagnostics. The caller owns the text.
extern "C" bool heddle_clang_declared(const char *const *arguments, size_t argument_count, const File *files,
                                      size_t file_count, char **text) {
  std::string list, log;
  ListAction action(list);
  bool done = execute(action, {arguments, argument_count}, files, file_count, log);
  *text = strdup(done ? list.c_str() : log.c_str());
  return done;
}

// Links the definitions that a module needs from bitcode, and internalizes them. Returns null, or an error that the
// caller owns.
extern "C" char *heddle_link_needed(LLVMModuleRef into, const char *bitcode, size_t size) {
  auto *module = reinterpret_cast<llvm::Module *>(into);
  llvm::MemoryBufferRef buffer({bitcode, size}, "library");
  auto read = llvm::getLazyBitcodeModule(buffer, module->getContext());
  if (!read) {
    return strdup(llvm::toString(read.takeError()).c_str());
  }
  auto hide = [](llvm::Module &linked, const llvm::StringSet<> &names) {
    llvm::internalizeModule(linked, [&names](const llvm::GlobalValue &value) {
      return !value.hasName() || !names.contains(value.getName());
    });
  };
  bool failed = llvm::Linker::linkModules(*module, std::move(*read), llvm::Linker::LinkOnlyNeeded, hide);
  return failed ? strdup("its types differ") : nullptr;
}
