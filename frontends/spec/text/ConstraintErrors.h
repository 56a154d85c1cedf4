//===- ConstraintErrors.h - What is wrong with a spec -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_TEXT_CONSTRAINTERRORS_H
#define HOCKET_FRONTENDS_SPEC_TEXT_CONSTRAINTERRORS_H

#include "base/Status.h"
#include "frontends/spec/text/FieldLocations.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace hocket::spec {

/// Collects what is wrong with a spec, each complaint at the place of a field.
class ConstraintErrors {
public:
  explicit ConstraintErrors(const FieldLocations &locations)
      : locations(locations) {}

  /// "PLACE: S<constraint>: <text>", at the place of the field `path`.
  void add(int constraint, const std::string &path, const std::string &text);

  /// What another part of a specification leaves no room for: `text` of
  /// `field`, if that is there.
  struct Unfit {
    bool isThere;
    const char *field, *text;
  };
  void addUnfit(int constraint, std::initializer_list<Unfit> list);

  bool empty() const { return lines.empty(); }
  /// All errors, one a line, as InvalidArgument; Ok where there are none.
  Status status() const;

private:
  const FieldLocations &locations;
  std::vector<std::string> lines;
};

/// The most sequences of a step, and more steps or samples than any run has,
/// low enough that sums of a few stay in range (S4).
inline constexpr int64_t largestBatch = 1 << 24;
inline constexpr int64_t manySteps = int64_t(1) << 48;

/// The shortest text that reads back as `value`.
std::string formatReal(double value);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_TEXT_CONSTRAINTERRORS_H
