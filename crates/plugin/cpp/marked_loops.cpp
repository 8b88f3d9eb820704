// Finds and outlines marked loops. All of this is deterministic, since it runs twice: on a copy of the module, to find out whether vector
// code results, then on the module itself.
#include "marked_loops.h"
#include "collapsed.h"
#include "dependences.h"
#include "facts.h"
#include "levels.h"
#include "nests.h"
#include "selection.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/InstructionSimplify.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/CodeExtractor.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/LoopRotationUtils.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

using namespace llvm;

namespace heddle {

namespace {

/// Function that languages without pragmas call in a loop to mark it.
const char independent_mark[] = "heddle_independent";

/// Turns addresses of global variables into live-ins of the loop, computed before it. Constants with known contents stay in the loop, since
/// their contents are of use; thread-local variables stay, too.
void pass_addresses(Loop &loop, Function &function) {
  SmallVector<Constant *> found;
  SmallPtrSet<Constant *, 8> seen;
  SmallVector<Constant *> work;
  for (BasicBlock *block : loop.blocks())
    for (Instruction &instruction : *block)
      for (Value *operand : instruction.operands())
        if (auto *constant = dyn_cast<Constant>(operand))
          work.push_back(constant);
  while (!work.empty()) {
    Constant *constant = work.pop_back_val();
    if (!seen.insert(constant).second)
      continue;
    if (auto *global = dyn_cast<GlobalVariable>(constant)) {
      if (!global->isThreadLocal() && !(global->isConstant() && global->hasDefinitiveInitializer()))
        found.push_back(global);
    } else if (isa<ConstantExpr>(constant)) {
      for (Value *operand : constant->operands())
        work.push_back(cast<Constant>(operand));
    }
  }
  if (found.empty())
    return;
  convertUsersOfConstantsToInstructions(found, &function, /*RemoveDeadConstants=*/false);
  Instruction *end = loop.getLoopPreheader()->getTerminator();
  auto *zero = ConstantInt::get(Type::getInt64Ty(function.getContext()), 0);
  for (Constant *global : found) {
    auto *address = GetElementPtrInst::Create(Type::getInt8Ty(function.getContext()), global, {zero}, "address",
                                              end->getIterator());
    for (BasicBlock *block : loop.blocks())
      for (Instruction &instruction : *block)
        instruction.replaceUsesOfWith(global, address);
  }
}

/// True if a value is an address that an instruction derives from another one without memory accesses.
bool is_step(const Value *value) {
  return isa<GetElementPtrInst, CastInst, FreezeInst, SelectInst>(value) && value->getType()->isPointerTy();
}

/// True if an address derives from that of a local object of the function.
bool leads_from_object(Value *address) {
  SmallVector<Value *> work = {address};
  SmallPtrSet<Value *, 8> seen;
  while (!work.empty()) {
    Value *value = work.pop_back_val();
    if (isa<AllocaInst>(value))
      return true;
    if (is_step(value) && seen.insert(value).second)
      for (Value *operand : cast<Instruction>(value)->operands())
        if (operand->getType()->isPointerTy())
          work.push_back(operand);
  }
  return false;
}

/// Moves computations of addresses within local objects into the loop, so that the objects themselves are its live-ins.
void sink_offsets(Loop &loop) {
  for (;;) {
    SmallVector<Instruction *> steps;
    SmallPtrSet<Instruction *, 8> seen;
    for (BasicBlock *block : loop.blocks())
      for (Instruction &instruction : *block)
        for (Use &use : instruction.operands()) {
          auto *step = dyn_cast<Instruction>(use.get());
          auto *phi = dyn_cast<PHINode>(&instruction);
          bool is_inside = !phi || loop.contains(phi->getIncomingBlock(use));
          if (step && is_inside && !loop.contains(step) && is_step(step) && leads_from_object(step) &&
              seen.insert(step).second)
            steps.push_back(step);
        }
    if (steps.empty())
      return;
    for (Instruction *step : steps) {
      // The next round moves the operands of the step, before it.
      Instruction *copy = step->clone();
      copy->insertBefore(loop.getHeader()->getFirstInsertionPt());
      step->replaceUsesWithIf(copy, [&](Use &use) {
        auto *user = cast<Instruction>(use.getUser());
        auto *phi = dyn_cast<PHINode>(user);
        return loop.contains(phi ? phi->getIncomingBlock(use) : user->getParent());
      });
    }
    for (Instruction *step : reverse(steps))
      if (step->use_empty())
        step->eraseFromParent();
  }
}

/// Lets the loop count its iterations from 0 in 64 bits and exit after `last_iteration`, which it sets. Returns the reason if that is
/// impossible; else an empty string.
std::string count_iterations(Loop &loop, Facts &facts, WeakTrackingVH &last_iteration) {
  BasicBlock *latch = loop.getLoopLatch();
  const SCEV *back = facts.evolution.getExitCount(&loop, latch);
  if (isa<SCEVCouldNotCompute>(back))
    return "the trip count is not known before the loop runs; help: count by a constant step, up to a bound that does not change";
  auto *wide = Type::getInt64Ty(latch->getContext());
  if (facts.evolution.getTypeSizeInBits(back->getType()) > 64)
    return "the counter has more than 64 bits";
  back = facts.evolution.getNoopOrZeroExtend(back, wide);
  SCEVExpander expander(facts.evolution, "heddle");
  Instruction *before = loop.getLoopPreheader()->getTerminator();
  if (!expander.isSafeToExpandAt(back, before))
    return "the trip count cannot be computed before the loop runs";
  Value *last = expander.expandCodeFor(back, wide, before);
  last_iteration = last;
  auto *branch = cast<BranchInst>(latch->getTerminator());
  IRBuilder<> builder(&loop.getHeader()->front());
  PHINode *count = builder.CreatePHI(wide, 2, "heddle.count");
  builder.SetInsertPoint(branch);
  Value *next = builder.CreateAdd(count, ConstantInt::get(wide, 1), "heddle.next", /*HasNUW=*/true);
  count->addIncoming(ConstantInt::get(wide, 0), loop.getLoopPreheader());
  count->addIncoming(next, latch);
  bool leaves_if_true = !loop.contains(branch->getSuccessor(0));
  Value *done = builder.CreateICmp(leaves_if_true ? CmpInst::ICMP_EQ : CmpInst::ICMP_NE, count, last, "heddle.done");
  Value *old = branch->getCondition();
  branch->setCondition(done);
  facts.evolution.forgetLoop(&loop);
  RecursivelyDeleteTriviallyDeadInstructions(old);
  return "";
}

/// True for integer types of a width that no calling convention has.
bool has_odd_width(const Type *type) {
  unsigned bits = type->isIntegerTy() ? type->getIntegerBitWidth() : 64;
  return bits < 64 && bits != 1 && (bits < 8 || !isPowerOf2_32(bits));
}

/// Passes live-in integers of odd widths to the blocks of a loop as wider ones, and truncates them in `start`, the first block.
void pass_whole_integers(ArrayRef<BasicBlock *> blocks, BasicBlock &start) {
  SmallPtrSet<BasicBlock *, 16> inside(blocks.begin(), blocks.end());
  MapVector<Value *, Value *> cut;
  BasicBlock *before = start.getSinglePredecessor();
  auto is_odd = [&](Value *value) {
    auto *instruction = dyn_cast<Instruction>(value);
    bool is_outside = instruction ? !inside.contains(instruction->getParent()) : isa<Argument>(value);
    return is_outside && has_odd_width(value->getType());
  };
  for (BasicBlock *block : blocks)
    for (Instruction &instruction : *block)
      for (Value *operand : instruction.operands())
        if (is_odd(operand))
          cut.insert({operand, nullptr});
  for (auto &[value, shorter] : cut) {
    auto bits = unsigned(PowerOf2Ceil(value->getType()->getIntegerBitWidth()));
    auto *wide = Type::getIntNTy(value->getContext(), std::max(8u, bits));
    auto *longer = CastInst::Create(Instruction::ZExt, value, wide, "whole", before->getTerminator()->getIterator());
    shorter = CastInst::Create(Instruction::Trunc, longer, value->getType(), "", start.getFirstInsertionPt());
    value->replaceUsesWithIf(shorter, [&](Use &use) {
      auto *user = cast<Instruction>(use.getUser());
      return inside.contains(user->getParent()) && user != longer;
    });
  }
}

/// True if a counter's next value is not the counter plus a number: LLVM may keep the previous iteration's counter as a φ.
bool lags_behind(const PHINode &phi, const Loop &loop) {
  const auto *next = dyn_cast<BinaryOperator>(phi.getIncomingValueForBlock(loop.getLoopLatch()));
  return phi.getType()->isIntegerTy() && phi.getType()->getIntegerBitWidth() <= 64 &&
         !(next && next->getOpcode() == Instruction::Add && is_contained(next->operands(), &phi));
}

/// Computes counters of odd widths, which wrap around sooner, and counters that lag behind others from the 64-bit counter of iterations.
void count_odd_inductions(Loop &loop, ScalarEvolution &evolution) {
  BasicBlock *header = loop.getHeader();
  auto *done = dyn_cast<ICmpInst>(cast<BranchInst>(loop.getLoopLatch()->getTerminator())->getCondition());
  auto *count = done ? dyn_cast<PHINode>(done->getOperand(0)) : nullptr;
  if (!count || count->getParent() != header)
    return;
  SmallVector<PHINode *> odd;
  for (PHINode &phi : header->phis())
    if (has_odd_width(phi.getType()) || lags_behind(phi, loop))
      odd.push_back(&phi);
  for (PHINode *phi : odd) {
    auto *recurrence = dyn_cast<SCEVAddRecExpr>(evolution.getSCEV(phi));
    auto *step = recurrence && recurrence->getLoop() == &loop && recurrence->isAffine()
                     ? dyn_cast<SCEVConstant>(recurrence->getStepRecurrence(evolution))
                     : nullptr;
    if (!step)
      continue;
    IRBuilder<> builder(header, header->getFirstInsertionPt());
    Value *far = builder.CreateMul(builder.CreateZExtOrTrunc(count, phi->getType()), step->getValue());
    Value *now = builder.CreateAdd(phi->getIncomingValueForBlock(loop.getLoopPreheader()), far);
    evolution.forgetValue(phi);
    phi->replaceAllUsesWith(now);
    phi->eraseFromParent();
  }
}

/// Turns invokes whose exceptions end the program into plain calls: in C++, no exception may leave an iteration of `omp simd`.
void drop_terminations(Loop &loop) {
  auto ends_program = [](const BasicBlock &pad) {
    return isa<UnreachableInst>(pad.getTerminator()) && all_of(pad, [](const Instruction &instruction) {
             const auto *call = dyn_cast<CallInst>(&instruction);
             return !call || (call->getCalledFunction() && call->getCalledFunction()->getName() == "__clang_call_terminate");
           });
  };
  for (BasicBlock *block : loop.blocks())
    if (auto *invoke = dyn_cast<InvokeInst>(block->getTerminator()); invoke && ends_program(*invoke->getUnwindDest()))
      changeToCall(invoke)->setDoesNotThrow();
}

/// Removes exits of a loop that are never taken, such as the default of a `switch` with all cases.
void drop_impossible_exits(Loop &loop) {
  auto is_impossible = [&](BasicBlock *block) {
    return !loop.contains(block) && isa<UnreachableInst>(&*block->getFirstNonPHIOrDbg());
  };
  for (BasicBlock *block : loop.blocks()) {
    Instruction *end = block->getTerminator();
    if (auto *branch = dyn_cast<BranchInst>(end); branch && branch->isConditional()) {
      for (unsigned way : {0, 1}) {
        BasicBlock *other = branch->getSuccessor(1 - way);
        if (!is_impossible(branch->getSuccessor(way)) || is_impossible(other))
          continue;
        Value *condition = branch->getCondition();
        branch->getSuccessor(way)->removePredecessor(block);
        IRBuilder<>(branch).CreateBr(other)->setMetadata(LLVMContext::MD_loop, branch->getMetadata(LLVMContext::MD_loop));
        branch->eraseFromParent();
        RecursivelyDeleteTriviallyDeadInstructions(condition);
        break;
      }
    } else if (auto *choice = dyn_cast<SwitchInst>(end)) {
      for (auto at = choice->case_begin(); at != choice->case_end();) {
        BasicBlock *to = at->getCaseSuccessor();
        if (!is_impossible(to)) {
          ++at;
          continue;
        }
        to->removePredecessor(block);
        at = choice->removeCase(at);
      }
      BasicBlock *otherwise = choice->getDefaultDest();
      if (is_impossible(otherwise) && choice->getNumCases() > 0) {
        BasicBlock *to = choice->case_begin()->getCaseSuccessor();
        otherwise->removePredecessor(block);
        for (PHINode &phi : to->phis())
          phi.addIncoming(phi.getIncomingValueForBlock(block), block);
        choice->setDefaultDest(to);
      }
    }
  }
}

/// Maximum number of blocks examined after an exit.
constexpr size_t most_blocks_behind = 16;

/// True if all paths from a block end the program or throw; false if they have more than `most_blocks_behind` blocks.
bool never_returns(BasicBlock &start) {
  SetVector<BasicBlock *> behind;
  behind.insert(&start);
  for (size_t at = 0; at < behind.size(); ++at) {
    Instruction *end = behind[at]->getTerminator();
    if (behind.size() > most_blocks_behind || (succ_empty(behind[at]) && !isa<UnreachableInst, ResumeInst>(end)))
      return false;
    behind.insert_range(successors(behind[at]));
  }
  return true;
}

/// Brings a loop into the form with one entry, one exit, and a latch that is the only exiting block. Returns the reason if that is
/// impossible; else an empty string.
std::string simplify(const MarkedLoop &marked) {
  auto *header = cast<BasicBlock>(static_cast<Value *>(marked.header));
  Function &function = *header->getParent();
  {
    DominatorTree dominators(function);
    LoopInfo loops(dominators);
    Loop *loop = loops.getLoopFor(header);
    if (loop && loop->getHeader() == header) {
      drop_terminations(*loop);
      drop_impossible_exits(*loop);
    }
  }
  Facts facts(function);
  Loop *loop = facts.loops.getLoopFor(header);
  if (!loop || loop->getHeader() != header)
    return "LLVM removed the loop";
  simplifyLoop(loop, &facts.dominators, &facts.loops, &facts.evolution, &facts.assumptions, nullptr, false);
  if (!loop->isLoopSimplifyForm())
    return "a computed goto enters or leaves the loop";
  if (loop->hasNoExitBlocks())
    return "the loop has no exit";
  if (!loop->getUniqueExitBlock() || !loop->getExitingBlock()) {
    SmallVector<BasicBlock *> exiting;
    loop->getExitingBlocks(exiting);
    erase(exiting, loop->getLoopLatch());
    std::string place = exiting.empty() ? "" : at_line(*exiting.front()->getTerminator(), *loop);
    auto is_end = [&](BasicBlock *to) { return !loop->contains(to) && never_returns(*to); };
    if (!exiting.empty() && any_of(successors(exiting.front()), is_end))
      return "an iteration may end the program or throw" + place +
             ", and later ones must not run; help: check in a loop of its own before this one";
    return "the loop exits early" + place +
           ", and later iterations must not run; help: let the loop run to its end and store what it found";
  }
  if (loop->getExitingBlock() != loop->getLoopLatch()) {
    SimplifyQuery query(function.getDataLayout(), &facts.library, &facts.dominators, &facts.assumptions);
    LoopRotation(loop, &facts.loops, &facts.costs, &facts.assumptions, &facts.dominators, &facts.evolution, nullptr, query,
                 false, -1u, true);
    if (loop->getExitingBlock() != loop->getLoopLatch() || !loop->getLoopPreheader())
      return "the loop exits in the middle of an iteration";
  }
  make_nest_again(*loop, facts.dominators, facts.loops, facts.evolution);
  return "";
}

/// Hoists loads of loop-invariant addresses before the loop. With two iterations or more, none of them writes there, since they are
/// independent. A single iteration loads before it writes anything.
void hoist_shared_loads(Loop &loop, const DominatorTree &dominators) {
  SmallPtrSet<const BasicBlock *, 16> behind_writes;
  SmallVector<const BasicBlock *> work;
  auto writes = [](const Instruction &instruction) { return instruction.mayWriteToMemory() || instruction.mayThrow() || !instruction.willReturn(); };
  for (const BasicBlock *block : loop.blocks())
    if (any_of(*block, writes))
      work.push_back(block);
  while (!work.empty())
    for (const BasicBlock *next : successors(work.pop_back_val()))
      if (loop.contains(next) && next != loop.getHeader() && behind_writes.insert(next).second)
        work.push_back(next);
  SmallVector<LoadInst *> shared;
  for (BasicBlock *block : loop.blocks()) {
    if (behind_writes.contains(block) || !dominators.dominates(block, loop.getLoopLatch()))
      continue;
    for (Instruction &instruction : *block) {
      if (writes(instruction))
        break;
      if (auto *load = dyn_cast<LoadInst>(&instruction); load && load->isSimple())
        shared.push_back(load);
    }
  }
  Instruction *before = loop.getLoopPreheader()->getTerminator();
  for (LoadInst *load : shared) {
    bool is_changed = false;
    if (!isa<AllocaInst>(getUnderlyingObject(load->getPointerOperand())) && loop.makeLoopInvariant(load->getPointerOperand(), is_changed))
      load->moveBefore(before->getIterator());
  }
}

/// Moves objects that only the loop uses into its function: each iteration has its own.
void move_objects(Function &function, CallInst &call) {
  for (unsigned index = 0; index < call.arg_size(); ++index) {
    auto *object = dyn_cast<AllocaInst>(call.getArgOperand(index));
    if (!object || !object->isStaticAlloca())
      continue;
    SmallVector<Instruction *> marks;
    bool is_used_elsewhere = false;
    for (User *user : object->users()) {
      auto *instruction = dyn_cast<Instruction>(user);
      if (user == &call)
        continue;
      if (instruction && instruction->isLifetimeStartOrEnd())
        marks.push_back(instruction);
      else
        is_used_elsewhere = true;
    }
    if (is_used_elsewhere || count(call.args(), object) != 1)
      continue;
    Instruction *own = object->clone();
    own->insertBefore(function.getEntryBlock().getFirstInsertionPt());
    function.getArg(index)->replaceAllUsesWith(own);
    call.setArgOperand(index, PoisonValue::get(object->getType()));
    for (Instruction *mark : marks)
      mark->eraseFromParent();
    object->eraseFromParent();
  }
}

} // namespace

/// Gives a loop the hints of a pragma, and a source location, since that of the loop's head is often in a library.
static void mark_independent(Loop &loop, const DebugLoc &place) {
  SmallVector<Metadata *> operands = {nullptr};
  if (place)
    operands.push_back(place.getAsMDNode());
  if (const MDNode *old = loop.getLoopID())
    for (const MDOperand &operand : drop_begin(old->operands()))
      if (!isa<DILocation>(operand))
        operands.push_back(operand);
  MDNode *id = MDNode::getDistinct(loop.getHeader()->getContext(), operands);
  id->replaceOperandWith(0, id);
  loop.setLoopID(id);
  addStringMetadataToLoop(&loop, independent_hint);
  addStringMetadataToLoop(&loop, "llvm.loop.vectorize.enable", 1);
}

bool has_loop_hints(const Function &function) {
  return any_of(function, [](const BasicBlock &block) {
    const Instruction *end = block.getTerminator();
    return end && end->hasMetadata(LLVMContext::MD_loop);
  });
}

/// Adds a hint of independence to marked loops with parallel access groups, since passes drop groups: those of accesses that they hoist out
/// of an inner loop, or turn into a `memset`. True if there are such loops.
static bool keep_promises(Function &function) {
  if (!has_loop_hints(function))
    return false;
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  bool is_changed = false;
  for (Loop *loop : loops.getLoopsInPreorder())
    if (is_marked(*loop) && hint(loop->getLoopID(), "llvm.loop.parallel_accesses") && is_parallel(*loop)) {
      addStringMetadataToLoop(loop, independent_hint);
      is_changed = true;
    }
  return is_changed;
}

bool open_marks(Module &module) {
  bool is_changed = false;
  for (Function &function : module)
    if (!function.isDeclaration() && !function.hasOptNone()) {
      is_changed |= keep_promises(function);
      is_changed |= restore_nests(function);
      is_changed |= keep_levels(function);
    }
  // Operations across lanes (heddle.h) access no memory that other code sees, and must stay in place.
  for (Function &function : module)
    if (function.isDeclaration() && function.isConvergent() && function.getName().starts_with("heddle_")) {
      function.setMemoryEffects(MemoryEffects::inaccessibleMemOnly());
      function.setWillReturn();
      is_changed = true;
    }
  Function *mark = module.getFunction(independent_mark);
  if (!mark || !mark->isDeclaration())
    return is_changed;
  mark->setMemoryEffects(MemoryEffects::inaccessibleMemOnly());
  for (auto kind : {Attribute::NoUnwind, Attribute::WillReturn, Attribute::NoCallback, Attribute::NoFree, Attribute::NoSync})
    mark->addFnAttr(kind);
  return true;
}

bool take_marks(Module &module) {
  Function *mark = module.getFunction(independent_mark);
  if (!mark || !mark->isDeclaration())
    return false;
  MapVector<Function *, SmallVector<CallInst *>> calls;
  for (Function &function : module)
    for (BasicBlock &block : function)
      for (Instruction &instruction : block)
        if (auto *call = dyn_cast<CallInst>(&instruction); call && call->getCalledFunction() == mark)
          calls[&function].push_back(call);
  for (auto &[function, of_function] : calls) {
    DominatorTree dominators(*function);
    LoopInfo loops(dominators);
    for (CallInst *call : of_function) {
      if (Loop *loop = loops.getLoopFor(call->getParent()))
        mark_independent(*loop, call->getDebugLoc());
      call->eraseFromParent();
    }
  }
  if (mark->use_empty())
    mark->eraseFromParent();
  return true;
}

/// Returns the number of iterations that may run together by a loop's pragma; 0 without one.
static unsigned width_of(const Loop &loop) {
  return unsigned(std::min<uint64_t>(number_of(loop.getLoopID(), "llvm.loop.vectorize.width", 0), 1024));
}

/// Returns the number of interleaved vectors by a loop's pragma; 0 without one.
static unsigned interleaving_of(const Loop &loop) {
  return unsigned(std::min<uint64_t>(number_of(loop.getLoopID(), "llvm.loop.interleave.count", 0), 64));
}

/// Hint of the outer level of a nest that becomes no tensor.
static constexpr char no_tensor_hint[] = "heddle.no_tensor";

/// A level of a nest whose iterations become lanes, and the inner level if both do.
struct ChosenLevel {
  Loop *loop, *inner;
};

static bool becomes_tensor(const Loop &outer, const Loop &inner, bool wants_tensors) {
  if (hint(outer.getLoopID(), no_tensor_hint))
    return false;
  bool is_requested = width_of(outer) > 1 && width_of(inner) > 1;
  bool is_free = width_of(outer) == 0 && width_of(inner) == 0 && interleaving_of(outer) == 0 && interleaving_of(inner) == 0;
  return is_requested || (wants_tensors && is_free);
}

/// Returns the levels of a function's nests whose iterations become lanes.
static SmallVector<ChosenLevel> chosen_levels(Facts &facts, bool wants_tensors) {
  SmallVector<Loop *> taken;
  for (Loop *loop : facts.loops.getLoopsInPreorder())
    if (is_marked(*loop) && none_of(taken, [&](Loop *outer) { return outer->contains(loop); }))
      taken.push_back(loop);
  SmallVector<ChosenLevel> chosen;
  for (Loop *nest : taken)
    for (Loop *loop : choose_levels(*nest, facts.loops, facts.evolution)) {
      auto [outer, inner] = tensor_levels(*loop, facts.evolution);
      if (outer && becomes_tensor(*outer, *inner, wants_tensors))
        chosen.push_back({outer, inner});
      else
        chosen.push_back({loop, nullptr});
    }
  return chosen;
}

void refuse_tensor(const MarkedLoop &nest) {
  auto *header = dyn_cast_or_null<BasicBlock>(static_cast<Value *>(nest.header));
  if (!header)
    return;
  DominatorTree dominators(*header->getParent());
  LoopInfo loops(dominators);
  if (Loop *loop = loops.getLoopFor(header))
    addStringMetadataToLoop(loop, no_tensor_hint);
}

bool release_inner_levels(Module &module, bool wants_tensors) {
  bool is_changed = false;
  for (Function &function : module) {
    if (function.isDeclaration() || function.hasOptNone() || !has_loop_hints(function))
      continue;
    bool is_released = false;
    {
      Facts facts(function);
      for (auto [loop, inner] : chosen_levels(facts, wants_tensors))
        for (Loop *inside : (inner ? inner : loop)->getLoopsInPreorder())
          is_released |= inside != inner && inside != loop && release_level(*inside);
    }
    if (is_released)
      unroll_released_levels(function);
    is_changed |= is_released;
  }
  return is_changed;
}

bool release_levels(Module &module) {
  bool is_changed = false;
  for (Function &function : module) {
    if (function.isDeclaration() || !has_loop_hints(function))
      continue;
    bool is_released = false;
    {
      DominatorTree dominators(function);
      LoopInfo loops(dominators);
      for (Loop *loop : loops.getLoopsInPreorder())
        is_released |= release_level(*loop);
    }
    if (is_released)
      unroll_released_levels(function);
    is_changed |= is_released;
  }
  return is_changed;
}

std::vector<MarkedLoop> find_marked_loops(Module &module, bool wants_tensors) {
  std::vector<MarkedLoop> found;
  for (Function &function : module) {
    if (function.isDeclaration() || function.hasOptNone() || !has_loop_hints(function))
      continue;
    Facts facts(function);
    for (auto [loop, inner] : chosen_levels(facts, wants_tensors)) {
      MarkedLoop marked;
      if (inner) {
        marked.is_nest = true;
        marked.inner_width = width_of(*inner);
        marked.outer_trips = facts.evolution.getSmallConstantTripCount(loop);
        marked.inner_trips = facts.evolution.getSmallConstantTripCount(inner);
      }
      marked.header = loop->getHeader();
      marked.width = width_of(*loop);
      marked.interleaved = interleaving_of(*loop);
      marked.is_parallel = is_parallel(*loop);
      marked.is_promised = marked.is_parallel || is_safe_width(*loop);
      marked.place = loop->getStartLoc();
      for (Loop *outer = loop->getParentLoop(); outer; outer = outer->getParentLoop())
        if (is_marked(*outer))
          marked.around.push_back(outer->getHeader());
      found.push_back(marked);
    }
  }
  return found;
}

Outlined outline(const MarkedLoop &marked, StringRef name) {
  Outlined result;
  result.width = marked.width;
  result.refusal = simplify(marked);
  if (!result.refusal.empty())
    return result;
  auto *header = cast<BasicBlock>(static_cast<Value *>(marked.header));
  Function &function = *header->getParent();
  if (!marked.is_parallel) {
    Independence independence = make_independent(*header, marked.width, marked.is_promised);
    result.width = independence.width;
    result.is_versioned = independence.is_versioned;
    result.refusal = independence.refusal;
    if (!result.refusal.empty())
      return result;
  }
  Facts facts(function);
  Loop *loop = facts.loops.getLoopFor(header);
  if (marked.is_parallel)
    result.refusal = find_shared_object(*loop, facts.evolution);
  if (!result.refusal.empty())
    return result;
  if (marked.is_parallel)
    hoist_shared_loads(*loop, facts.dominators);
  Loop *inner = marked.is_nest && loop->getSubLoops().size() == 1 ? loop->getSubLoops().front() : nullptr;
  if (inner) {
    simplifyLoop(inner, &facts.dominators, &facts.loops, &facts.evolution, &facts.assumptions, nullptr, false);
    if (!inner->isLoopSimplifyForm() || inner->getExitingBlock() != inner->getLoopLatch())
      inner = nullptr;
  }
  if (inner)
    hoist_shared_loads(*inner, facts.dominators);
  formLCSSARecursively(*loop, facts.dominators, &facts.loops, &facts.evolution);
  result.refusal = count_iterations(*loop, facts, result.last_iteration);
  if (!result.refusal.empty())
    return result;
  WeakTrackingVH last_of_inner;
  if (inner && count_iterations(*inner, facts, last_of_inner).empty())
    count_odd_inductions(*inner, facts.evolution);
  pass_addresses(*loop, function);
  sink_offsets(*loop);
  count_odd_inductions(*loop, facts.evolution);
  Range range = make_resumable(*loop, facts.dominators, facts.loops, facts.evolution);
  auto own = objects_of_iterations(*loop);
  loop->getLoopLatch()->getTerminator()->setMetadata(LLVMContext::MD_loop, nullptr);
  // Live-outs pass through φs of the exit. With these φs in the new function, each is stored once, after the loop.
  BasicBlock *exit = loop->getExitBlock();
  SplitBlock(exit, exit->getFirstNonPHIIt());
  DominatorTree dominators(function);
  if (!range.first)
    SplitBlock(loop->getLoopPreheader(), loop->getLoopPreheader()->getTerminator(), &facts.dominators, &facts.loops);
  BasicBlock *start = loop->getLoopPreheader();
  SmallVector<BasicBlock *> blocks = {start};
  append_range(blocks, loop->getBlocks());
  blocks.push_back(exit);
  pass_whole_integers(blocks, *start);
  CodeExtractor extractor(blocks, &dominators, false, nullptr, nullptr, nullptr, false, false, nullptr, "heddle");
  if (!extractor.isEligible()) {
    result.refusal = "the body uses exceptions, variable arguments, or objects of variable size";
    return result;
  }
  CodeExtractorAnalysisCache cache(function);
  result.function = extractor.extractCodeRegion(cache);
  if (!result.function || !result.function->hasOneUse()) {
    result.refusal = "LLVM cannot move the loop into a function";
    result.function = nullptr;
    return result;
  }
  result.function->setName(name);
  result.call = cast<CallInst>(result.function->user_back());
  if (!result.function->getReturnType()->isVoidTy())
    result.refusal = "the loop has several exits";
  for (unsigned index = 0; range.first && index < result.call->arg_size(); ++index) {
    if (result.call->getArgOperand(index) == range.first)
      result.first = index;
    if (result.call->getArgOperand(index) == range.last)
      result.last = index;
  }
  result.is_resumable = result.first != result.last;
  if (result.refusal.empty() && marked.is_promised)
    move_objects(*result.function, *result.call);
  for (const Value *argument : result.call->args()) {
    SmallVector<const Value *> objects;
    getUnderlyingObjects(argument, objects);
    if (result.refusal.empty() && any_of(objects, [&](const Value *object) { return own.contains(object); }))
      result.refusal = "the address of an object of each iteration is computed outside of the loop";
  }
  return result;
}

bool are_alike(const Function &one, const Function &other) {
  // Types live in different contexts, so they are compared as text.
  auto text_of = [](const Type *type) {
    std::string text;
    raw_string_ostream stream(text);
    type->print(stream);
    return text;
  };
  DenseMap<const Value *, unsigned> numbers;
  auto number_all = [&](const Function &function) {
    unsigned next = 0;
    for (const Argument &argument : function.args())
      numbers[&argument] = next++;
    for (const BasicBlock &block : function) {
      numbers[&block] = next++;
      for (const Instruction &instruction : block)
        numbers[&instruction] = next++;
    }
    return next;
  };
  if (one.arg_size() != other.arg_size() || one.size() != other.size() || number_all(one) != number_all(other))
    return false;
  for (auto [mine, theirs] : zip(one.args(), other.args()))
    if (text_of(mine.getType()) != text_of(theirs.getType()))
      return false;
  for (auto [block, block_there] : zip(one, other)) {
    if (block.size() != block_there.size())
      return false;
    for (auto [mine, theirs] : zip(block, block_there)) {
      if (mine.getOpcode() != theirs.getOpcode() || mine.getNumOperands() != theirs.getNumOperands() ||
          text_of(mine.getType()) != text_of(theirs.getType()))
        return false;
      for (auto [a, b] : zip(mine.operands(), theirs.operands())) {
        if (isa<Constant>(a) != isa<Constant>(b))
          return false;
        if (numbers.contains(a) != numbers.contains(b) || (numbers.contains(a) && numbers[a] != numbers[b]))
          return false;
      }
    }
  }
  return true;
}

/// Returns a scalar copy of an outlined loop, which LLVM does not vectorize either.
static Function *copy_as_scalar(const Outlined &own) {
  ValueToValueMapTy same;
  Function *scalar = CloneFunction(own.function, same);
  scalar->setLinkage(GlobalValue::InternalLinkage);
  DominatorTree dominators(*scalar);
  LoopInfo loops(dominators);
  for (Loop *loop : loops)
    leave_alone(*loop);
  return scalar;
}

CallInst *call_for_few(const Outlined &own, unsigned few) {
  Value *last = own.last_iteration;
  if (few == 0 || !last || isa<Constant>(last))
    return nullptr;
  IRBuilder<> builder(own.call);
  Value *is_few = builder.CreateICmpULT(last, ConstantInt::get(last->getType(), few));
  Instruction *then = nullptr, *otherwise = nullptr;
  SplitBlockAndInsertIfThenElse(is_few, own.call->getIterator(), &then, &otherwise);
  auto *call = cast<CallInst>(own.call->clone());
  call->setCalledFunction(copy_as_scalar(own));
  call->insertBefore(then->getIterator());
  own.call->moveBefore(otherwise->getIterator());
  return call;
}

/// Lets `remainder` run the last iterations, which fill no group of `group`, after a call; the call runs the others, if there are any.
/// Where `is_refused` is true, `remainder` runs all iterations. Returns the call of `remainder`.
static CallInst *split_call(CallInst &whole_call, unsigned group, Function &remainder, unsigned first_number, unsigned last_number,
                            Value *is_refused = nullptr) {
  CallInst *call = &whole_call;
  Instruction *behind = call->getNextNode();
  IRBuilder<> builder(call);
  Value *first = call->getArgOperand(first_number), *last = call->getArgOperand(last_number);
  Type *type = first->getType();
  Value *one = ConstantInt::get(type, 1);
  // A count of 2^64 would wrap around to 0; no loop has so many iterations.
  Value *count = builder.CreateAdd(builder.CreateSub(last, first), one);
  Value *whole = builder.CreateSub(count, builder.CreateURem(count, ConstantInt::get(type, group)), "heddle.whole");
  if (is_refused)
    whole = builder.CreateSelect(is_refused, ConstantInt::get(type, 0), whole);
  Value *next = builder.CreateAdd(first, whole);
  Instruction *has_vectors = SplitBlockAndInsertIfThen(builder.CreateICmpNE(whole, ConstantInt::get(type, 0)), call->getIterator(), false);
  call->moveBefore(has_vectors->getIterator());
  builder.SetInsertPoint(call);
  call->setArgOperand(last_number, builder.CreateSub(next, one));
  builder.SetInsertPoint(behind);
  Instruction *has_rest = SplitBlockAndInsertIfThen(builder.CreateICmpNE(whole, count), behind->getIterator(), false);
  auto *rest = cast<CallInst>(call->clone());
  rest->setCalledFunction(&remainder);
  rest->setCallingConv(remainder.getCallingConv());
  rest->insertBefore(has_rest->getIterator());
  rest->setArgOperand(first_number, next);
  rest->setArgOperand(last_number, last);
  return rest;
}

CallInst *call_for_remainder(Outlined &own, unsigned group, Function &remainder, Value *is_refused) {
  return split_call(*own.call, group, remainder, own.first, own.last, is_refused);
}

Function &with_remainder(Function &vector, Function &remainder, unsigned group, unsigned first, unsigned last) {
  Function *both = Function::Create(vector.getFunctionType(), GlobalValue::InternalLinkage, vector.getName() + ".all", vector.getParent());
  both->copyAttributesFrom(&vector);
  IRBuilder<> builder(BasicBlock::Create(both->getContext(), "", both));
  SmallVector<Value *> arguments;
  for (Argument &argument : both->args())
    arguments.push_back(&argument);
  CallInst *call = builder.CreateCall(&vector, arguments);
  call->setCallingConv(vector.getCallingConv());
  builder.CreateRetVoid();
  split_call(*call, group, remainder, first, last);
  return *both;
}

CallInst *call_for_rest(Outlined &own, unsigned lanes) {
  if (lanes == 0 || !own.is_resumable)
    return nullptr;
  return call_for_remainder(own, lanes, *copy_as_scalar(own));
}

void put_back(CallInst *call) {
  Function &function = *call->getFunction();
  Function *callee = call->getCalledFunction();
  InlineFunctionInfo info;
  if (!InlineFunction(*call, info, /*MergeAttributes=*/true).isSuccess())
    return;
  if (callee->use_empty())
    callee->eraseFromParent();
  DominatorTree dominators(function);
  SmallVector<AllocaInst *> slots;
  for (Instruction &instruction : function.getEntryBlock())
    if (auto *slot = dyn_cast<AllocaInst>(&instruction))
      if (isAllocaPromotable(slot))
        slots.push_back(slot);
  if (!slots.empty())
    PromoteMemToReg(slots, dominators);
}

} // namespace heddle
