//===- CheckTables.cpp - Checks of what all roles share -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/CheckedMath.h"
#include "base/Format.h"
#include "runtime/program/DataType.h"
#include "runtime/program/Entries.h"
#include "runtime/program/FaultList.h"
#include "runtime/program/ProgramRules.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace hocket;

/// More ranks or tensor dims than anybody has.
static constexpr uint64_t rankLimit = uint64_t(1) << 20;
static constexpr int dimLimit = 8;

static uint64_t meshSize(const program::Mesh &mesh) {
  uint64_t ranks = 1;
  for (const auto &axis : mesh.axes()) {
    std::optional<uint64_t> product = checkedMultiply(ranks, axis.size());
    if (!product || *product > rankLimit)
      return rankLimit + 1;
    ranks = *product;
  }
  return ranks;
}

static void checkLearningRate(const program::LearningRate &rate,
                              FaultList &faults) {
  static const std::set<std::string> schedules = {
      "constant", "linear", "cosine", "inverse_sqrt", "wsd"};
  if (!schedules.count(rate.schedule()))
    faults.add(ProgramRule::Training, "learning rate",
               "schedule '" + rate.schedule() +
                   "' is not one of constant, linear, "
                   "cosine, inverse_sqrt, wsd");
  if (!std::isfinite(rate.peak()) || rate.peak() < 0 ||
      !std::isfinite(rate.minimum()) || rate.minimum() < 0)
    faults.add(ProgramRule::Training, "learning rate",
               "peak and minimum must be finite and not "
               "negative");
  if (!(rate.warmup_fraction() >= 0 && rate.warmup_fraction() <= 1))
    faults.add(ProgramRule::Training, "learning rate",
               "the share of the warm-up must be between 0 and 1");
}

static void checkLossScale(const program::LossScale &scale, FaultList &faults) {
  bool sound = std::isfinite(scale.initial()) && scale.initial() > 0 &&
               std::isfinite(scale.growth_factor()) &&
               scale.growth_factor() >= 1 && scale.backoff_factor() > 0 &&
               scale.backoff_factor() <= 1 && scale.minimum() >= 0;
  if (!sound)
    faults.add(ProgramRule::Training, "loss scale",
               "wants initial > 0, growth factor >= 1, backoff "
               "factor in (0, 1] and minimum >= 0");
}

/// They grow to the global batch, in whole global microbatches.
static void checkBatchSizes(const program::TrainingInfo &training,
                            FaultList &faults) {
  if (training.batch_sizes().empty())
    return;
  uint64_t microbatch = globalMicrobatchOf(training);
  std::vector<BatchSize> rows;
  std::string fault;
  for (const auto &row : training.batch_sizes()) {
    rows.push_back({row.from(), row.size()});
    if (microbatch == 0 || row.size() % microbatch != 0)
      fault = formatText("batch size %llu is no multiple of a global "
                         "microbatch of %llu",
                         (unsigned long long)row.size(),
                         (unsigned long long)microbatch);
  }
  if (rows.back().size != training.global_batch_size())
    fault = formatText("the batch grows to %llu, the global batch is %llu",
                       (unsigned long long)rows.back().size,
                       (unsigned long long)training.global_batch_size());
  if (Status status = BatchSizes::create(std::move(rows)).status();
      !status.ok())
    fault = status.message();
  if (!fault.empty())
    faults.add(ProgramRule::Training, "training", fault);
}

static void checkTraining(const program::Program &program, FaultList &faults) {
  const program::TrainingInfo &training = program.training();
  const program::ModelInfo &model = program.model();
  if (training.micro_batch_size() == 0 || training.microbatches() == 0 ||
      model.sequence_length() == 0 || model.vocab_size() == 0) {
    faults.add(ProgramRule::Training, "training",
               "micro batch size, microbatches, sequence length "
               "and vocabulary size must be positive");
    return;
  }
  std::optional<uint64_t> perRank =
      checkedMultiply(training.micro_batch_size(), training.microbatches());
  if (!perRank || training.global_batch_size() == 0 ||
      training.global_batch_size() % *perRank != 0)
    faults.add(ProgramRule::Training, "training",
               formatText("global batch size %llu is no multiple of micro "
                          "batch size %llu x %llu microbatches",
                          (unsigned long long)training.global_batch_size(),
                          (unsigned long long)training.micro_batch_size(),
                          (unsigned long long)training.microbatches()));
  checkBatchSizes(training, faults);
  if (!std::isfinite(training.clip_norm()) || training.clip_norm() < 0)
    faults.add(ProgramRule::Training, "training",
               "clip norm must be finite and not negative");
  checkLearningRate(training.learning_rate(), faults);
  if (training.epochs() > 0 &&
      (!training.has_classification() || training.steps() > 0))
    faults.add(ProgramRule::Training, "training",
               "epochs are of labelled texts, and in place of steps");
  if (training.has_loss_scale())
    checkLossScale(training.loss_scale(), faults);
}

template <typename Shape>
static void checkShape(const std::string &place, const Shape &shape,
                       program::DType dtype, FaultList &faults) {
  if (dataTypeBytes(dtype) == 0)
    faults.add(ProgramRule::Parameters, place,
               formatText("element type %d does not exist", int(dtype)));
  else if (shape.size() > dimLimit)
    faults.add(ProgramRule::Parameters, place,
               formatText("has %d dims, at most %d are supported",
                          int(shape.size()), dimLimit));
  else if (std::optional<uint64_t> bytes = tensorBytes(shape, dtype); !bytes)
    faults.add(ProgramRule::Parameters, place,
               "shape " + shapeText(shape) + " has more than 2^64 bytes");
  else if (*bytes == 0)
    faults.add(ProgramRule::Parameters, place,
               "shape " + shapeText(shape) + " is empty");
}

