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
  for (Chunk &chunk : chunks) {
    if (chunk.arrived)
      api.cuEventDestroy(chunk.arrived);
    if (chunk.memory)
      api.cuMemFreeHost(chunk.memory);
  }
}

Status StagingRing::finish(Chunk &chunk) {
  if (!chunk.busy)
    return okStatus();
  HOCKET_CUDA_CALL(api, cuEventSynchronize, chunk.arrived);
  if (chunk.target)
    std::memcpy(chunk.target, chunk.memory, chunk.bytes);
  chunk.busy = false;
  return okStatus();
}

StatusOr<StagingRing::Chunk *> StagingRing::next() {
  Chunk &chunk = chunks[turn++ % chunks.size()];
  HOCKET_RETURN_IF_ERROR(finish(chunk));
  if (!chunk.memory)
    HOCKET_CUDA_CALL(api, cuMemAllocHost, &chunk.memory, chunkBytes);
  if (!chunk.arrived)
    HOCKET_CUDA_CALL(api, cuEventCreate, &chunk.arrived,
                     CU_EVENT_DISABLE_TIMING);
  return &chunk;
}

Status StagingRing::copyFromHost(const void *from, CUdeviceptr to,
                                 uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += chunkBytes) {
    HOCKET_ASSIGN_OR_RETURN(Chunk * chunk, next());
    chunk->bytes = std::min(chunkBytes, bytes - at);
    chunk->target = nullptr;
    std::memcpy(chunk->memory, static_cast<const char *>(from) + at,
                chunk->bytes);
    HOCKET_CUDA_CALL(api, cuMemcpyHtoDAsync, to + at, chunk->memory,
                     chunk->bytes, stream);
    HOCKET_CUDA_CALL(api, cuEventRecord, chunk->arrived, stream);
    chunk->busy = true;
  }
  return okStatus();
}

Status StagingRing::copyToHost(CUdeviceptr from, void *to, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += chunkBytes) {
    HOCKET_ASSIGN_OR_RETURN(Chunk * chunk, next());
    chunk->bytes = std::min(chunkBytes, bytes - at);
    chunk->target = static_cast<char *>(to) + at;
    HOCKET_CUDA_CALL(api, cuMemcpyDtoHAsync, chunk->memory, from + at,
                     chunk->bytes, stream);
    HOCKET_CUDA_CALL(api, cuEventRecord, chunk->arrived, stream);
    chunk->busy = true;
  }
  return okStatus();
}

Status StagingRing::finish() {
  for (Chunk &chunk : chunks)
    HOCKET_RETURN_IF_ERROR(finish(chunk));
  return okStatus();
}
