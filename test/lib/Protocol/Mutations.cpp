//===- Mutations.cpp - small faults in a kernel's protocol ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Protocol/Mutations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa4::tile;
using llvm::formatv;

using Steps = std::vector<Step>;

//===----------------------------------------------------------------------===//
// Changes of the IR
//===----------------------------------------------------------------------===//

static void
setAttributes(Operation *op,
              ArrayRef<std::pair<std::string, Attribute>> attributes) {
  for (const auto &[name, value] : attributes)
    if (value)
      op->setAttr(name, value);
    else
      op->removeAttr(name);
}

/// Moves an operation beside `place`, or beside the operation of its own block
/// that contains it.
static LogicalResult moveBeside(Operation *target, Operation *place,
                                bool isBefore) {
  if (Operation *ancestor = target->getBlock()->findAncestorOpInBlock(*place))
    place = ancestor;
  if (place == target)
    return failure();
  if (isBefore)
    target->moveBefore(place);
  else
    target->moveAfter(place);
  return success();
}

static void moveInto(Operation *target, Operation *loop, bool isAtStart) {
  Block &body = loop->getRegion(0).front();
  if (isAtStart)
    target->moveBefore(&body, body.begin());
  else
    target->moveBefore(body.getTerminator());
}

static void addToOperand(Operation *target, unsigned operand, int64_t delta) {
  ImplicitLocOpBuilder b(target->getLoc(), target);
  Value old = target->getOperand(operand);
  Value number =
      arith::ConstantOp::create(b, b.getIntegerAttr(old.getType(), delta));
  target->setOperand(operand, arith::AddIOp::create(b, old, number));
}

/// Erases a tile.await_turn with its tile.pass_turn; what has been added in the
/// turn is added without one.
static void eraseTurn(Operation *await) {
  for (Operation *user : llvm::make_early_inc_range(await->getUsers()))
    if (auto sum = dyn_cast<ReduceAddOp>(user))
      sum.getTurnMutable().clear();
    else
      user->erase();
  await->erase();
}

