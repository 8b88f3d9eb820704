// Widens indices of 32 bits in marked loops:
//
//   x = phi i32 [first], [x + 1]             x' = phi i64 [sext first], [x' + 1]
//   sext (y * width + x - 1)          ──►    y' * (sext width) + x' - 1
//   x < end                                  x' < sext end
//
// All of these operations are marked not to overflow as signed ones (`nsw`), so both sides are equal.
#include "indices.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace heddle {

namespace {

/// Widens the indices of one loop and its inner loops to another type.
class IndexWidener {
public:
  IndexWidener(Loop &loop, Type *type) : loop(loop), type(type) {}

  /// Widens the operand of each extension to the type.
  void run() {
    SmallVector<Instruction *> replaced;
    for (BasicBlock *block : loop.blocks())
      for (Instruction &instruction : *block)
        if (isa<SExtInst>(instruction) && instruction.getType() == type && instruction.getOperand(0)->getType()->isIntegerTy(32))
          replaced.push_back(&instruction);
    erase_if(replaced, [&](Instruction *extended) {
      Value *index = extended->getOperand(0);
      if (!is_counted(index))
        return true;
      extended->replaceAllUsesWith(widen(index));
      return false;
    });
    if (replaced.empty())
      return;
    for (BasicBlock *block : loop.blocks())
      for (Instruction &instruction : *block)
        if (auto *comparison = dyn_cast<ICmpInst>(&instruction))
          widen(*comparison);
    for (Instruction *extended : replaced)
      RecursivelyDeleteTriviallyDeadInstructions(extended);
    for (const WeakVH &counter : counters)
      if (auto *phi = cast_or_null<PHINode>(static_cast<Value *>(counter)))
        RecursivelyDeleteDeadPHINode(phi);
  }

private:
  Loop &loop;
  Type *type;
  DenseMap<Value *, Value *> wide_of;
  SmallVector<WeakVH> counters;

  bool is_inside(const Value *value) const {
    const auto *instruction = dyn_cast<Instruction>(value);
    return instruction && loop.contains(instruction);
  }

  /// Returns the next value of a counter, and sets `back` to its edge; null if a φ is no counter with a constant step.
  static BinaryOperator *next_of(const PHINode &phi, unsigned &back) {
    if (phi.getNumIncomingValues() != 2)
      return nullptr;
    for (back = 0; back < 2; ++back) {
      Value *next = phi.getIncomingValue(back), *step = nullptr;
      bool is_step = match(next, m_NSWAdd(m_Specific(&phi), m_Value(step))) || match(next, m_NSWSub(m_Specific(&phi), m_Value(step)));
      if (is_step && isa<ConstantInt>(step))
        return cast<BinaryOperator>(next);
    }
    return nullptr;
  }

  static bool is_exact(const Value *part) {
    return match(part, m_NSWAdd(m_Value(), m_Value())) || match(part, m_NSWSub(m_Value(), m_Value())) ||
           match(part, m_NSWMul(m_Value(), m_Value()));
  }

  /// True if an index is computed from counters, and values from outside of the loop, by operations that do not overflow.
  bool is_counted(Value *index) const {
    SetVector<Value *> parts;
    parts.insert(index);
    bool has_counter = false;
    for (size_t at = 0; at < parts.size(); ++at) {
      Value *part = parts[at];
      if (!is_inside(part))
        continue;
      unsigned back = 0;
      if (auto *phi = dyn_cast<PHINode>(part); phi && next_of(*phi, back))
        has_counter = true;
      else if (is_exact(part))
        parts.insert_range(cast<User>(part)->operands());
      else
        return false;
    }
    return has_counter;
  }

  /// Returns the wide form of a part of an index that no operation of the loop computes.
  Value *widen_leaf(Value *part) {
    if (auto *constant = dyn_cast<ConstantInt>(part))
      return ConstantInt::getSigned(type, constant->getSExtValue());
    unsigned back = 0;
    if (auto *phi = dyn_cast<PHINode>(part); phi && is_inside(phi)) {
      BinaryOperator *next = next_of(*phi, back);
      auto *wide = PHINode::Create(type, 2, phi->getName(), phi->getIterator());
      Instruction *before = phi->getIncomingBlock(1 - back)->getTerminator();
      Value *first = phi->getIncomingValue(1 - back);
      auto *constant = dyn_cast<ConstantInt>(first);
      Value *start = constant ? cast<Value>(ConstantInt::getSigned(type, constant->getSExtValue()))
                              : CastInst::Create(Instruction::SExt, first, type, "", before->getIterator());
      Value *step = ConstantInt::getSigned(type, cast<ConstantInt>(next->getOperand(1))->getSExtValue());
      auto *sum = BinaryOperator::Create(next->getOpcode(), wide, step, "", std::next(next->getIterator()));
      sum->setHasNoSignedWrap();
      sum->setDebugLoc(next->getDebugLoc());
      wide->addIncoming(start, phi->getIncomingBlock(1 - back));
      wide->addIncoming(sum, phi->getIncomingBlock(back));
      wide_of[next] = sum;
      counters.push_back(phi);
      return wide;
    }
    BasicBlock::iterator place = loop.getHeader()->getParent()->getEntryBlock().getFirstNonPHIOrDbgOrAlloca();
    if (auto *instruction = dyn_cast<Instruction>(part))
      if (std::optional<BasicBlock::iterator> behind = instruction->getInsertionPointAfterDef())
        place = *behind;
    return CastInst::Create(Instruction::SExt, part, type, "", place);
  }

  /// Returns the wide form of an index that `is_counted`.
  Value *widen(Value *index) {
    SmallVector<Value *> work = {index};
    while (!work.empty()) {
      Value *part = work.back();
      auto *operation = dyn_cast<BinaryOperator>(part);
      if (wide_of.contains(part)) {
        work.pop_back();
      } else if (!operation || !is_inside(operation)) {
        Value *wide = widen_leaf(part);
        wide_of[part] = wide;
      } else if (Value *left = wide_of.lookup(operation->getOperand(0)), *right = wide_of.lookup(operation->getOperand(1)); left && right) {
        auto *wide = BinaryOperator::Create(operation->getOpcode(), left, right, "", std::next(operation->getIterator()));
        wide->setHasNoSignedWrap();
        wide->setDebugLoc(operation->getDebugLoc());
        wide_of[part] = wide;
      } else {
        work.append({operation->getOperand(1), operation->getOperand(0)});
      }
    }
    return wide_of[index];
  }

  /// Widens the operands of a comparison, unless it is unsigned, if the wide form of one exists.
  void widen(ICmpInst &comparison) {
    Value *left = comparison.getOperand(0), *right = comparison.getOperand(1);
    auto is_there = [&](Value *value) { return is_inside(value) && wide_of.contains(value); };
    auto is_simple = [&](Value *value) { return is_there(value) || !is_inside(value); };
    if (comparison.isUnsigned() || !left->getType()->isIntegerTy(32) || (!is_there(left) && !is_there(right)) || !is_simple(left) ||
        !is_simple(right))
      return;
    comparison.setSameSign(false);
    Value *wide_left = widen(left), *wide_right = widen(right);
    comparison.setOperand(0, wide_left);
    comparison.setOperand(1, wide_right);
  }
};

} // namespace

void widen_indices(Loop &loop) {
  LLVMContext &context = loop.getHeader()->getContext();
  IndexWidener(loop, Type::getInt64Ty(context)).run();
}

} // namespace heddle
