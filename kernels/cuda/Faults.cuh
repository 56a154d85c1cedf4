//===- Faults.cuh - Errors of the data on the GPU ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What is wrong with the data of a call, as kernels report it: a word in
/// device memory that is 0 as long as nothing was. Kernels only ever raise it,
/// so that it does not depend on the order of threads. Included by device code
/// and by the host, which knows the text of each.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_FAULTS_CUH
#define HOCKET_KERNELS_CUDA_FAULTS_CUH

namespace hocket::cuda {

enum class Fault : unsigned {
  None,
  TokenId,    ///< outside the vocabulary
  Label,      ///< outside the vocabulary
  Place,      ///< a shard starts outside of the whole
  Expert,     ///< does not exist
  Slot,       ///< outside the experts' rows
  Ranges,     ///< of experts overlap or begin before their rows
  CachePlace, ///< a token's row, position or page does not exist
  StatePlace, ///< a token's row does not exist, or it is not its next token
  CacheCopy,  ///< a cache is not written where it is read
  PlacedRow,  ///< that stands for a token is not one of its sequence's
  End
};

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_FAULTS_CUH
