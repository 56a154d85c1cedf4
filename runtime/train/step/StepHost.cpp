//===- StepHost.cpp - Batches in, metrics out -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/step/StepHost.h"

#include "base/Format.h"
#include "runtime/program/HostNames.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

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

uint64_t StepHost::countLabels(const MicrobatchRows &rows) const {
  uint64_t count = 0;
  for (size_t i = 0; i < fetched; ++i)
    count += batches[i].countLabels(rows.first - firstRow, rows.count);
  return count;
}

void StepHost::begin(uint64_t stepsDone, double learningRate, uint64_t count,
                     uint64_t ofLabels) {
  step = stepsDone;
  microbatches = count;
  labels = ofLabels;
  rate = float(learningRate);
  if (!std::exchange(isFetched, false))
    fetched = 0;
  collected = StepOutputs();
}

/// Reads on until there are `count` batches of the step.
Status StepHost::readUpTo(size_t count) {
  for (; fetched < count; ++fetched) {
    if (batches.size() == fetched)
      batches.emplace_back();
    HOCKET_RETURN_IF_ERROR(next(batches[fetched]));
  }
  return okStatus();
}

Status StepHost::fetch(size_t microbatches) {
  fetched = 0;
  isFetched = true;
  return readUpTo(microbatches);
}

Status StepHost::provide(const HostInput &input, std::span<std::byte> data) {
  if (isBatchInput(input.name))
    return provideBatch(input, data);
  float number = 0;
  if (input.name == "learning_rate")
    number = rate;
  else if (input.name == "step")
    number = float(step + 1);
  else if (input.name == "microbatches")
    number = float(microbatches);
  else if (input.name == "label_count")
    number = float(double(labels) / double(microbatches));
  else
    return invalidArgument("the program asks for an input '" + input.name +
                           "', which training does not know");
  if (data.size() != sizeof(number))
    return invalidArgument(formatText("input '%s' has %zu bytes, expected 4",
                                      input.name.c_str(), data.size()));
  std::memcpy(data.data(), &number, sizeof(number));
  return okStatus();
}

/// What of a batch is the input `name`; null if it is no training's.
static const std::vector<int32_t> *rowsOf(const data::Batch &batch,
                                          std::string_view name) {
  const std::pair<std::string_view, const std::vector<int32_t> *> parts[] = {
      {"tokens", &batch.tokens},
      {"labels", &batch.labels},
      {"positions", &batch.positions},
      {"token_types", &batch.tokenTypes},
      {"key_counts", &batch.keyCounts},
      {"sentence_labels", &batch.sentenceLabels},
      {"image_rows", &batch.imageRows},
  };
  for (auto [part, rows] : parts)
    if (part == name)
      return rows;
  return nullptr;
}

Status StepHost::provideBatch(const HostInput &input,
                              std::span<std::byte> data) {
  HOCKET_RETURN_IF_ERROR(readUpTo(size_t(input.microbatch) + 1));
  const data::Batch &batch = batches[input.microbatch];
  if (input.name == "positions" && batch.positions.empty())
    return provideRows(
        input, data::positionsOf({}, batch.tokens, batch.sequenceLength),
        batch.sequenceLength, data);
  if (input.name == "encoder_tokens" && !batch.encoderTokens.empty())
    return provideRows(input, batch.encoderTokens, batch.encoderLength, data);
  if (input.name == "neighbors" && !batch.neighbors.empty())
    return provideRows(input, batch.neighbors,
                       batch.neighbors.size() * batch.sequenceLength /
                           batch.tokens.size(),
                       data);
  if (input.name == "pixels" && !batch.pixels.empty()) {
    uint64_t rows = batch.tokens.size() / batch.sequenceLength;
    return provideRows(input, std::span(batch.pixels),
                       batch.pixels.size() / rows, data);
  }
  const std::vector<int32_t> *from = rowsOf(batch, input.name);
  if (!from || from->size() != batch.tokens.size())
    return invalidArgument("the program asks for '" + input.name +
                           "', which this data does not have");
  return provideRows(input, *from, batch.sequenceLength, data);
}

Status StepHost::provideRows(const HostInput &input,
                             std::span<const int32_t> from, uint64_t length,
                             std::span<std::byte> data) const {
  return provideElements(input, from, length, data);
}

Status StepHost::provideRows(const HostInput &input,
                             std::span<const float> from, uint64_t length,
                             std::span<std::byte> data) const {
  return provideElements(input, from, length, data);
}

template <typename T>
Status StepHost::provideElements(const HostInput &input,
                                 std::span<const T> from, uint64_t length,
                                 std::span<std::byte> data) const {
  static_assert(sizeof(T) == 4);
  if (!input.shards.empty())
    return gather(input, from, length, data);
  if (data.size() != from.size() * sizeof(T))
    return invalidArgument(
        formatText("input '%s' has %zu bytes, a microbatch has %zu tokens of 4",
                   input.name.c_str(), data.size(), from.size()));
  std::memcpy(data.data(), from.data(), data.size());
  return okStatus();
}

/// Row by row, shard behind shard.
template <typename T>
Status StepHost::gather(const HostInput &input, std::span<const T> from,
                        uint64_t length, std::span<std::byte> data) const {
  if (length == 0)
    return internalError("a batch does not say how long its sequences are");
  uint64_t have = from.size() / length;
  uint64_t rows = input.shards.front().size.front(), width = 0;
  for (const HostShard &shard : input.shards)
    width += shard.size.back();
  if (data.size() != rows * width * sizeof(T))
    return invalidArgument(formatText(
        "input '%s' has %zu bytes, its shards have %llu x %llu tokens of 4",
        input.name.c_str(), data.size(), (unsigned long long)rows,
        (unsigned long long)width));
  std::vector<T> row(width);
  for (uint64_t r = 0; r < rows; ++r) {
    auto to = row.begin();
    for (const HostShard &shard : input.shards) {
      uint64_t source = uint64_t(shard.start.front()) + r - firstRow;
      uint64_t begin = std::min(uint64_t(shard.start.back()), length);
      uint64_t count = std::min(shard.size.back(), length - begin);
      if (source >= have)
        count = 0;
      to = std::copy_n(from.begin() +
                           ptrdiff_t(source * length + begin) * (count > 0),
                       count, to);
      to = std::fill_n(to, shard.size.back() - count, T(0));
    }
    std::memcpy(data.data() + r * width * sizeof(T), row.data(),
                width * sizeof(T));
  }
  return okStatus();
}

std::vector<ByteRange> StepHost::wanted(const HostOutput &output) {
  // Who trains has no use for more.
  if (isOfEachLabel(output.name))
    return {};
  return HostChannel::wanted(output);
}

Status StepHost::beyondBound(const Status &why) {
  if (!allowsReruns)
    return why;
  collected.isBeyondBound = true;
  return okStatus();
}

Status StepHost::receive(const std::string &name, uint32_t microbatch,
                         std::span<const std::byte> data) {
  float value = 0;
  if (data.size() != sizeof(value))
    return invalidArgument(formatText("output '%s' has %zu bytes, expected 4",
                                      name.c_str(), data.size()));
  std::memcpy(&value, data.data(), sizeof(value));
  if (name == "loss") {
    if (collected.losses.size() <= microbatch)
      collected.losses.resize(microbatch + 1, std::nanf(""));
    collected.losses[microbatch] = value;
  } else {
    collected.numbers[name] = value;
  }
  return okStatus();
}
