//===- KeptOutcomes.h - What runs came to, for later tests ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A test program runs as several processes, and each needs the models that
/// are trained on one rank, to compare plans with. What the first of them found
/// out is in the folder that a run of all tests has for such (HOCKET_CACHE),
/// under all that it depends on; the build id of the program stands for its
/// code. Without such a folder every process finds out for itself.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_END_TO_END_SUPPORT_KEPTOUTCOMES_H
#define HOCKET_TEST_END_TO_END_SUPPORT_KEPTOUTCOMES_H

#include "base/ResultCache.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hocket::test {

/// What a run logs of every step, and all that it saves at the end.
struct Outcome {
  std::vector<double> losses, norms;
  std::map<std::string, std::vector<double>> state;

  friend bool operator==(const Outcome &, const Outcome &) = default;
};

std::string toBytes(const Outcome &outcome);
/// Nothing if they are not those of one.
std::optional<Outcome> fromBytes(const std::string &bytes);

class KeptOutcomes {
public:
  /// Of this program, on this machine's processor.
  KeptOutcomes();

  /// Of the run that `parts` determine.
  std::optional<Outcome> find(std::vector<std::string> parts) const;
  void keep(std::vector<std::string> parts, const Outcome &outcome) const;

private:
  std::string keyOf(std::vector<std::string> parts) const;

  std::optional<ResultCache> cache;
  std::string identity;
};

} // namespace hocket::test

#endif // HOCKET_TEST_END_TO_END_SUPPORT_KEPTOUTCOMES_H
