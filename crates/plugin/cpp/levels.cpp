// The loop of a nest whose iterations become lanes, if loops on several levels are marked: the one along which accesses are
// contiguous. Costs are those of accesses alone, since arithmetic is the same whichever loop it is; they are in units of one
// scalar access.
#include "levels.h"
#include "dependences.h"
#include "managers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include <cmath>

using namespace llvm;

namespace heddle {

namespace {

/// Lanes of the model, and iterations of a loop of unknown length.
constexpr double lanes = 8, unknown_trips = 16;

/// Costs of one lane of an access: loads that lanes walk along rows of their own are transposed in registers.
constexpr double of_gather = 1.25, of_scatter = 1.5, of_rows = 0.4;

/// Returns the step of a value from one iteration of a loop to the next; null if it is unknown or varies.
const SCEV *step_along(const SCEV *value, const Loop &level, ScalarEvolution &evolution) {
  if (evolution.isLoopInvariant(value, &level))
    return evolution.getZero(evolution.getEffectiveSCEVType(value->getType()));
  if (const auto *recurrence = dyn_cast<SCEVAddRecExpr>(value)) {
    const SCEV *step = recurrence->isAffine() ? recurrence->getStepRecurrence(evolution) : nullptr;
    if (!step || !evolution.isLoopInvariant(step, &level))
      return nullptr;
    return recurrence->getLoop() == &level ? step : step_along(recurrence->getStart(), level, evolution);
  }
  if (const auto *sum = dyn_cast<SCEVAddExpr>(value)) {
    const SCEV *step = nullptr;
    for (const SCEV *operand : sum->operands()) {
      const SCEV *one = step_along(operand, level, evolution);
      if (!one)
        return nullptr;
      step = step ? evolution.getAddExpr(step, one) : one;
    }
    return step;
  }
  if (const auto *product = dyn_cast<SCEVMulExpr>(value)) {
    SmallVector<const SCEV *, 4> factors;
    const SCEV *step = nullptr;
    for (const SCEV *operand : product->operands()) {
      if (evolution.isLoopInvariant(operand, &level))
        factors.push_back(operand);
      else if (step || !(step = step_along(operand, level, evolution)))
        return nullptr;
    }
    factors.push_back(step);
    return evolution.getMulExpr(factors);
  }
  // Assumes that counters do not overflow.
  if (const auto *extended = dyn_cast<SCEVIntegralCastExpr>(value); extended && !isa<SCEVTruncateExpr>(value)) {
    const SCEV *step = step_along(extended->getOperand(), level, evolution);
    return step ? evolution.getSignExtendExpr(step, value->getType()) : nullptr;
  }
  return nullptr;
}

/// Returns the magnitude of an address's step along a loop, in elements of `size` bytes; `INFINITY` if it is unknown or not constant.
double stride_along(Value &address, double size, const Loop &level, ScalarEvolution &evolution) {
  const SCEV *step = step_along(evolution.getSCEV(&address), level, evolution);
  const auto *constant = step ? dyn_cast<SCEVConstant>(step) : nullptr;
  if (!constant || constant->getAPInt().getSignificantBits() > 32)
    return INFINITY;
  return std::abs(double(constant->getAPInt().getSExtValue())) / size;
}

double trips_of(const Loop &loop, ScalarEvolution &evolution) {
  unsigned known = evolution.getSmallConstantTripCount(&loop);
  return known ? std::min(double(known), unknown_trips) : unknown_trips;
}

/// Costs of the accesses of a nest.
class Costs {
public:
  Costs(const DataLayout &layout, const LoopInfo &loops, ScalarEvolution &evolution)
      : layout(layout), loops(loops), evolution(evolution) {}

  /// Returns the cost of the accesses of an iteration of `level` in lanes.
  double in_lanes(const Loop &level) {
    double sum = 0;
    for (BasicBlock *block : level.blocks())
      for (Instruction &instruction : *block)
        if (Value *address = getLoadStorePointerOperand(&instruction))
          sum += trips_within(level, *block) * of_access(instruction, *address, level);
    return sum * std::max(1.0, lanes / trips_of(level, evolution));
  }

  /// Returns the cost, as scalar code, of a loop's accesses outside of its inner loops.
  double outside_of_inner(const Loop &loop) {
    double sum = 0;
    for (BasicBlock *block : loop.blocks())
      if (loops.getLoopFor(block) == &loop)
        sum += double(count_if(*block, [](Instruction &instruction) { return getLoadStorePointerOperand(&instruction); }));
    return sum;
  }

private:
  const DataLayout &layout;
  const LoopInfo &loops;
  ScalarEvolution &evolution;

  double trips_within(const Loop &level, const BasicBlock &block) {
    double trips = 1;
    for (const Loop *loop = loops.getLoopFor(&block); loop != &level; loop = loop->getParentLoop())
      trips *= trips_of(*loop, evolution);
    return trips;
  }

