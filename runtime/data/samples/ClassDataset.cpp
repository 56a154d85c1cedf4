//===- ClassDataset.cpp - Samples of labelled texts -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/ClassDataset.h"

#include "base/Quantity.h"
#include "runtime/data/samples/RandomState.h"

#include <algorithm>
#include <numeric>

using namespace hocket;
using namespace hocket::data;

/// Tokens of a sample that frame two texts.
static constexpr uint64_t frameTokens = 3;

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

static Status checkOptions(const GptDatasetOptions &options) {
  const ClassOptions &classes = *options.classes;
  if (options.sequenceLength < frameTokens + 2 ||
      options.sequenceLength > 1u << 30)
    return invalidArgument("a sample of labelled texts has 5 to 2^30 tokens, "
                           "not " +
                           std::to_string(options.sequenceLength));
  if (classes.sequences == 0 || classes.batch % classes.sequences != 0)
    return invalidArgument(
        "a step takes whole questions of " + std::to_string(classes.sequences) +
        " sequences each, not " + std::to_string(classes.batch) + " sequences");
  return okStatus();
}

/// Of a file and the model that is to learn it.
static Status checkClasses(const std::string &prefix,
                           const std::optional<DocumentClasses> &classes,
                           const ClassOptions &options) {
  if (!classes)
    return invalidArgument(
        prefix + ".idx: there is no " + classFilePath(prefix) +
        ", which says of which class each document is; prepare it with "
        "`hocket data prepare --task`");
  bool wantsChoices = options.sequences > 1;
  uint64_t wanted = wantsChoices ? options.sequences : options.classes;
  if (classes->areChoices != wantsChoices)
    return invalidArgument(classFilePath(prefix) + ": is of " +
                           (wantsChoices ? "classes, and the model tells the "
                                           "right one of choices"
                                         : "choices, and the model tells "
                                           "classes"));
  if (classes->names.size() != wanted)
    return invalidArgument(classFilePath(prefix) + ": has " +
                           formatNoun(classes->names.size(),
                                      wantsChoices ? "choice" : "class",
                                      wantsChoices ? "choices" : "classes") +
                           ", and the model tells " + std::to_string(wanted));
  return okStatus();
}

StatusOr<std::unique_ptr<ClassDataset>>
ClassDataset::create(std::shared_ptr<const IndexedDataset> file,
                     const GptDatasetOptions &options, Split split,
                     uint64_t samples) {
  HOCKET_RETURN_IF_ERROR(checkSeed(options.seed));
  HOCKET_RETURN_IF_ERROR(checkOptions(options));
  HOCKET_ASSIGN_OR_RETURN(auto classes,
                          readClassFile(file->prefix(), file->documents()));
  HOCKET_RETURN_IF_ERROR(
      checkClasses(file->prefix(), classes, *options.classes));
  HOCKET_ASSIGN_OR_RETURN(
      SplitBounds bounds,
      parseSplitBounds(options.splitWeights, file->documents()));
  uint64_t begin = bounds[size_t(split)], end = bounds[size_t(split) + 1];
  if (begin == end)
    return invalidArgument(file->prefix() + ": split " +
                           std::string(splitName(split)) + " has none of " +
                           formatNoun(file->documents(), "document"));
  if (end - begin > 0xffffffffu)
    return invalidArgument(file->prefix() + ": has more than 2^32 documents");
  std::unique_ptr<ClassDataset> dataset(
      new ClassDataset(std::move(file), options, *std::move(classes)));
  HOCKET_RETURN_IF_ERROR(dataset->checkDocuments(begin, end));
  const ClassOptions &frame = *options.classes;
  dataset->first = begin;
  dataset->count = end - begin;
  uint64_t rows = dataset->count * frame.sequences;
  dataset->perEpoch = (rows + frame.batch - 1) / frame.batch * frame.batch;
  dataset->epochs = std::max<uint64_t>(1, (samples + dataset->perEpoch - 1) /
                                              dataset->perEpoch);
  return dataset;
}

