//===- MaskedDataset.cpp - Samples of masked tokens -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/MaskedDataset.h"

#include "base/Quantity.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

using namespace hocket;
using namespace hocket::data;

/// Tokens of a sample that frame its texts.
static constexpr uint64_t frameTokens = 3;

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

static Status checkMasked(const GptDatasetOptions &options) {
  if (options.sequenceLength < frameTokens + 2 ||
      options.sequenceLength > 1u << 30)
    return invalidArgument("a sample of masked tokens has 5 to 2^30 tokens, "
                           "not " +
                           std::to_string(options.sequenceLength));
  return okStatus();
}

static StatusOr<WordContinuations> wordsOf(const IndexedDataset &file) {
  HOCKET_ASSIGN_OR_RETURN(auto continues,
                          readWordFile(file.prefix(), file.tokens()));
  if (!continues)
    return invalidArgument(
        file.prefix() +
        ": training.masked_lm.whole_words asks which tokens continue a word, "
        "and there is no " +
        wordFilePath(file.prefix()) +
        ", which `hocket data prepare` writes with a WordPiece tokenizer; "
        "prepare the data again, or leave whole_words out");
  return *std::move(continues);
}

StatusOr<std::unique_ptr<MaskedDataset>>
MaskedDataset::create(std::shared_ptr<const IndexedDataset> file,
                      const GptDatasetOptions &options, Split split,
                      uint64_t samples) {
  HOCKET_RETURN_IF_ERROR(checkSeed(options.seed));
  HOCKET_RETURN_IF_ERROR(checkMasked(options));
  WordContinuations continues;
  if (options.masked->wholeWords) {
    HOCKET_ASSIGN_OR_RETURN(continues, wordsOf(*file));
  }
  HOCKET_ASSIGN_OR_RETURN(
      SplitBounds bounds,
      parseSplitBounds(options.splitWeights, file->documents()));
  uint64_t begin = bounds[size_t(split)], end = bounds[size_t(split) + 1];
  std::vector<uint64_t> documents;
  for (uint64_t d = begin; d <= end && begin < end; ++d) {
    HOCKET_ASSIGN_OR_RETURN(uint64_t start, file->documentStart(d));
    documents.push_back(start);
  }
  std::vector<int32_t> lengths(file->sequences());
  HOCKET_RETURN_IF_ERROR(file->lengths(0, lengths));
  SentenceMappingRequest request;
  request.lengths = lengths;
  request.documents = documents;
  request.samples = samples;
  request.longest = uint32_t(options.sequenceLength - frameTokens);
  request.shortProbability = options.masked->shortSequenceProbability;
  request.leastSentences = options.masked->sentenceOrder ? 2 : 1;
  request.seed = uint32_t(options.seed);
  auto mapped = mapSentences(request);
  if (!mapped.ok())
    return mapped.status().withContext(
        file->prefix() + ": split " + std::string(splitName(split)) + " (" +
        std::to_string(end - begin) + " of " +
        formatNoun(file->documents(), "document") + ", " +
        formatNoun(file->sequences(), "sentence") +
        (options.masked->sentenceOrder
             ? "; the order of texts is learned from documents of two "
               "sentences or more, none longer than 512 tokens: `hocket data "
               "prepare --split-sentences`)"
             : ")"));
  return std::unique_ptr<MaskedDataset>(new MaskedDataset(
      std::move(file), options, *std::move(mapped), std::move(continues)));
}

//===----------------------------------------------------------------------===//
// A sample
//===----------------------------------------------------------------------===//

StatusOr<MaskedDataset::Sentences>
MaskedDataset::sentencesOf(const SentenceSample &sample) const {
  Sentences sentences;
  for (uint64_t s = sample.first; s < sample.end; ++s) {
    HOCKET_ASSIGN_OR_RETURN(uint64_t length, file->length(s));
    sentences.emplace_back(length);
    HOCKET_RETURN_IF_ERROR(
        file->read(s, 0, options.vocabularySize, sentences.back()));
  }
  return sentences;
}

using Text = std::vector<int32_t>;

static Text joined(const std::vector<Text> &sentences, size_t begin,
                   size_t end) {
  Text text;
  for (size_t i = begin; i < end; ++i)
    text.insert(text.end(), sentences[i].begin(), sentences[i].end());
  return text;
}

/// Drops tokens of the longer text until both have at most `most`. Each draw
/// takes one token; the ends are cut once.
static void truncate(Text &a, Text &b, uint64_t most, RandomState &random) {
  uint64_t front[2] = {}, back[2] = {};
  uint64_t left[2] = {a.size(), b.size()};
  while (left[0] + left[1] > most) {
    int longer = left[0] > left[1] ? 0 : 1;
    ++(random.uniform() < 0.5 ? front : back)[longer];
    --left[longer];
  }
  for (int i = 0; i < 2; ++i) {
    Text &text = i ? b : a;
    text.erase(text.begin(), text.begin() + ptrdiff_t(front[i]));
    text.resize(text.size() - back[i]);
  }
}

