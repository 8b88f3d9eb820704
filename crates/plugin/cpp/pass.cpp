// The pass: sends the marked loops of a module to Rust in one batch, and replaces them by the vector code.
#include "dependences.h"
#include "evictions.h"
#include "interchange.h"
#include "levels.h"
#include "managers.h"
#include "marked_loops.h"
#include "selection.h"

#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

// Functions in Rust, defined in `src/edge.rs`.
extern "C" {
struct HeddleRequest {
  const char *name;
  const char *cpu;
  const char *features;
  uint32_t width;
  uint32_t is_parallel;
  uint32_t interleaved;
  uint32_t is_nest;
  uint32_t inner_width;
  uint32_t outer_trips;
  uint32_t inner_trips;
  uint32_t is_resumable;
  uint32_t first;
};
void *heddle_vectorize_loops(const char *bitcode, size_t bytes, const HeddleRequest *requests, size_t count,
                             const char *options);
/// Returns the reason why a loop has no vector code; null if it has.
const char *heddle_loop_refusal(void *batch, size_t index);
/// Returns a remark of a loop: number 0 is the loop's, the following ones are those of its contents; null after the last.
const char *heddle_loop_remark(void *batch, size_t index, size_t number);
/// Returns the number of iterations for a run-time trial of a loop's code.
uint32_t heddle_loop_trial(void *batch, size_t index);
/// True if only a run-time trial decides between scalar and vector code of a loop.
bool heddle_loop_is_doubtful(void *batch, size_t index);
/// Returns the maximum trip count for which scalar code of a loop is faster; 0 if the loop runs by vector code alone.
uint32_t heddle_loop_few(void *batch, size_t index);
/// Returns the number of lanes of a loop whose last iterations, which fill no vector, run faster as scalar code; 0 for others.
uint32_t heddle_loop_scalar_rest(void *batch, size_t index);
/// Returns the number of iterations that interleaved vectors of a loop run together, if code of one vector exists for the others; else 0.
uint32_t heddle_loop_group(void *batch, size_t index);
/// Returns the number of rows that the code of a nest runs at a time; 0 for a loop.
uint32_t heddle_nest_height(void *batch, size_t index);
/// Returns the size of the first-level cache in bytes, if rows that evict one another from it shall run one at a time; else 0.
uint32_t heddle_nest_cache(void *batch, size_t index);
/// True if options request tensors for nests whose pragmas do not.
bool heddle_wants_tensors(const char *options);
/// Links a variant of a loop's vector code into the module. 0: lanes run consecutive iterations. 1: lanes are refilled, or a nest runs
/// single rows. 2: a loop with interleaved vectors runs one vector. Returns the variant's name there; null if there is none.
const char *heddle_loop_link(void *batch, size_t index, uint32_t form, void *module);
void heddle_batch_free(void *batch);
}

namespace {

cl::opt<std::string> loop_options("heddle-loops", cl::value_desc("options"),
                                  cl::desc("Heddle: options of marked loops, as in W=16,interleave=2"));

using heddle::MarkedLoop;
using heddle::Outlined;

std::string attribute(const Function &function, StringRef name) {
  return function.getFnAttribute(name).getValueAsString().str();
}

std::string name_of(size_t index) { return "__heddle_loop_" + std::to_string(index); }

/// Source location and function of a loop, which outlive it.
struct Site {
  Function *function;
  DebugLoc place;
};

void remark_missed(const Site &site, const Value *block, StringRef reason) {
  OptimizationRemarkEmitter emitter(site.function);
  emitter.emit([&] {
    return OptimizationRemarkMissed("heddle", "MissedLoop", site.place, cast<BasicBlock>(block))
           << "loop not vectorized: " << reason;
  });
}

void remark_passed(const Site &site, const Value *block, StringRef text) {
  OptimizationRemarkEmitter emitter(site.function);
  emitter.emit([&] {
    return OptimizationRemark("heddle", "VectorizedLoop", site.place, cast<BasicBlock>(block)) << text;
  });
}

void remark_inside(const Site &site, const Value *block, StringRef text) {
  OptimizationRemarkEmitter emitter(site.function);
  emitter.emit([&] {
    return OptimizationRemarkAnalysis("heddle", "InVectorizedLoop", site.place, cast<BasicBlock>(block)) << text;
  });
}

/// Returns a copy of the module in another context, with use lists in the same order; null on failure.
std::unique_ptr<Module> copy_of(Module &module, LLVMContext &context) {
  SmallVector<char, 0> bytes;
  raw_svector_ostream stream(bytes);
  WriteBitcodeToFile(module, stream, /*ShouldPreserveUseListOrder=*/true);
  auto buffer = MemoryBufferRef(StringRef(bytes.data(), bytes.size()), "heddle");
  Expected<std::unique_ptr<Module>> parsed = parseBitcodeFile(buffer, context);
  if (!parsed) {
    consumeError(parsed.takeError());
    return nullptr;
  }
  return std::move(*parsed);
}

struct HeddlePass : PassInfoMixin<HeddlePass> {
  static bool isRequired() { return false; }

  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    bool is_changed = heddle::take_marks(module);
    bool wants_tensors = heddle_wants_tensors(loop_options.c_str());
    is_changed |= heddle::interchange_levels(module);
    // If a nest becomes no tensor, one of its levels may become a vector.
    do {
      is_changed |= heddle::release_inner_levels(module, wants_tensors);
    } while (!vectorize(module, wants_tensors, is_changed));
    is_changed |= heddle::release_levels(module);
    return is_changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }

