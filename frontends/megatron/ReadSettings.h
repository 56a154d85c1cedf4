//===- ReadSettings.h - A spec from Megatron-LM's settings ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Megatron-LM saves the options of its command line with the weights, as
/// "args". They give the model of a spec and its sequence length; the rest of
/// training, and the plan, come from the defaults and from `--set`.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_MEGATRON_READSETTINGS_H
#define HOCKET_FRONTENDS_MEGATRON_READSETTINGS_H

#include "frontends/spec/LoadSpec.h"
#include "runtime/megatron/Model.h"

namespace hocket::megatron {

/// The spec of `model`. Errors are InvalidArgument and name the file and the
/// option. An option that would change the model and is not supported is an
/// error, never ignored; options that are not known are.
StatusOr<spec::LoadedSpec> readSpec(const Model &model,
                                    const spec::LoadOptions &options = {});

} // namespace hocket::megatron

#endif // HOCKET_FRONTENDS_MEGATRON_READSETTINGS_H
