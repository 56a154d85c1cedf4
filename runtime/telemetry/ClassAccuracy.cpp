//===- ClassAccuracy.cpp - How many of each class were told ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/telemetry/ClassAccuracy.h"

#include "base/Format.h"
#include "base/Quantity.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

using namespace hocket;

static double share(uint64_t right, uint64_t all) {
  return all ? double(right) / double(all) : std::nan("");
}

ClassAccuracy::ClassAccuracy(std::vector<std::string> of)
    : names(std::move(of)), right(names.size()), all(names.size()) {}

uint64_t ClassAccuracy::samples() const {
  return std::accumulate(all.begin(), all.end(), uint64_t(0));
}

uint64_t ClassAccuracy::rightSamples() const {
  return std::accumulate(right.begin(), right.end(), uint64_t(0));
}

double ClassAccuracy::accuracy() const {
  return share(rightSamples(), samples());
}

double ClassAccuracy::accuracyOf(size_t label) const {
  return share(right[label], all[label]);
}

static std::string percent(double accuracy) {
  return std::isnan(accuracy) ? "none"
                              : formatRounded(100 * accuracy, 2) + " %";
}

std::string hocket::textOf(const ClassAccuracy &classes) {
  std::string text = "accuracy: " + percent(classes.accuracy()) + " (" +
                     formatGrouped(classes.rightSamples()) + " of " +
                     formatGrouped(classes.samples()) + ")";
  for (size_t i = 0; i < classes.names.size(); ++i)
    text += " | " + classes.names[i] + ": " + percent(classes.accuracyOf(i)) +
            " of " + formatGrouped(classes.all[i]);
  return text;
}

nlohmann::ordered_json hocket::jsonOf(const ClassAccuracy &classes) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (size_t i = 0; i < classes.names.size(); ++i)
    object[classes.names[i]] = {{"right", classes.right[i]},
                                {"all", classes.all[i]},
                                {"accuracy", classes.accuracyOf(i)}};
  return object;
}
