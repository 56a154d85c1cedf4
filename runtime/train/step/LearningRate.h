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
/// The first step has t = 0, so a warm-up starts with rate 0, as there. Where
/// the batch grows, t, W, D and C may be samples in place of steps, as they
/// always are there.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_STEP_LEARNINGRATE_H
#define HOCKET_RUNTIME_TRAIN_STEP_LEARNINGRATE_H

#include "runtime/program/program.pb.h"

#include <optional>
#include <string>

namespace hocket {

/// Whether a schedule's lengths are samples.
bool isInSamples(const program::LearningRate &schedule);

/// The rate of the step before which t = `done` steps were done, or samples
/// consumed where the schedule is in these. An unknown schedule is constant;
/// checkProgram() lets none through.
double learningRateAt(const program::LearningRate &schedule, uint64_t done);

/// The first step, counted from 1, that has the minimum because the decay is
/// over. Nothing where the rate stays above it, or is never above it.
std::optional<uint64_t>
firstStepAfterDecay(const program::TrainingInfo &training);

/// "steps 61 to 5,000 train at learning rate 0: ...", for a person who runs
/// steps `first` to `last`; nothing if none comes after the decay.
std::optional<std::string> decayNotice(const program::TrainingInfo &training,
                                       uint64_t first, uint64_t last);

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_STEP_LEARNINGRATE_H