/// Documents have the texts that they should have.
Status ClassDataset::checkDocuments(uint64_t begin, uint64_t end) {
  bool areChoices = frame.sequences > 1;
  uint64_t least = areChoices ? frame.sequences + 1 : 1;
  uint64_t most = areChoices ? least : 2;
  HOCKET_ASSIGN_OR_RETURN(uint64_t before, file->documentStart(begin));
  for (uint64_t d = begin; d < end; ++d) {
    HOCKET_ASSIGN_OR_RETURN(uint64_t after, file->documentStart(d + 1));
    uint64_t texts = after - std::exchange(before, after);
    if (texts < least || texts > most)
      return dataLoss(file->prefix() + ".idx: document " + std::to_string(d) +
                      " has " + formatNoun(texts, "text") +
                      (areChoices
                           ? ", not what " + std::to_string(frame.sequences) +
                                 " choices share and one for each"
                           : ", not one or two"));
  }
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

ClassDataset::Order ClassDataset::orderOf(uint64_t epoch) const {
  std::lock_guard lock(mutex);
  Order &known = orders[epoch];
  if (known)
    return known;
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  if (frame.shuffles)
    RandomState(uint32_t(options.seed + epoch))
        .shuffle(std::span<uint32_t>(order));
  known = std::make_shared<const std::vector<uint32_t>>(std::move(order));
  Order result = known;
  if (orders.size() > 2) // Who reads ahead reads of two at a time.
    orders.erase(orders.begin()->first == epoch ? std::prev(orders.end())
                                                : orders.begin());
  return result;
}

std::optional<ClassDataset::Place>
ClassDataset::placeOf(uint64_t sample) const {
  uint64_t row = sample % perEpoch, question = row / frame.sequences;
  if (question >= count)
    return std::nullopt;
  Order order = orderOf(sample / perEpoch);
  return Place{first + (*order)[question], row % frame.sequences};
}

//===----------------------------------------------------------------------===//
// A sample
//===----------------------------------------------------------------------===//

std::pair<uint64_t, uint64_t> data::cutLongestFirst(uint64_t a, uint64_t b,
                                                    uint64_t most) {
  if (a + b <= most)
    return {a, b};
  bool isSwapped = a > b;
  if (isSwapped)
    std::swap(a, b);
  b = a > most ? a : std::max(a, most - a);
  if (a + b > most) {
    a = most / 2;
    b = a + most % 2;
  }
  return isSwapped ? std::pair(b, a) : std::pair(a, b);
}

/// The sequences of the file that a sample is made of: A, then B.
StatusOr<std::vector<uint64_t>>
ClassDataset::textsOf(const Place &place) const {
  HOCKET_ASSIGN_OR_RETURN(uint64_t begin, file->documentStart(place.document));
  if (frame.sequences > 1)
    return std::vector<uint64_t>{begin + 1 + place.choice, begin};
  HOCKET_ASSIGN_OR_RETURN(uint64_t end,
                          file->documentStart(place.document + 1));
  std::vector<uint64_t> texts(end - begin);
  std::iota(texts.begin(), texts.end(), begin);
  return texts;
}

Status ClassDataset::readFramed(uint64_t sample, FramedSample &out) const {
  HOCKET_RETURN_IF_ERROR(beginFramed(sample, frame.pad, out));
  out.tokens[0] = frame.cls;
  out.length = 1;
  out.isSwapped = false;
  std::optional<Place> place = placeOf(sample);
  if (!place)
    return okStatus();
  HOCKET_ASSIGN_OR_RETURN(std::vector<uint64_t> texts, textsOf(*place));
  std::vector<uint64_t> lengths;
  for (uint64_t text : texts) {
    HOCKET_ASSIGN_OR_RETURN(uint64_t length, file->length(text));
    lengths.push_back(length);
  }
  uint64_t room = options.sequenceLength - 1 - texts.size();
  if (texts.size() == 1)
    lengths[0] = std::min(lengths[0], room);
  else
    std::tie(lengths[0], lengths[1]) =
        cutLongestFirst(lengths[0], lengths[1], room);
  for (size_t i = 0; i < texts.size(); ++i) {
    HOCKET_RETURN_IF_ERROR(
        file->read(texts[i], 0, options.vocabularySize,
                   out.tokens.subspan(out.length, lengths[i])));
    std::ranges::fill(out.types.subspan(out.length, lengths[i] + 1),
                      int32_t(i));
    out.length += lengths[i];
    out.tokens[out.length++] = frame.sep;
  }
  if (place->choice == 0)
    out.labels[0] = classes.labels[place->document];
  return okStatus();
}

Status ClassDataset::read(uint64_t sample, std::span<int32_t> tokens) const {
  return readFramedTokens(sample, frame.pad, tokens);
}

StatusOr<std::vector<SampleSegment>>
ClassDataset::segments(uint64_t sample) const {
  HOCKET_RETURN_IF_ERROR(checkSample(sample));
  std::vector<SampleSegment> result;
  std::optional<Place> place = placeOf(sample);
  if (!place)
    return result;
  HOCKET_ASSIGN_OR_RETURN(std::vector<uint64_t> texts, textsOf(*place));
  for (uint64_t text : texts) {
    HOCKET_ASSIGN_OR_RETURN(uint64_t length, file->length(text));
    result.push_back({file->prefix(), text, 0, length});
  }
  return result;
}
