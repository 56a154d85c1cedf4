//===- LocalRanks.cpp - All ranks of a run in this process ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/LocalRanks.h"

#include "runtime/comm/interfaces/FailureText.h"

#include <algorithm>
#include <condition_variable>
#include <system_error>
#include <thread>

using namespace hocket;
using namespace std::chrono_literals;

namespace {
/// Shared with the threads, one of which may outlive its run.
struct RunningRanks {
  RankBody body;
  comm::LocalWorld world;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::optional<Status>> results;

  RunningRanks(RankBody body, comm::LocalWorld world, size_t ranks)
      : body(std::move(body)), world(std::move(world)), results(ranks) {}

  bool over() const {
    return std::all_of(results.begin(), results.end(),
                       [](const auto &result) { return result.has_value(); });
  }

  /// The rank got no thread.
  void abandon(unsigned rank, const std::string &why) {
    Status status = resourceExhausted("no thread for rank " +
                                      std::to_string(rank) + ": " + why);
    world.join(rank)->fail(status);
    std::lock_guard lock(mutex);
    results[rank] = status;
  }

  void run(unsigned rank) {
    Status status;
    {
      auto communicators = world.join(rank);
      status = body(*communicators);
      if (!status.ok())
        communicators->fail(status);
    }
    std::lock_guard lock(mutex);
    results[rank] = status;
    changed.notify_all();
  }
};
} // namespace

/// The first error, then what it kept others from, a line each.
static Status combine(const comm::LocalWorld::Failure &failure,
                      const std::vector<std::optional<Status>> &results) {
  Status first = failure.status;
  for (const auto &result : results)
    if (first.ok() && result)
      first = *result;
  if (first.ok())
    return first;
  std::string text = first.message();
  int lines = 0;
  for (const auto &result : results)
    if (result && result->code() == StatusCode::Unavailable &&
        result->message() != first.message() && lines++ < 4)
      text += "\n  " + comm::waitTextOf(*result);
  return Status(first.code(), text);
}

Status hocket::runLocalRanks(const comm::GroupTable &table,
                             comm::WaitLimits limits, const RankBody &body) {
  HOCKET_ASSIGN_OR_RETURN(comm::LocalWorld world,
                          comm::LocalWorld::create(table, limits));
  auto running =
      std::make_shared<RunningRanks>(body, std::move(world), table.ranks);
  std::vector<std::thread> threads(table.ranks);
  for (unsigned rank = 0; rank < table.ranks; ++rank)
    try {
      threads[rank] = std::thread([running, rank] { running->run(rank); });
    } catch (const std::system_error &error) {
      running->abandon(rank, error.what());
    }

  std::unique_lock lock(running->mutex);
  auto over = [&] { return running->over(); };
  while (!running->changed.wait_for(lock, 200ms, over))
    if (!running->world.failure().status.ok())
      break;
  running->changed.wait_for(lock, 2s, over);
  for (unsigned rank = 0; rank < table.ranks; ++rank) {
    if (!running->results[rank]) {
      threads[rank].detach();
      continue;
    }
    lock.unlock();
    if (threads[rank].joinable())
      threads[rank].join();
    lock.lock();
  }
  return combine(running->world.failure(), running->results);
}
