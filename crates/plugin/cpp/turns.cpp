// How long vector code of a search takes depends on what its lanes have in common, which no compiler sees. So such a loop
// runs a few iterations by each of its two codes now and then, and the rest by the one that was faster:
//
//   entry ──► head ──► trial: time vector code, then scalar code; choose, and for how many iterations
//              ▲  └──► run:   as many iterations as the choice still holds
//              └── more? ◄─┘ ──► exit
//
// The choice is kept for the next time that the loop runs. It holds for so many iterations that what trials lose is below
// a fiftieth, and shortly if it has just changed, since a time may be that of something else on the machine.
#include "turns.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace heddle {

namespace {

/// What trials may lose is one of so many parts.
constexpr uint64_t part_for_trials = 50;
/// A code that takes more times as long as the other counts as if it took so many.
constexpr uint64_t most_times = 64;
/// For how many trials a choice holds that has just changed.
constexpr uint64_t trials_until_sure = 4;

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

Function *take_turns(Function &vector, Function &scalar, unsigned first, unsigned last, unsigned trial, StringRef name) {
  Module &module = *vector.getParent();
  LLVMContext &context = module.getContext();
  auto *wide = Type::getInt64Ty(context);
  auto number = [&](uint64_t value) { return ConstantInt::get(wide, value); };
  // For how many iterations more the choice holds, times two, and whether it is scalar code.
  auto *plan = new GlobalVariable(module, wide, false, GlobalValue::InternalLinkage, number(0), name + ".plan");
  Function *turns = Function::Create(vector.getFunctionType(), GlobalValue::InternalLinkage, name, module);
  turns->copyAttributesFrom(&scalar);
  turns->setLinkage(GlobalValue::InternalLinkage);
  auto block = [&](const char *called) { return BasicBlock::Create(context, called, turns); };
  BasicBlock *entry = block("entry"), *head = block("head"), *try_both = block("trial"), *run = block("run"),
             *by_vector = block("vector"), *by_scalar = block("scalar"), *ran = block("ran"), *next = block("next"),
             *exit = block("exit");
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
  Value *holds = builder.CreateLShr(planned, number(1)), *is_scalar = builder.CreateTrunc(planned, builder.getInt1Ty());
  Value *left = builder.CreateSub(behind, at);
  Value *is_due = builder.CreateICmpEQ(holds, number(0));
  Value *is_long = builder.CreateICmpUGE(left, number(2 * trial));
  builder.CreateCondBr(builder.CreateAnd(is_due, is_long), try_both, run);

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

  builder.SetInsertPoint(try_both);
  Value *middle = builder.CreateAdd(at, number(trial)), *tried = builder.CreateAdd(middle, number(trial));
  Value *start = clock();
  call(vector, at, middle);
  Value *half = clock();
  call(scalar, middle, tried);
  Value *end = clock();
  Value *of_vector = builder.CreateSub(half, start), *of_scalar = builder.CreateSub(end, half);
  Value *chooses_scalar = builder.CreateICmpULT(of_scalar, of_vector);
  Value *more = builder.CreateSelect(chooses_scalar, of_vector, of_scalar);
  Value *less = builder.CreateSelect(chooses_scalar, of_scalar, of_vector);
  less = builder.CreateOr(less, number(1));
  // (more - less) / less trials are what one trial loses.
  Value *lost = builder.CreateUDiv(builder.CreateMul(builder.CreateSub(more, less), number(part_for_trials)), less);
  lost = builder.CreateBinaryIntrinsic(Intrinsic::umin, lost, number(most_times * part_for_trials));
  lost = builder.CreateBinaryIntrinsic(Intrinsic::umax, lost, number(trials_until_sure));
  Value *is_as_before = builder.CreateICmpEQ(chooses_scalar, is_scalar);
  Value *trials = builder.CreateSelect(is_as_before, lost, number(trials_until_sure));
  Value *chosen = builder.CreateZExt(chooses_scalar, wide);
  plan_at(builder.CreateOr(builder.CreateMul(trials, number(2 * trial)), chosen));
  builder.CreateBr(next);

  builder.SetInsertPoint(run);
  // Too few for a trial are run by what was chosen last.
  Value *until = builder.CreateSelect(is_due, left, builder.CreateBinaryIntrinsic(Intrinsic::umin, left, holds));
  Value *reached = builder.CreateAdd(at, until);
  builder.CreateCondBr(is_scalar, by_scalar, by_vector);
  builder.SetInsertPoint(by_vector);
  call(vector, at, reached);
  builder.CreateBr(ran);
  builder.SetInsertPoint(by_scalar);
  call(scalar, at, reached);
  builder.CreateBr(ran);
  builder.SetInsertPoint(ran);
  Value *rest = builder.CreateSelect(is_due, number(0), builder.CreateSub(holds, until));
  plan_at(builder.CreateOr(builder.CreateShl(rest, number(1)), builder.CreateZExt(is_scalar, wide)));
  builder.CreateBr(next);

  builder.SetInsertPoint(next);
  PHINode *now = builder.CreatePHI(wide, 2, "now");
  now->addIncoming(tried, try_both);
  now->addIncoming(reached, ran);
  at->addIncoming(now, next);
  builder.CreateCondBr(builder.CreateICmpULT(now, behind), head, exit);
  builder.SetInsertPoint(exit);
  builder.CreateRetVoid();
  return turns;
}

} // namespace heddle
