//===- WorkerPoolTest.cpp - Fork and join under stress --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/WorkerPool.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

using namespace hocket;

TEST(WorkerPool, EveryWorkerRunsOnce) {
  for (unsigned count : {1u, 2u, 5u}) {
    WorkerPool pool(count);
    std::vector<int> runs(count);
    for (int round = 0; round < 2000; ++round)
      pool.onEachWorker([&](unsigned worker) { ++runs[worker]; });
    EXPECT_EQ(runs, std::vector<int>(count, 2000));
  }
}

TEST(WorkerPool, RangesPartitionTheTasks) {
  WorkerPool pool(3);
  for (int64_t tasks : {0, 1, 2, 7, 100, 1001})
    for (int64_t grain : {0, 1, 5, 1000}) {
      std::vector<int> touched(tasks);
      pool.parallelFor(tasks, grain, [&](int64_t begin, int64_t end, unsigned) {
        EXPECT_LT(begin, end);
        EXPECT_TRUE(end == tasks || end - begin >= grain);
        for (int64_t i = begin; i < end; ++i)
          ++touched[i];
      });
      EXPECT_EQ(touched, std::vector<int>(tasks, 1)) << tasks << " " << grain;
    }
}

// Forks that follow each other at once, after a spin and after a sleep.
TEST(WorkerPool, SurvivesPausesOfEveryLength) {
  WorkerPool pool(4);
  std::atomic<int64_t> sum{0};
  int64_t expected = 0;
  for (int round = 0; round < 600; ++round) {
    pool.onEachWorker([&](unsigned worker) { sum += worker + 1; });
    expected += 10;
    ASSERT_EQ(sum.load(), expected);
    if (round % 3 == 1)
      std::this_thread::sleep_for(std::chrono::microseconds(round));
  }
}

// Workers that hold a range are waited for, those that come late are not, and
// a call's frame is left only when nobody is in it.
TEST(WorkerPool, WhoeverIsFreeTakesWork) {
  WorkerPool pool(4);
  for (int round = 0; round < 3000; ++round) {
    std::vector<int> touched(16);
    std::atomic<int> next{0}, inside{0};
    pool.onFreeWorkers([&](unsigned worker) {
      ++inside;
      for (int task; (task = next++) < 16;) {
        ++touched[size_t(task)];
        if (worker != 0 && round % 500 == 7)
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      --inside;
    });
    ASSERT_EQ(inside.load(), 0);
    ASSERT_EQ(touched, std::vector<int>(16, 1));
    if (round % 100 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(round));
    if (round % 7 == 0) {
      std::atomic<int> runs{0};
      pool.onEachWorker([&](unsigned) { ++runs; });
      ASSERT_EQ(runs.load(), 4);
    }
  }
}

std::atomic<bool> isStopped{false}, mayGoOn{false};

/// Keeps the thread that gets the signal, as a busy machine may.
void stopHere(int) {
  isStopped = true;
  while (!mayGoOn)
    sched_yield();
}

TEST(WorkerPool, NobodyWaitsForAWorkerThatDoesNotCome) {
  WorkerPool pool(2);
  pthread_t thread{};
  pool.onEachWorker([&](unsigned worker) {
    if (worker == 1)
      thread = pthread_self();
  });
  struct sigaction stop = {}, before = {};
  stop.sa_handler = stopHere;
  ASSERT_EQ(sigaction(SIGUSR1, &stop, &before), 0);
  ASSERT_EQ(pthread_kill(thread, SIGUSR1), 0);
  while (!isStopped)
    sched_yield();
  int64_t sum = 0;
  pool.parallelFor(100, 1, [&](int64_t begin, int64_t end, unsigned worker) {
    EXPECT_EQ(worker, 0u);
    sum += end - begin;
  });
  EXPECT_EQ(sum, 100);
  mayGoOn = true;
  std::vector<int> runs(2);
  pool.onEachWorker([&](unsigned worker) { ++runs[worker]; });
  EXPECT_EQ(runs, std::vector<int>(2, 1));
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(WorkerPool, NestedForksRunInline) {
  WorkerPool pool(3);
  std::atomic<int> runs{0};
  pool.onEachWorker([&](unsigned) {
    pool.onEachWorker([&](unsigned) { ++runs; });
    pool.parallelFor(10, 1, [&](int64_t begin, int64_t end, unsigned) {
      runs += int(end - begin);
    });
  });
  EXPECT_EQ(runs.load(), 3 * (3 + 10));
}

TEST(WorkerPool, SeveralCallersTakeTurns) {
  WorkerPool pool(2);
  std::vector<std::thread> callers;
  std::vector<int64_t> sums(4);
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&, caller] {
      for (int round = 0; round < 500; ++round) {
        std::atomic<int64_t> sum{0};
        pool.parallelFor(64, 1, [&](int64_t begin, int64_t end, unsigned) {
          for (int64_t i = begin; i < end; ++i)
            sum += i;
        });
        sums[caller] += sum;
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(sums, std::vector<int64_t>(4, 500 * 63 * 32));
}

TEST(WorkerPool, ScratchBelongsToOneWorker) {
  WorkerPool pool(3);
  ASSERT_TRUE(pool.reserveScratch(10000).ok());
  ASSERT_TRUE(pool.reserveScratch(100).ok());
  EXPECT_EQ(pool.scratchBytes(), 10000u);
  pool.onEachWorker([&](unsigned worker) {
    std::memset(pool.scratch(worker), int(worker) + 1, pool.scratchBytes());
  });
  for (unsigned worker = 0; worker < 3; ++worker) {
    const char *bytes = static_cast<const char *>(pool.scratch(worker));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes) % 4096, 0u);
    EXPECT_EQ(bytes[0], int(worker) + 1);
    EXPECT_EQ(bytes[9999], int(worker) + 1);
  }
  EXPECT_EQ(pool.reserveScratch(size_t(1) << 60).message(),
            "cannot allocate 1.00 EiB of scratch memory for each worker");
}

TEST(WorkerPool, CountComesFromTheEnvironment) {
  ::setenv("HOCKET_NUM_THREADS", "3", 1);
  EXPECT_EQ(*WorkerPool::defaultCount(), 3u);
  ::setenv("HOCKET_NUM_THREADS", "0", 1);
  EXPECT_EQ(WorkerPool::defaultCount().status().message(),
            "HOCKET_NUM_THREADS is '0', expected a number from 1 to 1024");
  ::setenv("HOCKET_NUM_THREADS", "2x", 1);
  EXPECT_FALSE(WorkerPool::defaultCount().ok());
  ::unsetenv("HOCKET_NUM_THREADS");
  EXPECT_GE(*WorkerPool::defaultCount(), 1u);
}
