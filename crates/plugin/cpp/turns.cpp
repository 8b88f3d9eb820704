// How long vector code of a search takes depends on what its lanes have in common, which no compiler sees. So such a loop
// runs a few iterations by each of its forms now and then, and the rest by the one that was fastest:
//
//   entry ──► head ──► trial: time each form; choose one, and for how many iterations
//              ▲  └──► run:   as many iterations as the choice still holds
//              └── more? ◄─┘ ──► exit
//
// The choice is kept for the next time that the loop runs. It holds for so many iterations that what trials lose is below
// a fiftieth, but at most twice as long as last time, and shortly if it has just changed: a time may be that of something
// else on the machine.
#include "turns.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace heddle {

namespace {

/// What trials may lose is one of so many parts.
constexpr uint64_t part_for_trials = 50;
/// Forms that take more times as long as the fastest count as if they took so many.
constexpr uint64_t most_times = 16;
/// For how many trials a choice holds in which all were as fast.
constexpr uint64_t least_trials = 4;
/// What is kept of a choice, from the lowest bit on: the number of the form, for how many trials it was to hold, and for how
/// many iterations it still does.
constexpr unsigned trials_at = 2, rest_at = 24;
constexpr uint64_t most_forms = uint64_t(1) << trials_at;

/// A rule that is left out, so that tests see whether they notice.
enum class Rule { none, resumes, once, all };
cl::opt<Rule> without("heddle-turns-without", cl::Hidden, cl::init(Rule::none), cl::desc("Heddle: a planted fault"),
                      cl::values(clEnumValN(Rule::resumes, "resumes", "inductions go on where the form before has stopped"),
                                 clEnumValN(Rule::once, "once", "what was tried is done"),
                                 clEnumValN(Rule::all, "all", "what is behind is left for the next turn")));

/// What a φ of the loop's header is in iteration `first`; null if it is no induction.
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
  if (without == Rule::resumes)
    return init;
  Value *times = builder.CreateZExtOrTrunc(first, each->getType());
  Value *far = builder.CreateMul(times, each);
  if (phi.getType()->isPointerTy())
    return builder.CreatePtrAdd(init, far);
  return phi.getType() == far->getType() ? builder.CreateAdd(init, far) : nullptr;
}

bool is_resumable(Loop &loop, ScalarEvolution &evolution) {
  Triple triple(loop.getHeader()->getModule()->getTargetTriple());
  if (!triple.isX86() || loop.getSubLoops().empty())
    return false;
  for (PHINode &phi : loop.getHeader()->phis()) {
    auto *recurrence =
        evolution.isSCEVable(phi.getType()) ? dyn_cast<SCEVAddRecExpr>(evolution.getSCEV(&phi)) : nullptr;
    bool is_induction = recurrence && recurrence->getLoop() == &loop && recurrence->isAffine() &&
                        isa<SCEVConstant, SCEVUnknown>(recurrence->getStepRecurrence(evolution));
    if (!is_induction)
      return false;
  }
  // What is behind the loop reads nothing of it.
  for (PHINode &phi : loop.getExitBlock()->phis())
    if (!loop.isLoopInvariant(phi.getIncomingValueForBlock(loop.getLoopLatch())))
      return false;
  return true;
}

/// A number that no pass between here and the code's end takes for a constant.
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
  // All behind the two numbers becomes part of the loop's function.
  SplitBlock(preheader, std::next(range.last->getIterator()), &dominators, &loops);
  return range;
}