  double of_access(Instruction &instruction, Value &address, const Loop &level) {
    double size = double(layout.getTypeStoreSize(getLoadStoreType(&instruction)).getFixedValue());
    double stride = stride_along(address, size, level, evolution);
    bool is_store = isa<StoreInst>(instruction);
    if (stride == 0 && !is_store)
      return 1 / lanes;
    if (stride > 0 && stride <= 4)
      return std::ceil(stride) / lanes;
    const Loop *own = loops.getLoopFor(instruction.getParent());
    if (!is_store && own != &level && stride_along(address, size, *own, evolution) == 1)
      return of_rows;
    return is_store ? of_scatter : of_gather;
  }
};

/// Chosen loops, and the cost of the nest's accesses in one iteration of the loop around it.
struct Choice {
  double cost = 0;
  SmallVector<Loop *> levels;
};

/// True if a loop carries only counters from one iteration to the next, and its trip count is known before it runs.
bool carries_counters_only(const Loop &loop, ScalarEvolution &evolution) {
  if (!loop.getLoopLatch() || !loop.getExitingBlock() || !evolution.hasLoopInvariantBackedgeTakenCount(&loop))
    return false;
  return all_of(loop.getHeader()->phis(), [&](PHINode &phi) {
    if (!evolution.isSCEVable(phi.getType()))
      return false;
    const auto *counter = dyn_cast<SCEVAddRecExpr>(evolution.getSCEV(&phi));
    return counter && counter->getLoop() == &loop && counter->isAffine();
  });
}

/// True if lanes of a loop may observe each other: the outermost marked loop becomes lanes then, as the programmer wrote it.
bool observes_lanes(const Loop &loop) {
  return any_of(loop.blocks(), [](const BasicBlock *block) {
    return any_of(*block, [](const Instruction &instruction) {
      const auto *call = dyn_cast<CallBase>(&instruction);
      return call && call->isConvergent();
    });
  });
}

Choice choose(Loop &loop, Costs &costs, ScalarEvolution &evolution, bool is_outermost) {
  double trips = trips_of(loop, evolution);
  Choice inner;
  inner.cost = trips * costs.outside_of_inner(loop);
  for (Loop *child : loop) {
    Choice of_child = choose(*child, costs, evolution, false);
    inner.cost += trips * of_child.cost;
    inner.levels.append(of_child.levels);
  }
  bool is_possible = is_outermost || (is_marked(loop) && is_parallel(loop) && loop.getLoopPredecessor() && carries_counters_only(loop, evolution));
  if (!is_possible)
    return inner;
  double own = trips * costs.in_lanes(loop);
  if (!inner.levels.empty() && inner.cost <= own)
    return inner;
  return {own, {&loop}};
}

} // namespace

bool is_marked(const Loop &loop) {
  const MDNode *id = loop.getLoopID();
  return id && number_of(id, "llvm.loop.vectorize.enable", 0) == 1 &&
         number_of(id, "llvm.loop.isvectorized", 0) == 0 && number_of(id, "llvm.loop.vectorize.width", 0) != 1;
}

bool may_be_tensor(const Loop &outer, const Loop &inner, ScalarEvolution &evolution) {
  auto is_level = [&](const Loop &loop) { return is_marked(loop) && is_parallel(loop) && carries_counters_only(loop, evolution); };
  return outer.getSubLoops().size() == 1 && outer.getSubLoops().front() == &inner && is_level(outer) && is_level(inner) &&
         inner.getLoopPredecessor() && !observes_lanes(outer);
}

std::pair<Loop *, Loop *> tensor_levels(Loop &level, ScalarEvolution &evolution) {
  if (Loop *outer = level.getParentLoop(); outer && may_be_tensor(*outer, level, evolution))
    return {outer, &level};
  if (level.getSubLoops().size() == 1 && may_be_tensor(level, *level.getSubLoops().front(), evolution))
    return {&level, level.getSubLoops().front()};
  return {nullptr, nullptr};
}

SmallVector<Loop *> choose_levels(Loop &nest, const LoopInfo &loops, ScalarEvolution &evolution) {
  auto is_inner_level = [&](const Loop *loop) { return loop != &nest && is_marked(*loop); };
  if (!is_parallel(nest) || none_of(nest.getLoopsInPreorder(), is_inner_level) || observes_lanes(nest))
    return {&nest};
  Costs costs(nest.getHeader()->getDataLayout(), loops, evolution);
  return choose(nest, costs, evolution, /*is_outermost=*/true).levels;
}

/// Hint of a loop that LLVM must not unroll until its level is released.
static constexpr char kept_hint[] = "heddle.kept";
static constexpr char unroll_hints[] = "llvm.loop.unroll.";

static bool has_hint_of(const MDNode *id, StringRef prefix) {
  return id && any_of(drop_begin(id->operands()), [&](const MDOperand &operand) {
    const auto *node = dyn_cast<MDNode>(operand);
    const auto *text = node && node->getNumOperands() > 0 ? dyn_cast<MDString>(node->getOperand(0)) : nullptr;
    return text && text->getString().starts_with(prefix);
  });
}

bool keep_levels(Function &function) {
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  bool is_changed = false;
  for (Loop *loop : loops.getLoopsInPreorder()) {
    Loop *outer = loop->getParentLoop();
    bool is_level = (outer && is_marked(*outer)) || any_of(*loop, [](const Loop *inner) { return is_marked(*inner); });
    if (!is_level || !is_marked(*loop) || has_hint_of(loop->getLoopID(), unroll_hints))
      continue;
    addStringMetadataToLoop(loop, "llvm.loop.unroll.disable", 1);
    addStringMetadataToLoop(loop, kept_hint);
    is_changed = true;
  }
  return is_changed;
}

bool release_level(Loop &level) {
  MDNode *id = level.getLoopID();
  if (!has_hint_of(id, kept_hint))
    return false;
  level.setLoopID(makePostTransformationMetadata(id->getContext(), id, {unroll_hints, kept_hint}, {}));
  return true;
}

void unroll_released_levels(Function &function) {
  Managers managers;
  FunctionPassManager passes;
  passes.addPass(createFunctionToLoopPassAdaptor(LoopFullUnrollPass()));
  passes.addPass(SROAPass(SROAOptions::ModifyCFG));
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(InstCombinePass());
  passes.addPass(SimplifyCFGPass());
  passes.run(function, managers.functions);
}

} // namespace heddle
