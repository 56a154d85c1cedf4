//===- InitializeTest.cpp - First values, whatever the sharding -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/values/Initialize.h"

#include "kernels/reference/Philox.h"
#include "runtime/comm/local/LocalWorld.h"
#include "runtime/hal/drivers/Drivers.h"
#include "test/runtime/program/ProgramBuilder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

using namespace hocket;

static program::Parameter normal(double stddev, uint32_t key) {
  program::Parameter parameter;
  parameter.mutable_initializer()->set_kind("normal");
  parameter.mutable_initializer()->set_stddev(stddev);
  parameter.set_random_key(key);
  return parameter;
}

static std::vector<double> draw(const program::Parameter &parameter,
                                uint64_t seed, uint64_t first, size_t count) {
  std::vector<double> values(count);
  initialValues(parameter, seed, first, values);
  return values;
}

TEST(InitialValues, AreNormal) {
  constexpr size_t n = 400000;
  std::vector<double> z = draw(normal(2, 1), 7, 0, n);
  double sum = 0, squares = 0, cubes = 0, fourths = 0, neighbours = 0;
  for (size_t i = 0; i < n; ++i) {
    double x = z[i] / 2;
    sum += x, squares += x * x, cubes += x * x * x, fourths += x * x * x * x;
    neighbours += i ? x * z[i - 1] / 2 : 0;
  }
  // Five standard errors of each moment.
  double error = 5 / std::sqrt(double(n));
  EXPECT_NEAR(sum / n, 0, error);
  EXPECT_NEAR(squares / n, 1, error * std::sqrt(2.0));
  EXPECT_NEAR(cubes / n, 0, error * std::sqrt(15.0));
  EXPECT_NEAR(fourths / n, 3, error * std::sqrt(96.0));
  EXPECT_NEAR(neighbours / n, 0, error);
}

/// By the library's functions with more bits: a few units of the radius' last
/// place, and what rounding u near 1 does to the radius, du / (u * radius).
TEST(InitialValues, ArePairsByBoxAndMuller) {
  constexpr uint64_t first = 1, n = 20001;
  std::vector<double> z = draw(normal(1, 3), 11, first, n);
  for (uint64_t i = 0; i < n; ++i) {
    uint64_t element = first + i;
    auto w = kernels::randomBlock({11, 3, 0xFFFFFFFFu}, element / 2);
    long double u = (uint64_t(w[0]) << 32 | w[1]) + 0.5L;
    long double v = uint64_t(w[2]) << 32 | w[3];
    long double radius = std::sqrt(-2 * std::log(u * 0x1p-64L));
    long double angle = 2 * std::numbers::pi_v<long double> * v * 0x1p-64L;
    long double expected =
        radius * (element % 2 ? std::sin(angle) : std::cos(angle));
    auto bound = double(8e-16L * radius + 2.3e-16L / radius);
    ASSERT_NEAR(z[i], double(expected), bound) << element;
  }
}

