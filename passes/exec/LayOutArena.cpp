//===- LayOutArena.cpp - Offsets in the arena -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Variables stand first, in their order; the values of the step share what
// follows, as the planner places them.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/Instructions.h"
#include "passes/exec/Lifetimes.h"
#include "passes/exec/Passes.h"
#include "passes/exec/StageCopies.h"
#include "passes/planning/memory/BufferAlignment.h"
#include "passes/planning/memory/MemoryPlan.h"

#include "llvm/Support/MathExtras.h"

namespace hocket::exec {
#define GEN_PASS_DEF_EXECLAYOUTARENA
#include "passes/exec/Passes.h.inc"
} // namespace hocket::exec

using namespace mlir;
using namespace hocket;
using namespace hocket::exec;

/// Of the arena: a page.
static constexpr int64_t arenaAlignment = 4096;
/// Of the planner's search, where first fit is not at the lower bound: a
/// fraction of a second.
static constexpr int64_t searchSteps = 50'000'000;

namespace {

/// Lays out one role.
class ArenaLayout {
public:
  explicit ArenaLayout(RoleOp role)
      : role(role), lifetimes(role), stages(stageCopiesOf(role)) {}

  LogicalResult run();

private:
  Span spanOf(ArrayRef<FragmentKind> fragments);
  bool isInterrupted(Span life) const;
  bool isBucketed(Value buffer) const;
  void widen(BufferOp buffer);
  void widenLifetimes();
  /// Persistent ones; false where they are larger than can be counted.
  LogicalResult placeVariables();
  LogicalResult placeValues();
  void describe(BufferOp buffer);

  RoleOp role;
  Lifetimes lifetimes;
  std::map<int64_t, StageCopies> stages;
  Span flight, update, backward, weight;
  SmallVector<Span> forwardOnly; ///< Evaluation, encode, prefill, decode.
  bool overlap = false;          ///< microbatches do, on several stages
  int64_t variableBytes = 0;
};

} // namespace

/// The positions of all sequences of the given kinds.
Span ArenaLayout::spanOf(ArrayRef<FragmentKind> fragments) {
  Span span;
  for (auto sequence : role.getOps<SequenceOp>())
    if (Block &block = sequence.getBody().front();
        !block.empty() && sequence.getFragment() &&
        llvm::is_contained(fragments, *sequence.getFragment())) {
      span.include(lifetimes.positionOf(&block.front()));
      span.include(lifetimes.positionOf(&block.back()));
    }
  return span;
}

/// Whether a fragment of another microbatch runs while the only copy of a
/// residual of a rank's one stage is kept: a W before its B, or an F before its
/// W. These stand outside the positions of what is kept.
bool ArenaLayout::isInterrupted(Span life) const {
  return llvm::any_of(stages, [&](const auto &stage) {
    return (stage.second.weightsBetween && life.last < weight.first) ||
           (stage.second.forwardsBetween && !weight.isEmpty() &&
            life.first >= backward.first);
  });
}

/// Whether gradients are reduced from it or into it while backward runs.
bool ArenaLayout::isBucketed(Value buffer) const {
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    auto sequence = dyn_cast<SequenceOp>(user->getParentOp());
    return sequence && sequence.getBucket();
  });
}

/// Where microbatches overlap, what lives in one slot meets any instruction of
/// forward and backward: of other microbatches, or, for what crosses between
/// stages, while it is on its way.
void ArenaLayout::widen(BufferOp buffer) {
  Span &life = lifetimes.of(buffer);
  if (isBucketed(buffer)) {
    // In flight from the last backward to the update.
    life.last = std::max(life.last, update.first);
    if (overlap)
      life.first = std::min(life.first, flight.first);
    return;
  }
  bool overlaps = buffer.getSlots() > 1 || overlap;
  if (!isLink(buffer) &&
      !(buffer.getResidual() && (overlaps || isInterrupted(life))))
    return;
  for (Span alone : forwardOnly)
    if (!alone.isEmpty() && life.first >= alone.first &&
        life.first <= alone.last) {
      life = alone;
      return;
    }
  life = flight;
}

