//===- RunLengths.h - How long a run is, in steps ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A spec may say how long the run and the parts of its learning-rate schedule
/// are in samples, and how long the warm-up is as a fraction. A step always
/// takes training.global_batch_size samples, so these become steps before
/// anything else looks at them.
///
/// Where the batch grows (BatchGrowth.h) the run becomes steps as well, but the
/// schedule of a run in samples stays in samples: steps of different sizes
/// would bend it.
///
/// Megatron counts its schedule in samples. It changes from one part to the
/// next at the same steps as here; the rates between them differ by less than
/// they change in a step, and not at all where lengths are whole steps.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_RUNLENGTHS_H
#define HOCKET_FRONTENDS_SPEC_RUNLENGTHS_H

#include "base/Status.h"
#include "frontends/spec/spec.pb.h"
#include "frontends/spec/text/FieldLocations.h"

namespace hocket::spec {

/// Replaces train_samples, warmup_samples, decay_samples, wsd_decay_samples and
/// warmup_fraction by the fields in steps, which take over their places in
/// `locations`. `spec` is as it was written, before fillDefaults.
/// InvalidArgument, with places, if lengths contradict each other (S15, S44) or
/// a field of the spec is out of its range. A spec without these fields stays
/// as it is and is not looked at.
Status turnLengthsIntoSteps(Spec &spec, FieldLocations &locations);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_RUNLENGTHS_H
