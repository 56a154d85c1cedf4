//===- ScheduleCheck.cpp - Whether a plan's schedule exists ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/ScheduleCheck.h"

#include "base/Quantity.h"
#include "frontends/spec/model/PlanMessage.h"
#include "passes/pipe/PipelinePlan.h"

using namespace hocket;

Status hocket::checkSchedule(const spec::LoadedSpec &loaded) {
  const spec::Plan &from = loaded.spec.plan();
  const spec::Training &training = loaded.spec.training();
  pipe::PipelinePlan plan;
  plan.shape.ranks = from.pipeline_parallel();
  plan.shape.chunks = from.virtual_stages();
  plan.schedule = from.schedule();
  plan.group = from.schedule_group();
  Status status = pipe::noteScheduleForm(plan);
  std::vector<int64_t> batches = spec::planSizes(loaded.spec).smallerBatches;
  batches.push_back(training.global_batch_size());
  for (int64_t batch : batches) {
    plan.shape.microbatches =
        batch / (training.micro_batch_size() * from.data_parallel());
    if (status.ok() && plan.isCut())
      status = pipe::chooseSchedule(plan, plan.splitsWeights).status();
    if (!status.ok() && batches.size() > 1)
      status = status.withContext(
          "the step of " +
          formatNoun(static_cast<uint64_t>(batch), "sequence"));
    if (!status.ok())
      break;
  }
  if (status.ok())
    return okStatus();
  return status.withContext(loaded.locations.find("plan.schedule").str() +
                            ": S25");
}
