//===- WriteSchedule.cpp - What each pipeline rank runs -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Generates or reads the plan's schedule, has it verified, and writes it as
// `pipe.schedule`s.
//
//===----------------------------------------------------------------------===//

#include "base/BatchSizes.h"
#include "passes/pipe/Passes.h"
#include "passes/pipe/PipelinePlan.h"
#include "passes/planning/ResidualSlots.h"

namespace hocket::pipe {
#define GEN_PASS_DEF_PIPEWRITESCHEDULE
#include "passes/pipe/Passes.h.inc"
} // namespace hocket::pipe

using namespace mlir;
using namespace hocket;
using namespace hocket::pipe;

namespace {

class ScheduleWriter {
public:
  ScheduleWriter(ModuleOp module, const PipelinePlan &plan)
      : module(module), plan(plan), builder(module) {}

  LogicalResult run();
  int64_t actions = 0;

private:
  bool hasFragment(FragmentKind kind);
  /// A training step of all ranks.
  struct Step {
    planning::Schedule schedule;
    planning::SlotPlan slots;
  };
  LogicalResult choose(int64_t microbatches);
  void writeRank(const Step &step, int64_t rank);
  /// One microbatch through the rank's stages, where there are such fragments.
  void writeForwardOnly(FragmentKind kind, StringRef entry, int64_t rank);
  void addSchedule(StringRef entry, int64_t rank, int64_t microbatches,
                   int64_t slots, ArrayRef<Attribute> list);
  ActionAttr action(FragmentKind kind, int64_t chunk, int64_t microbatch = 0,
                    int64_t slot = 0) {
    return ActionAttr::get(module.getContext(), kind, chunk, microbatch, slot);
  }

  ModuleOp module;
  const PipelinePlan &plan;
  OpBuilder builder;
  std::vector<Step> steps; ///< one for each number of microbatches
};

} // namespace

bool ScheduleWriter::hasFragment(FragmentKind kind) {
  return llvm::any_of(module.getOps<FragmentOp>(), [&](FragmentOp fragment) {
    return fragment.getKind() == kind;
  });
}

void ScheduleWriter::addSchedule(StringRef entry, int64_t rank,
                                 int64_t microbatches, int64_t slots,
                                 ArrayRef<Attribute> list) {
  builder.create<ScheduleOp>(
      module.getLoc(), builder.getStringAttr(entry),
      builder.getI64IntegerAttr(rank), builder.getI64IntegerAttr(microbatches),
      builder.getI64IntegerAttr(slots), builder.getArrayAttr(list));
  actions += static_cast<int64_t>(list.size());
}

void ScheduleWriter::writeRank(const Step &step, int64_t rank) {
  const auto &[schedule, slots] = step;
  SmallVector<Attribute> train;
  bool splits = hasFragment(FragmentKind::Weight);
  int64_t most = 1;
  for (const planning::Action &next : schedule.ranks[rank]) {
    int64_t slot = slots.slot(rank, next.chunk, next.microbatch);
    auto add = [&](FragmentKind kind) {
      train.push_back(action(kind, next.chunk, next.microbatch, slot));
    };
    using Kind = planning::ActionKind;
    if (next.kind == Kind::F)
      add(FragmentKind::Forward);
    if (next.kind == Kind::B || next.kind == Kind::BW)
      add(FragmentKind::Backward);
    if (splits && (next.kind == Kind::W || next.kind == Kind::BW))
      add(FragmentKind::Weight);
  }
  train.push_back(action(FragmentKind::Update, 0));
  for (int64_t chunk = 0; chunk < plan.shape.chunks; ++chunk)
    most = std::max(most, slots.count(rank, chunk));
  int64_t microbatches = schedule.shape.microbatches;
  addSchedule(trainEntryName(static_cast<uint64_t>(microbatches),
                             static_cast<uint64_t>(plan.shape.microbatches)),
              rank, microbatches, most, train);
}

void ScheduleWriter::writeForwardOnly(FragmentKind kind, StringRef entry,
                                      int64_t rank) {
  if (!hasFragment(kind))
    return;
  SmallVector<Attribute> actions;
  for (int64_t chunk = 0; chunk < plan.shape.chunks; ++chunk)
    actions.push_back(action(kind, chunk));
  addSchedule(entry, rank, 1, 1, actions);
}

LogicalResult ScheduleWriter::choose(int64_t microbatches) {
  // 1. The schedule.
  PipelinePlan step = plan;
  step.shape.microbatches = microbatches;
  StatusOr<planning::Schedule> schedule =
      chooseSchedule(step, hasFragment(FragmentKind::Weight));
  if (!schedule.ok())
    return module.emitError(schedule.status().message());
  // 2. Slots for residuals, which the rank's chunks share, each kept until
  // nothing of the microbatch is left to do.
  planning::SlotPlan slots =
      planning::assignSlots(*schedule, planning::ResidualLife::ForwardToWeight,
                            planning::SlotScope::Rank);
  steps.push_back({*std::move(schedule), std::move(slots)});
  return success();
}

LogicalResult ScheduleWriter::run() {
  if (hasFragment(FragmentKind::Forward)) {
    SmallVector<int64_t> each{plan.shape.microbatches};
    llvm::append_range(each, plan.rampup);
    for (int64_t microbatches : each)
      if (failed(choose(microbatches)))
        return failure();
  }
  builder.setInsertionPointToEnd(module.getBody());
  for (int64_t rank = 0; rank < plan.shape.ranks; ++rank) {
    for (const Step &step : steps)
      writeRank(step, rank);
    writeForwardOnly(FragmentKind::Evaluate, "eval_step", rank);
    writeForwardOnly(FragmentKind::Encode, "encode", rank);
    writeForwardOnly(FragmentKind::Prefill, "prefill", rank);
    writeForwardOnly(FragmentKind::Decode, "decode", rank);
    if (hasFragment(FragmentKind::Prepare))
      addSchedule("prepare", rank, 1, 1, {action(FragmentKind::Prepare, 0)});
  }
  return success();
}

namespace {
struct WriteSchedulePass
    : public hocket::pipe::impl::PipeWriteScheduleBase<WriteSchedulePass> {
  void runOnOperation() override {
    FailureOr<PipelinePlan> plan = readPipelinePlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    if (!plan->isCut())
      return;
    ScheduleWriter writer(getOperation(), *plan);
    if (failed(writer.run()))
      return signalPassFailure();
    numActions += writer.actions;
  }
};
} // namespace
