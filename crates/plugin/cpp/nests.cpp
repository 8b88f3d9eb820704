// Restores the loops of nests whose iterations clang counts by one counter. For `collapse(2)` clang writes:
//
//   if (0 < n && 0 < m)                           for (q = 0; q < n; q++)
//     for (k = 0; k < n * m; k++) {       ──►       for (r = 0; r < m; r++)
//       y = k / m, x = k - k / m * m;                 f(q, r);
//       f(y, x);
//     }
//
// This runs before LLVM's passes, which then see counters that do not overflow, contiguous accesses, and rows of a known length.
// `make_nest_again`, which runs late, splits other loops with divisions, and those whose rows are not proved to be complete.
#include "nests.h"
#include "collapsed.h"
#include "dependences.h"
#include "indices.h"
#include "managers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/InstructionSimplify.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/LoopRotationUtils.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace heddle {

namespace {

/// Maximum number of levels of a restored nest; further levels stay collapsed.
constexpr unsigned most_levels = 8;

/// A comparison of signed numbers that holds where a loop runs: `low < high`, or `low <= high`.
struct Guard {
  Value *low, *high;
  bool is_strict;
};

/// Returns the signed comparisons that hold where a block runs.
SmallVector<Guard> find_guards(const BasicBlock *block, const DominatorTree &dominators) {
  SmallVector<Value *> conditions;
  for (const DomTreeNode *node = dominators.getNode(block)->getIDom(); node; node = node->getIDom()) {
    auto *branch = dyn_cast<BranchInst>(node->getBlock()->getTerminator());
    if (branch && branch->isConditional() && dominators.dominates({node->getBlock(), branch->getSuccessor(0)}, block))
      conditions.push_back(branch->getCondition());
  }
  SmallVector<Guard> guards;
  while (!conditions.empty()) {
    Value *condition = conditions.pop_back_val(), *left = nullptr, *right = nullptr;
    if (match(condition, m_LogicalAnd(m_Value(left), m_Value(right)))) {
      conditions.append({left, right});
    } else if (auto *comparison = dyn_cast<ICmpInst>(condition); comparison && comparison->isSigned()) {
      bool is_strict = ICmpInst::isStrictPredicate(comparison->getPredicate());
      left = comparison->getOperand(0), right = comparison->getOperand(1);
      if (ICmpInst::isGT(comparison->getPredicate()) || ICmpInst::isGE(comparison->getPredicate()))
        std::swap(left, right);
      guards.push_back({left, right, is_strict});
    }
  }
  return guards;
}

/// Calls `is_enough(value, more)` for each way to write a signed number as `value + more`, until a call returns true. True if one does.
bool any_sum(Value *number, function_ref<bool(Value *, int64_t)> is_enough) {
  int64_t more = 0;
  for (;;) {
    if (is_enough(number, more))
      return true;
    const APInt *constant = nullptr;
    Value *rest = nullptr;
    bool is_sum = match(number, m_NSWAdd(m_Value(rest), m_APInt(constant)));
    if ((!is_sum && !match(number, m_NSWSub(m_Value(rest), m_APInt(constant)))) || constant->getSignificantBits() > 32)
      return false;
    more += is_sum ? constant->getSExtValue() : -constant->getSExtValue();
    number = rest;
  }
}

/// True if a trip count is positive where its loop runs.
bool is_positive(Value *count, ArrayRef<Guard> guards) {
  if (const auto *constant = dyn_cast<ConstantInt>(count))
    return constant->getValue().isStrictlyPositive();
  return any_sum(count, [&](Value *value, int64_t more) {
    return any_of(guards, [&](const Guard &guard) {
      const APInt *low = nullptr;
      if (guard.high == value && match(guard.low, m_APInt(low)) && low->getSignificantBits() <= 32)
        return low->getSExtValue() + guard.is_strict + more > 0;
      return match(value, m_NSWSub(m_Specific(guard.high), m_Specific(guard.low))) && more + guard.is_strict > 0;
    });
  });
}

/// Adds the factors of a signed product that does not overflow, through sign extensions. A zero extension is a factor itself.
void add_factors(Value *product, SmallVectorImpl<Value *> &factors) {
  SmallVector<Value *> work = {product};
  while (!work.empty()) {
    Value *value = work.pop_back_val(), *left = nullptr, *right = nullptr, *narrow = nullptr;
    if (match(value, m_NSWMul(m_Value(left), m_Value(right))))
      work.append({right, left});
    else if (match(value, m_SExt(m_Value(narrow))))
      work.push_back(narrow);
    else
      factors.push_back(value);
  }
}

/// A loop that counts the iterations of a nest from 0, and its division into rows.
struct Collapsed {
  PHINode *count = nullptr;
  /// Number of iterations in a row, and factors of the number of rows; all are positive.
  Value *size = nullptr;
  SmallVector<Value *> rows;
  SmallVector<BinaryOperator *> divisions;
};

/// Replaces `k - k / size * size` by a remainder.
void find_remainders(Collapsed &nest) {
  for (BinaryOperator *quotient : SmallVector<BinaryOperator *>(nest.divisions)) {
    BinaryOperator *remainder = nullptr;
    for (User *product : SmallVector<User *>(quotient->users())) {
      if (!match(product, m_c_Mul(m_Specific(quotient), m_Specific(nest.size))))
        continue;
      for (User *user : SmallVector<User *>(product->users())) {
        if (!match(user, m_Sub(m_Specific(nest.count), m_Specific(product))))
          continue;
        if (!remainder) {
          bool is_signed = quotient->getOpcode() == Instruction::SDiv;
          remainder = BinaryOperator::Create(is_signed ? Instruction::SRem : Instruction::URem, nest.count, nest.size, "",
                                             std::next(quotient->getIterator()));
          remainder->setDebugLoc(quotient->getDebugLoc());
          nest.divisions.push_back(remainder);
        }
        user->replaceAllUsesWith(remainder);
      }
    }
  }
}

Collapsed find_collapsed(Loop &loop, const DominatorTree &dominators) {
  BasicBlock *before = loop.getLoopPreheader(), *latch = loop.getLoopLatch();
  auto *end = latch ? dyn_cast<BranchInst>(latch->getTerminator()) : nullptr;
  Value *total = nullptr, *next = nullptr;
  CmpPredicate predicate;
  if (!before || !end || !end->isConditional() || !loop.contains(end->getSuccessor(0)) ||
      !match(end->getCondition(), m_ICmp(predicate, m_Value(next), m_Value(total))) || predicate != CmpInst::ICMP_SLT ||
      !loop.isLoopInvariant(total))
    return {};
  for (PHINode &phi : loop.getHeader()->phis()) {
    if (!phi.getType()->isIntegerTy() || !match(phi.getIncomingValueForBlock(before), m_ZeroInt()) ||
        phi.getIncomingValueForBlock(latch) != next || !match(next, m_c_Add(m_Specific(&phi), m_One())))
      continue;
    Collapsed nest;
    nest.count = &phi;
    for (User *user : phi.users()) {
      auto *division = dyn_cast<BinaryOperator>(user);
      if (!division || !division->isIntDivRem() || division->getOperand(0) != &phi || !loop.contains(division))
        continue;
      Value *by = division->getOperand(1);
      bool is_changed = false;
      if (loop.makeLoopInvariant(by, is_changed) && (!nest.size || nest.size == by)) {
        nest.size = by;
        nest.divisions.push_back(division);
      }
    }
    if (!nest.size)
      continue;
    SmallVector<Value *> in_row;
    add_factors(total, nest.rows);
    add_factors(nest.size, in_row);
    const SmallVector<Guard> guards = find_guards(before, dominators);
    auto is_known = [&](Value *factor) { return isa<ZExtInst>(factor) || is_positive(factor, guards); };
    if (!all_of(nest.rows, is_known))
      return {};
    for (Value *factor : in_row) {
      auto *at = find(nest.rows, factor);
      if (at == nest.rows.end())
        return {};
      nest.rows.erase(at);
    }
    return nest;
  }
  return {};
}

/// True if a counter that starts at `start` and advances by `step` does not leave its 32-bit type in `count` iterations.
bool stays_in_type(Value *start, int64_t step, Value *count, ArrayRef<Guard> guards) {
  Value *narrow = nullptr;
  if (match(start, m_SExt(m_Value(narrow))))
    start = narrow;
  if (match(count, m_SExt(m_Value(narrow))) && narrow->getType()->isIntegerTy(32) && step == 1) {
    // The last number is `start + count - 1`.
    const auto *constant = dyn_cast<ConstantInt>(start);
    return any_sum(narrow, [&](Value *value, int64_t more) {
      return (constant && constant->getValue().getSignificantBits() <= 32 && constant->getSExtValue() + more <= 1) ||
             (match(value, m_NSWSub(m_Value(), m_Specific(start))) && more <= 1);
    });
  }
  // Bounds that are no constants: `(end - start + more) / step` as an unsigned number, which is exact if `start` is not above `end`.
  // The last number is `end + more - step` at most.
  if (!match(count, m_ZExt(m_Value(narrow))) || !narrow->getType()->isIntegerTy(32))
    return false;
  const APInt *number = nullptr;
  Value *rest = nullptr, *end = nullptr;
  if (step > 1 && (!match(narrow, m_UDiv(m_Value(rest), m_APInt(number))) || *number != uint64_t(step)))
    return false;
  Value *distance = step > 1 ? rest : narrow;
  int64_t more = 0;
  if (match(distance, m_Add(m_Value(rest), m_APInt(number)))) {
    more = number->getSExtValue();
    distance = rest;
  }
  auto is_ahead = [&](const Guard &guard) { return guard.low == start && guard.high == end; };
  return step >= 1 && more >= 0 && more <= step && match(distance, m_Sub(m_Value(end), m_Specific(start))) && any_of(guards, is_ahead);
}

/// A counter of the source: `start + number * step`, truncated to its type.
struct SourceCounter {
  Instruction *value;
  /// Null for 0.
  Value *start;
  int64_t step;
  /// True if its sums are marked not to overflow before they are truncated.
  bool is_exact;
};

/// Finds the counters of the source that a loop computes from `far`, which is `number * step`.
void find_counters(Value &far, int64_t step, bool is_exact, const Loop &loop, SmallVectorImpl<SourceCounter> &found) {
  for (User *user : far.users()) {
    auto *instruction = cast<Instruction>(user);
    Value *start = nullptr;
    if (!loop.contains(instruction))
      continue;
    if (isa<TruncInst>(instruction))
      found.push_back({instruction, nullptr, step, is_exact});
    else if (match(user, m_c_Add(m_Specific(&far), m_Value(start))))
      found.push_back({instruction, start, step, is_exact && cast<BinaryOperator>(user)->hasNoSignedWrap()});
    else if (match(user, m_Sub(m_Value(start), m_Specific(&far))))
      found.push_back({instruction, start, -step, is_exact && cast<BinaryOperator>(user)->hasNoSignedWrap()});
  }
}

/// Gives each counter of the source a φ of its own, in a loop whose iterations `number` counts from 0.
void restore_counters(Loop &loop, PHINode &number, Value *count, ArrayRef<Guard> guards) {
  BasicBlock *before = loop.getLoopPreheader(), *latch = loop.getLoopLatch(), *header = loop.getHeader();
  SmallVector<SourceCounter> counters;
  find_counters(number, 1, true, loop, counters);
  for (User *user : number.users()) {
    const APInt *step = nullptr;
    if (match(user, m_c_Mul(m_Specific(&number), m_APInt(step))) && step->getSignificantBits() <= 32)
      find_counters(*user, step->getSExtValue(), cast<BinaryOperator>(user)->hasNoSignedWrap(), loop, counters);
  }
  SmallVector<WeakTrackingVH> old;
  for (SourceCounter counter : counters) {
    bool is_changed = false;
    if (counter.value == number.getIncomingValueForBlock(latch) ||
        (counter.start && !loop.makeLoopInvariant(counter.start, is_changed)))
      continue;
    Instruction *value = counter.value;
    if (auto *cut = value->hasOneUse() ? dyn_cast<TruncInst>(value->user_back()) : nullptr; cut && counter.start)
      value = cut;
    IRBuilder<> builder(before->getTerminator());
    Value *start = counter.start ? counter.start : Constant::getNullValue(number.getType());
    if (isa<TruncInst>(value))
      counter.is_exact &= value->getType()->isIntegerTy(32) && stays_in_type(start, counter.step, count, guards);
    auto *phi = PHINode::Create(value->getType(), 2, "heddle.counter", header->begin());
    phi->addIncoming(builder.CreateTrunc(start, value->getType()), before);
    builder.SetInsertPoint(latch->getTerminator());
    Value *step = ConstantInt::getSigned(value->getType(), counter.step);
    phi->addIncoming(builder.CreateAdd(phi, step, "", /*HasNUW=*/false, /*HasNSW=*/counter.is_exact), latch);
    value->replaceAllUsesWith(phi);
    old.push_back(value);
  }
  RecursivelyDeleteTriviallyDeadInstructionsPermissive(old);
}

/// Counters from 0 of the loop over rows and of the loop over one row, and the number of rows.
struct Rows {
  PHINode *row = nullptr, *rest = nullptr;
  Value *count = nullptr;
};

/// Splits a loop into a loop over rows and an inner loop over the iterations of one row. Null if that is impossible.
Rows split_rows(Loop &loop, const Collapsed &nest, DominatorTree &dominators, LoopInfo &loops, ScalarEvolution &evolution) {
  BasicBlock *header = loop.getHeader(), *latch = loop.getLoopLatch(), *before = loop.getLoopPreheader();
  BasicBlock *tail = loop.getExitBlock();
  if (!tail || tail->getSinglePredecessor() != latch)
    return {};
  PHINode *count = nest.count;
  auto *end_of_row = cast<BranchInst>(latch->getTerminator());
  Type *type = count->getType();
  Value *zero = ConstantInt::get(type, 0), *one = ConstantInt::get(type, 1);
  IRBuilder<> builder(before->getTerminator());
  Value *rows = one;
  for (Value *factor : nest.rows) {
    Value *wide = builder.CreateIntCast(factor, type, /*isSigned=*/true);
    rows = rows == one ? wide : builder.CreateNSWMul(rows, wide, "heddle.rows");
  }
  BasicBlock *head = SplitBlock(before, before->getTerminator(), &dominators, &loops);
  BasicBlock *behind = SplitBlock(tail, tail->getFirstNonPHIIt(), &dominators, &loops);
  auto *row = PHINode::Create(type, 2, "heddle.row", head->begin());
  row->addIncoming(zero, before);
  for (PHINode &phi : header->phis()) {
    if (&phi == count)
      continue;
    auto *outer = PHINode::Create(phi.getType(), 2, phi.getName(), head->begin());
    outer->addIncoming(phi.getIncomingValueForBlock(head), before);
    outer->addIncoming(phi.getIncomingValueForBlock(latch), tail);
    phi.setIncomingValueForBlock(head, outer);
  }
  auto *rest = PHINode::Create(type, 2, "heddle.rest", header->begin());
  rest->addIncoming(zero, head);
  for (BinaryOperator *division : nest.divisions) {
    bool is_rest = division->getOpcode() == Instruction::URem || division->getOpcode() == Instruction::SRem;
    division->replaceAllUsesWith(is_rest ? rest : row);
    division->eraseFromParent();
  }
  // Other uses of the counter.
  builder.SetInsertPoint(head->getTerminator());
  Value *first = builder.CreateNSWMul(row, nest.size, "heddle.first");
  builder.SetInsertPoint(header, header->getFirstInsertionPt());
  Value *whole = builder.CreateNSWAdd(first, rest);
  builder.SetInsertPoint(end_of_row);
  Value *next = builder.CreateAdd(rest, one, "", /*HasNUW=*/true, /*HasNSW=*/true);
  rest->addIncoming(next, latch);
  Value *old = end_of_row->getCondition();
  end_of_row->setCondition(builder.CreateICmpSLT(next, nest.size));
  evolution.forgetLoop(&loop);
  count->replaceAllUsesWith(whole);
  count->eraseFromParent();
  RecursivelyDeleteTriviallyDeadInstructions(old);
  RecursivelyDeleteTriviallyDeadInstructions(whole);
  Instruction *leave = tail->getTerminator();
  builder.SetInsertPoint(leave);
  Value *next_row = builder.CreateAdd(row, one, "", /*HasNUW=*/true, /*HasNSW=*/true);
  row->addIncoming(next_row, tail);
  BranchInst *back = builder.CreateCondBr(builder.CreateICmpSLT(next_row, rows), head, behind);
  leave->eraseFromParent();
  // If iterations are marked independent, both loops get the hints; else only the inner one keeps them.
  if (is_parallel(loop)) {
    MDNode *id = loop.getLoopID();
    SmallVector<Metadata *> operands(id->op_begin(), id->op_end());
    MDNode *own = MDNode::getDistinct(id->getContext(), operands);
    own->replaceOperandWith(0, own);
    back->setMetadata(LLVMContext::MD_loop, own);
  }
  return {row, rest, rows};
}

/// Analyses of a function whose loops change.
struct NestAnalyses {
  DominatorTree dominators;
  LoopInfo loops;
  AssumptionCache assumptions;
  TargetLibraryInfoImpl library_names;
  TargetLibraryInfo library;
  ScalarEvolution evolution;
  TargetTransformInfo costs;

