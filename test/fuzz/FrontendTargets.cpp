//===- FrontendTargets.cpp - Specifications and configs -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/ReadConfig.h"
#include "frontends/spec/LoadSpec.h"
#include "test/fuzz/Target.h"

using namespace hocket;

static void readSpec(std::string_view bytes) {
  StatusOr<spec::LoadedSpec> loaded =
      spec::parseSpec(std::string(bytes), "fuzz.textproto");
  if (!loaded.ok())
    return;
  std::string once = printSpec(loaded->spec);
  StatusOr<spec::LoadedSpec> again = spec::parseSpec(once, "printed.textproto");
  fuzz::require(again.ok(), "a printed specification is one");
  fuzz::require(printSpec(again->spec) == once, "it is printed as it was");
}

void fuzz::addFrontendTargets(std::map<std::string, Target> &targets) {
  targets["spec"] = readSpec;
  targets["config"] = [](std::string_view bytes) {
    (void)huggingface::parseConfig(std::string(bytes), "config.json");
  };
}
