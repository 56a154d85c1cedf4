//===- FrontEnd.cpp - A spec from whatever was given ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/FrontEnd.h"

#include "frontends/huggingface/ReadConfig.h"

#include <filesystem>

using namespace hocket;

StatusOr<spec::LoadedSpec>
hocket::loadSpecification(const std::string &path,
                          const spec::LoadOptions &options) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return huggingface::loadConfig(path, options);
  return spec::loadSpec(path, options);
}