static void checkInitializer(const std::string &place,
                             const program::Initializer &initializer,
                             FaultList &faults) {
  static constexpr const char *kinds[] = {"normal",    "uniform", "log_uniform",
                                          "time_step", "zeros",   "ones",
                                          "constant"};
  if (std::ranges::find(kinds, initializer.kind()) == std::end(kinds)) {
    std::string known;
    for (const char *kind : kinds)
      known += (known.empty() ? "" : ", ") + std::string(kind);
    faults.add(ProgramRule::Parameters, place,
               "initializer '" + initializer.kind() + "' is not one of " +
                   known);
  }
  if (!std::isfinite(initializer.stddev()) || initializer.stddev() < 0 ||
      !std::isfinite(initializer.value()) ||
      (initializer.kind() == "uniform" && initializer.value() < 0) ||
      (initializer.kind() == "log_uniform" && initializer.value() <= 1) ||
      (initializer.kind() == "time_step" && initializer.value() <= 0))
    faults.add(ProgramRule::Parameters, place,
               "the initializer's numbers must be finite, a bound not "
               "negative, and the greatest of logarithms above the least");
}

/// What the model says of their number, state that is not trained left out.
static void checkCount(const program::Program &program, FaultList &faults) {
  uint64_t count = 0;
  for (const program::Parameter &parameter : program.parameters())
    if (!parameter.name().starts_with("state."))
      count += checkedProduct(parameter.shape()).value_or(0);
  if (count != program.model().parameter_count())
    faults.add(ProgramRule::Parameters, "model",
               formatText("has %llu parameters, those of the table have %llu",
                          (unsigned long long)program.model().parameter_count(),
                          (unsigned long long)count));
}

static void checkParameters(const program::Program &program,
                            FaultList &faults) {
  std::set<std::string> names;
  for (int i = 0; i < program.parameters_size(); ++i) {
    const program::Parameter &parameter = program.parameters(i);
    std::string place =
        formatText("parameter %d '%s'", i, parameter.name().c_str());
    if (parameter.name().empty())
      faults.add(ProgramRule::Parameters, place, "has no name");
    else if (!names.insert(parameter.name()).second)
      faults.add(ProgramRule::Parameters, place,
                 "another parameter has the same name");
    checkShape(place, parameter.shape(), parameter.dtype(), faults);
    checkInitializer(place, parameter.initializer(), faults);
    if (parameter.frozen() && !parameter.slots().empty())
      faults.add(ProgramRule::Parameters, place,
                 "is frozen and has optimizer state");
    std::set<std::string> slots = {"value", ""};
    for (const auto &slot : parameter.slots()) {
      if (!slots.insert(slot.name()).second)
        faults.add(ProgramRule::Parameters, place,
                   "slot name '" + slot.name() +
                       "' is empty, reserved or used twice");
      checkShape(place + ", slot '" + slot.name() + "'", slot.shape(),
                 slot.dtype(), faults);
      if (!std::equal(slot.shape().begin(), slot.shape().end(),
                      parameter.shape().begin(), parameter.shape().end()))
        faults.add(ProgramRule::Parameters, place,
                   "slot '" + slot.name() + "' has the shape " +
                       shapeText(slot.shape()) + ", its parameter " +
                       shapeText(parameter.shape()));
    }
  }
}

void hocket::checkTables(const program::Program &program, FaultList &faults) {
  if (program.version() != programVersion)
    faults.add(ProgramRule::Ranks, "",
               formatText("program version %u, expected %u", program.version(),
                          programVersion));
  static const std::set<std::string> targets = {"cpu", "cuda", "null"};
  if (!targets.count(program.provenance().target()))
    faults.add(ProgramRule::Ranks, "",
               "target '" + program.provenance().target() +
                   "' is not one of cpu, cuda, null");
  if (program.roles_size() == 0)
    faults.add(ProgramRule::Ranks, "", "the program has no role");
  checkTraining(program, faults);
  checkParameters(program, faults);
  checkCount(program, faults);
}

void hocket::checkRanks(const program::Program &program, FaultList &faults) {
  uint64_t ranks = meshSize(program.mesh());
  if (ranks == 0 || ranks > rankLimit) {
    faults.add(ProgramRule::Ranks, "mesh", "must have from 1 to 2^20 ranks");
    return;
  }
  std::vector<int> owner(ranks, -1);
  uint64_t assigned = 0;
  for (int role = 0; role < program.roles_size(); ++role)
    for (uint32_t rank : program.roles(role).ranks()) {
      if (rank >= ranks || owner[rank] >= 0) {
        faults.add(ProgramRule::Ranks, ProgramPlace{program, role}.text(),
                   formatText("rank %u %s", rank,
                              rank >= ranks ? "is not in the mesh"
                                            : "has a role already"));
        continue;
      }
      owner[rank] = role;
      ++assigned;
    }
  if (assigned != ranks)
    faults.add(ProgramRule::Ranks, "mesh",
               formatText("%llu ranks have no role",
                          (unsigned long long)(ranks - assigned)));
}
