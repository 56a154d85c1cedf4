//===- LearningRate.h - Learning rate schedules -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedules of Megatron-LM's OptimizerParamScheduler. With t steps done,
/// warm-up W, decay D (the step at which the minimum is reached), peak p and
/// minimum m, and r = (t - W) / (D - W):
///
///   t <= W (W > 0)   p t / W
///   constant         p
///   t > D            m
///   linear           m + (p - m) (1 - r)
///   cosine           m + (p - m) (cos(pi r) + 1) / 2
///   inverse_sqrt     max(m, p sqrt(max(W, 1) / max(t, 1)))
///   wsd              p until D - C, then over the last C steps, with
///                    s = (t - (D - C)) / C, m + (p - m) (2 * 0.5^s - 1)
///
/// The first step has t = 0, so a warm-up starts with rate 0, as there.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_LEARNINGRATE_H
#define HOCKET_RUNTIME_TRAIN_LEARNINGRATE_H

#include "runtime/program/program.pb.h"

namespace hocket {

/// The rate of the step before which `stepsDone` steps were done. An unknown
/// schedule is constant; checkProgram() lets none through.
double learningRateAt(const program::LearningRate &schedule,
                      uint64_t stepsDone);

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_LEARNINGRATE_H
