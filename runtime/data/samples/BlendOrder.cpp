//===- BlendOrder.cpp - Which dataset a sample of a blend is of -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/BlendOrder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

using namespace hocket;
using namespace hocket::data;

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// In NumPy's order: eight running sums over up to 128 numbers, of more the
/// halves, each by itself.
static double pairwiseSum(std::span<const double> values) {
  if (values.size() > 128) {
    size_t half = values.size() / 2 / 8 * 8;
    return pairwiseSum(values.first(half)) + pairwiseSum(values.subspan(half));
  }
  double sum = 0;
  size_t i = 0;
  if (values.size() >= 8) {
    double sums[8] = {};
    for (; i + 8 <= values.size(); i += 8)
      for (size_t k = 0; k < 8; ++k)
        sums[k] += values[i + k];
    sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
          ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  }
  for (; i < values.size(); ++i)
    sum += values[i];
  return sum;
}

std::vector<double> data::normalizeWeights(std::vector<double> weights) {
  double sum = pairwiseSum(weights);
  for (double &weight : weights)
    weight /= sum;
  return weights;
}

uint64_t data::samplesOfShare(double weight, uint64_t samples) {
  return uint64_t(std::ceil(std::ceil(double(samples) * weight) * 1.005));
}

//===----------------------------------------------------------------------===//
// The order
//===----------------------------------------------------------------------===//

/// Calls visit(choice) for each of `samples` samples, until one fails.
template <typename Visit>
static Status eachChoice(const std::vector<double> &weights, uint64_t samples,
                         Visit visit) {
  std::vector<double> taken(weights.size());
  for (uint64_t i = 0; i < samples; ++i) {
    double share = std::max(double(i), 1.0), most = 0;
    size_t best = 0;
    for (size_t d = 0; d < weights.size(); ++d) {
      double lag = weights[d] * share - taken[d];
      if (d == 0 || lag > most) {
        most = lag;
        best = d;
      }
    }
    HOCKET_RETURN_IF_ERROR(
        visit(BlendChoice{uint16_t(best), uint32_t(taken[best])}));
    taken[best] += 1;
  }
  return okStatus();
}

static constexpr uint64_t choiceBytes = 6;

static uint64_t choicesBegin(size_t parts) {
  return keptHeaderBytes + 16 + 8 * parts;
}

static StatusOr<std::vector<uint64_t>>
countsOf(const PagedFile &file, size_t parts, uint64_t samples) {
  std::array<uint64_t, 2> sizes;
  HOCKET_RETURN_IF_ERROR(file.read(keptHeaderBytes, sizes.data(), 16));
  std::vector<uint64_t> counts(parts);
  if (sizes != std::array<uint64_t, 2>{samples, parts} ||
      file.size() < choicesBegin(parts) + choiceBytes * samples)
    return dataLoss(file.path() + ": its sizes cannot be");
  HOCKET_RETURN_IF_ERROR(
      file.read(keptHeaderBytes + 16, counts.data(), 8 * parts));
  return counts;
}

static Status writeBlend(const std::vector<double> &weights, uint64_t samples,
                         PagedFileWriter &file) {
  // Counts stand first, so that the order is gone through twice.
  std::vector<uint64_t> counts(weights.size());
  HOCKET_RETURN_IF_ERROR(eachChoice(weights, samples, [&](BlendChoice choice) {
    ++counts[choice.part];
    return okStatus();
  }));
  std::array<uint64_t, 2> sizes = {samples, weights.size()};
  HOCKET_RETURN_IF_ERROR(file.append(sizes.data(), 16));
  HOCKET_RETURN_IF_ERROR(file.append(counts.data(), 8 * counts.size()));
  return eachChoice(weights, samples, [&](BlendChoice choice) {
    std::array<uint8_t, choiceBytes> bytes;
    std::memcpy(bytes.data(), &choice.part, 2);
    std::memcpy(bytes.data() + 2, &choice.number, 4);
    return file.append(bytes.data(), bytes.size());
  });
}

StatusOr<BlendOrder> BlendOrder::open(const std::string &prefix,
                                      const std::vector<double> &weights,
                                      uint64_t samples,
                                      const OrderCache &cache) {
  BlendOrder order;
  order.samples = samples;
  uint64_t bytes = choiceBytes * samples;
  auto inMemory = [&]() -> StatusOr<BlendOrder> {
    order.counts.resize(weights.size());
    order.parts.reserve(samples);
    order.numbers.reserve(samples);
    HOCKET_RETURN_IF_ERROR(
        eachChoice(weights, samples, [&](BlendChoice choice) {
          ++order.counts[choice.part];
          order.parts.push_back(choice.part);
          order.numbers.push_back(choice.number);
          return okStatus();
        }));
    return std::move(order);
  };
  if (bytes <= cache.inMemoryBytes)
    return inMemory();
  KeptTable table;
  table.prefix = prefix;
  table.kind = "blend";
  table.what = "order of the blend that begins with the samples";
  table.request = std::to_string(samples);
  for (double weight : weights)
    table.request += " " + std::to_string(std::bit_cast<uint64_t>(weight));
  table.bytes = bytes;
  auto file = openKept(
      table, cache,
      [&](const PagedFile &found) {
        return countsOf(found, weights.size(), samples).status();
      },
      [&](PagedFileWriter &writer) {
        return writeBlend(weights, samples, writer);
      });
  if (!file.ok())
    return inMemory();
  order.file = *std::move(file);
  HOCKET_ASSIGN_OR_RETURN(order.counts,
                          countsOf(*order.file, weights.size(), samples));
  return order;
}

StatusOr<BlendChoice> BlendOrder::choiceOf(uint64_t sample) const {
  if (!file)
    return BlendChoice{parts[sample], numbers[sample]};
  std::array<uint8_t, choiceBytes> bytes;
  HOCKET_RETURN_IF_ERROR(
      file->read(choicesBegin(counts.size()) + choiceBytes * sample,
                 bytes.data(), bytes.size()));
  BlendChoice choice;
  std::memcpy(&choice.part, bytes.data(), 2);
  std::memcpy(&choice.number, bytes.data() + 2, 4);
  if (choice.part >= counts.size() || choice.number >= counts[choice.part])
    return dataLoss(file->path() + ": sample " + std::to_string(sample) +
                    " is to be one that is not there; remove the file, and it "
                    "is made again");
  return choice;
}
