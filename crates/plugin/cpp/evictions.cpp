// Bits 6 to 11 of an address choose the set of the first-level cache. Lines of rows that are apart by multiples of 4096 bytes are in one
// set, lines of rows that are apart by multiples of 2048 bytes in two, and so on: if b is the lowest bit of the distance, n rows take as much of
// the cache as n * b bytes. Beyond its size they evict one another before their next elements are read.
//
// A five-point stencil of floats on Zen 3 (32 KiB), 8 rows of 8 at a time, which are 18 rows of memory, took 195 ps for a point of 512 x 530,
// 305 at 512 x 512 and 1472 at 1024 x 1024; one row at a time 238, 209 and 235.
#include "evictions.h"
#include "facts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IRBuilder.h"

using namespace llvm;

namespace heddle {

namespace {

/// Addresses are in one set if their distance is a multiple of this, in bytes.
constexpr uint64_t bytes_of_sets = 4096;

/// Rows of one array, one step of the outer level apart.
struct ArrayRows {
  const SCEV *base, *step;
  /// Starts of the rows of the first iteration, at distances that are not constant.
  SmallVector<const SCEV *> starts;
};

/// Rows that a brush reads and writes.
class RowFinder {
public:
  RowFinder(Facts &facts, unsigned height) : evolution(facts.evolution), height(height) {}

  /// Adds an access of the inner level. False if lanes along that level do not access a row of memory.
  bool take(Instruction &instruction, const Loop &outer, const Loop &inner) {
    Value *address = getLoadStorePointerOperand(&instruction);
    if (!address)
      return !instruction.mayReadOrWriteMemory();
    const SCEV *start = evolution.getSCEV(address);
    if (const auto *along = dyn_cast<SCEVAddRecExpr>(start); along && along->getLoop() == &inner) {
      const auto *step = dyn_cast<SCEVConstant>(along->getStepRecurrence(evolution));
      uint64_t size = instruction.getDataLayout().getTypeStoreSize(getLoadStoreType(&instruction)).getFixedValue();
      if (!along->isAffine() || !step || step->getAPInt().abs() != size)
        return false;
      start = along->getStart();
    }
    const auto *across = dyn_cast<SCEVAddRecExpr>(start);
    if (!across || across->getLoop() != &outer)
      return evolution.isLoopInvariant(start, &outer);
    if (!across->isAffine())
      return false;
    const SCEV *base = evolution.getPointerBase(start), *step = across->getStepRecurrence(evolution);
    auto *array = find_if(arrays, [&](const ArrayRows &rows) { return rows.base == base && rows.step == step; });
    if (array == arrays.end()) {
      arrays.push_back({base, step, {}});
      array = &arrays.back();
    }
    bool is_known = any_of(array->starts, [&](const SCEV *other) { return isa<SCEVConstant>(evolution.getMinusSCEV(start, other)); });
    if (!is_known)
      array->starts.push_back(start);
    return true;
  }

  uint64_t count() const {
    uint64_t rows = 0;
    for (const ArrayRows &array : arrays)
      rows += height + array.starts.size() - 1;
    return rows;
  }

  SmallVector<ArrayRows> arrays;

private:
  ScalarEvolution &evolution;
  unsigned height;
};

/// Computes an expression over parameters from the arguments of a call; null if it has other parts.
Value *from_arguments(const SCEV *expression, const CallInst &call, IRBuilder<> &builder) {
  auto value_of = [&](const SCEV *part) { return from_arguments(part, call, builder); };
  Type *type = expression->getType();
  if (!type->isIntegerTy())
    return nullptr;
  if (const auto *constant = dyn_cast<SCEVConstant>(expression))
    return constant->getValue();
  if (const auto *unknown = dyn_cast<SCEVUnknown>(expression)) {
    auto *argument = dyn_cast<Argument>(unknown->getValue());
    return argument ? call.getArgOperand(argument->getArgNo()) : nullptr;
  }
  if (const auto *cast = dyn_cast<SCEVIntegralCastExpr>(expression)) {
    Value *value = value_of(cast->getOperand());
    if (!value)
      return nullptr;
    return isa<SCEVSignExtendExpr>(cast) ? builder.CreateSExtOrTrunc(value, type) : builder.CreateZExtOrTrunc(value, type);
  }
  if (!isa<SCEVAddExpr, SCEVMulExpr>(expression))
    return nullptr;
  Value *result = nullptr;
  for (const SCEV *part : cast<SCEVNAryExpr>(expression)->operands()) {
    Value *value = value_of(part);
    if (!value)
      return nullptr;
    if (!result)
      result = value;
    else
      result = isa<SCEVAddExpr>(expression) ? builder.CreateAdd(result, value) : builder.CreateMul(result, value);
  }
  return result;
}

} // namespace

Evictions find_evictions(const Outlined &own, unsigned height, uint64_t cache) {
  if (cache == 0 || !own.function)
    return {};
  Facts facts(*own.function);
  const std::vector<Loop *> &all = facts.loops.getTopLevelLoops();
  if (all.size() != 1 || all.front()->getSubLoops().size() != 1 || !all.front()->getSubLoops().front()->isInnermost())
    return {};
  const Loop &outer = *all.front(), &inner = *outer.getSubLoops().front();
  RowFinder finder(facts, height);
  for (BasicBlock *block : inner.blocks())
    for (Instruction &instruction : *block)
      if (!finder.take(instruction, outer, inner))
        return {};
  Evictions found;
  found.rows = finder.count();
  found.distance = bytes_of_sets;
  while (found.distance > 1 && found.distance / 2 * found.rows > cache)
    found.distance /= 2;
  if (found.distance * found.rows <= cache)
    return {};
  IRBuilder<> builder(own.call);
  SmallVector<const SCEV *> steps;
  for (const ArrayRows &array : finder.arrays)
    if (!is_contained(steps, array.step))
      steps.push_back(array.step);
  for (const SCEV *step : steps) {
    Value *bytes = from_arguments(step, *own.call, builder);
    if (!bytes)
      continue;
    Value *rest = builder.CreateAnd(bytes, ConstantInt::get(bytes->getType(), found.distance - 1));
    Value *is_multiple = builder.CreateICmpEQ(rest, ConstantInt::get(bytes->getType(), 0), "heddle.evicted");
    found.condition = found.condition ? builder.CreateOr(found.condition, is_multiple) : is_multiple;
  }
  if (auto *constant = dyn_cast_or_null<ConstantInt>(found.condition); constant && constant->isZero())
    found.condition = nullptr;
  return found;
}

} // namespace heddle