  /// Vectorizes the marked loops. False if it refused tensors instead; then the next attempt does without them.
  static bool vectorize(Module &module, bool wants_tensors, bool &is_changed) {
    std::vector<MarkedLoop> loops = heddle::find_marked_loops(module, wants_tensors);
    if (loops.empty())
      return true;
    std::vector<Site> sites;
    for (MarkedLoop &loop : loops)
      sites.push_back({cast<BasicBlock>(static_cast<Value *>(loop.header))->getParent(), loop.place});
    LLVMContext context;
    std::unique_ptr<Module> copy = copy_of(module, context);
    std::vector<MarkedLoop> copied;
    if (copy)
      copied = heddle::find_marked_loops(*copy, wants_tensors);
    if (copied.size() != loops.size())
      return true;
    std::vector<Outlined> tried;
    bool is_final = true;
    for (size_t index = 0; index < copied.size(); ++index) {
      tried.push_back(heddle::outline(copied[index], name_of(index)));
      if (!loops[index].is_nest || (tried.back().refusal.empty() && tried.back().is_resumable))
        continue;
      refuse(loops[index], sites[index], tried.back().refusal.empty() ? "its iterations cannot be counted" : tried.back().refusal);
      is_final = false;
    }
    if (!is_final)
      return false;
    std::vector<std::string> texts;
    void *batch = compile(loops, sites, *copy, tried, texts);
    for (size_t index = 0; index < loops.size(); ++index) {
      if (!loops[index].is_nest || (batch && !heddle_loop_refusal(batch, index)))
        continue;
      refuse(loops[index], sites[index], batch ? heddle_loop_refusal(batch, index) : "Heddle failed");
      is_final = false;
    }
    for (size_t index = 0; is_final && index < loops.size(); ++index) {
      Value *header = loops[index].header;
      if (!tried[index].refusal.empty()) {
        remark_missed(sites[index], header, tried[index].refusal);
      } else if (!batch || heddle_loop_refusal(batch, index)) {
        remark_missed(sites[index], header, batch ? heddle_loop_refusal(batch, index) : "Heddle failed");
      } else {
        is_changed = true;
        replace(module, loops[index], sites[index], tried[index], batch, index);
      }
    }
    if (batch)
      heddle_batch_free(batch);
    return is_final;
  }

  static void refuse(const MarkedLoop &nest, const Site &site, StringRef reason) {
    heddle::refuse_tensor(nest);
    remark_inside(site, nest.header, ("one level of the nest is vectorized: " + reason).str());
  }

  /// Compiles the outlined loops of the copy. Returns the batch; null on failure. `texts` owns the strings of the requests.
  static void *compile(const std::vector<MarkedLoop> &loops, const std::vector<Site> &sites, Module &copy,
                       const std::vector<Outlined> &tried, std::vector<std::string> &texts) {
    texts.reserve(loops.size() * 3);
    auto keep = [&](std::string text) { return texts.emplace_back(std::move(text)).c_str(); };
    std::vector<HeddleRequest> requests;
    for (size_t index = 0; index < loops.size(); ++index) {
      const Function &function = *sites[index].function;
      bool is_requested = tried[index].function && tried[index].refusal.empty();
      HeddleRequest request = {};
      request.name = keep(is_requested ? name_of(index) : "");
      request.cpu = keep(attribute(function, "target-cpu"));
      request.features = keep(attribute(function, "target-features"));
      request.width = tried[index].width;
      request.is_parallel = loops[index].is_parallel;
      request.interleaved = loops[index].interleaved;
      request.is_nest = loops[index].is_nest;
      request.inner_width = loops[index].inner_width;
      request.outer_trips = loops[index].outer_trips;
      request.inner_trips = loops[index].inner_trips;
      request.is_resumable = tried[index].is_resumable;
      request.first = tried[index].first;
      requests.push_back(request);
    }
    SmallVector<char, 0> bytes;
    raw_svector_ostream stream(bytes);
    shrink(copy, tried);
    WriteBitcodeToFile(copy, stream);
    return heddle_vectorize_loops(bytes.data(), bytes.size(), requests.data(), requests.size(), loop_options.c_str());
  }

