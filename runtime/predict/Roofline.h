//===- Roofline.h - Where a step's time would go ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PREDICT_ROOFLINE_H
#define HOCKET_RUNTIME_PREDICT_ROOFLINE_H

#include "runtime/predict/KernelCosts.h"
#include "runtime/predict/StepTerms.h"

#include <array>
#include <string>
#include <vector>

namespace hocket {

/// Equal launches of a role's step, or equal messages.
struct RooflineRow {
  std::string name;
  uint64_t launches = 0; ///< Of a step.
  double seconds = 0;    ///< Of one.
  KernelLaunch launch;   ///< Of a message only `bytes`, those it sends.
  LaunchTime time;
  const CubinKernel *code = nullptr; ///< Null: not known.
  uint32_t stream = 0;               ///< Beside what is computed if not 0.
  std::string limit; ///< What keeps it from being faster; may be empty.

  double ofStep() const { return double(launches) * seconds; }
};

struct RoleRoofline {
  std::string name;
  int ranks = 0;
  std::vector<RooflineRow> rows; ///< What takes longest first.

  /// Of a step on stream 0, by Bound.
  std::array<double, 4> secondsByBound() const;
};

/// A step, predicted. Nothing was run.
struct Roofline {
  PredictedStep step;        ///< With overlap, waits and bubbles.
  double outsideSeconds = 0; ///< Of it, between two steps.
  double tokens = 0;         ///< Of a step, over all ranks.
  int ranks = 0;
  double flops = 0;       ///< The model's, of a step over all ranks.
  double peak = 0;        ///< FLOP/s of a device, which MFU is a share of.
  double neededBytes = 0; ///< In flight, for the whole bandwidth.
  bool hasCode = false;   ///< Registers are known.
  std::vector<RoleRoofline> roles;

  double tokensPerSecond() const { return tokens / step.seconds; }
  /// In which stream 0 of the role that is done last has nothing to do: for
  /// other ranks, or for what runs beside it.
  double waitingSeconds() const;
  double mfu() const { return flops / (step.seconds * ranks * peak); }
};

/// Of the entry "train_step"; `costs` are the program's, which passed
/// checkProgram().
StatusOr<Roofline> makeRoofline(const program::Program &program,
                                const KernelCosts &costs);

} // namespace hocket

#endif // HOCKET_RUNTIME_PREDICT_ROOFLINE_H