LogicalResult IRChange::apply(const IRMapping &copies) const {
  Operation *target = copies.lookup(op);
  Operation *place = anchor ? copies.lookup(anchor) : nullptr;
  switch (kind) {
  case Erase:
    if (!target->use_empty())
      return failure();
    target->erase();
    return success();
  case Duplicate:
    OpBuilder(target).clone(*target);
    return success();
  case MoveBefore:
  case MoveBehind:
    return moveBeside(target, place, kind == MoveBefore);
  case MoveToStart:
  case MoveToEnd:
    moveInto(target, place, kind == MoveToStart);
    return success();
  case SetAttributes:
    setAttributes(target, attributes);
    for (Operation *other : others)
      setAttributes(copies.lookup(other), attributes);
    return success();
  case AddToOperand:
    addToOperand(target, operand, delta);
    return success();
  case SetOperand:
    target->setOperand(operand, copies.lookup(value));
    return success();
  case DropTurn:
    cast<ReduceAddOp>(target).getTurnMutable().clear();
    return success();
  case EraseTurn:
    eraseTurn(target);
    return success();
  }
  llvm_unreachable("covered");
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {

/// A sequence of steps. If it is the body of a loop, also the place of that
/// loop.
struct StepBlock {
  Steps *steps;
  Steps *outer;
  unsigned loop;
  unsigned role;
};

} // namespace

static void collectBlocks(Steps &steps, Steps *outer, unsigned loop,
                          unsigned role, std::vector<StepBlock> &result) {
  result.push_back({&steps, outer, loop, role});
  for (unsigned i = 0; i < steps.size(); ++i) {
    bool isLoop = steps[i].kind == StepKind::Loop;
    collectBlocks(steps[i].body, isLoop ? &steps : nullptr, i, role, result);
    collectBlocks(steps[i].elseBody, nullptr, i, role, result);
  }
}

/// Collects the blocks of a model, in the same order for each copy of the
/// model.
static std::vector<StepBlock> collectBlocks(ProtocolModel &model) {
  std::vector<StepBlock> result;
  for (auto [i, role] : llvm::enumerate(model.roles))
    collectBlocks(role.body, nullptr, 0, i, result);
  return result;
}

static StringRef nameOf(StepKind kind) {
  switch (kind) {
  case StepKind::Acquire:
    return "acquire";
  case StepKind::Commit:
    return "commit";
  case StepKind::Wait:
    return "wait";
  case StepKind::Release:
    return "release";
  case StepKind::Access:
    return "access";
  case StepKind::Copy:
    return "copy";
  case StepKind::Loop:
    return "loop";
  case StepKind::If:
    return "branch";
  }
  llvm_unreachable("covered");
}

static bool isOnChannel(const Step &step) {
  return step.kind == StepKind::Acquire || step.kind == StepKind::Commit ||
         step.kind == StepKind::Wait || step.kind == StepKind::Release;
}

static std::string describe(const ProtocolModel &model, const Step &step) {
  std::string what = nameOf(step.kind).str();
  if (isOnChannel(step))
    return what + " " + model.channels[step.channel].label;
  return what;
}

namespace {

class StepMutator {
public:
  explicit StepMutator(const ProtocolModel &model) : model(model) {}

  std::vector<Mutation> run() { return forEach(&StepMutator::mutate); }
  /// Of waits only, which ask for one value more.
  std::vector<Mutation> runAhead() {
    return forEach(&StepMutator::mutateAhead);
  }

private:
  using Change = std::function<void(StepBlock, unsigned)>;

  std::vector<Mutation>
  forEach(void (StepMutator::*mutate)(unsigned, unsigned, const StepBlock &)) {
    ProtocolModel copy = model;
    std::vector<StepBlock> blocks = collectBlocks(copy);
    for (auto [i, block] : llvm::enumerate(blocks))
      for (unsigned index = 0; index < block.steps->size(); ++index)
        if (isOnChannel((*block.steps)[index]))
          (this->*mutate)(i, index, block);
    return std::move(result);
  }

  void add(StringRef kind, unsigned block, unsigned index,
           const StepBlock &where, std::string detail, Change change,
           std::optional<IRChange> changeIR) {
    Mutation mutation;
    mutation.kind = kind.str();
    mutation.text =
        formatv("@{0} step {1}.{2} {3}{4}", model.roles[where.role].name, block,
                index, describe(model, (*where.steps)[index]), detail);
    mutation.op = (*where.steps)[index].op;
    mutation.changeModel = [=](ProtocolModel &copy) {
      change(collectBlocks(copy)[block], index);
    };
    mutation.changeIR = std::move(changeIR);
    result.push_back(std::move(mutation));
  }

  void mutate(unsigned number, unsigned index, const StepBlock &block);
  void mutateOrder(unsigned number, unsigned index, const StepBlock &block);
  void mutateAhead(unsigned number, unsigned index, const StepBlock &block);
  void mutateRanks(unsigned number, unsigned index, const StepBlock &block);
  void mutateAcrossLoops(unsigned number, unsigned index,
                         const StepBlock &block);

  const ProtocolModel &model;
  std::vector<Mutation> result;
};

} // namespace

/// The step with this index, and the one behind it if one operation of a
/// channel with `exchange` makes both.
static SmallVector<Step *, 2> collectTogether(Steps &steps, unsigned index) {
  SmallVector<Step *, 2> result{&steps[index]};
  if (index + 1 < steps.size() && steps[index + 1].op == steps[index].op &&
      steps[index + 1].kind == steps[index].kind)
    result.push_back(&steps[index + 1]);
  return result;
}

/// Whether a role of the leader takes, in its CTA, what roles of all CTAs take
/// in theirs.
static bool isOwnOfLeader(const ProtocolModel &model, unsigned role,
                          const Step &step) {
  auto isLeader = [&](unsigned number) {
    return RoleOp(model.roles[number].op).getLeader();
  };
  return isLeader(role) &&
         (step.kind == StepKind::Wait || step.kind == StepKind::Release) &&
         !llvm::all_of(model.channels[step.channel].consumers, isLeader);
}

static void moveStep(Steps &from, unsigned index, Steps &to, unsigned place) {
  Step step = from[index];
  from.erase(from.begin() + index);
  to.insert(to.begin() + place, std::move(step));
}

/// Whether the step is all that its operation does. One that exchanges tiles is
/// several steps, of which the IR can not change one.
static bool isOneOperation(const Step &step) {
  return isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(step.op);
}

void StepMutator::mutate(unsigned number, unsigned index,
                         const StepBlock &block) {
  const Steps &steps = *block.steps;
  const Step &step = steps[index];
  bool isOne = isOneOperation(step);
  auto add = [&](StringRef kind, std::string detail,
                 std::optional<IRChange> changeIR, Change change) {
    this->add(kind, number, index, block, std::move(detail), std::move(change),
              isOne ? std::move(changeIR) : std::nullopt);
  };
  add("drop", "", IRChange{IRChange::Erase, step.op, nullptr, {}},
      [](StepBlock b, unsigned i) {
        Step &step = (*b.steps)[i];
        if (step.kind == StepKind::Wait)
          step.strength = Step::Dropped;
        else
          b.steps->erase(b.steps->begin() + i);
      });
  // What is sent and what is kept of a stage is handed over together.
  bool isSecond = model.channels[step.channel].part == StagePart::Kept;
  if ((step.kind == StepKind::Wait || step.kind == StepKind::Acquire) &&
      !isSecond)
    add("weaken", "", std::nullopt, [](StepBlock b, unsigned i) {
      for (Step *step : collectTogether(*b.steps, i))
        step->strength = Step::Weak;
    });
  add("duplicate", "", IRChange{IRChange::Duplicate, step.op, nullptr, {}},
      [](StepBlock b, unsigned i) {
        Step step = (*b.steps)[i];
        b.steps->insert(b.steps->begin() + i, std::move(step));
      });
  mutateOrder(number, index, block);
  if (KernelOp(model.kernel).getCluster() && !isSecond)
    mutateRanks(number, index, block);
  mutateAcrossLoops(number, index, block);
}

/// The step stands at another place of its block.
void StepMutator::mutateOrder(unsigned number, unsigned index,
                              const StepBlock &block) {
  const Steps &steps = *block.steps;
  const Step &step = steps[index];
  bool isOne = isOneOperation(step);
  auto add = [&](StringRef kind, std::string detail, IRChange::Kind change,
                 const Step &anchor, Change changeModel) {
    std::optional<IRChange> changeIR;
    if (isOne)
      changeIR = IRChange{change, step.op, anchor.op, {}};
    this->add(kind, number, index, block, std::move(detail),
              std::move(changeModel), std::move(changeIR));
  };
  // Each pair of neighbouring steps is exchanged once.
  if (index + 1 < steps.size() && steps[index + 1].kind != StepKind::Loop)
    add("swap", " with next: " + describe(model, steps[index + 1]),
        IRChange::MoveBehind, steps[index + 1], [](StepBlock b, unsigned i) {
          std::swap((*b.steps)[i], (*b.steps)[i + 1]);
        });
  if (index > 0 && !isOnChannel(steps[index - 1]) &&
      steps[index - 1].kind != StepKind::Loop)
    add("swap", " with previous: " + describe(model, steps[index - 1]),
        IRChange::MoveBefore, steps[index - 1], [](StepBlock b, unsigned i) {
          std::swap((*b.steps)[i - 1], (*b.steps)[i]);
        });
  if (index > 1)
    add("move", " to the front", IRChange::MoveBefore, steps.front(),
        [](StepBlock b, unsigned i) { moveStep(*b.steps, i, *b.steps, 0); });
  if (index + 2 < steps.size())
    add("move", " to the back", IRChange::MoveBehind, steps.back(),
        [](StepBlock b, unsigned i) {
          moveStep(*b.steps, i, *b.steps, b.steps->size() - 1);
        });
}

/// A wait for a value of a ring asks for the next value, too.
void StepMutator::mutateAhead(unsigned number, unsigned index,
                              const StepBlock &block) {
  const Step &step = (*block.steps)[index];
  const ProtocolChannel &channel = model.channels[step.channel];
  if (step.kind != StepKind::Wait || channel.part == StagePart::Kept ||
      channel.stages < 2)
    return;
  add(
      "ahead", number, index, block, " and for the next value",
      [](StepBlock b, unsigned i) {
        for (Step *step : collectTogether(*b.steps, i))
          step->ahead = 1;
      },
      std::nullopt);
}

/// In a cluster: the step lacks its wait or arrival for the stages of one CTA.
void StepMutator::mutateRanks(unsigned number, unsigned index,
                              const StepBlock &block) {
  const Step &step = (*block.steps)[index];
  for (int rank = 0; rank < KernelOp(model.kernel).getClusterSize(); ++rank) {
    // Such a step of the leader is one in the first CTA only.
    if (rank != 0 && isOwnOfLeader(model, block.role, step))
      continue;
    add(
        "one CTA", number, index, block, formatv(" lacks CTA {0}", rank),
        [rank](StepBlock b, unsigned i) {
          for (Step *step : collectTogether(*b.steps, i))
            step->lacking = rank;
        },
        std::nullopt);
  }
}

void StepMutator::mutateAcrossLoops(unsigned number, unsigned index,
                                    const StepBlock &block) {
  const Steps &steps = *block.steps;
  auto add = [&](StringRef kind, std::string detail, IRChange::Kind change,
                 Operation *loop, Change changeModel) {
    std::optional<IRChange> changeIR;
    if (isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(steps[index].op))
      changeIR = IRChange{change, steps[index].op, loop, {}};
    this->add(kind, number, index, block, std::move(detail),
              std::move(changeModel), std::move(changeIR));
  };
  if (block.outer) {
    Operation *loop = (*block.outer)[block.loop].op;
    add("leave loop", " to before it", IRChange::MoveBefore, loop,
        [](StepBlock b, unsigned i) {
          Step step = (*b.steps)[i];
          b.steps->erase(b.steps->begin() + i);
          // The insertion comes last, because it moves the loop and this block
          // with it.
          b.outer->insert(b.outer->begin() + b.loop, std::move(step));
        });
    add("leave loop", " to behind it", IRChange::MoveBehind, loop,
        [](StepBlock b, unsigned i) {
          Step step = (*b.steps)[i];
          b.steps->erase(b.steps->begin() + i);
          b.outer->insert(b.outer->begin() + b.loop + 1, std::move(step));
        });
  }
  for (int side : {-1, 1}) {
    unsigned loop = index - side;
    if (loop >= steps.size() || steps[loop].kind != StepKind::Loop)
      continue;
    add("enter loop",
        side > 0 ? " before it, at its end" : " behind it, at its start",
        side > 0 ? IRChange::MoveToEnd : IRChange::MoveToStart, steps[loop].op,
        [side](StepBlock b, unsigned i) {
          Steps &body = (*b.steps)[i - side].body;
          moveStep(*b.steps, i, body, side > 0 ? body.size() : 0);
        });
  }
}

std::vector<Mutation> fa4::tile::mutateSteps(const ProtocolModel &model) {
  return StepMutator(model).run();
}

/// Leaves order between accesses to tensor memory to channels in tensor memory.
static void dropTensorOrder(ProtocolModel &model) {
  for (ProtocolChannel &channel : model.channels)
    channel.ordersTensorMemory = channel.inTensorMemory;
}

/// Mutations of waits, of a kernel that is changed by dropTensorOrder besides.
static std::vector<Mutation> weakenUnfenced(const ProtocolModel &model) {
  std::vector<Mutation> result;
  for (Mutation &mutation : mutateSteps(model)) {
    if (mutation.kind != "weaken")
      continue;
    mutation.kind = "weaken unfenced";
    mutation.changeModel =
        [weaken = std::move(mutation.changeModel)](ProtocolModel &copy) {
          dropTensorOrder(copy);
          weaken(copy);
        };
    result.push_back(std::move(mutation));
  }
  return result;
}

std::vector<Mutation> fa4::tile::mutateOnRequest(const ProtocolModel &model,
                                                 StringRef kind) {
  if (kind == "ahead")
    return StepMutator(model).runAhead();
  if (kind == "weaken unfenced")
    return weakenUnfenced(model);
  Mutation mutation;
  mutation.kind = "unfenced";
  mutation.text =
      "channels in shared memory order no accesses to tensor memory";
  mutation.changeModel = dropTensorOrder;
  return {std::move(mutation)};
}
//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static void addNumber(std::vector<Mutation> &result, StringRef kind,
                      Operation *op, StringRef name, StringRef attribute,
                      std::optional<int64_t> value) {
  auto old = op->getAttrOfType<IntegerAttr>(attribute);
  if (value && old && old.getInt() == *value)
    return;
  Mutation mutation;
  mutation.kind = kind.str();
  mutation.text = formatv("{0}: {1}", name, attribute);
  if (auto role = dyn_cast<RoleOp>(op); role && attribute == "warps")
    mutation.text += formatv(" {0}", role.getNumWarps());
  else
    mutation.text += old ? formatv(" {0}", old.getInt()).str() : " none";
  mutation.text += value ? formatv(" to {0}", *value).str() : " to none";
  Attribute number;
  if (value)
    number = Builder(op->getContext()).getI64IntegerAttr(*value);
  IRChange change{IRChange::SetAttributes, op, nullptr, {}};
  change.attributes.push_back({attribute.str(), number});
  mutation.changeIR = std::move(change);
  result.push_back(std::move(mutation));
}

