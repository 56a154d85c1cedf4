//===- WriteConfig.h - A config.json from a spec ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The reverse of ReadConfig.h, for checkpoints that leave Hocket.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_HUGGINGFACE_WRITECONFIG_H
#define HOCKET_FRONTENDS_HUGGINGFACE_WRITECONFIG_H

#include "base/Status.h"
#include "frontends/spec/spec.pb.h"

#include <string>

namespace hocket::huggingface {

/// The model_type of the family that expresses the resolved `model`:
/// `preferred` if it does, else the first one that does. To express it means:
/// reading the config that would be written gives `model` again.
/// Initialisers, dropouts that the family lacks and the padding of the
/// vocabulary are not part of what the model computes and do not count.
/// InvalidArgument names what the nearest family cannot express. A spec that
/// was read from a config has its family as its name.
StatusOr<std::string> familyOf(const spec::Model &model,
                               const std::string &preferred = "");

/// The text of a config.json for `model`, of familyOf(model, preferred), whose
/// weights are stored as `dtype`, in PyTorch's words. One of two stacks names
/// the tokens of `spans` that sequences begin and end with.
StatusOr<std::string> writeConfig(const spec::Model &model,
                                  const std::string &dtype = "float32",
                                  const spec::SpanCorruption &spans = {},
                                  const std::string &preferred = "");

} // namespace hocket::huggingface

#endif // HOCKET_FRONTENDS_HUGGINGFACE_WRITECONFIG_H
