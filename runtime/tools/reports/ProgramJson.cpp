//===- ProgramJson.cpp - An executable, described for programs ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/Sha256.h"
#include "runtime/program/DataType.h"
#include "runtime/program/Entries.h"
#include "runtime/program/InstructionOperands.h"
#include "runtime/tools/reports/CollectiveReport.h"
#include "runtime/tools/reports/ExplainReport.h"
#include "runtime/tools/reports/ProgramReport.h"
#include "runtime/train/step/LearningRate.h"

#include <nlohmann/json.hpp>

using namespace hocket;
using nlohmann::ordered_json;
using program::Program;
using program::Role;

template <typename Range> static ordered_json listOf(const Range &values) {
  ordered_json list = ordered_json::array();
  for (const auto &value : values)
    list.push_back(value);
  return list;
}

/// The words of --data, for each split that has data of its own.
static ordered_json dataJson(const program::TrainingInfo &training) {
  ordered_json data{{"split", training.data_split()}};
  if (!training.train_data().empty())
    data["train"] = listOf(training.train_data());
  if (!training.valid_data().empty())
    data["valid"] = listOf(training.valid_data());
  if (!training.test_data().empty())
    data["test"] = listOf(training.test_data());
  return data;
}

static ordered_json rateJson(const program::LearningRate &rate) {
  ordered_json json{{"schedule", rate.schedule()},
                    {"peak", rate.peak()},
                    {"minimum", rate.minimum()}};
  if (isInSamples(rate)) {
    json["warmup_samples"] = rate.warmup_samples();
    json["decay_samples"] = rate.decay_samples();
  } else {
    json["warmup_steps"] = rate.warmup_steps();
    json["decay_steps"] = rate.decay_steps();
  }
  if (rate.warmup_fraction() > 0)
    json["warmup_fraction"] = rate.warmup_fraction();
  return json;
}

static ordered_json trainingJson(const Program &program) {
  const auto &training = program.training();
  BatchSizes sizes = batchSizesOf(training);
  ordered_json batches = ordered_json::array();
  for (const BatchSize &size : sizes.sizes())
    batches.push_back({{"from_sample", size.from}, {"batch_size", size.size}});
  ordered_json json = {
      {"precision", training.precision()},
      {"micro_batch_size", training.micro_batch_size()},
      {"global_batch_size", training.global_batch_size()},
      {"microbatches", training.microbatches()},
      {"sequence_length", program.model().sequence_length()},
      {"steps", training.steps()},
      {"samples", sizes.samplesIn(training.steps()).value_or(UINT64_MAX)},
      {"batch_sizes", batches},
      {"seed", training.seed()},
      {"data", dataJson(training)},
      {"clip_norm", training.clip_norm()},
      {"learning_rate", rateJson(training.learning_rate())}};
  if (training.epochs() > 0)
    json["epochs"] = training.epochs();
  return json;
}

static ordered_json parametersJson(const Program &program) {
  ordered_json list = ordered_json::array();
  for (const auto &parameter : program.parameters()) {
    ordered_json slots = ordered_json::array();
    for (const auto &slot : parameter.slots())
      slots.push_back({{"name", slot.name()},
                       {"dtype", dataTypeName(slot.dtype())},
                       {"shape", listOf(slot.shape())}});
    list.push_back({{"name", parameter.name()},
                    {"dtype", dataTypeName(parameter.dtype())},
                    {"shape", listOf(parameter.shape())},
                    {"initializer", parameter.initializer().kind()},
                    {"stddev", parameter.initializer().stddev()},
                    {"random_key", parameter.random_key()},
                    {"weight_decay", parameter.weight_decay()},
                    {"frozen", parameter.frozen()},
                    {"slots", slots}});
  }
  return list;
}

static ordered_json kernelsJson(const Program &program) {
  ordered_json list = ordered_json::array();
  for (const auto &kernel : program.kernels())
    list.push_back({{"name", kernel.name()},
                    {"module", program.modules(int(kernel.module())).name()},
                    {"symbol", kernel.symbol()},
                    {"tasks", kernel.tasks()},
                    {"grain", kernel.grain()},
                    {"threads", kernel.threads()},
                    {"shared_bytes", kernel.shared_bytes()},
                    {"flops", kernel.flops()},
                    {"bytes", kernel.bytes()},
                    {"description", kernel.description()}});
  return list;
}

