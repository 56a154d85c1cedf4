//===- ReadConfig.h - A spec from a Hugging Face folder ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The front end for a folder with a `config.json`: gpt2, llama, mistral,
/// qwen2 and qwen3 give the model of a spec; training and plan come from the
/// defaults and from `--set` and `--plan`.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_HUGGINGFACE_READCONFIG_H
#define HOCKET_FRONTENDS_HUGGINGFACE_READCONFIG_H

#include "frontends/spec/LoadSpec.h"

#include <string>

namespace hocket::huggingface {

/// Reads `folder`/config.json. Errors are InvalidArgument or NotFound and
/// name file, line, column and constraint: H1 to H5 for the config itself, S4
/// and up for what it says. A feature that would change the model and is not
/// supported is an error, never ignored.
StatusOr<spec::LoadedSpec> loadConfig(const std::string &folder,
                                      const spec::LoadOptions &options = {});

/// The same of text in memory; `file` names it in messages.
StatusOr<spec::LoadedSpec> parseConfig(const std::string &text,
                                       const std::string &file,
                                       const spec::LoadOptions &options = {});

/// The model_type of `folder`/config.json; "" where there is none that is
/// supported.
std::string familyIn(const std::string &folder);

} // namespace hocket::huggingface

#endif // HOCKET_FRONTENDS_HUGGINGFACE_READCONFIG_H