  explicit NestAnalyses(Function &function)
      : dominators(function), loops(dominators), assumptions(function),
        library_names(function.getParent()->getTargetTriple()), library(library_names, &function),
        evolution(function, library, assumptions, dominators, loops), costs(function.getParent()->getDataLayout()) {}
};

/// Splits one loop, identified by its header, into rows. Returns the header of the loop over one row; null if nothing was split.
BasicBlock *restore_level(Function &function, BasicBlock *header) {
  NestAnalyses facts(function);
  Loop *loop = facts.loops.getLoopFor(header);
  if (!loop || loop->getHeader() != header || !loop->getUniqueExitBlock())
    return nullptr;
  simplifyLoop(loop, &facts.dominators, &facts.loops, &facts.evolution, &facts.assumptions, nullptr, false);
  if (loop->isLoopSimplifyForm() && loop->getExitingBlock() && loop->getExitingBlock() != loop->getLoopLatch()) {
    SimplifyQuery query(function.getDataLayout(), &facts.library, &facts.dominators, &facts.assumptions);
    LoopRotation(loop, &facts.loops, &facts.costs, &facts.assumptions, &facts.dominators, &facts.evolution, nullptr, query,
                 false, -1u, true);
  }
  if (!loop->isLoopSimplifyForm() || loop->getExitingBlock() != loop->getLoopLatch())
    return nullptr;
  Collapsed nest = find_collapsed(*loop, facts.dominators);
  if (!nest.count)
    return nullptr;
  find_remainders(nest);
  header = loop->getHeader();
  const Rows rows = split_rows(*loop, nest, facts.dominators, facts.loops, facts.evolution);
  if (!rows.rest)
    return nullptr;
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  Loop *inner = loops.getLoopFor(header);
  const SmallVector<Guard> guards = find_guards(header, dominators);
  restore_counters(*inner, *rows.rest, nest.size, guards);
  restore_counters(*inner->getParentLoop(), *rows.row, rows.count, guards);
  return header;
}

bool is_to_vectorize(const Loop &loop) {
  const MDNode *id = loop.getLoopID();
  return id && number_of(id, "llvm.loop.vectorize.enable", 0) == 1;
}

} // namespace

