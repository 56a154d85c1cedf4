//===- AlgorithmChoice.h - Which algorithm is the fastest -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// cuBLASLt proposes algorithms for a GEMM, best guess first. This tries the
/// first few once and keeps which was the fastest in the folder of ResultCache,
/// under the digest of all that the choice depends on. Whoever finds it there
/// takes the same, so that the same machine gives the same bits; processes that
/// want the same product at the same time wait for the one that measures.
///
/// A proposal that fails when it is tried is passed over; that all fail is an
/// error.
///
/// What the folder says is only compared with what the library proposes: bytes
/// that are none of its proposals are measured again, and never given to it.
///
/// HOCKET_MEASURE_PRODUCTS=0 takes the library's first guess, as is done where
/// the choice could not be kept: two starts would else differ.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_HAL_DRIVERS_CUDA_ALGORITHMCHOICE_H
#define HOCKET_RUNTIME_HAL_DRIVERS_CUDA_ALGORITHMCHOICE_H

#include "base/ResultCache.h"
#include "runtime/hal/drivers/cuda/CublasLtApi.h"

#include <functional>
#include <span>

namespace hocket::hal::cuda {

/// Used with the GPU's context current.
class AlgorithmChoice {
public:
  /// How many proposals are tried.
  static constexpr int mostCandidates = 8;

  /// Issues the GEMM with one of the candidates.
  using Run = std::function<Status(size_t candidate)>;

  explicit AlgorithmChoice(const DriverApi &api);

  /// Which of `candidates`, of which there is at least one, is taken for what
  /// `key` describes. With `run` it is measured on `stream` if it is not known;
  /// without, the first one is taken then.
  StatusOr<size_t>
  choose(const std::vector<std::string> &key,
         std::span<const cublasLtMatmulHeuristicResult_t> candidates,
         CUstream stream, const Run &run);

private:
  StatusOr<float> timeOf(size_t candidate, CUstream stream, const Run &run);
  /// Of those that run; there is at least one, or its error is returned.
  StatusOr<size_t> fastest(size_t count, CUstream stream, const Run &run);

  const DriverApi &api;
  std::optional<ResultCache> cache; ///< Absent: nothing is measured.
};

} // namespace hocket::hal::cuda

#endif // HOCKET_RUNTIME_HAL_DRIVERS_CUDA_ALGORITHMCHOICE_H
