// Splits loops that clang makes of whole nests. clang counts the iterations of a nest under `collapse` by one counter, and computes the
// counters of the nest by divisions. Divisions have no vector form, and hide contiguous accesses. Rows may have any length:
//
//   for (k = 0; k <= last; k++)        for (first = q = 0;; first += m, q++) {
//     f(k / m, k % m);           ──►     end = min(m - 1, last - first);
//                                        for (r = 0; r <= end; r++)
//                                          f(q, r);
//                                        if (end == last - first) break;
//                                      }
//
// `m` is not 0, since the loop divides by it. For a negative `m` a row has `-m` iterations, and `q` counts down.
#include "collapsed.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

using namespace llvm;

namespace heddle {

namespace {

/// Minimum length of constant rows: shorter ones fill no vectors.
constexpr uint64_t least_row = 16;

/// A counter from 0, and its divisions by a loop-invariant number.
struct Divided {
  PHINode *count = nullptr;
  SmallVector<BinaryOperator *> divisions;
};

bool is_rest(const BinaryOperator &division) {
  return division.getOpcode() == Instruction::URem || division.getOpcode() == Instruction::SRem;
}

bool is_signed(const BinaryOperator &division) {
  return division.getOpcode() == Instruction::SDiv || division.getOpcode() == Instruction::SRem;
}

/// Adds the divisions of a counter, or of a truncation that keeps its value, with the divisor and the signedness of the first one.
void add_divisions(const Value &count, const Loop &loop, const APInt &most, SmallVectorImpl<BinaryOperator *> &divisions) {
  for (const User *user : count.users()) {
    auto *division = dyn_cast<BinaryOperator>(const_cast<User *>(user));
    if (const auto *part = dyn_cast<TruncInst>(user); part && isa<PHINode>(count))
      add_divisions(*part, loop, most, divisions);
    if (!division || !division->isIntDivRem() || division->getOperand(0) != &count || !loop.contains(division))
      continue;
    const Value *by = division->getOperand(1);
    const auto *constant = dyn_cast<ConstantInt>(by);
    bool is_short = isa<Constant>(by) && !(constant && constant->getValue().sge(least_row));
    bool is_whole = most.getActiveBits() + is_signed(*division) <= division->getType()->getIntegerBitWidth();
    bool is_like_others = divisions.empty() || (divisions.front()->getOperand(1) == by &&
                                                is_signed(*divisions.front()) == is_signed(*division));
    if (loop.isLoopInvariant(by) && !is_short && is_whole && is_like_others)
      divisions.push_back(division);
  }
}

Divided find_divided(Loop &loop, ScalarEvolution &evolution) {
  for (PHINode &phi : loop.getHeader()->phis()) {
    auto *counter = evolution.isSCEVable(phi.getType()) ? dyn_cast<SCEVAddRecExpr>(evolution.getSCEV(&phi)) : nullptr;
    if (!phi.getType()->isIntegerTy() || !counter || counter->getLoop() != &loop || !counter->getStart()->isZero() ||
        !counter->getStepRecurrence(evolution)->isOne())
      continue;
    Divided divided = {&phi, {}};
    add_divisions(phi, loop, evolution.getUnsignedRangeMax(counter), divided.divisions);
    if (!divided.divisions.empty())
      return divided;
  }
  return {};
}

} // namespace

bool make_nest_again(Loop &loop, DominatorTree &dominators, LoopInfo &loops, ScalarEvolution &evolution) {
  const Divided divided = find_divided(loop, evolution);
  PHINode *count = divided.count;
  BasicBlock *header = loop.getHeader(), *latch = loop.getLoopLatch(), *before = loop.getLoopPreheader();
  BasicBlock *tail = loop.getExitBlock();
  auto *end_of_row = dyn_cast<BranchInst>(latch->getTerminator());
  const SCEV *back = count ? evolution.getExitCount(&loop, latch) : nullptr;
  if (!back || !tail || !end_of_row || isa<SCEVCouldNotCompute>(back) || back->getType() != count->getType())
    return false;
  SCEVExpander expander(evolution, "heddle");
  if (!expander.isSafeToExpandAt(back, before->getTerminator()))
    return false;
  Value *last = expander.expandCodeFor(back, count->getType(), before->getTerminator());
  Type *type = count->getType();
  Value *zero = ConstantInt::get(type, 0), *one = ConstantInt::get(type, 1);
  IRBuilder<> builder(before->getTerminator());
  bool has_sign = is_signed(*divided.divisions.front());
  Value *by = builder.CreateIntCast(divided.divisions.front()->getOperand(1), type, has_sign);
  Value *size = by, *step = one;
  if (has_sign) {
    size = builder.CreateBinaryIntrinsic(Intrinsic::abs, by, builder.getFalse());
    step = builder.CreateSelect(builder.CreateICmpSLT(by, zero), Constant::getAllOnesValue(type), one);
  }
  size = builder.CreateBinaryIntrinsic(Intrinsic::umax, size, one, {}, "heddle.row");

  BasicBlock *head = SplitBlock(before, before->getTerminator(), &dominators, &loops);
  BasicBlock *behind = SplitBlock(tail, tail->getFirstNonPHIIt(), &dominators, &loops);
  builder.SetInsertPoint(head->getTerminator());
  auto carried = [&](Value *init, const Twine &name) {
    auto *phi = PHINode::Create(init->getType(), 2, name, head->begin());
    phi->addIncoming(init, before);
    return phi;
  };
  PHINode *first = carried(zero, "heddle.first"), *quotient = carried(zero, "heddle.quotient");
  Value *left = builder.CreateSub(last, first);
  Value *end = builder.CreateBinaryIntrinsic(Intrinsic::umin, builder.CreateSub(size, one), left, {}, "heddle.end");
  for (PHINode &phi : header->phis()) {
    if (&phi == count)
      continue;
    PHINode *outer = carried(phi.getIncomingValueForBlock(head), phi.getName());
    outer->addIncoming(phi.getIncomingValueForBlock(latch), tail);
    phi.setIncomingValueForBlock(head, outer);
  }

  auto *rest = PHINode::Create(type, 2, "heddle.rest", header->begin());
  rest->addIncoming(zero, head);
  for (BinaryOperator *division : divided.divisions) {
    builder.SetInsertPoint(division);
    division->replaceAllUsesWith(builder.CreateTrunc(is_rest(*division) ? rest : quotient, division->getType()));
    division->eraseFromParent();
  }
  builder.SetInsertPoint(header, header->getFirstInsertionPt());
  Value *whole = builder.CreateAdd(first, rest, "", /*HasNUW=*/true);
  builder.SetInsertPoint(end_of_row);
  rest->addIncoming(builder.CreateAdd(rest, one, "", /*HasNUW=*/true), latch);
  Value *old = end_of_row->getCondition();
  bool leaves_if_true = !loop.contains(end_of_row->getSuccessor(0));
  end_of_row->setCondition(builder.CreateICmp(leaves_if_true ? CmpInst::ICMP_EQ : CmpInst::ICMP_NE, rest, end));
  evolution.forgetLoop(&loop);
  count->replaceAllUsesWith(whole);
  count->eraseFromParent();
  RecursivelyDeleteTriviallyDeadInstructions(old);

  Instruction *leave = tail->getTerminator();
  builder.SetInsertPoint(leave);
  first->addIncoming(builder.CreateAdd(first, size), tail);
  quotient->addIncoming(builder.CreateAdd(quotient, step), tail);
  builder.CreateCondBr(builder.CreateICmpEQ(end, left), behind, head);
  leave->eraseFromParent();
  return true;
}

} // namespace heddle
