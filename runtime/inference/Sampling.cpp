//===- Sampling.cpp - From logits to a token ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/inference/Sampling.h"

#include "base/Format.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace hocket;
using namespace hocket::inference;

Status inference::checkSampling(const SamplingOptions &options) {
  auto wrong = [](const char *name, double value, const char *range) {
    return invalidArgument(
        formatText("%s is %g, expected %s", name, value, range));
  };
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature))
    return wrong("temperature", options.temperature, "0 or more");
  if (!(options.topP > 0 && options.topP <= 1))
    return wrong("top_p", options.topP, "a number above 0 and up to 1");
  if (!(options.minP >= 0 && options.minP <= 1))
    return wrong("min_p", options.minP, "a number from 0 to 1");
  if (!(options.repetitionPenalty > 0) ||
      !std::isfinite(options.repetitionPenalty))
    return wrong("repetition_penalty", options.repetitionPenalty,
                 "a number above 0");
  return okStatus();
}

/// A step of SplitMix64 (Steele et al., 2014).
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

double inference::randomAt(uint64_t seed, uint64_t stream, uint64_t index) {
  return double(mix(mix(mix(seed) ^ stream) ^ index) >> 11) * 0x1p-53;
}

static std::vector<double> penalized(std::span<const float> logits,
                                     std::span<const int32_t> occurred,
                                     double penalty) {
  std::vector<double> result(logits.begin(), logits.end());
  if (penalty == 1)
    return result;
  for (int32_t token : occurred) {
    double logit = double(logits[size_t(token)]);
    result[size_t(token)] = logit > 0 ? logit / penalty : logit * penalty;
  }
  return result;
}

static size_t likeliest(const std::vector<double> &logits) {
  return size_t(std::max_element(logits.begin(), logits.end()) -
                logits.begin());
}

std::vector<double>
inference::probabilitiesOf(std::span<const float> logits,
                           std::span<const int32_t> occurred,
                           const SamplingOptions &options) {
  std::vector<double> from =
      penalized(logits, occurred, options.repetitionPenalty);
  std::vector<double> result(logits.size());
  if (options.temperature == 0) {
    result[likeliest(from)] = 1;
    return result;
  }
  // Likeliest first, of as likely ones the lowest.
  std::vector<size_t> order(from.size());
  std::iota(order.begin(), order.end(), size_t(0));
  auto before = [&](size_t a, size_t b) {
    return from[a] > from[b] || (from[a] == from[b] && a < b);
  };
  size_t kept = order.size();
  if (options.topK > 0 && options.topK < kept) {
    kept = size_t(options.topK);
    std::nth_element(order.begin(), order.begin() + ptrdiff_t(kept),
                     order.end(), before);
    order.resize(kept);
  }
  std::sort(order.begin(), order.end(), before);
  std::vector<double> weights;
  double sum = 0;
  for (size_t token : order) {
    weights.push_back(
        std::exp((from[token] - from[order.front()]) / options.temperature));
    sum += weights.back();
  }
  if (options.topP < 1) {
    double reached = 0;
    for (kept = 0; kept < order.size() && reached < options.topP * sum; ++kept)
      reached += weights[kept];
  }
  // The likeliest one weighs 1.
  while (kept > 1 && weights[kept - 1] < options.minP)
    --kept;
  sum = std::accumulate(weights.begin(), weights.begin() + ptrdiff_t(kept), 0.);
  for (size_t i = 0; i < kept; ++i)
    result[order[i]] = weights[i] / sum;
  return result;
}

StatusOr<int32_t> inference::sampleToken(std::span<const float> logits,
                                         std::span<const int32_t> occurred,
                                         const SamplingOptions &options,
                                         double random) {
  for (float logit : logits)
    if (!std::isfinite(logit))
      return dataLoss("the model's logits are no numbers: its weights are "
                      "broken, or too large for its precision");
  std::vector<double> probabilities =
      probabilitiesOf(logits, occurred, options);
  double reached = 0;
  size_t last = 0;
  for (size_t token = 0; token < probabilities.size(); ++token) {
    if (probabilities[token] == 0)
      continue;
    last = token;
    reached += probabilities[token];
    if (random < reached)
      break;
  }
  return int32_t(last);
}
