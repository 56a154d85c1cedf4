//===- BlendedDataset.cpp - Several token files at once -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/BlendedDataset.h"

#include "base/File.h"
#include "runtime/data/samples/ClassDataset.h"
#include "runtime/data/samples/ImageDataset.h"
#include "runtime/data/samples/MaskedDataset.h"
#include "runtime/data/samples/RetrievalDataset.h"
#include "runtime/data/samples/SpanDataset.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
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

//===----------------------------------------------------------------------===//
// The dataset
//===----------------------------------------------------------------------===//

StatusOr<std::unique_ptr<BlendedDataset>>
BlendedDataset::create(std::vector<std::unique_ptr<SampleSource>> parts,
                       BlendOrder order) {
  for (size_t d = 0; d < parts.size(); ++d)
    if (order.taken()[d] > parts[d]->size())
      return invalidArgument("the blend needs " +
                             std::to_string(order.taken()[d]) +
                             " samples of dataset " + std::to_string(d) +
                             ", which has " + std::to_string(parts[d]->size()));
  return std::unique_ptr<BlendedDataset>(
      new BlendedDataset(std::move(parts), std::move(order)));
}

Status BlendedDataset::read(uint64_t sample, std::span<int32_t> tokens) const {
  HOCKET_RETURN_IF_ERROR(checkSample(sample));
  HOCKET_ASSIGN_OR_RETURN(BlendChoice choice, order.choiceOf(sample));
  return parts[choice.part]->read(choice.number, tokens);
}

std::optional<LossMaskHead> BlendedDataset::lossMask() const {
  for (const auto &part : parts)
    if (auto head = part->lossMask())
      return head;
  return std::nullopt;
}

Status BlendedDataset::readLearned(uint64_t sample,
                                   std::span<uint8_t> learned) const {
  HOCKET_RETURN_IF_ERROR(checkSample(sample));
  HOCKET_ASSIGN_OR_RETURN(BlendChoice choice, order.choiceOf(sample));
  return parts[choice.part]->readLearned(choice.number, learned);
}

Status BlendedDataset::readFramed(uint64_t sample, FramedSample &out) const {
  HOCKET_RETURN_IF_ERROR(checkSample(sample));
  HOCKET_ASSIGN_OR_RETURN(BlendChoice choice, order.choiceOf(sample));
  return parts[choice.part]->readFramed(choice.number, out);
}

Status BlendedDataset::readSpans(uint64_t sample, SpanSample &out) const {
  HOCKET_RETURN_IF_ERROR(checkSample(sample));
  HOCKET_ASSIGN_OR_RETURN(BlendChoice choice, order.choiceOf(sample));
  return parts[choice.part]->readSpans(choice.number, out);
}

Status BlendedDataset::readImages(uint64_t sample, ImageSample &out) const {
  HOCKET_RETURN_IF_ERROR(checkSample(sample));
  HOCKET_ASSIGN_OR_RETURN(BlendChoice choice, order.choiceOf(sample));
  return parts[choice.part]->readImages(choice.number, out);
}

Status BlendedDataset::readNeighbors(uint64_t sample,
                                     std::span<int32_t> tokens) const {
  HOCKET_RETURN_IF_ERROR(checkSample(sample));
  HOCKET_ASSIGN_OR_RETURN(BlendChoice choice, order.choiceOf(sample));
  return parts[choice.part]->readNeighbors(choice.number, tokens);
}