  /// Removes all but the outlined loops and their dependencies from the copy.
  static void shrink(Module &copy, const std::vector<Outlined> &tried) {
    SmallPtrSet<const GlobalValue *, 16> kept;
    for (const Outlined &one : tried)
      if (one.function && one.refusal.empty())
        kept.insert(one.function);
    for (const char *list : {"llvm.used", "llvm.compiler.used", "llvm.global_ctors", "llvm.global_dtors"})
      if (GlobalVariable *global = copy.getNamedGlobal(list))
        global->eraseFromParent();
    SmallVector<GlobalAlias *> aliases;
    for (GlobalAlias &alias : copy.aliases())
      aliases.push_back(&alias);
    for (GlobalValue &global : copy.global_values()) {
      if (auto *object = dyn_cast<GlobalObject>(&global))
        object->setComdat(nullptr);
      if (global.isDeclaration())
        continue;
      // Definitions that another module may replace become declarations.
      if (auto *function = dyn_cast<Function>(&global); function && global.isInterposable())
        function->deleteBody();
      else if (kept.contains(&global))
        global.setLinkage(GlobalValue::ExternalLinkage);
      else if (!global.isInterposable())
        global.setLinkage(GlobalValue::InternalLinkage);
      if (!global.hasLocalLinkage())
        global.setDSOLocal(false);
      global.setVisibility(GlobalValue::DefaultVisibility);
    }
    heddle::Managers managers;
    GlobalDCEPass().run(copy, managers.modules);
  }

  static void replace(Module &module, const MarkedLoop &loop, const Site &site, const Outlined &tried, void *batch,
                      size_t index) {
    std::string text = heddle_loop_remark(batch, index, 0);
    if (tried.is_versioned)
      text += ", if the arrays do not overlap";
    Outlined own = heddle::outline(loop, name_of(index) + ".scalar");
    if (!own.function)
      return remark_missed(site, &site.function->getEntryBlock(), "internal error: the function changed during compilation; please report it");
    bool is_same = own.refusal.empty() && heddle::are_alike(*own.function, *tried.function);
    auto linked = [&](uint32_t form) -> Function * {
      const char *name = is_same ? heddle_loop_link(batch, index, form, &module) : nullptr;
      Function *vector = name ? module.getFunction(name) : nullptr;
      if (!vector || vector->getFunctionType() != own.function->getFunctionType())
        return nullptr;
      vector->setLinkage(GlobalValue::InternalLinkage);
      for (const char *word : {"target-cpu", "target-features", "tune-cpu"})
        if (site.function->hasFnAttribute(word))
          vector->addFnAttr(site.function->getFnAttribute(word));
      mark_vectorized(*vector);
      return vector;
    };
    Function *vector = linked(0);
    if (!vector) {
      heddle::put_back(own.call);
      return remark_missed(site, &site.function->getEntryBlock(), "internal error: cannot link the vector code; please report it");
    }
    uint32_t height = heddle_nest_height(batch, index);
    Function *rows = height > 0 ? linked(1) : nullptr;
    if (height > 0 && !rows) {
      heddle::put_back(own.call);
      return remark_missed(site, &site.function->getEntryBlock(), "internal error: cannot link the vector code; please report it");
    }
    uint32_t group = own.is_resumable ? heddle_loop_group(batch, index) : 0;
    Function *single = group > 0 ? linked(2) : nullptr;
    SmallVector<Function *, 3> forms = {vector};
    bool has_scalar_variant = false;
    size_t scalar = 0;
    if (own.is_resumable && height == 0) {
      if (Function *refilled = linked(1)) {
        forms.push_back(refilled);
        text += ", lane refill";
      }
      scalar = forms.size();
      if (heddle_loop_is_doubtful(batch, index) && heddle::ask_one_lane(*own.function)) {
        has_scalar_variant = true;
        own.function->setLinkage(GlobalValue::InternalLinkage);
        forms.push_back(own.function);
        ValueToValueMapTy same;
        Function *branching = CloneFunction(own.function, same);
        branching->setName(name_of(index) + ".branching");
        if (heddle::branch_on_choices(*branching))
          forms.push_back(branching);
        else
          branching->eraseFromParent();
        text += ", scalar code";
      }
    }
    if (forms.size() > 1) {
      if (single)
        forms[0] = &heddle::with_remainder(*vector, *single, group, own.first, own.last);
      text += ": selected at run time";
      vector = heddle::select_at_run_time(forms, scalar, own.first, own.last, heddle_loop_trial(batch, index), name_of(index) + ".selection");
    }
    uint32_t lanes_of_rest = forms.size() > 1 ? 0 : heddle_loop_scalar_rest(batch, index);
    SmallVector<CallInst *, 2> further_calls;
    heddle::Evictions evictions;
    if (height > 0) {
      evictions = heddle::find_evictions(own, height, heddle_nest_cache(batch, index));
      further_calls.push_back(heddle::call_for_remainder(own, height, *rows, evictions.condition));
    } else if (CallInst *rest = heddle::call_for_rest(own, lanes_of_rest))
      further_calls.push_back(rest);
    else if (CallInst *few = heddle::call_for_few(own, heddle_loop_few(batch, index)))
      further_calls.push_back(few);
    if (single && height == 0 && forms.size() == 1 && lanes_of_rest == 0)
      further_calls.push_back(heddle::call_for_remainder(own, group, *single));
    if (single && single->use_empty())
      single->eraseFromParent();
    own.call->setCalledFunction(vector);
    own.call->setCallingConv(vector->getCallingConv());
    if (!has_scalar_variant)
      own.function->eraseFromParent();
    heddle::put_back(own.call);
    for (CallInst *call : further_calls)
      heddle::put_back(call);
    remark_passed(site, &site.function->getEntryBlock(), text);
    leave_alone_around(loop);
    for (size_t number = 1; const char *inside = heddle_loop_remark(batch, index, number); ++number)
      remark_inside(site, &site.function->getEntryBlock(), inside);
    if (evictions.condition)
      remark_inside(site, &site.function->getEntryBlock(),
                    (Twine("one row at a time where rows are apart by multiples of ") + Twine(evictions.distance) + " bytes: " +
                     Twine(evictions.rows) + " rows of memory would evict one another from the first-level cache")
                        .str());
  }