bool restore_nests(Function &function) {
  auto has_hints = [](const BasicBlock &block) {
    const Instruction *end = block.getTerminator();
    const MDNode *id = end ? end->getMetadata(LLVMContext::MD_loop) : nullptr;
    return id && number_of(id, "llvm.loop.vectorize.enable", 0) == 1;
  };
  if (none_of(function, has_hints))
    return false;
  Managers managers;
  FunctionPassManager passes;
  passes.addPass(SROAPass(SROAOptions::PreserveCFG));
  passes.addPass(EarlyCSEPass());
  passes.run(function, managers.functions);
  SmallVector<WeakTrackingVH> headers;
  {
    DominatorTree dominators(function);
    LoopInfo loops(dominators);
    for (Loop *loop : loops.getLoopsInPreorder()) {
      auto is_division = [](const Instruction &one) { return isa<BinaryOperator>(one) && cast<BinaryOperator>(one).isIntDivRem(); };
      auto divides = [&](const BasicBlock *block) { return any_of(*block, is_division); };
      if (is_to_vectorize(*loop) && any_of(loop->blocks(), divides))
        headers.push_back(loop->getHeader());
    }
  }
  for (const WeakTrackingVH &header : headers) {
    auto *at = cast_or_null<BasicBlock>(static_cast<Value *>(header));
    for (unsigned level = 1; at && level < most_levels; ++level)
      at = restore_level(function, at);
  }
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  for (Loop *loop : loops.getLoopsInPreorder())
    if (is_to_vectorize(*loop))
      widen_indices(*loop);
  return true;
}

} // namespace heddle
