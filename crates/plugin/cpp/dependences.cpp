// Dependences through memory between iterations of a loop, by promises of the programmer, by LLVM's analysis of innermost loops, and by a
// simple analysis of nests. That one requires that each iteration accesses a section of an array that no other iteration accesses.
#include "dependences.h"
#include "managers.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopAccessAnalysis.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/LoopVersioning.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

using namespace llvm;

namespace heddle {

namespace {

/// Returns a description of a call or a store in terms of the source, with its line.
std::string in_words(const Instruction &instruction, const Loop &loop) {
  if (const auto *call = dyn_cast<CallBase>(&instruction)) {
    if (const Function *callee = call->getCalledFunction())
      return "the call of `" + callee->getName().str() + "`" + at_line(instruction, loop);
    return "a call through a pointer" + at_line(instruction, loop);
  }
  return "a store" + at_line(instruction, loop);
}

/// True if an instruction writes memory that other iterations can read. Writes of `errno` do not count: its value after the loop is that of
/// some iteration in any case.
bool is_writer(const Instruction &instruction) {
  if (!instruction.mayWriteToMemory() || instruction.isLifetimeStartOrEnd() ||
      isa<AssumeInst, NoAliasScopeDeclInst>(instruction))
    return false;
  const auto *call = dyn_cast<CallBase>(&instruction);
  return !call || !call->getMemoryEffects().getWithoutLoc(IRMemLocation::ErrnoMem).onlyReadsMemory();
}

/// Returns the first instruction of a loop that writes memory; null if there is none.
Instruction *writer_in(const Loop &loop) {
  for (BasicBlock *block : loop.blocks())
    for (Instruction &instruction : *block)
      if (is_writer(instruction))
        return &instruction;
  return nullptr;
}

/// Memory that one access reads or writes while a loop runs.
struct Touched {
  Instruction *instruction = nullptr;
  bool is_written = false;
  /// Location for alias queries: only its object and its type tags count.
  MemoryLocation place = {};
  /// Loop-invariant base of the addresses; null if it is unknown.
  const SCEV *base = nullptr;
  /// Iteration `i`, with its inner loops, accesses bytes from `first + i * step` to before `end + i * step`; null if they are unknown.
  const SCEV *first = nullptr, *end = nullptr, *step = nullptr;
};

/// Sections of memory that the accesses of a loop touch.
class Sections {
public:
  Sections(const Loop &loop, ScalarEvolution &evolution)
      : loop(loop), evolution(evolution), layout(loop.getHeader()->getDataLayout()),
        number(Type::getInt64Ty(loop.getHeader()->getContext())) {
    for (BasicBlock *block : loop.blocks())
      for (Instruction &instruction : *block)
        add(instruction);
  }

  /// Accesses, in the order of their blocks.
  SmallVector<Touched> all;
  /// An instruction that may write unknown memory, or that is volatile or atomic; null if there is none.
  Instruction *unknown_writer = nullptr;

  /// True if the addresses prove that two accesses touch disjoint memory in different iterations.
  bool are_apart(const Touched &one, const Touched &other) {
    if (!one.first || !other.first || one.base != other.base || one.step != other.step)
      return false;
    // Both comparisons together imply that the step is positive.
    const SCEV *step = evolution.isKnownNegative(one.step) ? evolution.getNegativeSCEV(one.step) : one.step;
    return is_at_most(one.end, other.first, step) && is_at_most(other.end, one.first, step);
  }

private:
  const Loop &loop;
  ScalarEvolution &evolution;
  const DataLayout &layout;
  Type *number;

  /// True if `end` is at most `step` after `first`.
  bool is_at_most(const SCEV *end, const SCEV *first, const SCEV *step) {
    const SCEV *bytes = evolution.getMinusSCEV(end, first);
    return !isa<SCEVCouldNotCompute>(bytes) && bytes->getType() == step->getType() &&
           evolution.isKnownPredicate(CmpInst::ICMP_SLE, bytes, step);
  }

