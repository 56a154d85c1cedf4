//===- FitPrograms.cpp - Constants corrected by programs ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/calibration/FitPrograms.h"

#include "passes/planning/cost/AfterPasses.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

ProgramSample planning::predictedStep(const cluster::System &system,
                                      const ProgramSample &program) {
  CostProblem problem{program.model, program.step, system};
  problem.compiled = true;
  StageCosts stages =
      stageCosts(problem, program.plan, partWork(problem, program.plan));
  auto microbatches = double(stages.schedule.shape.microbatches);
  Work forward = stages.chunks[0].forward * microbatches,
       backward = stages.chunks[0].backward * microbatches;
  ProgramSample result = program;
  result.gemms = forward.gemms + backward.gemms;
  result.attention = forward.attention;
  result.attentionBackward = backward.attention;
  result.memory = forward.seconds() + backward.seconds() - result.gemms -
                  forward.attention - backward.attention;
  std::vector<RankParameters> held =
      rankParameters(problem.model, program.plan, stagePlacement(program.plan));
  result.update = afterPasses(problem, program.plan, stages, held)[0].seconds();
  result.outside = system.software().step_seconds();
  return result;
}

/// What a kind took over what was told, of all fitted programs.
static double shareOf(const std::vector<ProgramSample> &programs,
                      double ProgramSample::*kind,
                      const cluster::System &system) {
  double taken = 0, told = 0;
  for (size_t i = 0; i < programs.size(); ++i)
    if (isFitted(i)) {
      taken += programs[i].*kind;
      told += predictedStep(system, programs[i]).*kind;
    }
  constexpr double most = 100;
  return told > 0 ? std::clamp(taken / told, 1 / most, most) : 1;
}

static double meanOutside(const std::vector<ProgramSample> &programs) {
  double sum = 0, count = 0;
  for (size_t i = 0; i < programs.size(); ++i)
    if (isFitted(i)) {
      sum += programs[i].outside;
      ++count;
    }
  return sum / count;
}

void planning::correctByPrograms(const std::vector<ProgramSample> &programs,
                                 cluster::System &system) {
  if (programs.empty())
    return;
  cluster::Device &device = *system.mutable_device();
  cluster::Software &software = *system.mutable_software();
  auto share = [&](double ProgramSample::*kind) {
    return shareOf(programs, kind, system);
  };
  double memory = share(&ProgramSample::memory);
  device.set_memory_bandwidth(device.memory_bandwidth() / memory);
  software.set_kernel_seconds(software.kernel_seconds() * memory);
  software.set_update_bytes(software.update_bytes() *
                            share(&ProgramSample::update));
  double gemms = share(&ProgramSample::gemms);
  device.set_peak_32bit(device.peak_32bit() / gemms);
  device.set_peak_16bit(device.peak_16bit() / gemms);
  constexpr double least = 1e-3;
  software.set_attention(std::clamp(
      software.attention() / share(&ProgramSample::attention), least, 1.0));
  software.set_attention_backward(software.attention_backward() *
                                  share(&ProgramSample::attentionBackward));
  software.set_step_seconds(meanOutside(programs));
}
