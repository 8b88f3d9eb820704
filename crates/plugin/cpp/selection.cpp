// Run-time selection among variants of a loop's code. The speed of vector code of a search depends on how similar its lanes are,
// which no compiler sees. So such a loop runs a few iterations by each variant from time to time, and the others by the fastest:
//
//   entry ──► head ──► trial: time each variant; choose one, and for how many iterations
//              ▲  └──► run:   as many iterations as the choice still holds
//              └── more? ◄─┘ ──► exit
//
// The choice is kept for the next run of the loop. It holds for so many iterations that trials lose less than 1/50 of the time, but
// for at most twice as many as the last choice, and for those of one trial if it has just changed: other programs may disturb a
// measurement. For the same reason only a clearly faster variant replaces it.
//
// The processor predicts branches of scalar code well once it has run them often, as where a loop runs over the same data again and
// again; a short trial does not show that. So where vector code is chosen, the faster scalar variant runs for long before a trial,
// whenever its possible loss is a small share of the time since its last such run. The time of the chosen variant is that of its
// last run, if that is less than in its trial.
#include "selection.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

using namespace llvm;

namespace heddle {

namespace {

/// Reciprocal of the share of time that trials may lose.
constexpr uint64_t part_for_trials = 50;
/// Maximum loss of a trial that counts, as a multiple of the fastest variant's time.
constexpr uint64_t most_times = 16;
/// Minimum number of trials' iterations that a settled choice holds, even if all variants were as fast: code that has not run lately is
/// slower at first.
constexpr uint64_t least_trials = 64;
/// Reciprocal of the share of its time that a choice must lose against another variant to be replaced.
constexpr uint64_t part_to_gain = 16;
/// Number of trials' iterations that scalar code runs to train branch prediction, and reciprocal of the share of time that this may lose.
constexpr uint64_t trials_to_learn = 256, part_to_learn = 25;
/// Bit positions in a stored choice. From the lowest bit on: number of the variant, flag of scalar code that trains branch prediction,
/// number of trials' iterations that the choice was to hold, and number of iterations that it still holds.
constexpr unsigned learns_at = 2, trials_at = 3, rest_at = 24;
constexpr uint64_t most_forms = uint64_t(1) << learns_at;

/// Computes the value of a header φ in iteration `first`; null if the φ is no induction.
Value *started_at(PHINode &phi, Loop &loop, ScalarEvolution &evolution, Instruction *first, IRBuilder<> &builder) {
  Value *init = phi.getIncomingValueForBlock(loop.getLoopPreheader());
  auto *step = dyn_cast<Instruction>(phi.getIncomingValueForBlock(loop.getLoopLatch()));
  if (!step || !evolution.isSCEVable(phi.getType()))
    return nullptr;
  auto *recurrence = dyn_cast<SCEVAddRecExpr>(evolution.getSCEV(&phi));
  if (!recurrence || recurrence->getLoop() != &loop || !recurrence->isAffine())
    return nullptr;
  const SCEV *by = recurrence->getStepRecurrence(evolution);
  Value *each = nullptr;
  if (auto *constant = dyn_cast<SCEVConstant>(by))
    each = constant->getValue();
  else if (auto *unknown = dyn_cast<SCEVUnknown>(by))
    each = unknown->getValue();
  if (!each || !each->getType()->isIntegerTy())
    return nullptr;
  Value *times = builder.CreateZExtOrTrunc(first, each->getType());
  Value *far = builder.CreateMul(times, each);
  if (phi.getType()->isPointerTy())
    return builder.CreatePtrAdd(init, far);
  return phi.getType() == far->getType() ? builder.CreateAdd(init, far) : nullptr;
}

/// True if consecutive iterations may access memory that is not contiguous.
bool may_scatter(Loop &loop, ScalarEvolution &evolution) {
  const DataLayout &layout = loop.getHeader()->getDataLayout();
  for (BasicBlock *block : loop.blocks())
    for (Instruction &instruction : *block) {
      Value *pointer = getLoadStorePointerOperand(&instruction);
      const SCEV *address = pointer ? evolution.getSCEV(pointer) : nullptr;
      if (!address || evolution.isLoopInvariant(address, &loop))
        continue;
      auto *recurrence = dyn_cast<SCEVAddRecExpr>(address);
      auto *step = recurrence && recurrence->isAffine() ? dyn_cast<SCEVConstant>(recurrence->getStepRecurrence(evolution))
                                                        : nullptr;
      uint64_t bytes = layout.getTypeStoreSize(getLoadStoreType(&instruction)).getFixedValue();
      if (!step || step->getAPInt().abs() != bytes)
        return true;
    }
  return false;
}

/// True if a loop accesses numbers of less than 4 bytes, for which not all machines have masks: its last iterations may be scalar.
bool is_narrow(const Loop &loop) {
  const DataLayout &layout = loop.getHeader()->getDataLayout();
  return any_of(loop.blocks(), [&](const BasicBlock *block) {
    return any_of(*block, [&](const Instruction &instruction) {
      return getLoadStorePointerOperand(&instruction) &&
             layout.getTypeStoreSize(getLoadStoreType(const_cast<Instruction *>(&instruction))).getFixedValue() < 4;
    });
  });
}

bool is_resumable(Loop &loop, ScalarEvolution &evolution) {
  Triple triple(loop.getHeader()->getModule()->getTargetTriple());
  if (!triple.isX86() || (loop.isInnermost() && !is_narrow(loop) && !may_scatter(loop, evolution)))
    return false;
  for (PHINode &phi : loop.getHeader()->phis()) {
    auto *recurrence =
        evolution.isSCEVable(phi.getType()) ? dyn_cast<SCEVAddRecExpr>(evolution.getSCEV(&phi)) : nullptr;
    bool is_induction = recurrence && recurrence->getLoop() == &loop && recurrence->isAffine() &&
                        isa<SCEVConstant, SCEVUnknown>(recurrence->getStepRecurrence(evolution));
    if (!is_induction)
      return false;
  }
  // No instruction after the loop reads its values.
  for (PHINode &phi : loop.getExitBlock()->phis())
    if (!loop.isLoopInvariant(phi.getIncomingValueForBlock(loop.getLoopLatch())))
      return false;
  return true;
}

/// Returns a number as an instruction, which nothing folds into a constant before the loop is outlined.
Instruction *opaque(Value *number, const Twine &name, Instruction *before) {
  return BinaryOperator::CreateAdd(number, ConstantInt::get(number->getType(), 0), name, before->getIterator());
}

} // namespace

Range make_resumable(Loop &loop, DominatorTree &dominators, LoopInfo &loops, ScalarEvolution &evolution) {
  if (!is_resumable(loop, evolution))
    return {};
  BasicBlock *header = loop.getHeader(), *preheader = loop.getLoopPreheader();
  auto *end = cast<BranchInst>(loop.getLoopLatch()->getTerminator());
  auto *done = dyn_cast<ICmpInst>(end->getCondition());
  auto *count = done ? dyn_cast<PHINode>(done->getOperand(0)) : nullptr;
  if (!count || count->getParent() != header)
    return {};
  Range range;
  auto *wide = cast<IntegerType>(count->getType());
  range.first = opaque(ConstantInt::get(wide, 0), "heddle.first", preheader->getTerminator());
  range.last = opaque(done->getOperand(1), "heddle.last", preheader->getTerminator());
  SmallVector<std::pair<PHINode *, Value *>> starts;
  IRBuilder<> builder(preheader->getTerminator());
  for (PHINode &phi : header->phis()) {
    Value *start = &phi == count ? range.first : started_at(phi, loop, evolution, range.first, builder);
    if (!start)
      return {};
    starts.emplace_back(&phi, start);
  }
  for (auto [phi, start] : starts)
    phi->setIncomingValueForBlock(preheader, start);
  done->setOperand(1, range.last);
  evolution.forgetLoop(&loop);
  // All after the two numbers becomes part of the loop's function.
  SplitBlock(preheader, std::next(range.last->getIterator()), &dominators, &loops);
  return range;
}

bool ask_one_lane(Function &function) {
  enum Answer { unknown, same, zero, one };
  SmallVector<std::pair<CallInst *, Answer>> calls;
  for (Instruction &instruction : instructions(function)) {
    auto *call = dyn_cast<CallInst>(&instruction);
    const Function *callee = call ? call->getCalledFunction() : nullptr;
    StringRef name = callee && callee->isDeclaration() && callee->isConvergent() ? callee->getName() : "";
    if (!name.consume_front("heddle_"))
      continue;
    Answer answer = StringSwitch<Answer>(name)
                        .Cases({"any", "all", "popcount", "ballot"}, same)
                        .Case("lane", zero)
                        .Cases({"mask", "width"}, one)
                        .Default(unknown);
    if (answer == unknown)
      return false;
    calls.emplace_back(call, answer);
  }
  for (auto [call, answer] : calls) {
    IRBuilder<> builder(call);
    Value *value = answer == same ? builder.CreateZExtOrTrunc(call->getArgOperand(0), call->getType())
                                  : ConstantInt::get(call->getType(), answer == one);
    call->replaceAllUsesWith(value);
    call->eraseFromParent();
  }
  return true;
}

namespace {

/// True if a select may decide the next address: it chooses a pointer, one of two loaded values, or an operand of an address computation.
bool leads_to_address(const SelectInst &choice) {
  if (choice.getCondition()->getType()->isVectorTy())
    return false;
  if (choice.getType()->isPointerTy() || (isa<LoadInst>(choice.getTrueValue()) && isa<LoadInst>(choice.getFalseValue())))
    return true;
  return any_of(choice.users(), [](const User *user) { return isa<GetElementPtrInst>(user); });
}

/// Sides of a branch that replaces selects, and the block after both.
struct BranchSides {
  BasicBlock *then, *otherwise, *behind;
};

/// Maximum number of instructions of a loop to copy.
constexpr size_t most_copied = 100;

bool may_be_copied(Loop &loop) {
  size_t count = 0;
  for (BasicBlock *block : loop.blocks())
    for (Instruction &instruction : *block) {
      auto *call = dyn_cast<CallBase>(&instruction);
      if (++count > most_copied || isa<NoAliasScopeDeclInst>(instruction) || (call && call->cannotDuplicate()) ||
          (instruction.isTerminator() && !isa<BranchInst, SwitchInst>(instruction)))
        return false;
    }
  return true;
}

/// Gives each side of a branch in a loop its own copy of the code after both, up to the same branch in the next iteration:
///
///       head ◄────────┐              head ◄──────────┐    head' ◄────────┐
///       /  \          │              /  \            │    /   \          │
///    then  otherwise  │   ──►     then  otherwise ──────────────► after'─┘
///       \  /          │            │                │  then' otherwise' ──►
///      after ────────┘          after ────────────┘◄── (to after)
///
/// So the processor predicts the code after each side separately. Values move to memory, whose slots are added to `slots`.
void split_ends(Loop &loop, const BranchSides &branch, SmallVectorImpl<AllocaInst *> &slots) {
  SmallVector<Instruction *> values;
  SmallVector<PHINode *> phis;
  for (BasicBlock *block : loop.blocks())
    for (Instruction &instruction : *block) {
      if (auto *phi = dyn_cast<PHINode>(&instruction))
        phis.push_back(phi);
      bool is_read_elsewhere = any_of(instruction.users(), [&](User *user) {
        return isa<PHINode>(user) || cast<Instruction>(user)->getParent() != block;
      });
      if (is_read_elsewhere)
        values.push_back(&instruction);
    }
  SmallVector<BasicBlock *> exits;
  loop.getUniqueExitBlocks(exits);
  for (BasicBlock *exit : exits)
    for (PHINode &phi : exit->phis())
      phis.push_back(&phi);
  for (Instruction *value : values)
    slots.push_back(DemoteRegToStack(*value));
  for (PHINode *phi : phis)
    if (AllocaInst *slot = DemotePHIToStack(phi))
      slots.push_back(slot);
  ValueToValueMapTy map;
  SmallVector<BasicBlock *> copies;
  for (BasicBlock *block : loop.blocks()) {
    copies.push_back(CloneBasicBlock(block, map, ".other", block->getParent()));
    map[block] = copies.back();
  }
  remapInstructionsInBlocks(copies, map);
  auto copy_of = [&](BasicBlock *block) { return cast<BasicBlock>(static_cast<Value *>(map[block])); };
  branch.otherwise->getTerminator()->replaceSuccessorWith(branch.behind, copy_of(branch.behind));
  copy_of(branch.then)->getTerminator()->replaceSuccessorWith(copy_of(branch.behind), branch.behind);
}

} // namespace

bool branch_on_choices(Function &function) {
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  // Selects that one branch can replace, by block and condition: their operands are computed before the first of them.
  MapVector<std::pair<BasicBlock *, Value *>, SmallVector<SelectInst *, 2>> groups;
  for (BasicBlock &block : function) {
    if (!loops.getLoopFor(&block))
      continue;
    for (Instruction &instruction : block) {
      auto *choice = dyn_cast<SelectInst>(&instruction);
      if (!choice || !leads_to_address(*choice))
        continue;
      auto &group = groups[{&block, choice->getCondition()}];
      bool is_there = group.empty() || all_of(choice->operands(), [&](Value *operand) {
        auto *made = dyn_cast<Instruction>(operand);
        return !made || made->getParent() != &block || made->comesBefore(group.front());
      });
      if (is_there)
        group.push_back(choice);
    }
  }
  LLVMContext &context = function.getContext();
  // Empty inline assembly keeps the branch a branch, since no pass can move or drop it.
  auto *nothing = InlineAsm::get(FunctionType::get(Type::getVoidTy(context), false), "", "", /*hasSideEffects=*/true);
  SmallVector<BranchSides> branches;
  for (auto &[place, group] : groups) {
    SelectInst *first = group.front();
    Instruction *then = nullptr, *otherwise = nullptr;
    SplitBlockAndInsertIfThenElse(first->getCondition(), first->getIterator(), &then, &otherwise);
    branches.push_back({then->getParent(), otherwise->getParent(), first->getParent()});
    IRBuilder<> builder(then);
    CallInst *kept = builder.CreateCall(nothing);
    kept->setDoesNotThrow();
    kept->setMemoryEffects(MemoryEffects::inaccessibleMemOnly());
    for (SelectInst *choice : group) {
      builder.SetInsertPoint(&*first->getParent()->begin());
      PHINode *chosen = builder.CreatePHI(choice->getType(), 2);
      chosen->addIncoming(choice->getTrueValue(), then->getParent());
      chosen->addIncoming(choice->getFalseValue(), otherwise->getParent());
      choice->replaceAllUsesWith(chosen);
    }
    for (SelectInst *choice : group)
      choice->eraseFromParent();
  }
  // The first branch of each innermost loop; another one would double the loop again.
  dominators.recalculate(function);
  LoopInfo parted(dominators);
  SmallPtrSet<Loop *, 8> done;
  SmallVector<AllocaInst *> slots;
  for (const BranchSides &branch : branches) {
    Loop *loop = parted.getLoopFor(branch.behind);
    if (loop && loop->isInnermost() && may_be_copied(*loop) && done.insert(loop).second)
      split_ends(*loop, branch, slots);
  }
  dominators.recalculate(function);
  PromoteMemToReg(slots, dominators);
  return !groups.empty();
}

Function *select_at_run_time(ArrayRef<Function *> forms, size_t scalar, unsigned first, unsigned last, unsigned trial, StringRef name) {
  assert(forms.size() <= most_forms && "a choice has no room for so many forms");
  Function &model = *forms.back();
  Module &module = *model.getParent();
  LLVMContext &context = module.getContext();
  auto *wide = Type::getInt64Ty(context);
  auto number = [&](uint64_t value) { return ConstantInt::get(wide, value); };
  auto variable = [&](const Twine &called) {
    return new GlobalVariable(module, wide, false, GlobalValue::InternalLinkage, number(0), name + called);
  };
  GlobalVariable *plan = variable(".plan");
  // Time of the last run by the chosen variant, for as many iterations as a trial has, plus one; 0 if it has not run since the trial.
  GlobalVariable *pace = variable(".pace");
  // Number of trials' iterations that have run since scalar code trained branch prediction.
  GlobalVariable *since = scalar < forms.size() ? variable(".since") : nullptr;
  Function *selected = Function::Create(model.getFunctionType(), GlobalValue::InternalLinkage, name, module);
  selected->copyAttributesFrom(&model);
  selected->setLinkage(GlobalValue::InternalLinkage);
  auto block = [&](const Twine &called) { return BasicBlock::Create(context, called, selected); };
  BasicBlock *entry = block("entry"), *head = block("head"), *try_all = block("trial"), *run = block("run"),
             *timed = block("timed"), *choose = block("choose"), *ran = block("ran"), *pacing = block("pacing"),
             *next = block("next"), *exit = block("exit");
  IRBuilder<> builder(entry);
  Value *from = selected->getArg(first);
  Value *behind = builder.CreateAdd(selected->getArg(last), number(1));
  builder.CreateBr(head);

  builder.SetInsertPoint(head);
  PHINode *at = builder.CreatePHI(wide, 2, "at");
  at->addIncoming(from, entry);
  auto read = [&](GlobalVariable *from) {
    LoadInst *access = builder.CreateLoad(wide, from);
    access->setAtomic(AtomicOrdering::Monotonic);
    return access;
  };
  auto write = [&](Value *value, GlobalVariable *to) { builder.CreateStore(value, to)->setAtomic(AtomicOrdering::Monotonic); };
  Value *planned = read(plan);
  Value *holds = builder.CreateLShr(planned, number(rest_at)), *chosen = builder.CreateAnd(planned, number(most_forms - 1));
  Value *choice = builder.CreateAnd(planned, number((uint64_t(1) << rest_at) - 1));
  Value *left = builder.CreateSub(behind, at);
  Value *is_due = builder.CreateICmpEQ(holds, number(0));
  Value *is_long = builder.CreateICmpUGE(left, number(forms.size() * trial));
  builder.CreateCondBr(builder.CreateAnd(is_due, is_long), try_all, run);

  auto call = [&](Function &callee, Value *begin, Value *end) {
    SmallVector<Value *> arguments;
    for (Argument &argument : selected->args())
      arguments.push_back(&argument);
    arguments[first] = begin;
    arguments[last] = builder.CreateSub(end, number(1));
    CallInst *made = builder.CreateCall(&callee, arguments);
    made->setCallingConv(callee.getCallingConv());
  };
  auto clock = [&] { return builder.CreateIntrinsic(wide, Intrinsic::readcyclecounter, {}); };

  builder.SetInsertPoint(try_all);
  auto lesser = [&](Value *one, Value *other) { return builder.CreateBinaryIntrinsic(Intrinsic::umin, one, other); };
  auto greater = [&](Value *one, Value *other) { return builder.CreateBinaryIntrinsic(Intrinsic::umax, one, other); };
  Value *tried = at, *begin = clock(), *total = number(0), *by_chosen = number(0);
  SmallVector<Value *, 4> took;
  for (unsigned form = 0; form < forms.size(); ++form) {
    Value *end = builder.CreateAdd(tried, number(trial));
    call(*forms[form], tried, end);
    tried = end;
    Value *now = clock();
    took.push_back(builder.CreateOr(builder.CreateSub(now, begin), number(1)));
    begin = now;
    total = builder.CreateAdd(total, took[form]);
    Value *is_chosen = builder.CreateICmpEQ(chosen, number(form));
    took[form] = builder.CreateSelect(is_chosen, lesser(took[form], builder.CreateSub(read(pace), number(1))), took[form]);
    by_chosen = builder.CreateSelect(is_chosen, took[form], by_chosen);
  }
  write(number(0), pace);
  // Minimum time of the variants from number `form` on, and the number of that variant.
  auto fastest_from = [&](size_t form) {
    Value *least = took[form], *which = number(form);
    for (++form; form < forms.size(); ++form) {
      which = builder.CreateSelect(builder.CreateICmpULT(took[form], least), number(form), which);
      least = lesser(took[form], least);
    }
    return std::pair(least, which);
  };
  auto [less, fastest] = fastest_from(0);
  Value *gained = builder.CreateMul(builder.CreateSub(by_chosen, less), number(part_to_gain));
  Value *has_learned = builder.CreateICmpNE(builder.CreateAnd(planned, number(uint64_t(1) << learns_at)), number(0));
  Value *is_clear = builder.CreateOr(has_learned, builder.CreateICmpUGT(gained, by_chosen));
  Value *now_chosen = builder.CreateSelect(is_clear, fastest, chosen);
  // One trial loses the time in which the fastest variant runs the iterations of `(total - forms * less) / less` trials.
  Value *lost = builder.CreateSub(total, builder.CreateMul(less, number(forms.size())));
  lost = builder.CreateUDiv(builder.CreateMul(lost, number(part_for_trials)), less);
  lost = greater(lesser(lost, number(most_times * part_for_trials)), number(least_trials));
  Value *before = builder.CreateLShr(choice, number(trials_at));
  Value *is_as_before = builder.CreateICmpEQ(now_chosen, chosen);
  Value *trials = greater(lesser(lost, builder.CreateShl(before, number(1))), number(1));
  trials = builder.CreateSelect(is_as_before, trials, number(1));
  Value *runs = trials, *learns = number(0);
  if (since) {
    auto [least, which] = fastest_from(scalar);
    Value *passed = builder.CreateAdd(read(since), builder.CreateAdd(before, number(forms.size())));
    Value *loses = builder.CreateMul(builder.CreateSub(least, less), number(trials_to_learn * part_to_learn));
    Value *may_learn = builder.CreateICmpUGE(passed, builder.CreateUDiv(loses, less));
    may_learn = builder.CreateAnd(may_learn, builder.CreateICmpULT(now_chosen, number(scalar)));
    may_learn = builder.CreateAnd(may_learn, builder.CreateNot(has_learned));
    write(builder.CreateSelect(builder.CreateOr(may_learn, has_learned), number(0), passed), since);
    now_chosen = builder.CreateSelect(may_learn, which, now_chosen);
    trials = builder.CreateSelect(may_learn, number(1), trials);
    runs = builder.CreateSelect(may_learn, number(trials_to_learn), runs);
    learns = builder.CreateSelect(may_learn, number(uint64_t(1) << learns_at), learns);
  }
  now_chosen = builder.CreateOr(builder.CreateOr(builder.CreateShl(trials, number(trials_at)), learns), now_chosen);
  write(builder.CreateOr(builder.CreateShl(builder.CreateMul(runs, number(trial)), number(rest_at)), now_chosen), plan);
  builder.CreateBr(next);

  builder.SetInsertPoint(run);
  // The last choice runs iterations that are too few for a trial.
  Value *until = builder.CreateSelect(is_due, left, builder.CreateBinaryIntrinsic(Intrinsic::umin, left, holds));
  Value *reached = builder.CreateAdd(at, until);
  // Reading the clock takes longer than a few iterations.
  Value *is_timed = builder.CreateICmpUGE(until, number(trial));
  builder.CreateCondBr(is_timed, timed, choose);
  builder.SetInsertPoint(timed);
  Value *start = clock();
  builder.CreateBr(choose);
  SmallVector<BasicBlock *, 4> by;
  for (Function *form : forms) {
    by.push_back(block("by." + form->getName()));
    builder.SetInsertPoint(by.back());
    call(*form, at, reached);
    builder.CreateBr(ran);
  }
  builder.SetInsertPoint(choose);
  PHINode *started = builder.CreatePHI(wide, 2, "started");
  started->addIncoming(number(0), run);
  started->addIncoming(start, timed);
  SwitchInst *choices = builder.CreateSwitch(chosen, by[0], forms.size() - 1);
  for (unsigned form = 1; form < forms.size(); ++form)
    choices->addCase(number(form), by[form]);
  builder.SetInsertPoint(ran);
  // Each call of a variant starts at a multiple of a trial's iterations.
  Value *others = builder.CreateSub(holds, until);
  others = builder.CreateSub(others, builder.CreateURem(others, number(trial)));
  Value *rest = builder.CreateSelect(is_due, number(0), others);
  write(builder.CreateOr(builder.CreateShl(rest, number(rest_at)), choice), plan);
  builder.CreateCondBr(is_timed, pacing, next);
  builder.SetInsertPoint(pacing);
  Value *share = builder.CreateMul(builder.CreateSub(clock(), started), number(trial));
  write(builder.CreateAdd(builder.CreateUDiv(share, until), number(2)), pace);
  builder.CreateBr(next);

  builder.SetInsertPoint(next);
  PHINode *now = builder.CreatePHI(wide, 3, "now");
  now->addIncoming(tried, try_all);
  for (BasicBlock *from : {ran, pacing})
    now->addIncoming(reached, from);
  at->addIncoming(now, next);
  builder.CreateCondBr(builder.CreateICmpULT(now, behind), head, exit);
  builder.SetInsertPoint(exit);
  builder.CreateRetVoid();
  return selected;
}

} // namespace heddle
