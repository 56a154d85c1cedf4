//===- QuantizedTest.cpp - Training in 8 bits, beside PyTorch -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The graphs that linear layers of 8-bit operands become, evaluated in f64 but
/// for the codes themselves, against PyTorch that does the same: with nothing
/// else rounded both draw the same codes, so that a factor with another scale,
/// another format or from another place stands out. How compiled programs round
/// besides is test_numerics' subject.
///
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Safetensors.h"
#include "test/end_to_end/support/CompiledModel.h"
#include "test/end_to_end/support/ReferenceModel.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>

using namespace hocket;
using namespace hocket::test;

namespace {

/// A step of plain SGD at this rate: gradients are what it moves, over it.
constexpr double rate = 4096;

/// What test/numerics/make_golden.py has written.
struct Golden {
  explicit Golden(const std::string &name) {
    std::string path = HOCKET_SOURCE_DIR "/test/numerics/golden/" + name;
    std::ifstream file(path + ".json");
    record = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
    auto tensors = checkpoint::SafetensorsFile::open(path + ".safetensors");
    valid = !record.is_discarded() && tensors.ok();
    EXPECT_TRUE(valid) << path;
    if (!valid)
      return;
    for (const checkpoint::TensorInfo &info : tensors->tensors()) {
      std::vector<uint8_t> bytes = *tensors->read(info);
      std::vector<float> values(bytes.size() / sizeof(float));
      std::memcpy(values.data(), bytes.data(), bytes.size());
      gradients[info.name].assign(values.begin(), values.end());
    }
  }

  double loss() const { return record["losses"][0]; }

  /// The microbatches of the first step. A sample has a token more than the
  /// model sees, the label of its last.
  std::vector<data::Batch> firstStep(size_t rows) const {
    std::vector<data::Batch> batches;
    size_t row = 0;
    for (std::vector<int32_t> tokens : record["samples"]) {
      if (row++ % rows == 0)
        batches.emplace_back();
      data::Batch &batch = batches.back();
      batch.tokens.insert(batch.tokens.end(), tokens.begin(), tokens.end() - 1);
      batch.labels.insert(batch.labels.end(), tokens.begin() + 1, tokens.end());
    }
    return batches;
  }

  nlohmann::json record;
  ModelState gradients;
  bool valid = false;
};

double normOf(const std::vector<double> &values) {
  return distance(values, std::vector<double>(values.size()));
}

struct Case {
  const char *golden, *recipe;
};
class Quantized : public testing::TestWithParam<Case> {};

} // namespace

TEST_P(Quantized, GraphsComputeWhatPyTorchDoes) {
  Golden golden(GetParam().golden);
  ASSERT_TRUE(golden.valid);
  std::string spec = golden.record["spec"];
  for (const char *recompute : {"NONE", "SELECTIVE", "FULL"}) {
    SCOPED_TRACE(recompute);
    CompileChoice how{{"training.precision=BF16", "training.fp8_format=HYBRID",
                       std::string("training.fp8_recipe=") + GetParam().recipe,
                       "plan.recompute=" + std::string(recompute)}};
    CompiledModel compiled(compileProgram(spec, how));
    ASSERT_TRUE(compiled.valid);
    ModelState first = compiled.state();
    ReferenceModel model(compileXf(spec, how), 0, xf::Rounding::Codes, first);
    ASSERT_TRUE(model.valid);
    std::vector<double> losses =
        model.run(0, rate, golden.firstStep(/*rows=*/2)).losses;
    ASSERT_EQ(losses.size(), 2u);
    EXPECT_NEAR((losses[0] + losses[1]) / 2, golden.loss(), 1e-6);

    ModelState after = model.state();
    double total = 0;
    for (const auto &[name, values] : golden.gradients)
      total += normOf(values);
    ASSERT_GT(total, 0);
    for (const auto &[name, values] : golden.gradients) {
      std::vector<double> found = first.at(name);
      ASSERT_EQ(found.size(), values.size()) << name;
      for (size_t i = 0; i < found.size(); ++i)
        found[i] = (found[i] - after.at(name)[i]) / rate;
      EXPECT_LT(distance(found, values),
                1e-6 * std::max(normOf(values), 1e-3 * total))
          << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Quantized,
                         testing::Values(Case{"gpt2_fp8", "TENSORWISE"},
                                         Case{"llama_fp8", "TENSORWISE"},
                                         Case{"gpt2_fp8_blockwise",
                                              "BLOCKWISE"},
                                         Case{"llama_fp8_mxfp8", "MXFP8"}),
                         [](const testing::TestParamInfo<Case> &info) {
                           return std::string(info.param.golden);
                         });
