//===- Initialize.h - First values of parameters ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every element of a parameter has a value that depends on (seed, the
/// parameter's random key, the element's global index) alone, so any sharding
/// starts from the same model. A normal value comes from Box and Muller's
/// transform (1958) in f64: with the Philox block of index e / 2, step word
/// 0xFFFFFFFF and words w0..w3,
///
///   u = (2^32 w0 + w1 + 0.5) / 2^64,  v = (2^32 w2 + w3) / 2^64
///   z = stddev sqrt(-2 ln u) (cos(2 pi v) if e is even, else sin(2 pi v))
///
/// A uniform one, between -b and b, is b (2 u - 1), with u from w0 and w1 of
/// the same block if e is even, else from w2 and w3.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_VALUES_INITIALIZE_H
#define HOCKET_RUNTIME_TRAIN_VALUES_INITIALIZE_H

#include "runtime/executor/Executor.h"

#include <span>

namespace hocket {

/// Fills `values` with the elements of global index first, first + 1, ... of
/// `parameter`.
void initialValues(const program::Parameter &parameter, uint64_t seed,
                   uint64_t first, std::span<double> values);

enum class FirstValues {
  All,
  BesideWeights, ///< Of what loadRun() may leave as it was.
};

/// Gives this rank's slices their first values: parameters from their
/// initializers, slots and padding zeros, which are not written where nothing
/// else was yet. The seed is the executor's. On `threads` threads of the host;
/// 0: those of a device that is the host, else as many as it has cores.
Status initializeParameters(Executor &executor, unsigned threads = 0,
                            FirstValues which = FirstValues::All);

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_VALUES_INITIALIZE_H
