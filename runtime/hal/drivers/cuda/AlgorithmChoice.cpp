//===- AlgorithmChoice.cpp - Which algorithm is the fastest ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/hal/drivers/cuda/AlgorithmChoice.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <unistd.h>

using namespace hocket;
using namespace hocket::hal::cuda;

namespace {

/// A file of the cache's folder that one thread of one process holds.
class FolderLock {
public:
  explicit FolderLock(const std::string &folder)
      : file(::open((folder + "/gemms.lock").c_str(),
                    O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)) {
    isHeld = file >= 0 && ::flock(file, LOCK_EX) == 0;
  }
  ~FolderLock() {
    if (file >= 0)
      ::close(file);
  }
  FolderLock(const FolderLock &) = delete;

  bool isHeld = false;

private:
  int file;
};

/// An event that is timed, for as long as it is needed.
class TimedEvent {
public:
  explicit TimedEvent(const DriverApi &api) : api(api) {}
  ~TimedEvent() {
    if (event)
      api.cuEventDestroy(event);
  }
  TimedEvent(const TimedEvent &) = delete;

  Status record(CUstream stream) {
    constexpr unsigned withTime = 0;
    if (!event)
      HOCKET_CUDA_CALL(api, cuEventCreate, &event, withTime);
    HOCKET_CUDA_CALL(api, cuEventRecord, event, stream);
    return okStatus();
  }

  CUevent event = nullptr;

private:
  const DriverApi &api;
};

} // namespace

AlgorithmChoice::AlgorithmChoice(const DriverApi &api) : api(api) {
  const char *wish = std::getenv("HOCKET_MEASURE_PRODUCTS");
  if (wish && std::string_view(wish) == "0")
    return;
  if (StatusOr<ResultCache> opened = ResultCache::open(); opened.ok())
    cache = *std::move(opened);
}

/// The candidate that `bytes` are; nothing if they are none.
static std::optional<size_t>
candidateOf(const std::optional<std::string> &bytes,
            std::span<const cublasLtMatmulHeuristicResult_t> candidates) {
  if (!bytes || bytes->size() != sizeof(cublasLtMatmulAlgo_t))
    return std::nullopt;
  for (size_t i = 0; i < candidates.size(); ++i)
    if (std::memcmp(bytes->data(), &candidates[i].algo, bytes->size()) == 0)
      return i;
  return std::nullopt;
}

StatusOr<size_t> AlgorithmChoice::choose(
    const std::vector<std::string> &key,
    std::span<const cublasLtMatmulHeuristicResult_t> candidates,
    CUstream stream, const Run &run) {
  if (!cache)
    return size_t(0);
  std::string name = ResultCache::keyOf(key);
  if (auto known = candidateOf(cache->find(name), candidates))
    return *known;
  if (!run)
    return size_t(0);
  FolderLock lock(cache->folder());
  if (!lock.isHeld)
    return size_t(0);
  // Somebody may have measured while this waited.
  if (auto known = candidateOf(cache->find(name), candidates))
    return *known;
  HOCKET_ASSIGN_OR_RETURN(size_t best, fastest(candidates.size(), stream, run));
  const cublasLtMatmulAlgo_t &algorithm = candidates[best].algo;
  std::string bytes(reinterpret_cast<const char *>(&algorithm),
                    sizeof(algorithm));
  return cache->store(name, bytes).ok() ? best : size_t(0);
}

StatusOr<size_t> AlgorithmChoice::fastest(size_t count, CUstream stream,
                                          const Run &run) {
  std::optional<size_t> best;
  float least = 0;
  Status firstFailure = okStatus();
  for (size_t i = 0; i < count; ++i) {
    StatusOr<float> time = timeOf(i, stream, run);
    if (!time.ok()) {
      firstFailure = firstFailure.ok() ? time.status() : firstFailure;
      continue;
    }
    if (!best || *time < least)
      best = i, least = *time;
  }
  if (!best)
    return firstFailure;
  return *best;
}

/// Milliseconds of a call: the median of rounds of a few.
StatusOr<float> AlgorithmChoice::timeOf(size_t candidate, CUstream stream,
                                        const Run &run) {
  constexpr size_t rounds = 5, calls = 3;
  HOCKET_RETURN_IF_ERROR(run(candidate)); // Code is loaded at the first call.
  std::vector<float> times;
  for (size_t round = 0; round < rounds; ++round) {
    TimedEvent begin(api), end(api);
    HOCKET_RETURN_IF_ERROR(begin.record(stream));
    for (size_t i = 0; i < calls; ++i)
      HOCKET_RETURN_IF_ERROR(run(candidate));
    HOCKET_RETURN_IF_ERROR(end.record(stream));
    HOCKET_CUDA_CALL(api, cuEventSynchronize, end.event);
    float time = 0;
    HOCKET_CUDA_CALL(api, cuEventElapsedTime, &time, begin.event, end.event);
    times.push_back(time);
  }
  std::ranges::sort(times);
  return times[rounds / 2] / float(calls);
}
