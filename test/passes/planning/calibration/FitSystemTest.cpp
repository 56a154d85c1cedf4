//===- FitSystemTest.cpp - Constants from made-up measurements ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/calibration/FitSystem.h"
#include "passes/planning/calibration/FitPrograms.h"
#include "runtime/cluster/Systems.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <random>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// A processor whose times OpTimes.h describes exactly.
cluster::System knownSystem() {
  cluster::System system = *cluster::systemNamed("a100");
  system.mutable_device()->set_peak_32bit(40e9);
  system.mutable_device()->set_peak_16bit(130e9);
  system.mutable_device()->set_memory_bandwidth(20e9);
  system.mutable_software()->set_gemm(1);
  system.mutable_software()->set_gemm_ramp(30);
  system.mutable_software()->set_memory(1);
  system.mutable_software()->set_attention(0.4);
  system.mutable_software()->set_attention_ramp(200);
  system.set_devices_per_node(4);
  system.mutable_node_link()->set_bandwidth(5e9);
  system.mutable_node_link()->set_efficiency(1);
  system.mutable_node_link()->set_latency(20e-6);
  system.mutable_node_link()->clear_start(); // Latency holds what is measured.
  return system;
}

/// What it would measure, each time off by up to `noise`.
DeviceMeasurements measuredOn(const cluster::System &system, double noise) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> off(-noise, noise);
  auto noisy = [&](double seconds) { return seconds * (1 + off(random)); };
  cluster::OpTimes wide(system, 32), narrow(system, 16);
  DeviceMeasurements measured;
  measured.name = "made up";
  measured.driver = "cpu";
  measured.memoryBytes = int64_t(1) << 30;
  measured.ranks = 4;
  measured.atOnce = 2;
  for (int64_t bits : {32, 16})
    for (double m : {128, 512, 2048})
      for (double n : {256, 1024, 4096}) {
        cluster::Gemm gemm{m, n, 1024, 1};
        double seconds = (bits == 16 ? narrow : wide).gemm(gemm);
        measured.gemms.push_back({gemm, bits, noisy(seconds)});
      }
  for (double bytes = 1e6; bytes < 1e8; bytes *= 2)
    measured.moves.push_back({bytes, noisy(wide.memory(bytes))});
  for (double length : {128, 256, 512, 1024, 2048})
    for (double dim : {32, 128})
      measured.attentions.push_back(
          {1e9, length, dim, noisy(wide.attention(1e9, length, dim))});
  for (double bytes : {1e3, 1e5, 1e6, 1e8})
    measured.gathers.push_back(
        {bytes, 2 * noisy(wide.allGather(bytes, {4, 1}))});
  measured.kernelSeconds = 5e-6;
  measured.hostSeconds = 1e-6;
  return measured;
}

double shareOff(double value, double known) {
  return std::abs(value / known - 1);
}

TEST(FitSystem, FindsTheConstantsThatMadeTheTimes) {
  cluster::System known = knownSystem();
  auto fitted = fitSystem(measuredOn(known, 0));
  ASSERT_TRUE(fitted.ok()) << fitted.status().message();
  const cluster::System &system = fitted->system;
  EXPECT_LT(shareOff(system.device().peak_32bit(), 40e9), 0.02);
  EXPECT_LT(shareOff(system.device().peak_16bit(), 130e9), 0.02);
  EXPECT_LT(shareOff(system.device().memory_bandwidth(), 20e9), 1e-6);
  EXPECT_LT(shareOff(system.software().attention(), 0.4), 0.05);
  EXPECT_LT(shareOff(system.node_link().bandwidth(), 5e9), 0.02);
  EXPECT_LT(shareOff(system.node_link().latency(), 20e-6), 0.05);
  EXPECT_EQ(system.software().kernel_seconds(), 5e-6);
  EXPECT_EQ(system.devices_at_once(), 2);
  for (const FitQuality &quality : fitted->quality)
    EXPECT_LT(std::max(quality.fitted, quality.heldOut), 0.05) << quality.kind;
  EXPECT_LT(system.spread().one_node(), 0.05);
}

ProgramSample smallProgram(int64_t hidden, int64_t layers, int64_t batch) {
  ProgramSample sample;
  sample.model.hidden = hidden;
  sample.model.layers = layers;
  sample.model.heads = sample.model.kvHeads = hidden / 64;
  sample.model.headDim = 64;
  sample.model.ffn = 4 * hidden;
  sample.model.vocab = 4096;
  sample.step = {128, batch, 32};
  sample.plan.microBatch = batch;
  return sample;
}