/// Whatever the processor of this test has: the figure is of one of them.
TEST(InitialValues, HaveTheSameBitsEverywhere) {
  uint64_t hash = 0xcbf29ce484222325ULL; // FNV-1a
  for (double value : draw(normal(1, 5), 3, 0, 100'000)) {
    hash ^= std::bit_cast<uint64_t>(value);
    hash *= 0x100000001b3ULL;
  }
  EXPECT_EQ(hash, 11732650219580245862ULL);
}

// Any window, of any parity, gives the same elements.
TEST(InitialValues, DependOnTheGlobalIndexAlone) {
  program::Parameter parameter = normal(1, 5);
  std::vector<double> all = draw(parameter, 3, 0, 1000);
  for (uint64_t first : {1, 2, 3, 500, 997})
    for (size_t count : {1, 2, 3}) {
      std::vector<double> part = draw(parameter, 3, first, count);
      for (size_t i = 0; i < count; ++i)
        EXPECT_EQ(part[i], all[first + i]);
    }
  EXPECT_NE(draw(parameter, 4, 0, 1000), all);
  EXPECT_NE(draw(normal(1, 6), 3, 0, 1000), all);
  // Indices beyond 2^32 are other numbers.
  EXPECT_NE(draw(parameter, 3, uint64_t(1) << 33, 10),
            draw(parameter, 3, 0, 10));
}

TEST(InitialValues, AreUniform) {
  program::Parameter parameter = normal(0, 9);
  parameter.mutable_initializer()->set_kind("uniform");
  parameter.mutable_initializer()->set_value(0.5);
  constexpr size_t n = 100'000;
  std::vector<double> u = draw(parameter, 7, 0, n);
  double sum = 0, squares = 0, lag = 0;
  for (size_t i = 0; i < n; ++i) {
    EXPECT_LT(std::abs(u[i]), 0.5);
    sum += u[i];
    squares += u[i] * u[i];
    lag += i ? u[i] * u[i - 1] : 0;
  }
  // Five standard errors: of the mean, 1/12 the variance; of its estimate,
  // sqrt(1/80 - 1/144); of neighbours, 1/12.
  double root = std::sqrt(double(n));
  EXPECT_NEAR(sum / double(n), 0, 5 * std::sqrt(1.0 / 12) / root);
  EXPECT_NEAR(squares / double(n), 1.0 / 12,
              5 * std::sqrt(1.0 / 80 - 1.0 / 144) / root);
  EXPECT_NEAR(lag / double(n), 0, 5.0 / 12 / root);
  // By the global index alone.
  EXPECT_EQ(draw(parameter, 7, 501, 1)[0], u[501]);
  EXPECT_NE(draw(parameter, 8, 501, 1)[0], u[501]);
}

/// By what undoes them: uniform numbers have the mean of their ends, and an
/// eighth of steps' logarithms lies in an eighth of their range.
TEST(InitialValues, AreThoseOfStateSpaces) {
  program::Parameter parameter = normal(0, 9);
  parameter.mutable_initializer()->set_kind("log_uniform");
  parameter.mutable_initializer()->set_value(16);
  constexpr size_t n = 100'000;
  double sum = 0, root = std::sqrt(double(n));
  for (double value : draw(parameter, 7, 0, n)) {
    EXPECT_GE(value, 0);
    EXPECT_LE(value, std::log(16));
    sum += std::exp(value);
  }
  EXPECT_NEAR(sum / double(n), 8.5, 5 * 15 / std::sqrt(12) / root);
  parameter.mutable_initializer()->set_kind("time_step");
  parameter.mutable_initializer()->set_value(0.1);
  std::array<double, 8> counts = {};
  for (double value : draw(parameter, 7, 0, n)) {
    double step = std::log1p(std::exp(value)); // softplus
    double share = std::log(step / 0.001) / std::log(100);
    ASSERT_GT(share, -1e-12);
    ASSERT_LT(share, 1 + 1e-12);
    ++counts[std::min<size_t>(7, size_t(std::max(share, 0.0) * 8))];
  }
  for (double count : counts) // Five standard errors of a share of 1/8.
    EXPECT_NEAR(count / double(n), 0.125, 5 * std::sqrt(0.125 * 0.875) / root);
}

TEST(InitialValues, Constants) {
  program::Parameter parameter;
  parameter.mutable_initializer()->set_kind("ones");
  EXPECT_EQ(draw(parameter, 1, 5, 2), (std::vector<double>{1, 1}));
  parameter.mutable_initializer()->set_kind("zeros");
  EXPECT_EQ(draw(parameter, 1, 5, 2), (std::vector<double>{0, 0}));
  parameter.mutable_initializer()->set_kind("constant");
  parameter.mutable_initializer()->set_value(65536);
  EXPECT_EQ(draw(parameter, 1, 5, 1), (std::vector<double>{65536}));
}

/// Values of slice 0 after initialisation of a program with one parameter
/// [6, 10] that holds only [offset, offset + size) of it.
static std::vector<float> slice(const std::vector<uint64_t> &offset,
                                const std::vector<uint64_t> &size) {
  test::ProgramBuilder b;
  b.parameter("w", size, "normal", 1);
  auto *parameter = b.program().mutable_parameters(0);
  parameter->set_shape(0, 6);
  parameter->set_shape(1, 10);
  for (int d : {0, 1})
    b.role().mutable_slices(0)->mutable_start(d)->set_constant(
        int64_t(offset[size_t(d)]));
  auto group = comm::createSingleRank();
  auto executor =
      Executor::create(std::make_shared<const program::Program>(b.finish()),
                       *hal::createDevice("cpu"), *group);
  EXPECT_TRUE(executor.ok()) << executor.status().message();
  EXPECT_TRUE(initializeParameters(**executor).ok());
  const auto &s = (*executor)->role().slices(0);
  std::vector<float> values((*executor)->sliceBytes(s) / 4);
  EXPECT_TRUE(
      (*executor)->readSlice(s, 0, values.data(), values.size() * 4).ok());
  return values;
}

TEST(InitializeParameters, EveryShardingStartsFromTheSameModel) {
  std::vector<float> all = slice({0, 0}, {6, 10});
  std::vector<double> expected = [&] {
    program::Parameter parameter = normal(1, 1);
    return draw(parameter, 1234, 0, 60);
  }();
  for (size_t i = 0; i < 60; ++i)
    EXPECT_EQ(all[i], float(expected[i]));
  std::vector<float> rows = slice({2, 0}, {3, 10});
  EXPECT_EQ(rows, std::vector<float>(all.begin() + 20, all.begin() + 50));
  std::vector<float> columns = slice({1, 3}, {4, 5});
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 5; ++j)
      EXPECT_EQ(columns[i * 5 + j], all[(i + 1) * 10 + j + 3]);
}

// Arenas are zero when they are new: what is zero is not sent there, and is
// written where something else stood.
TEST(InitializeParameters, ZerosAreWrittenWhereTheyAreNot) {
  test::ProgramBuilder b;
  b.parameter("w", {6, 10}, "zeros");
  b.slot("exp_avg");
  auto group = comm::createSingleRank();
  auto executor =
      Executor::create(std::make_shared<const program::Program>(b.finish()),
                       *hal::createDevice("cpu"), *group);
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  ASSERT_TRUE(initializeParameters(**executor, 2).ok());
  EXPECT_EQ((*executor)->device().touchedBytes(), 0u);
  const auto &slices = (*executor)->role().slices();
  std::vector<float> ones(60, 1), values(60);
  for (const auto &slice : slices)
    ASSERT_TRUE((*executor)->writeSlice(slice, 0, ones.data(), 240).ok());
  ASSERT_TRUE(initializeParameters(**executor).ok());
  for (const auto &slice : slices) {
    ASSERT_TRUE((*executor)->readSlice(slice, 0, values.data(), 240).ok());
    EXPECT_EQ(values, std::vector<float>(60));
  }
}