void ArenaLayout::widenLifetimes() {
  using enum FragmentKind;
  flight = spanOf({Forward, Backward, Weight});
  forwardOnly = {spanOf({Evaluate}), spanOf({Encode}), spanOf({Prefill}),
                 spanOf({Decode})};
  update = spanOf({Update});
  backward = spanOf({Backward});
  weight = spanOf({Weight});
  int64_t forwards =
      llvm::count_if(role.getOps<SequenceOp>(),
                     [](SequenceOp s) { return s.isFragment(Forward); });
  overlap = forwards > 1 && microbatchesOf(role) > 1;
  // What stands in others lends them its lifetime.
  for (auto buffer : role.getOps<BufferOp>())
    if (Value host = buffer.getWithin()) {
      Span life = lifetimes.of(buffer);
      lifetimes.of(host).include(life.first);
      lifetimes.of(host).include(life.last);
    }
  for (auto buffer : role.getOps<BufferOp>())
    if (!buffer.getPersistent() && !lifetimes.of(buffer).isEmpty())
      widen(buffer);
}

LogicalResult ArenaLayout::placeVariables() {
  for (auto buffer : role.getOps<BufferOp>()) {
    if (bytesOf(buffer) < 0)
      return role.emitError("buffer ")
             << buffer.getName() << " of type " << buffer.getType()
             << " is larger than 2^63 bytes";
    if (!buffer.getPersistent())
      continue;
    buffer.setOffset(variableBytes);
    if (__builtin_add_overflow(variableBytes, alignedBytesOf(buffer),
                               &variableBytes))
      return role.emitError("the variables are larger than 2^63 bytes "
                            "together");
  }
  return success();
}

LogicalResult ArenaLayout::placeValues() {
  planning::MemoryProblem problem;
  SmallVector<BufferOp> planned;
  for (auto buffer : role.getOps<BufferOp>()) {
    // Others have their place, or stand in the bytes of one of these.
    if (buffer.getPersistent() || buffer.getWithin())
      continue;
    Span life = lifetimes.of(buffer);
    int64_t bytes = alignedBytesOf(buffer);
    if (__builtin_mul_overflow(bytes, buffer.getSlots(), &bytes))
      return role.emitError("the copies of buffer ")
             << buffer.getName() << " are larger than 2^63 bytes together";
    planned.push_back(buffer);
    problem.buffers.push_back(
        {life.first, life.last + 1, bytes,
         static_cast<int64_t>(planning::kBufferAlignment)});
  }
  planning::MemoryOptions options;
  options.steps = searchSteps;
  auto plan = planning::planMemory(problem, options);
  if (!plan.ok())
    return role.emitError(plan.status().message());
  for (auto [buffer, offset] : llvm::zip(planned, plan->offsets))
    buffer.setOffset(variableBytes + offset);
  planning::MemoryArena arena;
  for (const auto &[name, only] : plan->arenas)
    arena = only;
  role.setArenaBytes(llvm::alignTo(variableBytes + arena.peak, arenaAlignment));
  role.setLowerBound(
      llvm::alignTo(variableBytes + arena.lowerBound, arenaAlignment));
  return success();
}

/// What follows from where a buffer stands and who uses it.
void ArenaLayout::describe(BufferOp buffer) {
  auto host = buffer.getWithin() ? bufferOf(buffer.getWithin()) : BufferOp();
  if (host)
    buffer.setOffset(*buffer.getOffset() + *host.getOffset());
  if (buffer.getSlots() > 1)
    buffer.setSlotStride(alignedBytesOf(host ? host : buffer));
  if (Span life = lifetimes.of(buffer); !life.isEmpty()) {
    buffer.setFirst(life.first);
    buffer.setLast(life.last);
  }
  if (buffer.getKind() == MemoryKind::Activations && !buffer.getResidual())
    buffer.setKind(isLink(buffer) ? MemoryKind::Transfers
                                  : MemoryKind::Temporaries);
}

LogicalResult ArenaLayout::run() {
  widenLifetimes();
  if (failed(placeVariables()) || failed(placeValues()))
    return failure();
  for (auto buffer : role.getOps<BufferOp>())
    describe(buffer);
  return success();
}

namespace {

struct LayOutArena : exec::impl::ExecLayOutArenaBase<LayOutArena> {
  void runOnOperation() override {
    for (auto role : getOperation().getOps<RoleOp>()) {
      if (failed(ArenaLayout(role).run()))
        return signalPassFailure();
      for (auto buffer : role.getOps<BufferOp>())
        buffers += buffer.getPersistent() ? 0 : 1;
    }
  }
};

} // namespace
