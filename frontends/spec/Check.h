//===- Check.h - The constraints of a spec ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Whether a resolved spec makes sense. docs/spec.md numbers the constraints;
/// each error reads
///
///   file:line:column: S5: model.heads is 7, which ...; write ...
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_CHECK_H
#define HOCKET_FRONTENDS_SPEC_CHECK_H

#include "frontends/spec/FieldLocations.h"
#include "frontends/spec/spec.pb.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <optional>
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

/// Checks `spec`, to which fillDefaults was applied, against all constraints.
/// Relations between fields are looked at once each field is in its range.
Status checkSpec(const Spec &spec, const FieldLocations &locations);

/// The parts of checkSpec. The first needs nothing; the others need it to
/// have found nothing.
void checkRanges(const Spec &spec, ConstraintErrors &errors);
void checkModel(const Model &model, ConstraintErrors &errors);
/// S80 to S83: attention in both directions, and what goes with it.
void checkEncoder(const Spec &spec, ConstraintErrors &errors);

void checkTraining(const Spec &spec, ConstraintErrors &errors);
void checkPlan(const Spec &spec, ConstraintErrors &errors);

/// S15, of the lengths of a learning-rate schedule in `unit` ("steps", or
/// "samples"). `wsdDecay` is nothing where it was left out.
struct ScheduleLengths {
  std::string unit;
  int64_t warmup = 0;
  int64_t decay = 0;
  std::optional<int64_t> wsdDecay;
};
void checkScheduleLengths(LearningRate::Schedule schedule,
                          const ScheduleLengths &lengths,
                          ConstraintErrors &errors);

/// The shortest text that reads back as `value`.
std::string formatReal(double value);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_CHECK_H
