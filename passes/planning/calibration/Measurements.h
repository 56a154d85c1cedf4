//===- Measurements.h - What a device took ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_CALIBRATION_MEASUREMENTS_H
#define HOCKET_PASSES_PLANNING_CALIBRATION_MEASUREMENTS_H

#include "passes/planning/cost/ParallelPlan.h"
#include "runtime/cluster/OpTimes.h"

#include <array>
#include <string>
#include <vector>

namespace hocket::planning {

struct GemmSample {
  cluster::Gemm gemm;
  int64_t bits = 32; ///< Of its operands.
  double seconds = 0;
};

/// A kernel that moves data: bytes read and written, together.
struct MemorySample {
  double bytes = 0;
  double seconds = 0;
};

/// Fused attention, forward, causal.
struct AttentionSample {
  double flops = 0;
  double length = 0;
  double headDim = 0;
  double seconds = 0;
};

/// Every rank gathers what all have, `bytes` together, all at once.
struct GatherSample {
  double bytes = 0;
  double seconds = 0;
};

/// A step of a compiled training on one rank: where its seconds went.
struct ProgramSample {
  ModelShape model;
  StepShape step;
  ParallelPlan plan;
  double gemms = 0;
  double attention = 0; ///< Forward.
  double attentionBackward = 0;
  double memory = 0; ///< All other kernels of the passes.
  double update = 0;
  double outside = 0; ///< What is left of the step.

  double seconds() const {
    return gemms + attention + attentionBackward + memory + update + outside;
  }
};
inline constexpr std::array kProgramKinds = {&ProgramSample::gemms,
                                             &ProgramSample::attention,
                                             &ProgramSample::attentionBackward,
                                             &ProgramSample::memory,
                                             &ProgramSample::update,
                                             &ProgramSample::outside};

/// Of one device while `atOnce` of them, on one machine, did the same.
struct DeviceMeasurements {
  std::string name;
  std::string driver;
  int64_t memoryBytes = 0;
  int64_t ranks = 1;  ///< Of the run that is described.
  int64_t atOnce = 1; ///< Of them, as many as have cores of their own.
  std::vector<GemmSample> gemms;
  std::vector<MemorySample> moves;
  std::vector<AttentionSample> attentions;
  std::vector<GatherSample> gathers;   ///< None of one rank.
  std::vector<ProgramSample> programs; ///< May be none.
  double kernelSeconds = 0;            ///< Of one that does next to nothing.
  double hostSeconds = 0;              ///< For its call to return.
};

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_CALIBRATION_MEASUREMENTS_H
