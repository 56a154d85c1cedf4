//===- FrontEnd.h - A spec from whatever was given --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What every command that takes a SPEC calls.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_FRONTEND_H
#define HOCKET_FRONTENDS_FRONTEND_H

#include "frontends/spec/LoadSpec.h"

namespace hocket {

/// Reads `path`: a folder is that of a run (its checkpoints say what it was
/// trained from) or Hugging Face's, with a config.json; a file is textproto.
/// Errors are the input's fault and say where and what.
StatusOr<spec::LoadedSpec>
loadSpecification(const std::string &path,
                  const spec::LoadOptions &options = {});

} // namespace hocket

#endif // HOCKET_FRONTENDS_FRONTEND_H
