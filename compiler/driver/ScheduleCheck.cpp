//===- ScheduleCheck.cpp - Whether a plan's schedule exists ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/ScheduleCheck.h"

#include "passes/pipe/PipelinePlan.h"

using namespace hocket;

Status hocket::checkSchedule(const spec::LoadedSpec &loaded) {
  const spec::Plan &from = loaded.spec.plan();
  const spec::Training &training = loaded.spec.training();
  pipe::PipelinePlan plan;
  plan.shape.ranks = from.pipeline_parallel();
  plan.shape.chunks = from.virtual_stages();
  plan.shape.microbatches =
      training.global_batch_size() /
      (training.micro_batch_size() * from.data_parallel());
  plan.schedule = from.schedule();
  plan.group = from.schedule_group();
  Status status = pipe::noteScheduleForm(plan);
  if (status.ok() && plan.isCut())
    status = pipe::chooseSchedule(plan, plan.splitsWeights).status();
  if (status.ok())
    return okStatus();
  return status.withContext(loaded.locations.find("plan.schedule").str() +
                            ": S25");
}
