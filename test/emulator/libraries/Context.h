//===- Context.h - An emulated GPU in use -----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What is behind the driver's handles, and how its functions come to that.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_EMULATOR_LIBRARIES_CONTEXT_H
#define HOCKET_TEST_EMULATOR_LIBRARIES_CONTEXT_H

#include "runtime/cuda/DriverApi.h"
#include "test/emulator/libraries/Gpu.h"

#include <set>
#include <thread>

#define HOCKET_EXPORT extern "C" __attribute__((visibility("default")))

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's.

namespace hocket::hal::cuda {
struct CUevent_st {
  std::shared_ptr<emulator::Event> event = std::make_shared<emulator::Event>();
  bool isTimed = true;
};

struct CUctx_st {
  CUctx_st(size_t bytes, uint64_t seed, unsigned multiprocessors)
      : gpu(bytes, seed, multiprocessors) {
    gpu.streams.push_back(std::make_unique<emulator::Stream>());
  }

  emulator::Gpu gpu;
  std::set<CUevent_st *> events;
  std::set<CUmod_st *> modules;
  std::unique_ptr<emulator::Graph> capture; ///< That goes on.
  std::thread::id capturer;                 ///< Who began it.
};
} // namespace hocket::hal::cuda

namespace hocket::emulator {

using namespace hal::cuda;

inline constexpr CUresult CUDA_ERROR_INVALID_CONTEXT = 201;
inline constexpr CUresult CUDA_ERROR_INVALID_HANDLE = 400;
inline constexpr CUresult CUDA_ERROR_INVALID_DEVICE = 101;
inline constexpr CUresult CUDA_ERROR_CAPTURED_EVENT = 907;

/// Of this thread; null: none.
extern thread_local CUctx_st *current;

/// Runs `body` with the current context, unless it has failed.
template <typename Body> CUresult inContext(const Body &body) {
  if (!current)
    return CUDA_ERROR_INVALID_CONTEXT;
  std::lock_guard lock(current->gpu.mutex);
  if (!current->gpu.error().empty())
    return CUDA_ERROR_LAUNCH_FAILED;
  CUresult result = body(*current);
  return current->gpu.error().empty() ? result : CUDA_ERROR_LAUNCH_FAILED;
}

/// The same, unless this thread captures: then nothing that waits, allocates,
/// loads code or asks about streams is allowed, and the capture has failed.
template <typename Body> CUresult outsideCapture(const Body &body) {
  return inContext([&](CUctx_st &context) {
    if (!context.capture || context.capturer != std::this_thread::get_id())
      return CUresult(body(context));
    context.capture->isInvalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  });
}

inline Stream *find(CUctx_st &context, CUstream handle) {
  if (!handle)
    return context.gpu.streams.front().get();
  for (const auto &stream : context.gpu.streams)
    if (stream.get() == reinterpret_cast<Stream *>(handle))
      return stream.get();
  return nullptr;
}

/// Runs `body` with a stream of the current context.
template <typename Body> CUresult onStream(CUstream handle, const Body &body) {
  return inContext([&](CUctx_st &context) {
    Stream *stream = find(context, handle);
    return stream ? body(context, *stream) : CUDA_ERROR_INVALID_HANDLE;
  });
}

template <typename Body> CUresult withEvent(CUevent handle, const Body &body) {
  return inContext([&](CUctx_st &context) {
    return context.events.count(handle) ? body(context, handle->event)
                                        : CUDA_ERROR_INVALID_HANDLE;
  });
}

} // namespace hocket::emulator

// NOLINTEND(readability-identifier-naming)

#endif // HOCKET_TEST_EMULATOR_LIBRARIES_CONTEXT_H