bool asks_lanes(const Function &function) {
  return any_of(instructions(function), [](const Instruction &instruction) {
    auto *call = dyn_cast<CallInst>(&instruction);
    const Function *callee = call ? call->getCalledFunction() : nullptr;
    return callee && callee->isDeclaration() && callee->isConvergent() && callee->getName().starts_with("heddle_");
  });
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

bool branch_on_choices(Function &function) {
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  // Choices that one branch can make, by what it asks: of one block, and of values that are there when the first is made.
  MapVector<std::pair<BasicBlock *, Value *>, SmallVector<SelectInst *, 2>> groups;
  for (BasicBlock &block : function) {
    if (!loops.getLoopFor(&block))
      continue;
    for (Instruction &instruction : block) {
      auto *choice = dyn_cast<SelectInst>(&instruction);
      if (!choice || choice->getCondition()->getType()->isVectorTy())
        continue;
      bool is_loaded = isa<LoadInst>(choice->getTrueValue()) && isa<LoadInst>(choice->getFalseValue());
      if (!choice->getType()->isPointerTy() && !is_loaded)
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
  // Nothing, which no pass knows to be nothing, keeps the branch a branch.
  auto *nothing = InlineAsm::get(FunctionType::get(Type::getVoidTy(context), false), "", "", /*hasSideEffects=*/true);
  for (auto &[place, group] : groups) {
    SelectInst *first = group.front();
    Instruction *then = nullptr, *otherwise = nullptr;
    SplitBlockAndInsertIfThenElse(first->getCondition(), first->getIterator(), &then, &otherwise);
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
  return !groups.empty();
}

Function *take_turns(ArrayRef<Function *> forms, unsigned first, unsigned last, unsigned trial, StringRef name) {
  assert(forms.size() <= most_forms && "a choice has no room for so many forms");
  Function &model = *forms.back();
  Module &module = *model.getParent();
  LLVMContext &context = module.getContext();
  auto *wide = Type::getInt64Ty(context);
  auto number = [&](uint64_t value) { return ConstantInt::get(wide, value); };
  auto *plan = new GlobalVariable(module, wide, false, GlobalValue::InternalLinkage, number(0), name + ".plan");
  Function *turns = Function::Create(model.getFunctionType(), GlobalValue::InternalLinkage, name, module);
  turns->copyAttributesFrom(&model);
  turns->setLinkage(GlobalValue::InternalLinkage);
  auto block = [&](const Twine &called) { return BasicBlock::Create(context, called, turns); };
  BasicBlock *entry = block("entry"), *head = block("head"), *try_all = block("trial"), *run = block("run"),
             *ran = block("ran"), *next = block("next"), *exit = block("exit");
  IRBuilder<> builder(entry);
  Value *from = turns->getArg(first);
  Value *behind = builder.CreateAdd(turns->getArg(last), number(1));
  builder.CreateBr(head);

  builder.SetInsertPoint(head);
  PHINode *at = builder.CreatePHI(wide, 2, "at");
  at->addIncoming(from, entry);
  auto plan_at = [&](Value *value) {
    Instruction *access = value ? static_cast<Instruction *>(builder.CreateStore(value, plan)) : builder.CreateLoad(wide, plan);
    if (value)
      cast<StoreInst>(access)->setAtomic(AtomicOrdering::Monotonic);
    else
      cast<LoadInst>(access)->setAtomic(AtomicOrdering::Monotonic);
    return access;
  };
  Value *planned = plan_at(nullptr);
  Value *holds = builder.CreateLShr(planned, number(rest_at)), *chosen = builder.CreateAnd(planned, number(most_forms - 1));
  Value *choice = builder.CreateAnd(planned, number((uint64_t(1) << rest_at) - 1));
  Value *left = builder.CreateSub(behind, at);
  Value *is_due = builder.CreateICmpEQ(holds, number(0));
  Value *is_long = builder.CreateICmpUGE(left, number(forms.size() * trial));
  builder.CreateCondBr(builder.CreateAnd(is_due, is_long), try_all, run);

  auto call = [&](Function &callee, Value *begin, Value *end) {
    SmallVector<Value *> arguments;
    for (Argument &argument : turns->args())
      arguments.push_back(&argument);
    arguments[first] = begin;
    arguments[last] = builder.CreateSub(end, number(1));
    CallInst *made = builder.CreateCall(&callee, arguments);
    made->setCallingConv(callee.getCallingConv());
  };
  auto clock = [&] { return builder.CreateIntrinsic(wide, Intrinsic::readcyclecounter, {}); };

  builder.SetInsertPoint(try_all);
  Value *tried = at, *begin = clock(), *total = number(0), *less = nullptr, *now_chosen = number(0);
  for (unsigned form = 0; form < forms.size(); ++form) {
    Value *end = builder.CreateAdd(tried, number(trial));
    call(*forms[form], tried, end);
    tried = end;
    Value *now = clock(), *took = builder.CreateOr(builder.CreateSub(now, begin), number(1));
    begin = now;
    total = builder.CreateAdd(total, took);
    now_chosen = less ? builder.CreateSelect(builder.CreateICmpULT(took, less), number(form), now_chosen) : now_chosen;
    less = less ? builder.CreateBinaryIntrinsic(Intrinsic::umin, less, took) : took;
  }
  // (total - forms * less) / less trials are what one trial loses.
  Value *lost = builder.CreateSub(total, builder.CreateMul(less, number(forms.size())));
  lost = builder.CreateUDiv(builder.CreateMul(lost, number(part_for_trials)), less);
  lost = builder.CreateBinaryIntrinsic(Intrinsic::umin, lost, number(most_times * part_for_trials));
  lost = builder.CreateBinaryIntrinsic(Intrinsic::umax, lost, number(least_trials));
  Value *twice = builder.CreateShl(builder.CreateLShr(choice, number(trials_at)), number(1));
  Value *is_as_before = builder.CreateICmpEQ(now_chosen, chosen);
  Value *trials = builder.CreateBinaryIntrinsic(Intrinsic::umin, lost, twice);
  trials = builder.CreateBinaryIntrinsic(Intrinsic::umax, trials, number(1));
  trials = builder.CreateSelect(is_as_before, trials, number(1));
  now_chosen = builder.CreateOr(builder.CreateShl(trials, number(trials_at)), now_chosen);
  plan_at(builder.CreateOr(builder.CreateShl(builder.CreateMul(trials, number(trial)), number(rest_at)), now_chosen));
  builder.CreateBr(next);

  builder.SetInsertPoint(run);
  // Too few for a trial are run by what was chosen last.
  Value *until = builder.CreateSelect(is_due, left, builder.CreateBinaryIntrinsic(Intrinsic::umin, left, holds));
  Value *reached = builder.CreateAdd(at, until), *more = builder.CreateAdd(reached, number(1));
  SmallVector<BasicBlock *, 3> by;
  for (Function *form : forms) {
    by.push_back(block("by." + form->getName()));
    builder.SetInsertPoint(by.back());
    call(*form, at, reached);
    builder.CreateBr(ran);
  }
  builder.SetInsertPoint(run);
  SwitchInst *choose = builder.CreateSwitch(chosen, by[0], forms.size() - 1);
  for (unsigned form = 1; form < forms.size(); ++form)
    choose->addCase(number(form), by[form]);
  builder.SetInsertPoint(ran);
  Value *rest = builder.CreateSelect(is_due, number(0), builder.CreateSub(holds, until));
  plan_at(builder.CreateOr(builder.CreateShl(rest, number(rest_at)), choice));
  builder.CreateBr(next);

  builder.SetInsertPoint(next);
  PHINode *now = builder.CreatePHI(wide, 2, "now");
  now->addIncoming(without == Rule::once ? at : tried, try_all);
  now->addIncoming(without == Rule::all ? more : reached, ran);
  at->addIncoming(now, next);
  builder.CreateCondBr(builder.CreateICmpULT(now, behind), head, exit);
  builder.SetInsertPoint(exit);
  builder.CreateRetVoid();
  return turns;
}

} // namespace heddle
