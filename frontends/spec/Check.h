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

#include "base/Status.h"
#include "frontends/spec/spec.pb.h"
#include "frontends/spec/text/ConstraintErrors.h"
#include "frontends/spec/text/FieldLocations.h"

#include <cstdint>
#include <optional>
#include <string>

namespace hocket::spec {

/// Checks `spec`, to which fillDefaults was applied, against all constraints.
/// Relations between fields are looked at once each field is in its range.
Status checkSpec(const Spec &spec, const FieldLocations &locations);

/// The parts of checkSpec. The first needs nothing; the others need it to
/// have found nothing.
void checkRanges(const Spec &spec, ConstraintErrors &errors);
void checkModel(const Model &model, ConstraintErrors &errors);
/// S80 to S83: attention in both directions, and what goes with it.
void checkEncoder(const Spec &spec, ConstraintErrors &errors);

/// S94 and S95: an encoder before the decoder, and what both learn.
void checkSpans(const Spec &spec, ConstraintErrors &errors);

/// S105 to S109: a tower that sees images. What it finds comes first, as sizes
/// of the model follow from the tower's.
void checkVision(const Spec &spec, ConstraintErrors &errors);

/// S122 to S126: layers that attend to what was retrieved.
void checkRetrieval(const Spec &spec, ConstraintErrors &errors);

/// S129 to S131: attention to latents.
void checkLatentAttention(const Spec &spec, ConstraintErrors &errors);

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

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_CHECK_H
