//===- ExamplesTest.cpp - The specs in examples/ --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/LoadSpec.h"
#include "frontends/spec/model/Parameters.h"
#include "frontends/spec/model/Sizes.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::spec;

namespace {

struct Example {
  const char *name;
  int64_t unpadded; ///< Parameters without padded vocabulary rows.
};

class Examples : public testing::TestWithParam<Example> {
protected:
  LoadedSpec load(const LoadOptions &options = {}) {
    StatusOr<LoadedSpec> loaded =
        loadSpec(std::string(HOCKET_SOURCE_DIR) + "/examples/" +
                     GetParam().name + "/spec.textproto",
                 options);
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    return loaded.ok() ? *loaded : LoadedSpec();
  }
};

int64_t elements(const std::vector<Parameter> &list) {
  int64_t sum = 0;
  for (const Parameter &parameter : list) {
    int64_t product = 1;
    for (int64_t size : parameter.shape)
      product *= size;
    sum += product;
  }
  return sum;
}

TEST_P(Examples, HavePublishedSizes) {
  LoadedSpec loaded = load({"", {"model.vocab_padding=1"}});
  EXPECT_EQ(parameterCount(loaded.spec.model()).get(), GetParam().unpadded);
  EXPECT_EQ(loaded.spec.name(), GetParam().name);
}

TEST_P(Examples, ParametersAddUpToTheCount) {
  Spec spec = load().spec;
  EXPECT_EQ(parameterCount(spec.model()).get(),
            elements(modelParameters(spec)));
}

INSTANTIATE_TEST_SUITE_P(All, Examples,
                         testing::Values(Example{"nano", 10819968},
                                         Example{"nano-moe", 28530048},
                                         Example{"mixtral-8x7b", 46702792704},
                                         Example{"gpt2-124m", 124439808},
                                         Example{"bert-base", 110106428},
                                         Example{"gpt2-1.5b", 1557611200},
                                         Example{"llama-3-8b", 8030261248},
                                         Example{"gemma-3-1b", 999885952},
                                         Example{"gpt-3-175b", 174604259328}));

} // namespace
