//===- BlockWork.cpp - Summing up what a block's ops take -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/BlockWork.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

double Work::seconds() const { return std::max(device(), host); }

void Work::waitForHost() {
  gaps += std::max(0.0, host - (device() - tensor));
  host = 0;
}

Work &Work::operator+=(const Work &other) {
  gemms += other.gemms;
  attention += other.attention;
  memory += other.memory;
  gaps += other.gaps;
  tensor += other.tensor;
  context += other.context;
  expert += other.expert;
  host += other.host;
  return *this;
}

Work Work::operator*(double times) const {
  return {gemms * times,  attention * times, memory * times, gaps * times,
          tensor * times, context * times,   expert * times, host * times};
}

PassWork &PassWork::operator+=(const PassWork &other) {
  forward += other.forward;
  backward += other.backward;
  again += other.again;
  return *this;
}

PassWork PassWork::operator*(double times) const {
  return {forward * times, backward * times, again * times};
}

double PassWork::backwardSeconds() const {
  Work both = backward;
  both += again;
  return both.seconds();
}

BlockWork::BlockWork(const ModelShape &model, const StepShape &step,
                     const ParallelPlan &plan, const cluster::OpTimes &times,
                     bool compiled)
    : model(model), step(step), plan(plan), times(times), compiled(compiled),
      tokens(double(plan.microBatch) * double(step.sequence) / double(plan.cp)),
      tp(double(plan.tp)), hidden(double(model.hidden)),
      whole(plan.sequenceParallel ? tokens / tp : tokens),
      element(step.elementBits == 32 ? 4 : 2) {}

void BlockWork::gemm(const cluster::Gemm &gemm, double share) {
  // Programs multiply what blocks of 8 bits stand for, in 16.
  bool isWide = compiled && step.block > 0;
  addGemm((isWide ? times.gemm16(gemm) : times.gemm(gemm)) / share);
  if (compiled || step.elementBits != 8)
    return;
  // Published systems quantize a GEMM's input forward and its output's gradient
  // backward, in kernels of their own; weights once a step.
  double each = times.software().quantize_bytes() * gemm.count * gemm.m;
  work.forward.memory += times.memory(each * gemm.k);
  work.backward.memory += times.memory(each * gemm.n);
  launch(work.forward, quantizeKernels);
  launch(work.backward, quantizeKernels);
}

void BlockWork::addGemm(double seconds) {
  work.forward.gemms += seconds;
  work.backward.gemms += (1 + step.trained()) * seconds;
  launch(work.forward, 1);
  launch(work.backward, 1 + step.trained());
}

void BlockWork::moved(double forwardBytes, double backwardBytes, double ops) {
  work.forward.memory += times.memory(forwardBytes);
  work.backward.memory += times.memory(backwardBytes);
  launch(work.forward, ops);
  launch(work.backward, 2 * ops);
}

void BlockWork::tensorCollective(double forward, double backward,
                                 double gradientGemm) {
  if (plan.tp == 1)
    return;
  double beside = plan.sequenceParallel ? times.software().tensor_overlap() : 0;
  double seconds =
      (1 - beside) * times.allReduce(element * tokens * hidden, {plan.tp, 1});
  auto add = [&](Work &pass, double share) {
    pass.tensor += share * seconds;
    pass.host += share * times.software().host_collective_seconds();
  };
  add(work.forward, forward);
  add(work.backward, backward);
  if (!plan.sequenceParallel)
    work.backward.tensor -= std::min(
        backward * seconds, times.software().weight_overlap() * gradientGemm);
}
