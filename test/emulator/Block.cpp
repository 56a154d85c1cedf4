//===- Block.cpp - A thread block as fibers -------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/Block.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <ucontext.h>
#include <vector>

using namespace hocket::emulator;

namespace {

constexpr size_t stackBytes = 64 * 1024;
constexpr unsigned lanesOfWarp = 32;
/// Bytes of shared memory before they are written: a NaN as f32, bf16 and f16.
constexpr int unwritten = 0xff;

struct Fiber {
  enum class State { Ready, InBlock, InWarp, Ended } state = State::Ready;
  ucontext_t context;
  std::unique_ptr<std::byte[]> stack;
  ThreadPlace place;
  unsigned lanes = 0; ///< InWarp: with whom it exchanges.
  unsigned bits = 0;  ///< InWarp: what it gives; then what it got.
  int from = 0;
};

class BlockRunner {
public:
  BlockRunner(const Launch &launch, Calls &calls, std::span<std::byte> shared,
              const std::function<void()> &thread)
      : launch(launch), calls(calls), shared(shared), thread(thread),
        dynamic(launch.sharedBytes), random(launch.seed) {
    unsigned threads =
        launch.blockSize.x * launch.blockSize.y * launch.blockSize.z;
    fibers.resize(threads);
    for (Fiber &fiber : fibers)
      fiber.stack = std::make_unique<std::byte[]>(stackBytes);
    calls.syncBlock = [] { current->wait(Fiber::State::InBlock); };
    calls.exchange = [](unsigned lanes, unsigned bits, int from) {
      return current->exchange(lanes, bits, from);
    };
    calls.dynamicShared = dynamic.data();
    current = this;
  }

  std::string runBlock(Index block);

private:
  static void start() {
    current->thread();
    current->wait(Fiber::State::Ended);
  }
  void prepare(Index block);
  void resume(Fiber &fiber);
  void wait(Fiber::State state);
  unsigned exchange(unsigned lanes, unsigned bits, int from);
  bool releaseBlock();
  bool releaseWarp(unsigned first);
  bool releaseWaiting();

  const Launch &launch;
  Calls &calls;
  std::span<std::byte> shared;
  const std::function<void()> &thread;
  std::vector<std::byte> dynamic;
  std::mt19937_64 random;
  std::vector<Fiber> fibers;
  Fiber *running = nullptr;
  ucontext_t scheduler;

  static thread_local BlockRunner *current;
};

thread_local BlockRunner *BlockRunner::current = nullptr;

void BlockRunner::prepare(Index block) {
  std::memset(shared.data(), unwritten, shared.size());
  std::memset(dynamic.data(), unwritten, dynamic.size());
  Index size = launch.blockSize;
  for (unsigned i = 0; i < fibers.size(); ++i) {
    Fiber &fiber = fibers[i];
    fiber.state = Fiber::State::Ready;
    fiber.place = {{i % size.x, i / size.x % size.y, i / size.x / size.y},
                   block,
                   size,
                   launch.gridSize};
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = stackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, &BlockRunner::start, 0);
  }
}

void BlockRunner::resume(Fiber &fiber) {
  running = &fiber;
  calls.thread = &fiber.place;
  swapcontext(&scheduler, &fiber.context);
}

/// Of a fiber: stops until the scheduler finds that it may go on.
void BlockRunner::wait(Fiber::State state) {
  running->state = state;
  swapcontext(&running->context, &scheduler);
}

unsigned BlockRunner::exchange(unsigned lanes, unsigned bits, int from) {
  running->lanes = lanes;
  running->bits = bits;
  running->from = from;
  wait(Fiber::State::InWarp);
  return running->bits;
}

/// Lets the block go on if all its threads that have not ended are in
/// syncBlock.
bool BlockRunner::releaseBlock() {
  bool waiting = false;
  for (const Fiber &fiber : fibers) {
    if (fiber.state == Fiber::State::InWarp)
      return false;
    waiting |= fiber.state == Fiber::State::InBlock;
  }
  for (Fiber &fiber : fibers)
    if (fiber.state == Fiber::State::InBlock)
      fiber.state = Fiber::State::Ready;
  return waiting;
}

/// The same for the lanes of a warp that exchange with each other.
bool BlockRunner::releaseWarp(unsigned first) {
  std::span<Fiber> warp(fibers.data() + first,
                        std::min<size_t>(lanesOfWarp, fibers.size() - first));
  bool released = false;
  for (size_t leader = 0; leader < warp.size(); ++leader) {
    if (warp[leader].state != Fiber::State::InWarp)
      continue;
    unsigned lanes = warp[leader].lanes;
    auto takesPart = [&](size_t lane) {
      return (lanes >> lane & 1) && warp[lane].state != Fiber::State::Ended;
    };
    bool complete = true;
    std::vector<unsigned> given(lanesOfWarp, 0);
    for (size_t lane = 0; lane < warp.size(); ++lane) {
      given[lane] = warp[lane].bits;
      if (takesPart(lane))
        complete &= warp[lane].state == Fiber::State::InWarp &&
                    warp[lane].lanes == lanes;
    }
    if (!complete || !(lanes >> leader & 1))
      continue;
    for (size_t lane = 0; lane < warp.size(); ++lane)
      if (takesPart(lane)) {
        warp[lane].bits = given[warp[lane].from % lanesOfWarp];
        warp[lane].state = Fiber::State::Ready;
      }
    released = true;
  }
  return released;
}

bool BlockRunner::releaseWaiting() {
  bool released = false;
  for (unsigned first = 0; first < fibers.size(); first += lanesOfWarp)
    released |= releaseWarp(first);
  return released || releaseBlock();
}

std::string BlockRunner::runBlock(Index block) {
  prepare(block);
  std::vector<size_t> order(fibers.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  do {
    std::shuffle(order.begin(), order.end(), random);
    for (size_t i : order)
      if (fibers[i].state == Fiber::State::Ready)
        resume(fibers[i]);
  } while (releaseWaiting());
  for (const Fiber &fiber : fibers)
    if (fiber.state != Fiber::State::Ended)
      return "thread " + std::to_string(fiber.place.thread.x) + " of block " +
             std::to_string(block.x) + " waits for threads that wait elsewhere";
  return "";
}

} // namespace

std::string hocket::emulator::runBlocks(const Launch &launch, Calls &calls,
                                        std::span<std::byte> shared,
                                        const std::function<void()> &thread) {
  BlockRunner runner(launch, calls, shared, thread);
  Index size = launch.gridSize;
  std::vector<uint64_t> order(uint64_t(size.x) * size.y * size.z);
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::mt19937_64 random(launch.seed);
  std::shuffle(order.begin(), order.end(), random);
  for (uint64_t i : order) {
    Index block{static_cast<unsigned>(i % size.x),
                static_cast<unsigned>(i / size.x % size.y),
                static_cast<unsigned>(i / size.x / size.y)};
    if (std::string error = runner.runBlock(block); !error.empty())
      return error;
  }
  return "";
}
