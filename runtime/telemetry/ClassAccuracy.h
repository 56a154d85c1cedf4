//===- ClassAccuracy.h - How many of each class were told -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TELEMETRY_CLASSACCURACY_H
#define HOCKET_RUNTIME_TELEMETRY_CLASSACCURACY_H

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace hocket {

/// Of samples by their class: how many there were, and of how many the model
/// told it.
struct ClassAccuracy {
  std::vector<std::string> names;
  std::vector<uint64_t> right, all; ///< Of each class.

  explicit ClassAccuracy(std::vector<std::string> names);

  void add(size_t label, bool isRight) {
    ++all[label];
    right[label] += isRight;
  }
  uint64_t samples() const;
  uint64_t rightSamples() const;
  double accuracy() const; ///< Of all; NaN where there are none.
  double accuracyOf(size_t label) const;
};

/// "accuracy: 75.00 % (3 of 4) | entailment: 66.67 % of 3 | neutral: ..."; a
/// class without samples has no share.
std::string textOf(const ClassAccuracy &classes);

/// {"entailment": {"right": 2, "all": 3, "accuracy": 0.6666666666666666}, ...};
/// NaN is null.
nlohmann::ordered_json jsonOf(const ClassAccuracy &classes);

} // namespace hocket

#endif // HOCKET_RUNTIME_TELEMETRY_CLASSACCURACY_H
