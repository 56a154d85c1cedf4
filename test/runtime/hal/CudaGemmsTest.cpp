//===- CudaGemmsTest.cpp - GEMMs through cuBLASLt -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/reference/Gemm.h"
#include "runtime/hal/drivers/cuda/CudaDevice.h"
#include "test/emulator/EmulatedGpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::hal;
using kernels::Epilogue;

namespace {

constexpr DType f32 = DType::F32, bf16 = DType::BF16, f16 = DType::F16;
constexpr DType e4m3 = DType::F8E4M3, e5m2 = DType::F8E5M2;

/// A GEMM by its types and by what it has beside A, B and D.
struct Case {
  DType in, out;
  bool transposeA = false, transposeB = false;
  bool bias = false, accumulate = false, residual = false;
  Epilogue epilogue = Epilogue::None;
  bool auxiliary = false;
  float alpha = 1;
  DType inB = in;
  bool scaleA = false, scaleB = false;
  bool preactivation = false, biasGradient = false;
};

struct Sizes {
  uint64_t m, n, k;
};
constexpr Sizes plain = {12, 16, 20}, multiples = {32, 48, 64};
constexpr uint64_t operandBytes = 8192;

/// The operands by their place: a, b, d, bias, auxiliary, residual, scales,
/// what a backward pass has.
enum Place {
  A,
  B,
  D,
  Bias,
  Auxiliary,
  Residual,
  ScaleA,
  ScaleB,
  Preactivation,
  BiasGradient,
  Places
};

Operand operandAt(Place place, uint64_t elements, DType dtype) {
  return {{place * operandBytes, elements * uint64_t(kernels::bytesOf(dtype))},
          dtype};
}

GemmCall callOf(const Case &c, const Sizes &sizes = plain) {
  GemmCall call;
  auto [m, n, k] = sizes;
  call.m = m, call.n = n, call.k = k;
  call.transposeA = c.transposeA, call.transposeB = c.transposeB;
  call.accumulate = c.accumulate;
  call.alpha = c.alpha;
  call.epilogue = c.epilogue;
  call.a = operandAt(A, m * k, c.in);
  call.b = operandAt(B, k * n, c.inB);
  call.d = operandAt(D, m * n, c.out);
  if (c.bias)
    call.bias = operandAt(Bias, n, c.out);
  if (c.auxiliary)
    call.auxiliary = operandAt(Auxiliary, m * n, c.out);
  if (c.residual)
    call.residual = operandAt(Residual, m * n, c.out);
  if (c.preactivation)
    call.preactivation = operandAt(Preactivation, m * n, c.out);
  if (c.biasGradient)
    call.biasGradient = operandAt(BiasGradient, m, c.out);
  if (c.scaleA)
    call.scaleA = operandAt(ScaleA, 1, f32);
  if (c.scaleB)
    call.scaleB = operandAt(ScaleB, 1, f32);
  return call;
}

/// An arena's bytes with small numbers in every operand.
std::vector<char> filled(const GemmCall &call) {
  std::vector<char> arena(Places * operandBytes);
  for (const Operand *operand :
       {&call.a, &call.b, &call.d, &call.bias, &call.residual,
        &call.preactivation, &call.biasGradient})
    for (uint64_t i = 0;
         i * uint64_t(kernels::bytesOf(operand->dtype)) < operand->range.bytes;
         ++i)
      kernels::store(
          {arena.data() + operand->range.offset, operand->dtype}, int64_t(i),
          double(int((i + operand->range.offset / 7) * 37 % 19) - 9) / 8);
  kernels::store({arena.data() + ScaleA * operandBytes, f32}, 0, 0.75);
  kernels::store({arena.data() + ScaleB * operandBytes, f32}, 0, 1.5);
  return arena;
}

kernels::KernelError computeReference(const GemmCall &call,
                                      std::vector<char> &arena) {
  auto view = [&](const Operand &operand) {
    return operand.range.bytes == 0
               ? kernels::View{}
               : kernels::View{arena.data() + operand.range.offset,
                               operand.dtype};
  };
  kernels::GemmArguments args;
  args.m = int64_t(call.m), args.n = int64_t(call.n), args.k = int64_t(call.k);
  args.transposeA = call.transposeA, args.transposeB = call.transposeB;
  args.accumulate = call.accumulate;
  args.alpha = call.alpha;
  args.epilogue = call.epilogue;
  args.a = view(call.a), args.b = view(call.b), args.d = view(call.d);
  args.bias = view(call.bias), args.auxiliary = view(call.auxiliary);
  args.residual = view(call.residual);
  args.preactivation = view(call.preactivation);
  args.biasGradient = view(call.biasGradient);
  args.scaleA = static_cast<const float *>(view(call.scaleA).data);
  args.scaleB = static_cast<const float *>(view(call.scaleB).data);
  return kernels::reference::gemm(args);
}

/// A device with an arena, on the GPU that the environment names.
std::unique_ptr<Device> openAsSet() {
  auto device = createCudaDevice();
  EXPECT_TRUE(device.ok()) << device.status().message();
  EXPECT_TRUE((*device)->allocateArena(Places * operandBytes).ok());
  EXPECT_TRUE((*device)->createQueues(1, 0).ok());
  EXPECT_TRUE((*device)->reserveScratch(1 << 20).ok());
  return *std::move(device);
}

std::unique_ptr<Device> openEmulated() {
  test::useEmulatedGpus();
  return openAsSet();
}

/// Runs `call` on the device and compares with the reference.
void expectReference(Device &device, const GemmCall &call) {
  std::vector<char> expected = filled(call), actual = expected;
  Range all{0, expected.size()};
  ASSERT_EQ(computeReference(call, expected), nullptr);
  ASSERT_TRUE(device.copyFromHost(0, actual.data(), all).ok());
  Status status = device.gemm(0, call);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_TRUE(device.copyToHost(0, all, actual.data()).ok());
  ASSERT_TRUE(device.synchronize().ok());
  for (const Operand *operand :
       {&call.d, &call.auxiliary, &call.biasGradient}) {
    uint64_t bytes = uint64_t(kernels::bytesOf(operand->dtype));
    for (uint64_t e = 0; e * bytes < operand->range.bytes; ++e) {
      auto at = [&](std::vector<char> &arena) {
        return kernels::load(
            {arena.data() + operand->range.offset, operand->dtype}, int64_t(e));
      };
      double narrow = operand->dtype == f32 ? 1e-5 : 1.0 / 128;
      ASSERT_NEAR(at(actual), at(expected),
                  narrow * (1 + std::abs(at(expected))))
          << "element " << e;
    }
  }
}

TEST(CudaGemms, AreThoseOfTheReference) {
  const Case cases[] = {
      {f32, f32, false, false},
      {bf16, bf16, false, true},
      {f16, f16, true, false},
      {bf16, f32, true, true, false, true},
      {bf16, bf16, false, true, true},
      {bf16, bf16, false, true, true, false, true},
      {f32, f32, true, false, false, false, true, Epilogue::None, false, 0.5f},
      {bf16, bf16, false, true, true, false, false, Epilogue::GeluTanh},
      {bf16, bf16, false, true, true, false, false, Epilogue::GeluTanh, true},
      {f16, f32, false, false, false, true, false, Epilogue::GeluTanh, true, 2},
  };
  auto device = openEmulated();
  for (size_t i = 0; i < std::size(cases); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    expectReference(*device, callOf(cases[i]));
  }
}

/// The library looks at these pointers when it chooses an algorithm.
TEST(CudaGemms, OfABackwardPassAreThoseOfTheReference) {
  const Case cases[] = {
      {.in = bf16,
       .out = bf16,
       .epilogue = Epilogue::GeluTanh,
       .preactivation = true},
      {.in = f32,
       .out = f32,
       .transposeB = true,
       .epilogue = Epilogue::GeluTanh,
       .alpha = 2,
       .preactivation = true},
      {.in = bf16, .out = f32, .transposeA = true, .biasGradient = true},
      // What is added to the GEMM is not added to the sums, nor is alpha.
      {.in = f16,
       .out = f32,
       .transposeA = true,
       .accumulate = true,
       .alpha = 0.5f,
       .biasGradient = true},
      {.in = f32, .out = f32, .biasGradient = true},
  };
  auto device = openEmulated();
  for (size_t i = 0; i < std::size(cases); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    GemmCall call = callOf(cases[i]);
    expectReference(*device, call);
    EXPECT_TRUE(device->prepareGemms({&call, 1}).ok());
    expectReference(*device, call);
  }
}

TEST(CudaGemms, HaveAnAlgorithmForEachAlignmentOfBiasAndKeptInput) {
  Case c{bf16, bf16, false, true, true, false, false, Epilogue::GeluTanh, true};
  auto device = openEmulated();
  for (auto [bias, kept] : {std::pair(0, 0), {2, 0}, {0, 16}, {64, 64}}) {
    GemmCall call = callOf(c);
    call.bias.range.offset += unsigned(bias);
    call.auxiliary.range.offset += unsigned(kept);
    expectReference(*device, call);
  }
}

/// Both factors with their inner dimension fastest, as a Hopper GPU wants it;
/// what the emulated library takes is what the real one's documentation says.
TEST(CudaGemms, OfEightBitOperandsAreThoseOfTheReference) {
  const Case cases[] = {
      {.in = e4m3, .out = bf16, .inB = e4m3, .scaleA = true, .scaleB = true},
      {.in = e4m3, .out = f32, .inB = e4m3},
      {.in = e5m2, .out = bf16, .inB = e4m3, .scaleA = true, .scaleB = true},
      {.in = e4m3, .out = f16, .inB = e5m2, .scaleB = true},
      {.in = e5m2,
       .out = f32,
       .accumulate = true,
       .alpha = 0.5f,
       .inB = e4m3,
       .scaleA = true},
      {.in = e4m3,
       .out = bf16,
       .bias = true,
       .inB = e4m3,
       .scaleA = true,
       .scaleB = true},
      {.in = e4m3, .out = f32, .residual = true, .inB = e4m3, .scaleA = true},
      {.in = e4m3, .out = bf16, .bias = true, .residual = true, .inB = e4m3},
  };
  auto device = openEmulated();
  for (size_t i = 0; i < std::size(cases); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    GemmCall call = callOf(cases[i], multiples);
    call.transposeB = true;
    expectReference(*device, call);
    // A choice of an algorithm reads what it finds, scales too.
    EXPECT_TRUE(device->prepareGemms({&call, 1}).ok());
    expectReference(*device, call);
  }
}

TEST(CudaGemms, RefusesWhatTheLibraryDoesNot) {
  auto device = openEmulated();
  struct {
    Case c;
    const char *text;
  } rows[] = {
      {{f32, bf16, false, false}, "a result narrower than its factors"},
      {{f32, f32, false, false, false, false, false, Epilogue::Silu},
       "a nonlinearity other than gelu_tanh"},
      {{f32, f32, false, false, false, true, true},
       "a residual beside a nonlinearity or a sum"},
      {{f32, f32, false, false, false, false, false, Epilogue::None, true},
       "a kept input without gelu_tanh or with rows of no multiple of 8"},
      {{.in = f32,
        .out = f32,
        .accumulate = true,
        .epilogue = Epilogue::GeluTanh,
        .preactivation = true},
       "a derivative beside a bias, a kept input or a sum"},
      {{.in = f32, .out = f32, .bias = true, .biasGradient = true},
       "a bias gradient beside a nonlinearity or a bias"},
  };
  for (const auto &row : rows) {
    Status status = device->gemm(0, callOf(row.c));
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_EQ(status.message(),
              std::string("gemm 12 x 16 x 20: cuBLASLt does not take ") +
                  row.text);
  }
}

TEST(CudaGemms, RefusesEightBitOperandsThatTheLibraryDoesNot) {
  auto device = openEmulated();
  auto expectRefused = [&](const GemmCall &call, const std::string &text) {
    Status status = device->gemm(0, call);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_EQ(status.message(), text);
  };
  Case c{.in = e4m3, .out = f32, .transposeB = true, .inB = e4m3};
  expectRefused(callOf(c), "gemm 12 x 16 x 20: cuBLASLt does not take 8-bit "
                           "operands with a size of no multiple of 16");
  std::string name = "gemm 32 x 48 x 64: cuBLASLt does not take ";
  c.bias = true;
  expectRefused(callOf(c, multiples),
                name + "a bias beside 8-bit operands and a result of f32");
  c.bias = false, c.epilogue = Epilogue::GeluTanh;
  expectRefused(callOf(c, multiples),
                name + "a nonlinearity behind 8-bit operands");
  c.epilogue = Epilogue::None, c.biasGradient = true;
  expectRefused(callOf(c, multiples),
                name + "a bias gradient of 8-bit operands");
  c.biasGradient = false, c.transposeB = false;
  expectRefused(callOf(c, multiples),
                name + "8-bit operands on this GPU whose inner dimension does "
                       "not run fastest; compile the program for it (--arch)");
  // Of an address that is no multiple of 16 the library itself says so.
  c.transposeB = true;
  GemmCall call = callOf(c, multiples);
  call.a.range.offset += 8;
  Status status = device->gemm(0, call);
  EXPECT_EQ(status.code(), StatusCode::FailedPrecondition);
  EXPECT_NE(status.message().find("has no algorithm for it"), std::string::npos)
      << status.message();
}

TEST(CudaGemms, OfEightBitOperandsDependOnTheGpu) {
  if (test::usesPresentGpu())
    GTEST_SKIP() << "this machine's GPU is one";
  test::useEmulatedGpus();
  Case c{.in = e4m3, .out = bf16, .inB = e5m2, .scaleA = true};
  GemmCall call = callOf(c, multiples);
  ::setenv("HOCKET_EMULATED_ARCH", "80", 1);
  Status status = openAsSet()->gemm(0, call);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_EQ(status.message(),
            "gemm 32 x 48 x 64: cuBLASLt does not take 8-bit operands on this "
            "GPU; compile the program for it (--arch)");
  ::setenv("HOCKET_EMULATED_ARCH", "100", 1);
  for (int flags = 0; flags < 4; ++flags) {
    call.transposeA = flags & 1, call.transposeB = flags & 2;
    expectReference(*openAsSet(), call);
  }
  ::unsetenv("HOCKET_EMULATED_ARCH");
}

} // namespace