  void add(Instruction &instruction) {
    if (isa<LoadInst, StoreInst>(instruction)) {
      const SCEV *bytes = evolution.getConstant(number, layout.getTypeStoreSize(getLoadStoreType(&instruction)));
      add(instruction, getLoadStorePointerOperand(&instruction), isa<StoreInst>(instruction), bytes);
      if (instruction.isVolatile() || instruction.isAtomic())
        unknown_writer = &instruction;
    } else if (auto *set = dyn_cast<MemIntrinsic>(&instruction)) {
      const SCEV *bytes = evolution.getTruncateOrZeroExtend(evolution.getSCEV(set->getLength()), number);
      add(instruction, set->getDest(), true, bytes);
      if (auto *copy = dyn_cast<MemTransferInst>(set))
        add(instruction, copy->getSource(), false, bytes);
      if (set->isVolatile())
        unknown_writer = set;
    } else if (is_writer(instruction)) {
      unknown_writer = &instruction;
    } else if (instruction.mayReadFromMemory() && !instruction.isLifetimeStartOrEnd() &&
               !isa<AssumeInst, NoAliasScopeDeclInst>(instruction)) {
      all.push_back({&instruction});
    }
  }

  void add(Instruction &instruction, Value *pointer, bool is_written, const SCEV *bytes) {
    // Facts of alias scopes hold within one iteration only.
    AAMDNodes tags = instruction.getAAMetadata();
    tags.Scope = tags.NoAlias = nullptr;
    Touched touched = {&instruction, is_written, MemoryLocation::getBeforeOrAfter(pointer, tags)};
    const SCEV *address = evolution.getSCEV(pointer);
    touched.base = evolution.getPointerBase(address);
    if (const auto *unknown = dyn_cast<SCEVUnknown>(touched.base); unknown && loop.isLoopInvariant(unknown->getValue()))
      touched.place.Ptr = unknown->getValue();
    else
      touched.base = nullptr;
    const SCEV *least = extreme(address, true), *greatest = extreme(address, false);
    if (touched.base && least && greatest && evolution.isLoopInvariant(bytes, &loop)) {
      const SCEV *step = step_of(least);
      if (step && step == step_of(greatest) && step->getType() == number) {
        touched.first = start_of(least);
        touched.end = evolution.getAddExpr(start_of(greatest), bytes);
        touched.step = step;
      }
    }
    all.push_back(touched);
  }

  /// Returns the minimum or the maximum of an address while inner loops run; null if it is unknown.
  const SCEV *extreme(const SCEV *address, bool is_least) {
    while (const auto *recurrence = dyn_cast<SCEVAddRecExpr>(address)) {
      const Loop *inner = recurrence->getLoop();
      if (inner == &loop || !loop.contains(inner))
        break;
      const SCEV *step = recurrence->isAffine() ? recurrence->getStepRecurrence(evolution) : nullptr;
      const SCEV *back = evolution.getBackedgeTakenCount(inner);
      if (!step || isa<SCEVCouldNotCompute>(back) || !evolution.isLoopInvariant(back, &loop))
        return nullptr;
      bool goes_up = evolution.isKnownNonNegative(step);
      if (!goes_up && !evolution.isKnownNegative(step))
        return nullptr;
      address = recurrence->getStart();
      if (goes_up != is_least) {
        back = evolution.getTruncateOrZeroExtend(back, step->getType());
        address = evolution.getAddExpr(address, evolution.getMulExpr(back, step));
      }
    }
    return address;
  }

  const SCEV *step_of(const SCEV *address) {
    if (evolution.isLoopInvariant(address, &loop))
      return evolution.getZero(number);
    const auto *recurrence = dyn_cast<SCEVAddRecExpr>(address);
    if (!recurrence || recurrence->getLoop() != &loop || !recurrence->isAffine())
      return nullptr;
    return recurrence->getStepRecurrence(evolution);
  }