static ordered_json memoryJson(const Role &role) {
  ordered_json kinds = ordered_json::object();
  for (const auto &kind : role.memory().at_peak())
    kinds[kind.name()] = kind.bytes();
  return {{"role", role.name()},
          {"arena_bytes", role.memory().arena_bytes()},
          {"lower_bound_bytes", role.memory().lower_bound_bytes()},
          {"at_peak", kinds}};
}

static ordered_json roleJson(const Role &role, const Program &program) {
  ordered_json sequences = ordered_json::array();
  for (const auto &sequence : role.sequences()) {
    ordered_json instructions = ordered_json::array();
    for (const auto &instruction : sequence.instructions())
      instructions.push_back({{"text", instructionText(instruction, program)},
                              {"stream", instruction.stream()},
                              {"flops", instructionFlops(instruction, program)},
                              {"source", instruction.source()}});
    sequences.push_back(
        {{"name", sequence.name()}, {"instructions", instructions}});
  }
  ordered_json entries = ordered_json::object();
  for (const auto &entry : role.entries()) {
    ordered_json runs = ordered_json::array();
    for (const auto &run : entry.runs())
      runs.push_back({{"sequence", run.sequence()},
                      {"microbatch", run.microbatch()},
                      {"slot", run.slot()}});
    entries[entry.name()] = runs;
  }
  ordered_json buffers = ordered_json::array();
  for (const auto &buffer : role.buffers())
    buffers.push_back({{"name", buffer.name()},
                       {"kind", buffer.kind()},
                       {"dtype", dataTypeName(buffer.dtype())},
                       {"shape", listOf(buffer.shape())},
                       {"offset", buffer.offset()},
                       {"bytes", buffer.bytes()},
                       {"persistent", buffer.persistent()},
                       {"first", buffer.first()},
                       {"last", buffer.last()}});
  return {{"name", role.name()},
          {"ranks", listOf(role.ranks())},
          {"entries", entries},
          {"sequences", sequences},
          {"buffers", buffers}};
}

static ordered_json groupsJson(const Program &program) {
  ordered_json groups = ordered_json::array();
  for (const auto &group : program.groups()) {
    ordered_json members = ordered_json::array();
    for (const auto &list : group.members())
      members.push_back(listOf(list.ranks()));
    groups.push_back({{"name", group.name()}, {"members", members}});
  }
  return groups;
}

/// What processors and GPUs the executable has code for.
static ordered_json codeJson(const Program &program) {
  ordered_json code = ordered_json::array();
  for (const auto &module : program.modules())
    for (const auto &variant : module.variants())
      code.push_back({{"module", module.name()},
                      {"isa", variant.isa()},
                      {"format", variant.format()},
                      {"bytes", variant.image().size()}});
  return code;
}

ordered_json hocket::programJson(const Program &program, ProgramDetail detail) {
  const auto &model = program.model();
  double tokens = double(program.training().global_batch_size()) *
                  double(model.sequence_length());
  ordered_json memory = ordered_json::array(), roles = ordered_json::array();
  for (const Role &role : program.roles()) {
    memory.push_back(memoryJson(role));
    if (detail == ProgramDetail::Instructions)
      roles.push_back(roleJson(role, program));
  }
  ordered_json axes = ordered_json::object();
  for (const auto &axis : program.mesh().axes())
    axes[axis.name()] = axis.size();
  ordered_json json = {
      {"version", program.version()},
      {"model", model.name()},
      {"target", program.provenance().target()},
      {"code", codeJson(program)},
      {"compiler", program.provenance().compiler_version()},
      {"fingerprint", toHex(program.provenance().fingerprint())},
      {"mesh", axes},
      {"groups", groupsJson(program)},
      {"vocab_size", model.vocab_size()},
      {"parameter_count", model.parameter_count()},
      {"flops_per_token", model.flops_per_token()},
      {"flops_per_step", model.flops_per_token() * tokens},
      {"training", trainingJson(program)},
      {"parameters", parametersJson(program)},
      {"memory", memory},
      {"shardings", shardingsJson(program)},
      {"collectives", collectivesJson(program)},
      {"certificate", certificateJson(program)},
      {"kernels", kernelsJson(program)}};
  if (detail == ProgramDetail::Instructions)
    json["roles"] = roles;
  return json;
}
