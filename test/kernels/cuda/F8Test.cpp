//===- F8Test.cpp - One-byte numbers in CUDA kernels ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Conversions of kernels/cuda/Device.cuh against those of the reference, bit
/// by bit: on the emulator those in integers, which GPUs before sm_89 have too;
/// of the others NVRTC says that they are the GPU's own.
///
//===----------------------------------------------------------------------===//

#include "kernels/cuda/Sources.h"
#include "kernels/reference/Element.h"
#include "runtime/nvrtc/Nvrtc.h"
#include "test/emulator/Module.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace hocket::kernels::test {
namespace {

/// Of each format: numbers to codes, 16 and one at a time, and back.
const char *source = R"(
#include "kernels/cuda/Device.cuh"
using namespace hocket::cuda;

template <class T>
static __device__ void narrowAll(const float *x, T *y, T *single) {
  Integer at = (Integer(blockIdx.x) * 64 + threadIdx.x) * 16;
  auto from = load<16>(x + at);
  store(y + at, narrowed<T>(from.at));
  for (int i = 0; i < 16; ++i)
    single[at + i] = fromFloat<T>(from.at[i]);
}
template <class T> static __device__ void widenAll(const T *x, float *y) {
  auto from = load<16>(x + threadIdx.x * 16);
  Pack<float, 16> to;
  for (int i = 0; i < 16; ++i)
    to.at[i] = toFloat(from.at[i]);
  store(y + threadIdx.x * 16, to);
}

extern "C" __global__ void __launch_bounds__(64)
narrow_e4m3(const float *x, e4m3 *y, e4m3 *single) {
  narrowAll(x, y, single);
}
extern "C" __global__ void __launch_bounds__(64)
narrow_e5m2(const float *x, e5m2 *y, e5m2 *single) {
  narrowAll(x, y, single);
}
extern "C" __global__ void __launch_bounds__(16)
widen_e4m3(const e4m3 *x, float *y) {
  widenAll(x, y);
}
extern "C" __global__ void __launch_bounds__(16)
widen_e5m2(const e5m2 *x, float *y) {
  widenAll(x, y);
}
)";

struct Format {
  const char *name;
  uint8_t (*narrow)(float);
  float (*widen)(uint8_t);
};

constexpr Format formats[] = {
    {"e4m3", [](float x) { return floatToE4m3(x); },
     [](uint8_t code) { return e4m3ToFloat(code); }},
    {"e5m2", [](float x) { return floatToE5m2(x); },
     [](uint8_t code) { return e5m2ToFloat(code); }},
};

/// Every upper half of an f32 with lower halves around what rounds otherwise:
/// all ties of both formats with their neighbours, subnormals, infinities, NaN.
std::vector<float> numbers() {
  std::vector<float> all;
  for (uint32_t upper = 0; upper < 1 << 16; ++upper)
    for (uint32_t lower : {0x0000u, 0x0001u, 0x8000u, 0xffffu})
      all.push_back(std::bit_cast<float>(upper << 16 | lower));
  return all;
}

class F8 : public testing::TestWithParam<Format> {
protected:
  static void SetUpTestSuite() {
    std::string error;
    module = emulator::Module::compile(source, error);
    ASSERT_TRUE(module) << error;
  }
  static void TearDownTestSuite() { module.reset(); }

  static void launch(const std::string &kernel, unsigned blocks,
                     unsigned threads, std::vector<const void *> buffers) {
    emulator::Launch launch;
    launch.gridSize = {blocks, 1, 1};
    launch.blockSize = {threads, 1, 1};
    std::vector<void *> arguments;
    for (const void *&buffer : buffers)
      arguments.push_back(&buffer);
    EXPECT_EQ(module->run(kernel, launch, arguments), "");
  }

  static std::unique_ptr<emulator::Module> module;
};

std::unique_ptr<emulator::Module> F8::module;

TEST_P(F8, NumbersBecomeTheCodesOfTheReference) {
  std::vector<float> x = numbers();
  std::vector<uint8_t> packs(x.size()), single(x.size());
  launch(std::string("narrow_") + GetParam().name,
         static_cast<unsigned>(x.size() / 1024), 64,
         {x.data(), packs.data(), single.data()});
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(int(packs[i]), int(GetParam().narrow(x[i]))) << x[i];
    ASSERT_EQ(int(single[i]), int(packs[i])) << x[i];
  }
}

TEST_P(F8, CodesBecomeTheNumbersOfTheReference) {
  std::vector<uint8_t> codes(256);
  for (size_t i = 0; i < 256; ++i)
    codes[i] = static_cast<uint8_t>(i);
  std::vector<float> x(256);
  launch(std::string("widen_") + GetParam().name, 1, 16,
         {codes.data(), x.data()});
  for (uint8_t code : codes) {
    float expected = GetParam().widen(code);
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(x[code])) << int(code);
    else
      EXPECT_EQ(std::bit_cast<uint32_t>(x[code]),
                std::bit_cast<uint32_t>(expected))
          << int(code);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, F8, testing::ValuesIn(formats),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

nvrtc::Source kernels() {
  nvrtc::Source all{"f8.cu", source, {}};
  for (const CudaHeader &header : cudaHeaders())
    all.headers.push_back({header.name, header.text});
  return all;
}

TEST(F8OnGpus, ConvertsByInstructionsWhereThereAreAny) {
  if (!nvrtc::findLibrary().ok())
    GTEST_SKIP() << nvrtc::findLibrary().status().message();
  for (const char *arch : {"sm_80", "sm_90a", "sm_100a"}) {
    auto image = nvrtc::compile(kernels(), arch);
    EXPECT_TRUE(image.ok()) << image.status().message();
  }
  auto has = [](const std::string &text, const char *words) {
    return text.find(words) != std::string::npos;
  };
  for (const char *arch : {"compute_80", "compute_90a", "compute_100a"}) {
    auto text = nvrtc::ptx(kernels(), arch);
    ASSERT_TRUE(text.ok()) << text.status().message();
    bool own = arch != std::string("compute_80");
    for (const char *words :
         {"cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.satfinite.e5m2x2.f32",
          "cvt.rn.f16x2.e4m3x2"})
      EXPECT_EQ(has(*text, words), own) << words << " for " << arch;
    EXPECT_TRUE(has(*text, "ld.global.v4")) << arch;
    EXPECT_TRUE(has(*text, "st.global.v4")) << arch;
  }
}

} // namespace
} // namespace hocket::kernels::test
