//===- Block.cpp - A thread block as fibers -------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/Block.h"

#include "test/emulator/Fiber.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

using namespace hocket::emulator;

namespace {

constexpr unsigned lanesOfWarp = 32;
/// Bytes of shared memory before they are written: a NaN as f32, bf16 and f16.
constexpr std::byte unwritten{0xff};

struct Fiber {
  enum class State { Ready, InBlock, InWarp, Ended } state = State::Ready;
  FiberStack stack;
  ThreadPlace place;
  // InWarp: with whom it exchanges what.
  unsigned lanes = 0, bytes = 0;
  const void *mine = nullptr;
  void *all = nullptr;
  // Groups of copies that are under way, the last still growing.
  struct Copy {
    void *to;
    const void *from;
  };
  std::deque<std::vector<Copy>> copies;
};

class BlockRunner {
public:
  BlockRunner(const Launch &launch, Calls &calls, std::span<std::byte> shared,
              const std::function<void()> &thread)
      : launch(launch), calls(calls), shared(shared), thread(thread),
        dynamic(launch.sharedBytes), random(launch.seed),
        fibers(launch.blockSize.x * launch.blockSize.y * launch.blockSize.z) {
    calls.syncBlock = [] { current->wait(Fiber::State::InBlock); };
    calls.gather = [](unsigned lanes, const void *mine, unsigned bytes,
                      void *all) { current->gather(lanes, mine, bytes, all); };
    calls.copyLater = [](void *to, const void *from) {
      current->copyLater({to, from});
    };
    calls.commitCopies = [] { current->running->copies.emplace_back(); };
    calls.waitForCopies = [](int left) { current->waitForCopies(left); };
    calls.stop = [] {
      current->stopped = true;
      current->wait(Fiber::State::Ended);
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
  void gather(unsigned lanes, const void *mine, unsigned bytes, void *all);
  void copyLater(Fiber::Copy copy);
  void waitForCopies(int left);
  bool releaseBlock();
  bool releaseWarp(unsigned first);
  void runWarp(unsigned first);

  const Launch &launch;
  Calls &calls;
  std::span<std::byte> shared;
  const std::function<void()> &thread;
  std::vector<std::byte> dynamic;
  std::mt19937_64 random;
  std::vector<Fiber> fibers;
  Fiber *running = nullptr;
  bool stopped = false; ///< By a thread.
  void *scheduler = nullptr;

  static thread_local BlockRunner *current;
};

thread_local BlockRunner *BlockRunner::current = nullptr;

void BlockRunner::prepare(Index block) {
  std::ranges::fill(shared, unwritten);
  std::ranges::fill(dynamic, unwritten);
  Index size = launch.blockSize;
  for (unsigned i = 0; i < fibers.size(); ++i) {
    Fiber &fiber = fibers[i];
    fiber.state = Fiber::State::Ready;
    fiber.copies.assign(1, {});
    fiber.place = {{i % size.x, i / size.x % size.y, i / size.x / size.y},
                   block,
                   size,
                   launch.gridSize};
    fiber.stack.begin(&BlockRunner::start);
  }
}

void BlockRunner::resume(Fiber &fiber) {
  running = &fiber;
  calls.thread = &fiber.place;
  FiberStack::change(scheduler, fiber.stack.place);
}

/// Of a fiber: stops until the scheduler finds that it may go on.
void BlockRunner::wait(Fiber::State state) {
  running->state = state;
  FiberStack::change(running->stack.place, scheduler);
}

void BlockRunner::gather(unsigned lanes, const void *mine, unsigned bytes,
                         void *all) {
  running->lanes = lanes;
  running->mine = mine;
  running->bytes = bytes;
  running->all = all;
  wait(Fiber::State::InWarp);
}

static void perform(const Fiber::Copy &copy) {
  if (copy.from)
    std::memcpy(copy.to, copy.from, 16);
  else
    std::memset(copy.to, 0, 16);
}

/// Copies at once, or, for even seeds, as late as is allowed: a tile that is
/// overwritten or read too early is seen in one of the two.
void BlockRunner::copyLater(Fiber::Copy copy) {
  if (launch.seed % 2)
    perform(copy);
  else
    running->copies.back().push_back(copy);
}

void BlockRunner::waitForCopies(int left) {
  auto &groups = running->copies;
  while (groups.size() > static_cast<size_t>(left) + 1) {
    for (const Fiber::Copy &copy : groups.front())
      perform(copy);
    groups.pop_front();
  }
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

/// Gives `fiber` what each lane that takes part brought.
static void collect(std::span<Fiber> warp, const Fiber &fiber,
                    const std::function<bool(size_t)> &takesPart) {
  for (size_t lane = 0; lane < warp.size(); ++lane)
    if (takesPart(lane) && fiber.bytes > 0)
      std::memcpy(static_cast<std::byte *>(fiber.all) + lane * fiber.bytes,
                  warp[lane].mine, fiber.bytes);
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
    bool complete = lanes >> leader & 1;
    for (size_t lane = 0; lane < warp.size(); ++lane)
      if (takesPart(lane))
        complete &= warp[lane].state == Fiber::State::InWarp &&
                    warp[lane].lanes == lanes;
    if (!complete)
      continue;
    for (size_t lane = 0; lane < warp.size(); ++lane)
      if (takesPart(lane))
        collect(warp, warp[lane], takesPart);
    for (size_t lane = 0; lane < warp.size(); ++lane)
      if (takesPart(lane))
        warp[lane].state = Fiber::State::Ready;
    released = true;
  }
  return released;
}

/// Runs a warp as far as it comes without the rest of its block.
void BlockRunner::runWarp(unsigned first) {
  size_t lanes = std::min<size_t>(lanesOfWarp, fibers.size() - first);
  std::vector<size_t> order(lanes);
  std::iota(order.begin(), order.end(), first);
  do {
    std::shuffle(order.begin(), order.end(), random);
    for (size_t i : order)
      if (!stopped && fibers[i].state == Fiber::State::Ready)
        resume(fibers[i]);
  } while (!stopped && releaseWarp(first));
}

/// Between two barriers of the block one warp after another runs, in an order
/// of its own each time: what a barrier is missing for is then seen.
std::string BlockRunner::runBlock(Index block) {
  prepare(block);
  std::vector<unsigned> warps;
  for (unsigned first = 0; first < fibers.size(); first += lanesOfWarp)
    warps.push_back(first);
  do {
    std::shuffle(warps.begin(), warps.end(), random);
    for (unsigned first : warps)
      runWarp(first);
  } while (!stopped && releaseBlock());
  if (stopped)
    return "a thread was stopped";
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
