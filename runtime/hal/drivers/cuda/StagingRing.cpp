//===- StagingRing.cpp - Pinned memory between host and GPU ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/hal/drivers/cuda/StagingRing.h"

#include <algorithm>
#include <cstring>

using namespace hocket;
using namespace hocket::hal::cuda;

StagingRing::~StagingRing() {
  for (Piece &piece : pieces) {
    if (piece.arrived)
      api.cuEventDestroy(piece.arrived);
    if (piece.memory)
      api.cuMemFreeHost(piece.memory);
  }
}

Status StagingRing::finish(Piece &piece) {
  if (!piece.busy)
    return okStatus();
  HOCKET_CUDA_CALL(api, cuEventSynchronize, piece.arrived);
  if (piece.target)
    std::memcpy(piece.target, piece.memory, piece.bytes);
  piece.busy = false;
  return okStatus();
}

StatusOr<StagingRing::Piece *> StagingRing::next() {
  Piece &piece = pieces[turn++ % pieces.size()];
  HOCKET_RETURN_IF_ERROR(finish(piece));
  if (!piece.memory)
    HOCKET_CUDA_CALL(api, cuMemAllocHost, &piece.memory, pieceBytes);
  if (!piece.arrived)
    HOCKET_CUDA_CALL(api, cuEventCreate, &piece.arrived,
                     CU_EVENT_DISABLE_TIMING);
  return &piece;
}

Status StagingRing::copyFromHost(const void *from, CUdeviceptr to,
                                 uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += pieceBytes) {
    HOCKET_ASSIGN_OR_RETURN(Piece * piece, next());
    piece->bytes = std::min(pieceBytes, bytes - at);
    piece->target = nullptr;
    std::memcpy(piece->memory, static_cast<const char *>(from) + at,
                piece->bytes);
    HOCKET_CUDA_CALL(api, cuMemcpyHtoDAsync, to + at, piece->memory,
                     piece->bytes, stream);
    HOCKET_CUDA_CALL(api, cuEventRecord, piece->arrived, stream);
    piece->busy = true;
  }
  return okStatus();
}

Status StagingRing::copyToHost(CUdeviceptr from, void *to, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += pieceBytes) {
    HOCKET_ASSIGN_OR_RETURN(Piece * piece, next());
    piece->bytes = std::min(pieceBytes, bytes - at);
    piece->target = static_cast<char *>(to) + at;
    HOCKET_CUDA_CALL(api, cuMemcpyDtoHAsync, piece->memory, from + at,
                     piece->bytes, stream);
    HOCKET_CUDA_CALL(api, cuEventRecord, piece->arrived, stream);
    piece->busy = true;
  }
  return okStatus();
}

Status StagingRing::finish() {
  for (Piece &piece : pieces)
    HOCKET_RETURN_IF_ERROR(finish(piece));
  return okStatus();
}
