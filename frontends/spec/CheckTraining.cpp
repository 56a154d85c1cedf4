//===- CheckTraining.cpp - Fields of training and plan --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/Check.h"
#include "frontends/spec/Sizes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

using namespace hocket::spec;

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

/// S12: no tensor of a microbatch outgrows 64-bit sizes.
static void checkActivations(const Spec &spec, ConstraintErrors &errors) {
  const Model &model = spec.model();
  if (!model.has_head_dim())
    return; // S5 was broken.
  CheckedSize tokens = CheckedSize(spec.training().micro_batch_size()) *
                       spec.training().sequence_length();
  CheckedSize width =
      paddedVocabSize(model) + CheckedSize(model.ffn()) * 2 + model.hidden() +
      CheckedSize(model.heads()) * model.head_dim() * 3 +
      CheckedSize(model.heads()) * spec.training().sequence_length();
  if (!(tokens * width * model.layers() * 16).get())
    errors.add(12, "training.micro_batch_size",
               "the activations of a microbatch do not fit 64-bit sizes; "
               "write a smaller micro_batch_size or sequence_length");
}

/// S13.
static void checkSequence(const Spec &spec, ConstraintErrors &errors) {
  const Model &model = spec.model();
  const Training &training = spec.training();
  if (!training.has_sequence_length()) {
    errors.add(13, "training.sequence_length",
               "neither training.sequence_length nor model.max_positions is "
               "there; write one");
    return;
  }
  if (model.position() == Model::LEARNED &&
      training.sequence_length() > model.max_positions())
    errors.add(13, "training.sequence_length",
               "training.sequence_length is " +
                   std::to_string(training.sequence_length()) +
                   ", but only model.max_positions (" +
                   std::to_string(model.max_positions()) +
                   ") positions are learned; write at most that");
  checkActivations(spec, errors);
}

/// S14.
static void checkBatches(const Training &training, ConstraintErrors &errors) {
  int64_t micro = training.micro_batch_size();
  int64_t global = training.global_batch_size();
  if (global % micro == 0)
    return;
  errors.add(14, "training.global_batch_size",
             "training.global_batch_size is " + std::to_string(global) +
                 ", which is not a multiple of micro_batch_size (" +
                 std::to_string(micro) + "); write " +
                 std::to_string((global / micro + 1) * micro));
}

/// S15.
static void checkLearningRate(const LearningRate &rate,
                              ConstraintErrors &errors) {
  const std::string path = "training.learning_rate.";
  if (rate.minimum() > rate.peak())
    errors.add(15, path + "minimum",
               "the minimum learning rate is " + formatReal(rate.minimum()) +
                   "; write at most the peak (" + formatReal(rate.peak()) +
                   ")");
  if (rate.warmup_steps() > rate.decay_steps())
    errors.add(15, path + "warmup_steps",
               "warmup_steps is " + std::to_string(rate.warmup_steps()) +
                   "; write at most decay_steps (" +
                   std::to_string(rate.decay_steps()) + ")");
  if (rate.schedule() != LearningRate::WSD) {
    if (rate.has_wsd_decay_steps())
      errors.add(15, path + "wsd_decay_steps",
                 "wsd_decay_steps has no use with schedule: " +
                     LearningRate::Schedule_Name(rate.schedule()) +
                     "; write schedule: WSD, or leave it out");
  } else if (rate.warmup_steps() <= rate.decay_steps() &&
             rate.wsd_decay_steps() >
                 rate.decay_steps() - rate.warmup_steps()) {
    errors.add(15, path + "wsd_decay_steps",
               "wsd_decay_steps is " + std::to_string(rate.wsd_decay_steps()) +
                   "; write at most decay_steps - warmup_steps (" +
                   std::to_string(rate.decay_steps() - rate.warmup_steps()) +
                   ")");
  }
}

/// S16.
static void checkLossScale(const Training &training, ConstraintErrors &errors) {
  if (!training.has_loss_scale())
    return;
  if (training.precision() != Training::FP16)
    errors.add(16, "training.loss_scale",
               "a loss scale has no use with precision: " +
                   Training::Precision_Name(training.precision()) +
                   "; write precision: FP16, or leave loss_scale out");
  else if (training.loss_scale().minimum() > training.loss_scale().initial())
    errors.add(16, "training.loss_scale.minimum",
               "the minimum loss scale is " +
                   formatReal(training.loss_scale().minimum()) +
                   "; write at most the initial one (" +
                   formatReal(training.loss_scale().initial()) + ")");
}

