//===- Defaults.h - What a spec leaves unsaid -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Completes a spec, so that later steps never ask whether a field was
/// written. A resolved spec is a fixed point: resolving it changes nothing.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_DEFAULTS_H
#define HOCKET_FRONTENDS_SPEC_DEFAULTS_H

#include "frontends/spec/spec.pb.h"

namespace hocket::spec {

/// Gives every field that has a value by default (see spec.proto) that value.
/// What stays absent says something: no sliding_window, no rope.scaling, and
/// no rope, loss_scale or wsd_decay_steps where they would not be used, no
/// cluster.memory_bytes, and the required fields that were left out.
void fillDefaults(Spec &spec);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_DEFAULTS_H
