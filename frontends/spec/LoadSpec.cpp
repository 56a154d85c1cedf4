//===- LoadSpec.cpp - A spec from a file ----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/LoadSpec.h"

#include "frontends/spec/Check.h"
#include "frontends/spec/Defaults.h"
#include "frontends/spec/RunLengths.h"
#include "frontends/spec/model/BatchGrowth.h"
#include "frontends/spec/model/PlanMessage.h"
#include "frontends/spec/text/Overrides.h"
#include "frontends/spec/text/SpecText.h"

#include <algorithm>
#include <google/protobuf/text_format.h>

using namespace hocket;
using namespace hocket::spec;

static Status replacePlan(std::string text, const std::string &file,
                          LoadedSpec &loaded) {
  loaded.spec.clear_plan();
  loaded.locations.set("plan", {file, 0, 0});
  return parseText({std::move(text), file, "plan"}, *loaded.spec.mutable_plan(),
                   loaded.locations);
}

/// The message of a plan in the short form, which leaves the training's
/// microbatch alone unless it names one.
static Status replacePlan(const std::string &shortForm, LoadedSpec &loaded) {
  StatusOr<plan::ParallelPlan> plan = plan::parsePlan(shortForm);
  if (!plan.ok())
    return plan.status().withContext("--plan " + elide(shortForm) + ": S1");
  loaded.locations.set("plan", {"--plan " + elide(shortForm), 0, 0});
  *loaded.spec.mutable_plan() = messageOf(*plan);
  if (plan->schedule.empty()) // So that other options may choose it.
    loaded.spec.mutable_plan()->clear_schedule();
  HOCKET_ASSIGN_OR_RETURN(auto entries, plan::splitPlan(shortForm));
  if (std::ranges::none_of(
          entries, [](const auto &entry) { return entry.first == "mbs"; }))
    loaded.spec.mutable_plan()->clear_micro_batch_size();
  return okStatus();
}

/// A plan's microbatch takes the place of the training's.
static void moveMicroBatch(LoadedSpec &loaded) {
  Plan &plan = *loaded.spec.mutable_plan();
  if (!plan.has_micro_batch_size())
    return;
  loaded.spec.mutable_training()->set_micro_batch_size(plan.micro_batch_size());
  loaded.locations.set("training.micro_batch_size",
                       loaded.locations.find("plan.micro_batch_size"));
  plan.clear_micro_batch_size();
}

/// A batch of one size, and a schedule without samples, which nothing that does
/// not train looks at.
static void dropGrowth(Training &training) {
  training.clear_rampup_batch_size();
  training.clear_batch_size_steps();
  if (training.has_train_samples())
    return;
  training.mutable_learning_rate()->clear_warmup_samples();
  training.mutable_learning_rate()->clear_decay_samples();
  training.mutable_learning_rate()->clear_wsd_decay_samples();
}

/// Leaves the batch of a step to the plan if the plan cannot have it.
static void dropUnfitBatch(Spec &spec) {
  if (batchGrows(spec.training()))
    dropGrowth(*spec.mutable_training());
  Spec whole = spec;
  whole.mutable_training()->clear_global_batch_size();
  fillDefaults(whole);
  // What a microbatch of all data-parallel ranks has.
  int64_t least = whole.training().global_batch_size();
  if (least > 0 && spec.training().global_batch_size() % least != 0)
    spec.mutable_training()->clear_global_batch_size();
}

StatusOr<LoadedSpec> spec::finishSpec(LoadedSpec partial,
                                      const LoadOptions &options) {
  moveMicroBatch(partial);
  int64_t dataRanks = partial.spec.plan().data_parallel();
  if (options.withoutPlan) {
    partial.spec.clear_plan();
    partial.spec.clear_cluster();
  }
  if (options.anyDevices && partial.spec.has_cluster())
    partial.spec.mutable_cluster()->clear_devices();
  if (plan::isShortPlan(options.planPath)) {
    HOCKET_RETURN_IF_ERROR(replacePlan(options.planPath, partial));
  } else if (!options.planPath.empty()) {
    HOCKET_ASSIGN_OR_RETURN(std::string text, readInput(options.planPath));
    HOCKET_RETURN_IF_ERROR(
        replacePlan(std::move(text), options.planPath, partial));
  } else if (!options.planText.empty()) {
    HOCKET_RETURN_IF_ERROR(replacePlan(options.planText, "the plan", partial));
  }
  moveMicroBatch(partial);
  for (const std::string &assignment : options.overrides)
    HOCKET_RETURN_IF_ERROR(
        applyOverride(assignment, partial.spec, partial.locations));
  HOCKET_RETURN_IF_ERROR(
      applyFlags(options.flags, partial.spec, partial.locations));
  if (partial.spec.training().has_micro_batch_size())
    partial.sequencesTogether =
        partial.spec.training().micro_batch_size() *
        (options.withoutPlan ? dataRanks : partial.spec.plan().data_parallel());
  if (options.anyBatch)
    dropUnfitBatch(partial.spec);
  HOCKET_RETURN_IF_ERROR(turnLengthsIntoSteps(partial.spec, partial.locations));
  fillDefaults(partial.spec);
  HOCKET_RETURN_IF_ERROR(checkSpec(partial.spec, partial.locations));
  return partial;
}

StatusOr<LoadedSpec> spec::parseSpec(const std::string &text,
                                     const std::string &file,
                                     const LoadOptions &options) {
  LoadedSpec loaded{Spec(), FieldLocations(file)};
  HOCKET_RETURN_IF_ERROR(
      parseText({text, file, ""}, loaded.spec, loaded.locations));
  return finishSpec(std::move(loaded), options);
}

StatusOr<LoadedSpec> spec::loadSpec(const std::string &path,
                                    const LoadOptions &options) {
  HOCKET_ASSIGN_OR_RETURN(std::string text, readInput(path));
  return parseSpec(text, path, options);
}

std::string spec::printSpec(const Spec &spec) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(spec, &text);
  return text;
}
