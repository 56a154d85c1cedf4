//===- FrontEnd.cpp - A spec from whatever was given ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/FrontEnd.h"

#include "frontends/huggingface/ReadConfig.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/IterationFiles.h"

#include <filesystem>

using namespace hocket;

/// Whether a folder is that of a run, or one iteration of it.
static bool holdsRun(const std::string &dir) {
  std::error_code error;
  return std::filesystem::exists(dir + "/manifest.json", error) ||
         !checkpoint::iterationsIn(dir).empty();
}

/// What a run was trained from, as it says itself.
static StatusOr<spec::LoadedSpec>
loadRunSpec(const std::string &dir, const spec::LoadOptions &options) {
  HOCKET_ASSIGN_OR_RETURN(
      auto run, checkpoint::Checkpoint::open(dir, {.verifyDigests = false}));
  if (run.state().specText.empty())
    return invalidArgument(run.path() +
                           ": the checkpoint does not say which model it is "
                           "of; give a specification");
  spec::LoadOptions ownOptions = options;
  ownOptions.anyDevices = true;
  return spec::parseSpec(run.state().specText,
                         run.path() + ": its specification", ownOptions);
}

StatusOr<spec::LoadedSpec>
hocket::loadSpecification(const std::string &path,
                          const spec::LoadOptions &options) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error) && holdsRun(path))
    return loadRunSpec(path, options);
  if (std::filesystem::is_directory(path, error))
    return huggingface::loadConfig(path, options);
  return spec::loadSpec(path, options);
}