/// Steps whose kinds each take another multiple of what kernels alone say:
/// constants follow, and tell steps that they were not fitted to.
TEST(FitSystem, IsCorrectedByPrograms) {
  DeviceMeasurements measured = measuredOn(knownSystem(), 0);
  ASSERT_TRUE(fitSystem(measured).ok());
  cluster::System alone = fitSystem(measured)->system;
  for (auto [hidden, layers, batch] : {std::array<int64_t, 3>{128, 2, 8},
                                       {256, 4, 4},
                                       {512, 2, 8},
                                       {384, 3, 2}}) {
    ProgramSample told =
        predictedStep(alone, smallProgram(hidden, layers, batch));
    told.gemms *= 1.3;
    told.attention *= 1.2;
    told.attentionBackward *= 0.5;
    told.memory *= 0.3;
    told.update *= 0.6;
    told.outside = 2e-3;
    measured.programs.push_back(told);
  }
  auto fitted = fitSystem(measured);
  ASSERT_TRUE(fitted.ok()) << fitted.status().message();
  for (const ProgramSample &taken : measured.programs) {
    ProgramSample told = predictedStep(fitted->system, taken);
    for (double ProgramSample::*kind : kProgramKinds)
      EXPECT_LT(shareOff(told.*kind, taken.*kind), 0.03);
  }
  EXPECT_NEAR(fitted->system.software().attention_backward(), 2.5 * 0.5 / 1.2,
              1e-6);
  ASSERT_EQ(fitted->quality.back().kind, "steps");
  EXPECT_LT(fitted->quality.back().heldOut, 0.02);
  // Kernels were judged before.
  EXPECT_LT(fitted->quality[1].heldOut, 1e-6);
}

/// Noise can look like attention that never reaches its speed.
TEST(FitSystem, DoesNotBelieveAnEndlessRamp) {
  DeviceMeasurements measured = measuredOn(knownSystem(), 0);
  for (AttentionSample &sample : measured.attentions)
    sample.seconds *= 2e3 / sample.length; // As of a ramp of 10^5 tokens.
  auto fitted = fitSystem(measured);
  ASSERT_TRUE(fitted.ok()) << fitted.status().message();
  EXPECT_LE(fitted->system.software().attention(), 1);
  for (const FitQuality &quality : fitted->quality)
    if (quality.kind == "attention")
      EXPECT_LT(quality.heldOut, 1);
}

TEST(FitSystem, SaysHowFarOffItIs) {
  auto fitted = fitSystem(measuredOn(knownSystem(), 0.3));
  ASSERT_TRUE(fitted.ok());
  ASSERT_EQ(fitted->quality.size(), 4U);
  EXPECT_EQ(fitted->quality[0].kind, "GEMMs");
  EXPECT_EQ(fitted->quality[0].samples, 18U);
  EXPECT_GT(fitted->quality[0].heldOut, 0.03);
  EXPECT_GT(fitted->system.spread().one_node(), 0.05);
  EXPECT_LT(fitted->system.spread().one_node(), 0.6);
}

TEST(FitSystem, WritesASystemThatCanBeRead) {
  auto fitted = fitSystem(measuredOn(knownSystem(), 0.1));
  ASSERT_TRUE(fitted.ok());
  std::string text;
  google::protobuf::TextFormat::PrintToString(fitted->system, &text);
  auto read = cluster::parseSystem("fitted", text);
  EXPECT_TRUE(read.ok()) << read.status().message();
}

TEST(FitSystem, RefusesWhatWasNotMeasured) {
  DeviceMeasurements measured = measuredOn(knownSystem(), 0);
  auto messageWithout = [&](auto change) {
    DeviceMeasurements less = measured;
    change(less);
    return fitSystem(less).status().message();
  };
  EXPECT_NE(messageWithout([](auto &m) {
              m.gemms.resize(9);
            }).find("GEMMs of 16 bits"),
            std::string::npos);
  EXPECT_NE(messageWithout([](auto &m) { m.moves.clear(); }).find("memory"),
            std::string::npos);
  EXPECT_NE(messageWithout([](auto &m) {
              m.attentions[1].seconds = 0;
            }).find("attention"),
            std::string::npos);
  EXPECT_NE(messageWithout([](auto &m) { m.gathers.clear(); }).find("gathers"),
            std::string::npos);
}

} // namespace
