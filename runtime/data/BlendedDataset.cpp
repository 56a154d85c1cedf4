//===- BlendedDataset.cpp - Several token files at once -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/BlendedDataset.h"

#include "runtime/base/File.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <sstream>

using namespace hocket;
using namespace hocket::data;

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

static StatusOr<std::vector<BlendPart>>
parseWords(const std::vector<std::string> &words) {
  if (words.empty())
    return invalidArgument("expected a data prefix, found none");
  if (words.size() == 1)
    return std::vector<BlendPart>{{1.0, words.front()}};
  if (words.size() % 2)
    return invalidArgument(
        "expected one data prefix, or pairs WEIGHT PREFIX; found " +
        std::to_string(words.size()) + " words");
  std::vector<BlendPart> parts;
  for (size_t i = 0; i < words.size(); i += 2) {
    const std::string &word = words[i];
    double weight = 0;
    auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), weight);
    if (error != std::errc() || end != word.data() + word.size() ||
        !std::isfinite(weight) || weight <= 0)
      return invalidArgument("expected a positive weight before '" +
                             words[i + 1] + "', found '" + word + "'");
    parts.push_back({weight, words[i + 1]});
  }
  return parts;
}

StatusOr<std::vector<BlendPart>>
data::parseBlend(const std::vector<std::string> &words) {
  if (words.size() != 1 || !words.front().starts_with('@'))
    return parseWords(words);
  std::string path = words.front().substr(1);
  constexpr uint64_t mostBytes = uint64_t(16) << 20;
  HOCKET_ASSIGN_OR_RETURN(std::string text, readFile(path, mostBytes));
  std::istringstream stream(text);
  std::vector<std::string> inside{std::istream_iterator<std::string>(stream),
                                  {}};
  auto parts = parseWords(inside);
  if (!parts.ok())
    return parts.status().withContext(path);
  return parts;
}

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

std::vector<uint16_t> data::blendOrder(const std::vector<double> &weights,
                                       uint64_t samples) {
  std::vector<uint16_t> order(samples);
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
    order[i] = uint16_t(best);
    taken[best] += 1;
  }
  return order;
}

uint64_t data::samplesOfShare(double weight, uint64_t samples) {
  return uint64_t(std::ceil(std::ceil(double(samples) * weight) * 1.005));
}

//===----------------------------------------------------------------------===//
// The dataset
//===----------------------------------------------------------------------===//

StatusOr<std::unique_ptr<BlendedDataset>>
BlendedDataset::create(std::vector<std::unique_ptr<SampleSource>> parts,
                       std::vector<uint16_t> order) {
  auto blend = std::make_unique<BlendedDataset>();
  std::vector<uint32_t> taken(parts.size());
  blend->sampleOfPart.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    blend->sampleOfPart[i] = taken[order[i]]++;
  for (size_t d = 0; d < parts.size(); ++d)
    if (taken[d] > parts[d]->size())
      return invalidArgument("the blend needs " + std::to_string(taken[d]) +
                             " samples of dataset " + std::to_string(d) +
                             ", which has " + std::to_string(parts[d]->size()));
  blend->parts = std::move(parts);
  blend->order = std::move(order);
  return blend;
}

Status BlendedDataset::read(uint64_t sample, std::span<int32_t> tokens) const {
  HOCKET_RETURN_IF_ERROR(checkSample(sample));
  return parts[order[sample]]->read(sampleOfPart[sample], tokens);
}

StatusOr<std::vector<SampleSegment>>
BlendedDataset::segments(uint64_t sample) const {
  HOCKET_RETURN_IF_ERROR(checkSample(sample));
  return parts[order[sample]]->segments(sampleOfPart[sample]);
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

static StatusOr<std::unique_ptr<SampleSource>>
openPart(const BlendPart &part, const GptDatasetOptions &options, Split split,
         uint64_t samples) {
  HOCKET_ASSIGN_OR_RETURN(std::string prefix, resolvePrefix(part.prefix));
  HOCKET_ASSIGN_OR_RETURN(IndexedDataset file, IndexedDataset::open(prefix));
  HOCKET_ASSIGN_OR_RETURN(
      std::unique_ptr<GptDataset> dataset,
      GptDataset::create(
          std::make_shared<const IndexedDataset>(std::move(file)), options,
          split, samples));
  return std::unique_ptr<SampleSource>(std::move(dataset));
}

static Status checkBlend(const std::vector<BlendPart> &parts,
                         uint64_t samples) {
  if (parts.empty())
    return invalidArgument("expected a data prefix, found none");
  if (parts.size() > 65535)
    return invalidArgument("expected at most 65535 data prefixes, found " +
                           std::to_string(parts.size()));
  if (parts.size() > 1 && (samples == 0 || samples > 0xffffffffu))
    return invalidArgument(
        "expected 1 to 4294967295 samples of a blend, found " +
        std::to_string(samples));
  return okStatus();
}

StatusOr<std::unique_ptr<SampleSource>>
data::openSamples(const std::vector<BlendPart> &parts,
                  const GptDatasetOptions &options, Split split,
                  uint64_t samples) {
  HOCKET_RETURN_IF_ERROR(checkBlend(parts, samples));
  if (parts.size() == 1)
    return openPart(parts.front(), options, split, samples);
  std::vector<double> weights;
  for (const BlendPart &part : parts)
    weights.push_back(part.weight);
  weights = normalizeWeights(std::move(weights));
  std::vector<std::unique_ptr<SampleSource>> datasets;
  for (size_t d = 0; d < parts.size(); ++d) {
    HOCKET_ASSIGN_OR_RETURN(std::unique_ptr<SampleSource> dataset,
                            openPart(parts[d], options, split,
                                     samplesOfShare(weights[d], samples)));
    datasets.push_back(std::move(dataset));
  }
  HOCKET_ASSIGN_OR_RETURN(std::unique_ptr<BlendedDataset> blend,
                          BlendedDataset::create(std::move(datasets),
                                                 blendOrder(weights, samples)));
  return std::unique_ptr<SampleSource>(std::move(blend));
}