  /// Excludes marked loops around vector code from LLVM's vectorizers.
  static void leave_alone_around(const MarkedLoop &loop) {
    for (const WeakTrackingVH &header : loop.around) {
      auto *block = dyn_cast_or_null<BasicBlock>(static_cast<Value *>(header));
      if (!block)
        continue;
      DominatorTree dominators(*block->getParent());
      LoopInfo loops(dominators);
      if (Loop *outer = loops.getLoopFor(block); outer && outer->getHeader() == block)
        heddle::leave_alone(*outer);
    }
  }

  /// Excludes all loops of a function from LLVM's vectorizers.
  static void mark_vectorized(Function &function) {
    DominatorTree dominators(function);
    LoopInfo loops(dominators);
    for (Loop *loop : loops.getLoopsInPreorder())
      heddle::leave_alone(*loop);
  }
};

/// Pass before all others: prepares marks, so that these keep them.
struct OpenMarksPass : PassInfoMixin<OpenMarksPass> {
  static bool isRequired() { return true; }
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    return heddle::open_marks(module) ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }
};

/// Pass in place of the vectorizer at `-O0`: only replaces calls that mark loops by hints.
struct TakeMarksPass : PassInfoMixin<TakeMarksPass> {
  static bool isRequired() { return true; }
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    return heddle::take_marks(module) ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }
};

} // namespace

extern "C" void heddle_register_passes(PassBuilder &builder) {
  builder.registerOptimizerEarlyEPCallback(
      [](ModulePassManager &passes, OptimizationLevel level, ThinOrFullLTOPhase) {
        if (level != OptimizationLevel::O0)
          passes.addPass(HeddlePass());
        else
          passes.addPass(TakeMarksPass());
      });
  builder.registerPipelineStartEPCallback(
      [](ModulePassManager &passes, OptimizationLevel) { passes.addPass(OpenMarksPass()); });
  builder.registerPipelineParsingCallback(
      [](StringRef name, ModulePassManager &passes, ArrayRef<PassBuilder::PipelineElement>) {
        if (name != "heddle")
          return false;
        passes.addPass(HeddlePass());
        return true;
      });
}