  static const SCEV *start_of(const SCEV *address) {
    const auto *recurrence = dyn_cast<SCEVAddRecExpr>(address);
    return recurrence ? recurrence->getStart() : address;
  }
};

/// True if nothing outside of a loop uses an object or an address derived from it, except to mark its lifetime.
bool is_used_in(const AllocaInst &object, const Loop &loop) {
  SmallVector<const Instruction *> work = {&object};
  SmallPtrSet<const Instruction *, 8> seen;
  while (!work.empty()) {
    for (const User *user : work.pop_back_val()->users()) {
      const auto *instruction = cast<Instruction>(user);
      if (loop.contains(instruction) || instruction->isLifetimeStartOrEnd() || !seen.insert(instruction).second)
        continue;
      if (!isa<GetElementPtrInst, CastInst, FreezeInst, PHINode, SelectInst>(instruction) ||
          !instruction->getType()->isPointerTy())
        return false;
      work.push_back(instruction);
    }
  }
  return true;
}

/// Returns the width in bits of the widest load or store of a loop, at least 8.
unsigned widest_access(const Loop &loop, const DataLayout &layout) {
  unsigned widest = 8;
  for (BasicBlock *block : loop.blocks())
    for (Instruction &instruction : *block)
      if (isa<LoadInst, StoreInst>(instruction))
        widest = std::max(widest, unsigned(layout.getTypeSizeInBits(getLoadStoreType(&instruction)).getFixedValue()));
  return widest;
}

/// True if alias analysis proves that an access touches no object that a write touches, in any iterations.
bool are_other_objects(const Touched &written, const Touched &touched, AAResults &aliases) {
  if (touched.place.Ptr)
    return touched.base && aliases.isNoAlias(written.place, touched.place);
  const auto *call = dyn_cast<CallBase>(touched.instruction);
  return call && !isRefSet(aliases.getModRefInfo(call, written.place));
}

/// True if the programmer declared vector forms of the callee.
bool is_declared_simd(const Instruction &instruction) {
  const auto *call = dyn_cast<CallBase>(&instruction);
  return call && (call->hasFnAttr("vector-function-abi-variant") ||
                  (call->getCalledFunction() && call->getCalledFunction()->hasFnAttribute("vector-function-abi-variant")));
}

/// Help where a dependence cannot be excluded.
const char dependence_help[] = "; help: if iterations are independent, write `#pragma omp simd` without `safelen`, or `#pragma clang "
                               "loop vectorize(assume_safety)`";

/// Returns the reason why iterations of a nest may depend on each other; empty if they are proved or promised to be independent.
std::string find_dependence(const Loop &loop, bool is_promised, ScalarEvolution &evolution, AAResults &aliases) {
  Sections sections(loop, evolution);
  const std::string start = "iterations may depend on each other through memory: ";
  if (Instruction *unknown = sections.unknown_writer; unknown && !(is_promised && is_declared_simd(*unknown)))
    return start + in_words(*unknown, loop) + " may write memory that another iteration accesses" + dependence_help;
  const auto own = objects_of_iterations(loop);
  auto is_own = [&](const Touched &touched) {
    if (!touched.place.Ptr)
      return false;
    const Value *object = getUnderlyingObject(touched.place.Ptr);
    const auto *local = dyn_cast<AllocaInst>(object);
    return own.contains(object) || (local && is_promised && is_used_in(*local, loop));
  };
  erase_if(sections.all, is_own);
  for (const Touched &written : sections.all) {
    if (!written.is_written)
      continue;
    for (const Touched &touched : sections.all) {
      if (sections.are_apart(written, touched))
        continue;
      // A promise covers accesses with different bases, if each iteration writes elsewhere.
      bool is_other = written.base && written.base != touched.base;
      if (is_promised ? is_other && written.step && !written.step->isZero() : is_other && are_other_objects(written, touched, aliases))
        continue;
      return start + in_words(*written.instruction, loop) + " may write memory that another iteration accesses" +
             (&written == &touched ? "" : at_line(*touched.instruction, loop)) + dependence_help;
    }
  }
  return "";
}

/// Marks calls that access only `errno` as accessing no memory.
void forget_errno(Loop &loop) {
  for (BasicBlock *block : loop.blocks())
    for (Instruction &instruction : *block)
      if (auto *call = dyn_cast<CallBase>(&instruction); call && call->getMemoryEffects().onlyAccessesErrnoMem())
        call->setMemoryEffects(MemoryEffects::none());
}

/// Queries LLVM's analysis of an innermost loop, and versions the loop if that needs checks at run time.
Independence ask_llvm(Loop &loop, unsigned width, Managers &managers) {
  Independence result;
  result.width = width;
  Function &function = *loop.getHeader()->getParent();
  auto &accesses = managers.functions.getResult<LoopAccessAnalysis>(function);
  const LoopAccessInfo &info = accesses.getInfo(loop);
  if (!info.canVectorizeMemory() || info.hasStoreStoreDependenceInvolvingLoopInvariantAddress() ||
      info.hasLoadStoreDependenceInvolvingLoopInvariantAddress()) {
    const Instruction *culprit = writer_in(loop);
    std::string other;
    if (const auto *dependences = info.getDepChecker().getDependences())
      for (const auto &dependence : *dependences)
        if (MemoryDepChecker::Dependence::isSafeForVectorization(dependence.Type) !=
            MemoryDepChecker::VectorizationSafetyStatus::Safe) {
          culprit = dependence.getDestination(info.getDepChecker());
          other = at_line(*dependence.getSource(info.getDepChecker()), loop);
          break;
        }
    std::string what = other.empty() ? " may access memory that another iteration writes"
                                     : " accesses the memory of another iteration's access" + other;
    result.refusal = "iterations depend on each other through memory: " + in_words(*culprit, loop) + what + dependence_help;
    return result;
  }
  if (!info.getDepChecker().isSafeForAnyVectorWidth()) {
    uint64_t bits = info.getDepChecker().getMaxSafeVectorWidthInBits();
    uint64_t lanes = bits / widest_access(loop, function.getDataLayout());
    if (lanes < 2) {
      result.refusal = "iterations depend on each other through memory: " + in_words(*writer_in(loop), loop) +
                       " writes memory that the next iterations access" + dependence_help;
      return result;
    }
    result.width = unsigned(std::min<uint64_t>(lanes, width ? width : lanes));
  }
  bool is_free = info.getNumRuntimePointerChecks() == 0 && info.getPSE().getPredicate().isAlwaysTrue();
  if (is_free)
    return result;
  auto &dominators = managers.functions.getResult<DominatorTreeAnalysis>(function);
  auto &evolution = managers.functions.getResult<ScalarEvolutionAnalysis>(function);
  auto &loops = managers.functions.getResult<LoopAnalysis>(function);
  formLCSSARecursively(loop, dominators, &loops, &evolution);
  LoopVersioning versioning(info, info.getRuntimePointerChecking()->getChecks(), &loop, &loops, &dominators, &evolution);
  versioning.versionLoop();
  leave_alone(*versioning.getNonVersionedLoop());
  result.is_versioned = true;
  return result;
}

/// Help where iterations share a local object.
const char shared_object_help[] = "; help: reduce into scalar variables, or into memory that is not a local variable: clang's code does not "
                                  "distinguish a reduction of an array from independent accesses";

} // namespace

const MDNode *hint(const MDNode *id, StringRef name) {
  for (const MDOperand &operand : drop_begin(id->operands()))
    if (const auto *node = dyn_cast<MDNode>(operand))
      if (node->getNumOperands() > 0)
        if (const auto *text = dyn_cast<MDString>(node->getOperand(0)))
          if (text->getString() == name)
            return node;
  return nullptr;
}

/// Returns the number of a hint; `otherwise` without one.
uint64_t number_of(const MDNode *id, StringRef name, uint64_t otherwise) {
  const MDNode *node = hint(id, name);
  if (!node || node->getNumOperands() < 2)
    return otherwise;
  if (const auto *constant = mdconst::dyn_extract<ConstantInt>(node->getOperand(1)))
    return constant->getLimitedValue();
  return otherwise;
}

bool is_parallel(const Loop &loop) {
  const MDNode *id = loop.getLoopID();
  if (id && hint(id, independent_hint))
    return true;
  const MDNode *parallel = id ? hint(id, "llvm.loop.parallel_accesses") : nullptr;
  if (!parallel)
    return loop.isAnnotatedParallel();
  SmallPtrSet<const Metadata *, 4> groups;
  for (const MDOperand &operand : drop_begin(parallel->operands()))
    groups.insert(operand.get());
  auto is_of_loop = [&](const Instruction &instruction) {
    const MDNode *group = instruction.getMetadata(LLVMContext::MD_access_group);
    return group && (groups.contains(group) ||
                     any_of(group->operands(), [&](const MDOperand &one) { return groups.contains(one.get()); }));
  };
  // A promotable variable becomes a register and is no memory; clang gives no groups to accesses of its own variables.
  auto is_register = [](const Instruction &instruction) {
    const auto *object = dyn_cast_or_null<AllocaInst>(getLoadStorePointerOperand(&instruction));
    return object && isAllocaPromotable(object);
  };
  // LLVM drops the groups of stores that it turns into a `memset`.
  for (const BasicBlock *block : loop.blocks())
    for (const Instruction &instruction : *block)
      if (instruction.mayReadOrWriteMemory() && !is_of_loop(instruction) && !instruction.isLifetimeStartOrEnd() &&
          !isa<AssumeInst, NoAliasScopeDeclInst, MemSetInst>(instruction) && !is_register(instruction))
        return false;
  return true;
}

bool is_safe_width(const Loop &loop) {
  const MDNode *id = loop.getLoopID();
  return number_of(id, "llvm.loop.vectorize.width", 0) > 1 && !hint(id, "llvm.loop.vectorize.scalable.enable") &&
         !hint(id, "llvm.loop.parallel_accesses");
}

SmallPtrSet<const Value *, 8> objects_of_iterations(const Loop &loop) {
  SmallPtrSet<const Value *, 8> found;
  for (const BasicBlock *block : loop.blocks())
    for (const Instruction &instruction : *block)
      if (const auto *mark = dyn_cast<LifetimeIntrinsic>(&instruction))
        found.insert(getUnderlyingObject(mark->getArgOperand(0)));
  return found;
}

std::string at_line(const Instruction &instruction, const Loop &loop) {
  const DebugLoc start = loop.getStartLoc();
  const DILocation *around = start ? start->getInlinedAt() : nullptr, *place = instruction.getDebugLoc();
  while (place && place->getInlinedAt() && place->getInlinedAt() != around)
    place = place->getInlinedAt();
  return place && place->getLine() > 0 ? " (line " + std::to_string(place->getLine()) + ")" : "";
}

Independence make_independent(BasicBlock &header, unsigned width, bool is_promised) {
  Independence result;
  result.width = width;
  Function &function = *header.getParent();
  Managers managers;
  auto &loops = managers.functions.getResult<LoopAnalysis>(function);
  Loop *loop = loops.getLoopFor(&header);
  if (!loop)
    result.refusal = "LLVM removed the loop";
  if (!loop || !writer_in(*loop))
    return result;
  forget_errno(*loop);
  if (loop->isInnermost())
    result = ask_llvm(*loop, width, managers);
  if (loop->isInnermost() && result.refusal.empty())
    return result;
  auto &evolution = managers.functions.getResult<ScalarEvolutionAnalysis>(function);
  auto &aliases = managers.functions.getResult<AAManager>(function);
  std::string dependence = find_dependence(*loop, is_promised, evolution, aliases);
  if (dependence.empty() || !loop->isInnermost())
    result.refusal = dependence;
  result.width = width;
  return result;
}

std::string find_shared_object(const Loop &loop, ScalarEvolution &evolution) {
  Sections sections(loop, evolution);
  const auto own = objects_of_iterations(loop);
  auto object_of = [&](const Touched &touched) -> const AllocaInst * {
    const Value *pointer = touched.place.Ptr;
    const auto *object = pointer ? dyn_cast<AllocaInst>(getUnderlyingObject(pointer)) : nullptr;
    return object && !own.contains(object) && !is_used_in(*object, loop) ? object : nullptr;
  };
  SmallPtrSet<const AllocaInst *, 8> read;
  for (const Touched &touched : sections.all)
    if (const AllocaInst *object = object_of(touched); object && !touched.is_written)
      read.insert(object);
  for (const Touched &touched : sections.all) {
    bool may_be_shared = !touched.step || touched.step->isZero();
    if (touched.is_written && may_be_shared && read.contains(object_of(touched)))
      return "iterations share a local object that they read and write: " + in_words(*touched.instruction, loop) + shared_object_help;
  }
  for (BasicBlock *block : loop.blocks())
    for (Instruction &instruction : *block) {
      auto *call = dyn_cast<CallBase>(&instruction);
      if (!call || isa<MemIntrinsic>(call) || !is_writer(*call))
        continue;
      for (const Use &argument : call->args()) {
        const auto *object = dyn_cast<AllocaInst>(getUnderlyingObject(argument));
        bool is_one_value = object && !object->isArrayAllocation() && !object->getAllocatedType()->isArrayTy();
        if (is_one_value && !own.contains(object) && !is_used_in(*object, loop) &&
            !call->onlyReadsMemory(call->getArgOperandNo(&argument)))
          return "iterations share a local object that they read and write: " + in_words(*call, loop) + shared_object_help;
      }
    }
  return "";
}

void leave_alone(Loop &loop) {
  LLVMContext &context = loop.getHeader()->getContext();
  auto *one = ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(context), 1));
  MDNode *is_vectorized = MDNode::get(context, {MDString::get(context, "llvm.loop.isvectorized"), one});
  MDNode *id = MDNode::getDistinct(context, {nullptr, is_vectorized});
  id->replaceOperandWith(0, id);
  loop.setLoopID(id);
}

} // namespace heddle
