//===- ReadModel.h - Specs of configs and of text ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_FRONTENDS_HUGGINGFACE_READMODEL_H
#define HOCKET_TEST_FRONTENDS_HUGGINGFACE_READMODEL_H

#include "frontends/huggingface/ReadConfig.h"

#include <gtest/gtest.h>
#include <string>

namespace hocket::test {

/// The spec that the text of a config.json gives.
inline spec::LoadedSpec read(const std::string &config) {
  StatusOr<spec::LoadedSpec> loaded =
      huggingface::parseConfig(config, "config.json");
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? *loaded : spec::LoadedSpec();
}

/// The spec that states `model`.
inline spec::LoadedSpec readSpec(const std::string &model) {
  bool seesAll = model.find("BIDIRECTIONAL") != std::string::npos;
  StatusOr<spec::LoadedSpec> loaded = spec::parseSpec(
      "model { " + model + " }" + (seesAll ? "training { masked_lm { } }" : ""),
      "a.textproto");
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? *loaded : spec::LoadedSpec();
}

} // namespace hocket::test

#endif // HOCKET_TEST_FRONTENDS_HUGGINGFACE_READMODEL_H
