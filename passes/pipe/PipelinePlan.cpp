//===- PipelinePlan.cpp - What the plan says of the pipeline --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/pipe/PipelinePlan.h"

#include "dialects/plan/IR/Plan.h"
#include "dialects/xf/IR/Xf.h"
#include "passes/planning/ScheduleGenerators.h"
#include "passes/planning/ScheduleText.h"
#include "passes/planning/ScheduleVerifier.h"
#include "passes/planning/StageBalance.h"

#include "llvm/Support/MemoryBuffer.h"

#include <numeric>

using namespace mlir;
using namespace hocket;
using namespace hocket::pipe;

/// Most bytes of a schedule's file.
static constexpr uint64_t maxScheduleBytes = uint64_t(1) << 28;

/// What is not the name of a generator and has a dot is a file.
static bool isFile(StringRef name) {
  return !planning::scheduleTraits(name) && name.contains_insensitive(".");
}

static StatusOr<planning::Schedule> readScheduleFile(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return notFound(path + ": cannot open: " + file.getError().message());
  if ((*file)->getBufferSize() > maxScheduleBytes)
    return invalidArgument(path + " has more than " +
                           std::to_string(maxScheduleBytes) + " bytes");
  return planning::readSchedule(
      path,
      std::string_view((*file)->getBufferStart(), (*file)->getBufferSize()));
}

StatusOr<planning::Schedule>
hocket::pipe::chooseSchedule(const PipelinePlan &plan, bool splitWeight) {
  planning::ScheduleProblem problem = planning::uniformProblem(plan.shape);
  problem.group = plan.group;
  problem.splitWeight = splitWeight;
  StatusOr<planning::Schedule> schedule =
      isFile(plan.schedule)
          ? readScheduleFile(plan.schedule)
          : planning::compiledSchedule(plan.schedule, problem);
  if (schedule.ok())
    HOCKET_RETURN_IF_ERROR(planning::verifySchedule(problem, *schedule));
  return schedule;
}

Status hocket::pipe::noteScheduleForm(PipelinePlan &plan) {
  StringRef name = plan.schedule;
  if (!isFile(name)) {
    if (name.empty()) // Nothing is scheduled.
      return okStatus();
    HOCKET_RETURN_IF_ERROR(
        planning::checkScheduleName(plan::fullScheduleName(name)));
    const planning::ScheduleTraits *traits = planning::scheduleTraits(name);
    plan.shape.placement = traits->placement;
    plan.splitsWeights = traits->splitsWeights;
    return okStatus();
  }
  HOCKET_ASSIGN_OR_RETURN(planning::Schedule schedule,
                          readScheduleFile(plan.schedule));
  plan.shape.placement = schedule.shape.placement;
  for (const auto &rank : schedule.ranks)
    for (const planning::Action &action : rank)
      plan.splitsWeights |= action.kind == planning::ActionKind::W;
  return okStatus();
}

FailureOr<PipelinePlan> hocket::pipe::readPipelinePlan(ModuleOp module) {
  PipelinePlan plan;
  auto trainings = module.getOps<xf::TrainingOp>();
  if (trainings.empty())
    return plan;
  xf::TrainingOp training = *trainings.begin();
  plan::ParallelPlan step = plan::planOf(module);
  plan.shape.microbatches = training.getMostMicrobatches();
  plan.rampup = training.getRampup();
  plan.shape.ranks = step.pp;
  plan.shape.chunks = step.chunks;
  plan.group = step.group;
  if (plan.isCut())
    plan.schedule = step.scheduleName();
  plan.layersPerStage.assign(step.layers.begin(), step.layers.end());
  plan.countEmbedding = step.countEmbedding;
  plan.countHead = step.countHead;
  plan.balanceCost = step.balanceCost;
  if (Status status = noteScheduleForm(plan); !status.ok())
    return training.emitOpError(status.message());
  return plan;
}

/// As many parts in each stage; those left over in the middle.
static SmallVector<int64_t> shareEvenly(int64_t parts, int64_t stages) {
  SmallVector<int64_t> counts(stages, parts / stages);
  int64_t over = parts % stages;
  for (int64_t i = 0; i < over; ++i)
    ++counts[(stages - over) / 2 + i];
  return counts;
}

FailureOr<SmallVector<int64_t>>
hocket::pipe::shareOutLayers(const PipelinePlan &plan, ArrayRef<double> costs,
                             function_ref<InFlightDiagnostic()> emitError) {
  int64_t layers = static_cast<int64_t>(costs.size()) - 2;
  int64_t stages = plan.shape.stages();
  if (!plan.layersPerStage.empty()) {
    ArrayRef<int64_t> list = plan.layersPerStage;
    int64_t sum = std::accumulate(list.begin(), list.end(), int64_t(0));
    if (static_cast<int64_t>(list.size()) != stages || sum != layers ||
        llvm::any_of(list, [](int64_t n) { return n < 0; }))
      return emitError() << "P7: layers_per_stage shares out " << sum
                         << " layers over " << list.size()
                         << " stages; the model has " << layers
                         << " and the plan " << stages;
    return SmallVector<int64_t>(list);
  }
  if (plan.balanceCost) {
    planning::StageBalanceProblem problem;
    problem.layers.assign(costs.begin(), costs.end() - 2);
    problem.embedding = costs[layers];
    problem.head = costs[layers + 1];
    problem.stages = stages;
    problem.least = layers < stages ? 0 : 1;
    StatusOr<planning::StageCut> cut = planning::balanceStages(problem);
    if (!cut.ok())
      return emitError() << "P7: " << cut.status().message();
    return SmallVector<int64_t>(cut->counts.begin(), cut->counts.end());
  }
  int64_t first = plan.countEmbedding, last = plan.countHead;
  if (layers + first + last < stages)
    return emitError() << "P7: " << layers << " layers are too few for "
                       << stages << " stages";
  SmallVector<int64_t> counts = shareEvenly(layers + first + last, stages);
  counts.front() -= first;
  counts.back() -= last;
  return counts;
}
