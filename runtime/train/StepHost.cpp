//===- StepHost.cpp - Batches in, metrics out -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/StepHost.h"

#include "runtime/base/Format.h"

#include <cmath>
#include <cstring>

using namespace hocket;

double StepOutputs::meanLoss() const {
  double sum = 0;
  for (float loss : losses)
    sum += loss;
  return losses.empty() ? std::nan("") : sum / double(losses.size());
}

std::optional<double> StepOutputs::number(const std::string &name) const {
  auto found = numbers.find(name);
  return found == numbers.end() ? std::nullopt
                                : std::optional<double>(found->second);
}

void StepHost::begin(uint64_t stepsDone, double learningRate) {
  step = stepsDone;
  rate = float(learningRate);
  fetched = 0;
  collected = StepOutputs();
}

Status StepHost::provide(const std::string &name, uint32_t microbatch,
                         std::span<std::byte> data) {
  if (name == "tokens" || name == "labels")
    return provideBatch(name, microbatch, data);
  float number = 0;
  if (name == "learning_rate")
    number = rate;
  else if (name == "step")
    number = float(step + 1);
  else
    return invalidArgument("the program asks for an input '" + name +
                           "', which training does not know");
  if (data.size() != sizeof(number))
    return invalidArgument(formatText("input '%s' has %zu bytes, expected 4",
                                      name.c_str(), data.size()));
  std::memcpy(data.data(), &number, sizeof(number));
  return okStatus();
}

Status StepHost::provideBatch(const std::string &name, uint32_t microbatch,
                              std::span<std::byte> data) {
  while (fetched <= microbatch) {
    if (batches.size() == fetched)
      batches.emplace_back();
    HOCKET_RETURN_IF_ERROR(next(batches[fetched]));
    ++fetched;
  }
  const data::Batch &batch = batches[microbatch];
  const std::vector<int32_t> &from =
      name == "tokens" ? batch.tokens : batch.labels;
  if (data.size() != from.size() * sizeof(int32_t))
    return invalidArgument(
        formatText("input '%s' has %zu bytes, a microbatch has %zu tokens of 4",
                   name.c_str(), data.size(), from.size()));
  std::memcpy(data.data(), from.data(), data.size());
  return okStatus();
}

Status StepHost::receive(const std::string &name, uint32_t,
                         std::span<const std::byte> data) {
  float value = 0;
  if (data.size() != sizeof(value))
    return invalidArgument(formatText("output '%s' has %zu bytes, expected 4",
                                      name.c_str(), data.size()));
  std::memcpy(&value, data.data(), sizeof(value));
  if (name == "loss")
    collected.losses.push_back(value);
  else
    collected.numbers[name] = value;
  return okStatus();
}