PlaceAttr fa4::tile::changePlace(
    ChannelOp channel,
    llvm::function_ref<void(int64_t &, Barriers &, std::optional<Barriers> &,
                            std::optional<Barriers> &)>
        change) {
  PlaceAttr place = channel.getPlaceAttr();
  int64_t offset = place.getOffset();
  Barriers full = place.getFull();
  std::optional<Barriers> empty = place.getEmpty(), landed = place.getLanded();
  change(offset, full, empty, landed);
  MLIRContext *context = channel.getContext();
  ScopedDiagnosticHandler quiet(context,
                                [](Diagnostic &) { return success(); });
  return PlaceAttr::getChecked(
      [&] { return emitError(UnknownLoc::get(context)); }, context, offset,
      full, empty, landed);
}

/// Adds mutations of where a channel lies, of its barriers, and of the counts
/// that complete a phase of these.
static void addPlaces(std::vector<Mutation> &result, ChannelOp channel,
                      ArrayRef<ChannelOp> channels) {
  PlaceAttr old = channel.getPlaceAttr();
  auto add = [&](StringRef kind, const Twine &text, auto change) {
    PlaceAttr place = changePlace(channel, change);
    if (!place || place == old)
      return;
    Mutation mutation;
    mutation.kind = kind.str();
    mutation.text = (channel.getLabel() + ": " + text).str();
    mutation.changeIR =
        IRChange{IRChange::SetAttributes, channel, nullptr, {{"place", place}}};
    result.push_back(std::move(mutation));
  };
  auto addOffset = [&](int64_t value) {
    add("offset", formatv("offset {0} to {1}", old.getOffset(), value),
        [&](int64_t &offset, auto &...) { offset = value; });
  };
  // The offset becomes that of another channel, or a little more.
  for (ChannelOp other : channels)
    if (other.getPlaceAttr() && other.getSpace() == channel.getSpace())
      addOffset(other.getPlaceAttr().getOffset());
  for (int64_t delta : {-32, 32, 1024, 16384})
    addOffset(old.getOffset() + delta);
  for (bool isFull : {true, false}) {
    std::optional<Barriers> barriers = isFull ? old.getFull() : old.getEmpty();
    if (!barriers)
      continue;
    StringRef name = isFull ? "full" : "empty";
    auto set = [&](StringRef kind, const Twine &text, Barriers value) {
      add(kind, name + text,
          [&](int64_t &, Barriers &full, std::optional<Barriers> &empty,
              auto &) { (isFull ? full : *empty) = value; });
    };
    for (int64_t first : {barriers->first + 1, barriers->first - 1})
      set("barrier", formatv(" {0} to {1}", barriers->first, first),
          {first, barriers->arrivals, barriers->bytes});
    int64_t arrivals = barriers->arrivals;
    SmallVector<int64_t> counts = {arrivals + 1, arrivals - 1};
    // Those of one CTA only.
    if (cast<KernelOp>(channel->getParentOp()).getCluster() && arrivals > 2)
      counts.push_back(arrivals / 2);
    for (int64_t count : counts)
      set("arrivals", formatv("_arrivals {0} to {1}", arrivals, count),
          {barriers->first, count, barriers->bytes});
    if (!barriers->bytes)
      continue;
    for (int64_t bytes : {*barriers->bytes / 2, *barriers->bytes * 2})
      set("bytes", formatv("_bytes {0} to {1}", *barriers->bytes, bytes),
          {barriers->first, arrivals, bytes});
    set("bytes", formatv("_bytes {0} to none", *barriers->bytes),
        {barriers->first, arrivals, std::nullopt});
  }
  if (old.getEmpty())
    add("barrier", formatv("empty {0} to none", old.getEmpty()->first),
        [](int64_t &, Barriers &, std::optional<Barriers> &empty, auto &) {
          empty.reset();
        });
}

