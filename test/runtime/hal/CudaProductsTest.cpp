//===- CudaProductsTest.cpp - Products through cuBLASLt -------------------===//
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

/// A product by its types and by what it has beside A, B and D.
struct Case {
  DType in, out;
  bool transposeA, transposeB;
  bool bias = false, accumulate = false, residual = false;
  Epilogue epilogue = Epilogue::None;
  bool auxiliary = false;
  float alpha = 1;
};

constexpr uint64_t m = 12, n = 16, k = 20;
constexpr uint64_t operandBytes = 4096;

/// The operands by their place: a, b, d, bias, auxiliary, residual.
enum Place { A, B, D, Bias, Auxiliary, Residual, Places };

Operand operandAt(Place place, uint64_t elements, DType dtype) {
  return {{place * operandBytes, elements * uint64_t(kernels::bytesOf(dtype))},
          dtype};
}

GemmCall callOf(const Case &c) {
  GemmCall call;
  call.m = m, call.n = n, call.k = k;
  call.transposeA = c.transposeA, call.transposeB = c.transposeB;
  call.accumulate = c.accumulate;
  call.alpha = c.alpha;
  call.epilogue = c.epilogue;
  call.a = operandAt(A, m * k, c.in);
  call.b = operandAt(B, k * n, c.in);
  call.d = operandAt(D, m * n, c.out);
  if (c.bias)
    call.bias = operandAt(Bias, n, c.out);
  if (c.auxiliary)
    call.auxiliary = operandAt(Auxiliary, m * n, c.out);
  if (c.residual)
    call.residual = operandAt(Residual, m * n, c.out);
  return call;
}

/// An arena's bytes with small numbers in every operand.
std::vector<char> filled(const GemmCall &call) {
  std::vector<char> arena(Places * operandBytes);
  for (const Operand *operand :
       {&call.a, &call.b, &call.d, &call.bias, &call.residual})
    for (uint64_t i = 0;
         i * uint64_t(kernels::bytesOf(operand->dtype)) < operand->range.bytes;
         ++i)
      kernels::store(
          {arena.data() + operand->range.offset, operand->dtype}, int64_t(i),
          double(int((i + operand->range.offset / 7) * 37 % 19) - 9) / 8);
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
  args.m = m, args.n = n, args.k = k;
  args.transposeA = call.transposeA, args.transposeB = call.transposeB;
  args.accumulate = call.accumulate;
  args.alpha = call.alpha;
  args.epilogue = call.epilogue;
  args.a = view(call.a), args.b = view(call.b), args.d = view(call.d);
  args.bias = view(call.bias), args.auxiliary = view(call.auxiliary);
  args.residual = view(call.residual);
  return kernels::reference::gemm(args);
}

std::unique_ptr<Device> open() {
  test::useEmulatedGpus();
  auto device = createCudaDevice();
  EXPECT_TRUE(device.ok()) << device.status().message();
  EXPECT_TRUE((*device)->allocateArena(Places * operandBytes).ok());
  EXPECT_TRUE((*device)->createQueues(1, 0).ok());
  EXPECT_TRUE((*device)->reserveScratch(1 << 20).ok());
  return *std::move(device);
}

TEST(CudaProducts, AreThoseOfTheReference) {
  constexpr DType f32 = DType::F32, bf16 = DType::BF16, f16 = DType::F16;
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
  auto device = open();
  for (size_t i = 0; i < std::size(cases); ++i) {
    GemmCall call = callOf(cases[i]);
    std::vector<char> expected = filled(call), actual = expected;
    Range all{0, expected.size()};
    ASSERT_EQ(computeReference(call, expected), nullptr);
    ASSERT_TRUE(device->copyFromHost(0, actual.data(), all).ok());
    Status status = device->gemm(0, call);
    ASSERT_TRUE(status.ok()) << i << ": " << status.message();
    ASSERT_TRUE(device->copyToHost(0, all, actual.data()).ok());
    ASSERT_TRUE(device->synchronize().ok());
    for (const Operand *operand : {&call.d, &call.auxiliary})
      for (uint64_t e = 0; e * uint64_t(kernels::bytesOf(operand->dtype)) <
                           operand->range.bytes;
           ++e) {
        auto at = [&](std::vector<char> &arena) {
          return kernels::load(
              {arena.data() + operand->range.offset, operand->dtype},
              int64_t(e));
        };
        double narrow = operand->dtype == f32 ? 1e-5 : 1.0 / 128;
        ASSERT_NEAR(at(actual), at(expected),
                    narrow * (1 + std::abs(at(expected))))
            << "case " << i << ", element " << e;
      }
  }
}

TEST(CudaProducts, RefusesWhatTheLibraryDoesNot) {
  constexpr DType f32 = DType::F32, bf16 = DType::BF16;
  auto device = open();
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
  };
  for (const auto &row : rows) {
    Status status = device->gemm(0, callOf(row.c));
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_EQ(status.message(),
              std::string("gemm 12 x 16 x 20: cuBLASLt does not take ") +
                  row.text);
  }
}

} // namespace