/// What says which tokens continue a word says so of all tokens.
Status MaskedDataset::checkWords(const FramedSample &sample) const {
  for (uint64_t i = 1; masked.wholeWords && i + 1 < sample.length; ++i)
    if (uint64_t(sample.tokens[i]) >= continues.size() &&
        sample.tokens[i] != masked.sep && sample.tokens[i] != masked.cls)
      return dataLoss(
          wordFilePath(file->prefix()) + ": is of " +
          std::to_string(continues.size()) + " tokens, and a text has token " +
          std::to_string(sample.tokens[i]) + "; prepare the data again");
  return okStatus();
}

/// A piece whose word begins before the text is a word there.
bool MaskedDataset::beginsWord(const FramedSample &sample,
                               uint64_t place) const {
  int32_t before = sample.tokens[place - 1];
  return !masked.wholeWords || before == masked.sep || before == masked.cls ||
         !continues[uint64_t(sample.tokens[place])];
}

/// Chooses labels among the tokens of the texts, and what is seen of them.
void MaskedDataset::mask(RandomState &random, uint32_t target,
                         FramedSample &out) const {
  struct Word {
    uint64_t first, end;
  };
  std::vector<Word> words;
  uint64_t places = 0;
  for (uint64_t i = 1; i + 1 < out.length; ++i) {
    if (out.tokens[i] == masked.sep || out.tokens[i] == masked.cls)
      continue;
    ++places;
    if (beginsWord(out, i))
      words.push_back({i, i + 1});
    else
      words.back().end = i + 1;
  }
  random.shuffle(std::span<Word>(words));
  // Half to even, as NumPy rounds; and no more than of a sample as long as it
  // may be.
  double count = std::max(
      1.0, std::min(std::nearbyint(double(out.length) * masked.probability),
                    std::ceil(masked.probability * double(target))));
  uint64_t left = std::min(uint64_t(count), places);
  auto maskWord = [&](Word word) {
    for (uint64_t i = word.first; i < word.end; ++i) {
      out.labels[i] = out.tokens[i];
      double draw = random.uniform();
      if (draw < masked.maskShare)
        out.tokens[i] = masked.mask;
      else if (draw < masked.maskShare + masked.randomShare)
        out.tokens[i] = int32_t(random.interval(options.vocabularySize - 1));
    }
  };
  bool isNone = true;
  for (Word word : words) {
    if (word.end - word.first > left)
      continue;
    maskWord(word);
    left -= word.end - word.first;
    isNone = false;
  }
  if (isNone && !words.empty())
    maskWord(words.front());
}

Status MaskedDataset::readFramed(uint64_t sample, FramedSample &out) const {
  HOCKET_RETURN_IF_ERROR(beginFramed(sample, masked.pad, out));
  const SentenceSample &from = samples[sample];
  HOCKET_ASSIGN_OR_RETURN(Sentences sentences, sentencesOf(from));
  RandomState random(uint32_t(options.seed + sample));
  size_t count = sentences.size(), ofFirst = count;
  out.isSwapped = false;
  if (masked.sentenceOrder) {
    ofFirst = count >= 3 ? 1 + random.interval(count - 2) : 1;
    out.isSwapped = random.uniform() < 0.5;
  }
  Text a = joined(sentences, 0, ofFirst), b = joined(sentences, ofFirst, count);
  if (out.isSwapped)
    std::swap(a, b);
  truncate(a, b, from.target, random);

  auto at = out.tokens.begin();
  *at++ = masked.cls;
  at = std::ranges::copy(a, at).out;
  *at++ = masked.sep;
  if (!b.empty()) {
    auto second = at;
    at = std::ranges::copy(b, at).out;
    *at++ = masked.sep;
    auto types = out.types.begin() + (second - out.tokens.begin());
    std::fill(types, types + (at - second), 1);
  }
  out.length = uint64_t(at - out.tokens.begin());
  HOCKET_RETURN_IF_ERROR(checkWords(out));
  mask(random, from.target, out);
  return okStatus();
}

Status MaskedDataset::read(uint64_t sample, std::span<int32_t> tokens) const {
  return readFramedTokens(sample, masked.pad, tokens);
}

StatusOr<std::vector<SampleSegment>>
MaskedDataset::segments(uint64_t sample) const {
  HOCKET_RETURN_IF_ERROR(checkSample(sample));
  std::vector<SampleSegment> result;
  for (uint64_t s = samples[sample].first; s < samples[sample].end; ++s) {
    HOCKET_ASSIGN_OR_RETURN(uint64_t length, file->length(s));
    result.push_back({file->prefix(), s, 0, length});
  }
  return result;
}