/// Reads "a", "a,b" or "a,b,c": shares that are not negative, the first above
/// zero.
static bool isSplit(std::string_view text) {
  int count = 0;
  while (count < 3) {
    size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    double share = -1;
    auto [stop, error] =
        std::from_chars(part.data(), part.data() + part.size(), share);
    if (error != std::errc() || stop != part.data() + part.size() ||
        !std::isfinite(share) || share < 0 || share > 1e9 ||
        (count == 0 && share == 0))
      return false;
    ++count;
    if (comma == std::string_view::npos)
      return true;
    text = text.substr(comma + 1);
  }
  return false;
}

void hocket::spec::checkTraining(const Spec &spec, ConstraintErrors &errors) {
  const Training &training = spec.training();
  checkSequence(spec, errors);
  checkBatches(training, errors);
  checkLearningRate(training.learning_rate(), errors);
  checkLossScale(training, errors);
  if (!isSplit(training.data().split()))
    errors.add(17, "training.data.split",
               "training.data.split is not three shares; write for example "
               "\"969,30,1\"");
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

static bool isAxisName(const std::string &name) {
  if (name.empty() || name.size() > 32 || name[0] < 'a' || name[0] > 'z')
    return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

/// S18, and S19 for the mesh.
static void checkMesh(const Plan &plan, ConstraintErrors &errors) {
  std::set<std::string> seen;
  for (int i = 0; i < plan.mesh_size(); ++i) {
    const Plan::Axis &axis = plan.mesh(i);
    std::string path = "plan.mesh[" + std::to_string(i) + "]";
    if (!isAxisName(axis.name()))
      errors.add(18, path + ".name",
                 path + " needs a name of at most 32 small letters, digits "
                        "and \"_\", for example dp");
    else if (!seen.insert(axis.name()).second)
      errors.add(18, path + ".name",
                 "two axes of the mesh are named " + axis.name() +
                     "; give each a name of its own");
    if (axis.size() != 1)
      errors.add(19, path + ".size",
                 path + ".size is " + std::to_string(axis.size()) +
                     "; this build compiles for one device: write 1");
  }
}

void hocket::spec::checkPlan(const Spec &spec, ConstraintErrors &errors) {
  const Plan &plan = spec.plan();
  checkMesh(plan, errors);
  auto single = [&](bool holds, const std::string &path,
                    const std::string &value, const std::string &only) {
    if (!holds)
      errors.add(19, path,
                 path + " is " + value +
                     "; this build compiles for one device: write " + only);
  };
  single(!plan.sequence_parallel(), "plan.sequence_parallel", "true", "false");
  single(plan.zero() == 0, "plan.zero", std::to_string(plan.zero()), "0");
  const Plan::Pipeline &pipeline = plan.pipeline();
  single(pipeline.stages() == 1, "plan.pipeline.stages",
         std::to_string(pipeline.stages()), "1");
  single(pipeline.virtual_stages() == 1, "plan.pipeline.virtual_stages",
         std::to_string(pipeline.virtual_stages()), "1");
  single(pipeline.schedule() == Plan::Pipeline::ONE_F_ONE_B,
         "plan.pipeline.schedule",
         Plan::Pipeline::Schedule_Name(pipeline.schedule()), "ONE_F_ONE_B");
  single(plan.context_parallel() == Plan::ALL_GATHER, "plan.context_parallel",
         Plan::ContextParallel_Name(plan.context_parallel()), "ALL_GATHER");
  single(spec.cluster().devices() == 1, "cluster.devices",
         std::to_string(spec.cluster().devices()), "1");
  single(spec.cluster().device() == Cluster::CPU, "cluster.device",
         Cluster::Device_Name(spec.cluster().device()), "CPU");
  if (plan.recompute() == Plan::AUTO)
    errors.add(19, "plan.recompute",
               "plan.recompute is AUTO, which needs a schedule over several "
               "devices; write NONE, SELECTIVE or FULL");
}
