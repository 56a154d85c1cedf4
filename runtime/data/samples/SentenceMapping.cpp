//===- SentenceMapping.cpp - Samples of whole sentences -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/SentenceMapping.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

using namespace hocket;
using namespace hocket::data;

namespace {

class SentenceMapper {
public:
  explicit SentenceMapper(const SentenceMappingRequest &request)
      : request(request), random(request.seed) {
    if (request.shortProbability > 0)
      shortRatio = uint32_t(std::min(std::round(1 / request.shortProbability),
                                     double(INT32_MAX)));
  }

  StatusOr<std::vector<SentenceSample>> map() {
    constexpr uint64_t most = UINT32_MAX;
    if (request.lengths.size() > most)
      return resourceExhausted("there are more than 4294967295 sentences");
    do {
      addEpoch();
      if (samples.empty())
        return invalidArgument("no document has enough sentences");
      if (samples.size() > most)
        return resourceExhausted("there are more than 4294967295 samples");
    } while (samples.size() < request.samples);
    shuffle();
    return std::move(samples);
  }

private:
  uint32_t nextTarget() {
    if (shortRatio == 0)
      return request.longest;
    auto draw = uint32_t(random());
    return draw % shortRatio == 0 ? 2 + draw % (request.longest - 1)
                                  : request.longest;
  }

  void addEpoch() {
    for (size_t d = 0; d + 1 < request.documents.size(); ++d)
      if (isFit(request.documents[d], request.documents[d + 1]))
        addDocument(request.documents[d], request.documents[d + 1]);
  }

  bool isFit(uint64_t first, uint64_t end) const {
    auto sentences = request.lengths.subspan(first, end - first);
    if (sentences.empty() || sentences.size() < request.leastSentences)
      return false;
    return sentences.size() == 1 ||
           std::ranges::none_of(
               sentences, [](int32_t length) { return length > longSentence; });
  }

  void addDocument(uint64_t first, uint64_t end) {
    uint64_t start = first, tokens = 0;
    uint32_t target = nextTarget();
    for (uint64_t sentence = first; sentence < end; ++sentence) {
      tokens += uint64_t(request.lengths[sentence]);
      uint64_t left = end - sentence - 1;
      bool isFull = tokens >= target && left > 1 &&
                    sentence + 1 - start >= request.leastSentences;
      if (!isFull && left > 0)
        continue;
      samples.push_back({uint32_t(start), uint32_t(sentence + 1), target});
      start = sentence + 1;
      target = nextTarget();
      tokens = 0;
    }
  }

  void shuffle() {
    std::mt19937_64 wide(uint64_t(request.seed) + 1);
    for (uint64_t i = samples.size() - 1; i > 0; --i)
      std::swap(samples[i], samples[wide() % (i + 1)]);
  }

  const SentenceMappingRequest &request;
  std::mt19937 random;
  uint32_t shortRatio = 0; ///< One target in so many is random; 0: none is.
  std::vector<SentenceSample> samples;
};

} // namespace

StatusOr<std::vector<SentenceSample>>
data::mapSentences(const SentenceMappingRequest &request) {
  return SentenceMapper(request).map();
}