StatusOr<std::vector<SampleSegment>>
BlendedDataset::segments(uint64_t sample) const {
  HOCKET_RETURN_IF_ERROR(checkSample(sample));
  HOCKET_ASSIGN_OR_RETURN(BlendChoice choice, order.choiceOf(sample));
  return parts[choice.part]->segments(choice.number);
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

/// To a model of text alone they would be tokens without meaning.
static Status refuseImages(const std::string &prefix) {
  std::error_code error;
  if (!std::filesystem::exists(imageFilePath(prefix), error))
    return okStatus();
  return invalidArgument(imageFilePath(prefix) +
                         ": these conversations have images, and the model "
                         "takes none");
}

static StatusOr<std::unique_ptr<SampleSource>>
openPart(const BlendPart &part, const GptDatasetOptions &options, Split split,
         uint64_t samples) {
  HOCKET_ASSIGN_OR_RETURN(std::string prefix, resolvePrefix(part.prefix));
  HOCKET_ASSIGN_OR_RETURN(
      IndexedDataset file,
      IndexedDataset::open(prefix, options.cache.inMemoryBytes / 4));
  auto shared = std::make_shared<const IndexedDataset>(std::move(file));
  if (options.masked) {
    HOCKET_ASSIGN_OR_RETURN(
        std::unique_ptr<MaskedDataset> masked,
        MaskedDataset::create(std::move(shared), options, split, samples));
    return std::unique_ptr<SampleSource>(std::move(masked));
  }
  if (options.classes) {
    HOCKET_ASSIGN_OR_RETURN(
        std::unique_ptr<ClassDataset> classes,
        ClassDataset::create(std::move(shared), options, split, samples));
    return std::unique_ptr<SampleSource>(std::move(classes));
  }
  if (options.spans) {
    HOCKET_ASSIGN_OR_RETURN(
        std::unique_ptr<SpanDataset> spans,
        SpanDataset::create(shared, options, split, samples));
    return std::unique_ptr<SampleSource>(std::move(spans));
  }
  if (options.images) {
    HOCKET_ASSIGN_OR_RETURN(
        std::unique_ptr<ImageDataset> images,
        ImageDataset::create(std::move(shared), options, split, samples));
    return std::unique_ptr<SampleSource>(std::move(images));
  }
  HOCKET_RETURN_IF_ERROR(refuseImages(prefix));
  if (options.retrieval) {
    HOCKET_ASSIGN_OR_RETURN(
        std::unique_ptr<RetrievalDataset> retrieved,
        RetrievalDataset::create(shared, options, split, samples));
    return std::unique_ptr<SampleSource>(std::move(retrieved));
  }
  HOCKET_ASSIGN_OR_RETURN(
      std::unique_ptr<GptDataset> dataset,
      GptDataset::create(std::move(shared), options, split, samples));
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

static std::vector<double> weightsOf(const std::vector<BlendPart> &parts) {
  std::vector<double> weights;
  for (const BlendPart &part : parts)
    weights.push_back(part.weight);
  return normalizeWeights(std::move(weights));
}

std::vector<uint64_t> data::samplesOfParts(const std::vector<BlendPart> &parts,
                                           uint64_t samples) {
  if (parts.size() == 1)
    return {samples};
  std::vector<uint64_t> shares;
  for (double weight : weightsOf(parts))
    shares.push_back(samplesOfShare(weight, samples));
  return shares;
}

StatusOr<std::unique_ptr<SampleSource>>
data::openSamples(const std::vector<BlendPart> &parts,
                  const GptDatasetOptions &options, Split split,
                  uint64_t samples) {
  HOCKET_RETURN_IF_ERROR(checkBlend(parts, samples));
  if (options.classes && parts.size() > 1)
    return invalidArgument("labelled texts are no blend, for an epoch has each "
                           "once; found " +
                           std::to_string(parts.size()) +
                           " data prefixes, expected one");
  if (parts.size() == 1)
    return openPart(parts.front(), options, split, samples);
  std::vector<double> weights = weightsOf(parts);
  std::vector<uint64_t> shares = samplesOfParts(parts, samples);
  std::vector<std::unique_ptr<SampleSource>> datasets;
  for (size_t d = 0; d < parts.size(); ++d) {
    HOCKET_ASSIGN_OR_RETURN(std::unique_ptr<SampleSource> dataset,
                            openPart(parts[d], options, split, shares[d]));
    datasets.push_back(std::move(dataset));
  }
  HOCKET_ASSIGN_OR_RETURN(std::string first,
                          resolvePrefix(parts.front().prefix));
  HOCKET_ASSIGN_OR_RETURN(
      BlendOrder order,
      BlendOrder::open(first, weights, samples, options.cache));
  HOCKET_ASSIGN_OR_RETURN(
      std::unique_ptr<BlendedDataset> blend,
      BlendedDataset::create(std::move(datasets), std::move(order)));
  return std::unique_ptr<SampleSource>(std::move(blend));
}
