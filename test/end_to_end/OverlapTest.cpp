//===- OverlapTest.cpp - Communication beside computation -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Two ranks on the null device, with a clock: a step's GEMMs take A seconds
/// and its gradients' way C. One after the other that is A + C. In buckets, of
/// which each travels faster than the next is computed, only the last stands
/// behind the last GEMM, and some of the one before it if that is larger: at
/// least A + c, at most A + c + b. Time is played, so that holds exactly.
///
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "runtime/train/TrainingRun.h"
#include "test/end_to_end/support/CompiledModel.h"
#include "test/end_to_end/support/TrainingFolder.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::test;

namespace {

constexpr double gemmSeconds = 0.5, travelSeconds = 0.3;

const char *const spec =
    "model { layers: 8 hidden: 64 heads: 4 vocab_size: 29 max_positions: 16 } "
    "training { micro_batch_size: 2 global_batch_size: 4 steps: 3 "
    "sequence_length: 16 validation { interval: 0 } } "
    "plan { data_parallel: 2 }";

/// What a step of one rank does, by the program.
struct Work {
  double flops = 0;
  double gradientBytes = 0;              ///< of all buckets
  double lastBytes = 0, beforeBytes = 0; ///< of the last, of that before it
  int buckets = 0;
};

Work workOf(const program::Program &program) {
  Work work;
  const program::Role &role = program.roles(0);
  for (const program::Entry &entry : role.entries()) {
    if (entry.name() != "train_step")
      continue;
    for (const auto &run : entry.runs())
      for (const auto &instruction :
           role.sequences(int(run.sequence())).instructions()) {
        if (instruction.has_gemm())
          work.flops += 2.0 * double(instruction.gemm().m()) *
                        double(instruction.gemm().n()) *
                        double(instruction.gemm().k());
        if (!instruction.has_collective())
          continue;
        double bytes =
            double(role.buffers(int(instruction.collective().to())).bytes());
        for (const auto &part : instruction.collective().others())
          bytes += double(role.buffers(int(part.to())).bytes());
        if (bytes > 64) { // Not the loss.
          work.gradientBytes += bytes;
          work.beforeBytes = work.lastBytes;
          work.lastBytes = bytes;
          ++work.buckets;
        }
      }
  }
  return work;
}

class Overlap : public TrainingFolder {
protected:
  static program::Program compile(int64_t bucketBytes) {
    CompileChoice choice;
    choice.overrides.push_back("plan.bucket_bytes=" +
                               std::to_string(bucketBytes));
    program::Program program = compileProgram(spec, choice);
    program.mutable_provenance()->set_target("null");
    return program;
  }

  /// Seconds from the first instruction of a step to the end of its last, of
  /// both ranks; the same for all steps.
  double stepSeconds(const program::Program &program) {
    TrainingOptions options;
    options.data = {tokens()};
    options.traceFile = folder + "/trace.json";
    Status status =
        runTraining(std::make_shared<const program::Program>(program), options);
    EXPECT_TRUE(status.ok()) << status.message();
    auto text = readFile(options.traceFile, 1 << 26);
    EXPECT_TRUE(text.ok());
    std::map<std::string, std::pair<double, double>> steps; // begin, end
    nlohmann::json trace = nlohmann::json::parse(*text);
    for (const auto &event : trace["traceEvents"]) {
      if (event["ph"] != "X")
        continue;
      double begin = event["ts"], end = begin + double(event["dur"]);
      auto [step, isNew] = steps.try_emplace(
          event["args"]["step"].get<std::string>(), std::pair(begin, end));
      step->second.first = std::min(step->second.first, begin);
      step->second.second = std::max(step->second.second, end);
    }
    EXPECT_EQ(steps.size(), 3u);
    double first = (steps["1"].second - steps["1"].first) * 1e-6;
    for (const auto &[name, step] : steps)
      EXPECT_NEAR((step.second - step.first) * 1e-6, first, 1e-6) << name;
    return first;
  }
};

TEST_F(Overlap, GradientsTravelWhileBackwardComputes) {
  program::Program apart = compile(0), beside = compile(100000);
  Work work = workOf(beside);
  EXPECT_EQ(workOf(apart).gradientBytes, work.gradientBytes);
  EXPECT_GE(work.buckets, 8);
  ::setenv("HOCKET_NULL_GFLOPS",
           std::to_string(work.flops / gemmSeconds * 1e-9).c_str(), 1);
  ::setenv("HOCKET_NULL_GBYTES",
           std::to_string(work.gradientBytes / travelSeconds * 1e-9).c_str(),
           1);
  double apartSeconds = stepSeconds(apart);
  double besideSeconds = stepSeconds(beside);
  ::unsetenv("HOCKET_NULL_GFLOPS");
  ::unsetenv("HOCKET_NULL_GBYTES");
  double perByte = travelSeconds / work.gradientBytes;
  double atLeast = gemmSeconds + perByte * work.lastBytes;
  // A thousandth is for the loss's way.
  EXPECT_NEAR(apartSeconds, gemmSeconds + travelSeconds, 1e-3);
  EXPECT_GE(besideSeconds, atLeast - 1e-6);
  EXPECT_LE(besideSeconds, atLeast + perByte * work.beforeBytes + 1e-3);
}

} // namespace