std::vector<Mutation> fa4::tile::mutateAttributes(KernelOp kernel) {
  std::vector<Mutation> result;
  SmallVector<ChannelOp> channels(kernel.getBody().getOps<ChannelOp>());
  for (unsigned i = 0; i < channels.size(); ++i) {
    ChannelOp channel = channels[i];
    auto add = [&](StringRef kind, StringRef attribute,
                   std::optional<int64_t> value) {
      addNumber(result, kind, channel, channel.getLabel(), attribute, value);
    };
    int64_t stages = channel.getStages();
    add("stages", "stages", stages + 1);
    if (stages > 1)
      add("stages", "stages", stages - 1);
    int64_t initial = channel.getInitial().value_or(0);
    add("initial", "initial", initial + 1);
    if (initial > 0)
      add("initial", "initial", initial - 1);
    if (channel.getPlaceAttr())
      addPlaces(result, channel, channels);
  }
  int64_t group = kernel.getTarget().warpsPerWarpgroup();
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    auto add = [&](StringRef attribute, int64_t value) {
      addNumber(result, attribute == "registers" ? "registers" : "warps", role,
                role.getSymName(), attribute, value);
    };
    if (auto first = role.getFirstWarp())
      for (int64_t delta : {-group, int64_t(-1), int64_t(1), group})
        add("first_warp", int64_t(*first) + delta);
    if (auto registers = role.getRegisters())
      for (int64_t delta : {-8, 8, 64})
        add("registers", int64_t(*registers) + delta);
    int64_t warps = role.getNumWarps();
    add("warps", warps + 1);
    add("warps", warps + group);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Fences
//===----------------------------------------------------------------------===//

/// Returns true for operations whose order with a fence matters.
static bool isOrdered(Operation *op) {
  return op->getNumRegions() != 0 ||
         isa<AcquireOp, CommitOp, WaitOp, ReleaseOp, ReadOp, WriteOp>(op);
}

static void mutateFence(FenceOp fence, std::vector<Mutation> &result) {
  SmallVector<Operation *> before, behind;
  for (Operation &op : *fence->getBlock())
    if (isOrdered(&op))
      (op.isBeforeInBlock(fence) ? before : behind).push_back(&op);
  std::string name =
      formatv("@{0} fence", fence->getParentOfType<RoleOp>().getSymName());
  for (Operation *op : behind)
    if (auto commit = dyn_cast<CommitOp>(op)) {
      name += " of commit ";
      name += commit.getChannel().getDefiningOp<ChannelOp>().getLabel();
      break;
    }
  auto add = [&](StringRef kind, const llvm::Twine &detail,
                 IRChange::Kind change, Operation *anchor = nullptr) {
    Mutation mutation;
    mutation.kind = kind.str();
    mutation.text = (name + detail).str();
    mutation.changeIR = IRChange{change, fence, anchor, {}};
    result.push_back(std::move(mutation));
  };
  add("drop fence", "", IRChange::Erase);
  if (!before.empty())
    add("move fence",
        " before previous: " + before.back()->getName().getStringRef(),
        IRChange::MoveBefore, before.back());
  if (before.size() > 1)
    add("move fence", " to the front", IRChange::MoveBefore, before.front());
  if (!behind.empty())
    add("move fence",
        " behind next: " + behind.front()->getName().getStringRef(),
        IRChange::MoveBehind, behind.front());
  if (behind.size() > 1)
    add("move fence", " to the back", IRChange::MoveBehind, behind.back());
  if (isa<scf::ForOp>(fence->getParentOp())) {
    add("move fence", " to before the loop", IRChange::MoveBefore,
        fence->getParentOp());
    add("move fence", " to behind the loop", IRChange::MoveBehind,
        fence->getParentOp());
  }
}

std::vector<Mutation> fa4::tile::mutateFences(KernelOp kernel) {
  std::vector<Mutation> result;
  kernel.walk([&](FenceOp fence) { mutateFence(fence, result); });
  return result;
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

namespace {

class TurnMutator {
public:
  explicit TurnMutator(KernelOp kernel) : kernel(kernel) {}

  std::vector<Mutation> run();

private:
  void add(StringRef kind, const Twine &text, IRChange change) {
    Mutation mutation;
    mutation.kind = kind.str();
    mutation.text = text.str();
    mutation.changeIR = std::move(change);
    mutation.isOfTurns = true;
    result.push_back(std::move(mutation));
  }
  void mutate(AwaitTurnOp await);
  void move(Operation *op, const Twine &name);
  void mutateOperands(AwaitTurnOp await);
  void mutateOrder();

  KernelOp kernel;
  std::vector<Mutation> result;
};

} // namespace

/// Moves the operation beyond its neighbours, to the ends of its block and out
/// of its loop.
void TurnMutator::move(Operation *op, const Twine &name) {
  SmallVector<Operation *> before, behind;
  for (Operation &other : *op->getBlock())
    if (&other != op &&
        (isOrdered(&other) || isa<ReduceAddOp, AwaitTurnOp, PassTurnOp>(other)))
      (other.isBeforeInBlock(op) ? before : behind).push_back(&other);
  auto to = [&](const Twine &where, IRChange::Kind kind, Operation *anchor) {
    add("move turn", name + where, IRChange{kind, op, anchor, {}});
  };
  for (Operation *each : llvm::reverse(before))
    to(" before " + each->getName().getStringRef(), IRChange::MoveBefore, each);
  for (Operation *each : behind)
    to(" behind " + each->getName().getStringRef(), IRChange::MoveBehind, each);
  if (isa<scf::ForOp>(op->getParentOp())) {
    to(" to before the loop", IRChange::MoveBefore, op->getParentOp());
    to(" to behind the loop", IRChange::MoveBehind, op->getParentOp());
  }
}

/// Who takes turns, and where: numbers that are one off, or a block of rows,
/// and other coordinates.
void TurnMutator::mutateOperands(AwaitTurnOp await) {
  int64_t tile = 1;
  for (auto extent : kernel.getGrid().getAsRange<ExtentAttr>())
    tile = std::max(tile, extent.getTile());
  auto addNumbers = [&](OpOperand &operand, const Twine &name, int64_t most) {
    for (int64_t delta : {int64_t(-1), int64_t(1), -most, most})
      if (std::abs(delta) == most || most > 1) {
        IRChange change{IRChange::AddToOperand, await, nullptr, {}};
        change.operand = operand.getOperandNumber();
        change.delta = delta;
        add("wrong turn", name + formatv(" {0}", delta), std::move(change));
      }
  };
  addNumbers(await.getFirstMutable(), "first", 1);
  addNumbers(await.getLastMutable(), "last", 1);
  addNumbers(await.getTileMutable(), "tile", 1);
  for (auto [i, index] : llvm::enumerate(await.getIndicesMutable()))
    addNumbers(index, "index " + Twine(i), tile);
  auto replace = [&](OpOperand &operand, const Twine &name, Value value) {
    if (operand.get() == value)
      return;
    IRChange change{IRChange::SetOperand, await, nullptr, {}};
    change.operand = operand.getOperandNumber();
    change.value = value;
    add("wrong turn", name, std::move(change));
  };
  Operation *coordinates = await.getCoordinate().getDefiningOp();
  ValueRange others = coordinates ? ValueRange(coordinates->getResults())
                                  : cast<BlockArgument>(await.getCoordinate())
                                        .getOwner()
                                        ->getArguments();
  for (auto [i, coordinate] : llvm::enumerate(others)) {
    replace(await.getTileMutable(), "tile: coordinate " + Twine(i), coordinate);
    replace(await.getFirstMutable(), "first: coordinate " + Twine(i),
            coordinate);
    replace(await.getLastMutable(), "last: coordinate " + Twine(i), coordinate);
    for (auto [n, index] : llvm::enumerate(await.getIndicesMutable()))
      replace(index, "index " + Twine(n) + ": coordinate " + Twine(i),
              coordinate);
  }
  replace(await.getFirstMutable(), "first: last", await.getLast());
  replace(await.getLastMutable(), "last: first", await.getFirst());
}

void TurnMutator::mutate(AwaitTurnOp await) {
  PassTurnOp pass = await.getPass();
  add("drop turn", "await and pass", {IRChange::EraseTurn, await, nullptr, {}});
  add("drop turn", "pass", {IRChange::Erase, pass, nullptr, {}});
  for (Operation *user : await.getTurn().getUsers())
    if (isa<ReduceAddOp>(user))
      add("drop turn", "of the sum", {IRChange::DropTurn, user, nullptr, {}});
  add("duplicate turn", "await", {IRChange::Duplicate, await, nullptr, {}});
  add("duplicate turn", "pass", {IRChange::Duplicate, pass, nullptr, {}});
  move(await, "await");
  move(pass, "pass");
  mutateOperands(await);
}

void TurnMutator::mutateOrder() {
  OrderAttr order = kernel.getOrderAttr();
  auto set = [&](const Twine &text, StringRef name, Attribute value) {
    IRChange change{IRChange::SetAttributes, kernel, nullptr, {}};
    change.attributes.push_back({name.str(), value});
    add("order", text, std::move(change));
  };
  MLIRContext *context = kernel.getContext();
  if (order) {
    auto with = [&](int64_t axis, bool isDescending) {
      return OrderAttr::get(context, axis, isDescending, order.getCacheBytes(),
                            order.getGroupBytes(), order.getSize(),
                            order.getFewBlocks());
    };
    set("from the other end", "order",
        with(order.getAxis(), !order.getDescending()));
    for (int64_t axis = 0; axis < int64_t(kernel.getGrid().size()); ++axis)
      if (axis != order.getAxis())
        set("along axis " + Twine(axis), "order",
            with(axis, order.getDescending()));
  }
  set("as the hardware hands out work tiles", "schedule",
      ScheduleAttr::get(context, Schedule::Requested));
}

std::vector<Mutation> TurnMutator::run() {
  kernel.walk([&](AwaitTurnOp await) { mutate(await); });
  if (!result.empty())
    mutateOrder();
  return std::move(result);
}

std::vector<Mutation> fa4::tile::mutateTurns(KernelOp kernel) {
  return TurnMutator(kernel).run();
}
