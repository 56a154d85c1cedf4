//===- Block.cpp - A thread block as fibers -------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/Block.h"

#include "test/emulator/BlockBarriers.h"
#include "test/emulator/Fiber.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <vector>

using namespace hocket::emulator;

namespace {

constexpr unsigned lanesOfWarp = 32;
/// What a lane can give others at once.
constexpr unsigned mostBytesOfLane = 1024;
/// Bytes of shared memory before they are written: a NaN as f32, bf16 and f16.
constexpr std::byte unwritten{0xff};

/// Of a fiber. Kept apart from the rest of it, as the scheduler looks at those
/// of a whole block again and again.
enum class State : uint8_t {
  Ready,
  Later,   ///< lets others go first
  InBlock, ///< waits for the block
  InWarp,
  AtPhase,   ///< waits for the end of a barrier's phase
  InMeeting, ///< waits for some warps
  Ended,
};

struct Fiber {
  FiberStack stack;
  ThreadPlace place;
  // InWarp: with whom it exchanges what.
  unsigned lanes = 0, bytes = 0;
  const void *mine = nullptr;
  void *all = nullptr;
  // AtPhase, InMeeting: of what.
  void *barrier = nullptr;
  unsigned parity = 0, meeting = 0;
  // Copies that are under way, and where each group of them ends.
  struct Copy {
    void *to;
    const void *from;
  };
  std::vector<Copy> copies;
  std::vector<size_t> groups;
};

class BlockRunner {
public:
  BlockRunner(const Launch &launch, Calls &calls, std::span<std::byte> shared,
              const std::function<void()> &thread)
      : launch(launch), calls(calls), shared(shared), thread(thread),
        dynamic(launch.sharedBytes), seen(launch.sharedBytes),
        random(launch.seed),
        fibers(launch.blockSize.x * launch.blockSize.y * launch.blockSize.z),
        states(fibers.size()) {
    calls.syncBlock = [] { current->wait(State::InBlock); };
    calls.gather = [](unsigned lanes, const void *mine, unsigned bytes,
                      void *all) { current->gather(lanes, mine, bytes, all); };
    calls.copyLater = [](void *to, const void *from) {
      current->copyLater({to, from});
    };
    calls.commitCopies = [] {
      current->running->groups.push_back(current->running->copies.size());
    };
    calls.waitForCopies = [](int left) { current->waitForCopies(left); };
    calls.stop = [] { current->fail("was stopped"); };
    calls.fail = [](const char *what) { current->fail(what); };
    setBarrierCalls();
    calls.dynamicShared = dynamic.data();
    calls.dynamicSeen = seen.data();
    calls.dynamicBytes = dynamic.size();
    current = this;
  }

  std::string runBlock(Index block);

private:
  static void start() {
    current->thread();
    current->wait(State::Ended);
  }
  size_t indexOf(const Fiber &fiber) const { return &fiber - fibers.data(); }
  void setBarrierCalls();
  void prepare(Index block);
  void resume(Fiber &fiber);
  void wait(State state);
  void gather(unsigned lanes, const void *mine, unsigned bytes, void *all);
  void copyLater(Fiber::Copy copy);
  void waitForCopies(int left);
  /// Of the running thread: ends the launch, unless `error` is empty.
  void fail(const std::string &error);
  void come(unsigned barrier, unsigned threads, bool waits);
  /// Lets others go first, or not.
  void hesitate() {
    if (random() % 2 == 0)
      wait(State::Later);
  }
  void land(size_t copy);
  void landSome();
  bool goOn();
  bool releaseBlock();
  bool releaseWarp(unsigned first);
  void runWarp(unsigned first);
  std::string waitOf(const Fiber &fiber) const;
  std::string whoWaits() const;

  const Launch &launch;
  Calls &calls;
  std::span<std::byte> shared;
  const std::function<void()> &thread;
  std::vector<std::byte> dynamic;
  std::vector<std::byte> seen; ///< What products see of it.
  std::mt19937_64 random;
  std::vector<Fiber> fibers;
  std::vector<State> states; ///< Of each fiber.
  BlockBarriers barriers;
  Fiber *running = nullptr;
  std::string failure; ///< Of a thread: the launch ends.
  void *scheduler = nullptr;

  static thread_local BlockRunner *current;
};

thread_local BlockRunner *BlockRunner::current = nullptr;

void BlockRunner::prepare(Index block) {
  std::ranges::fill(shared, unwritten);
  std::ranges::fill(dynamic, unwritten);
  std::ranges::fill(seen, unwritten);
  barriers.begin(shared, {dynamic, seen}, static_cast<unsigned>(fibers.size()));
  std::ranges::fill(states, State::Ready);
  Index size = launch.blockSize;
  for (unsigned i = 0; i < fibers.size(); ++i) {
    Fiber &fiber = fibers[i];
    fiber.copies.clear();
    fiber.groups.clear();
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
void BlockRunner::wait(State state) {
  states[indexOf(*running)] = state;
  FiberStack::change(running->stack.place, scheduler);
}

void BlockRunner::gather(unsigned lanes, const void *mine, unsigned bytes,
                         void *all) {
  if (bytes > mostBytesOfLane)
    fail("gives its warp " + std::to_string(bytes) + " bytes at once");
  running->lanes = lanes;
  running->mine = mine;
  running->bytes = bytes;
  running->all = all;
  wait(State::InWarp);
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
    running->copies.push_back(copy);
}

void BlockRunner::waitForCopies(int left) {
  auto &copies = running->copies;
  auto &groups = running->groups;
  if (groups.size() <= static_cast<size_t>(left))
    return;
  size_t done = groups.size() - left, end = groups[done - 1];
  for (size_t i = 0; i < end; ++i)
    perform(copies[i]);
  copies.erase(copies.begin(), copies.begin() + end);
  groups.erase(groups.begin(), groups.begin() + done);
  for (size_t &group : groups)
    group -= end;
}

//===----------------------------------------------------------------------===//
// Barriers and tensor copies
//===----------------------------------------------------------------------===//

void BlockRunner::fail(const std::string &error) {
  if (error.empty())
    return;
  Index thread = running->place.thread;
  failure = "thread " + std::to_string(thread.x) + " " + error;
  wait(State::Ended);
}

void BlockRunner::setBarrierCalls() {
  calls.beginBarrier = [](void *barrier, unsigned arrivals) {
    unsigned thread = unsigned(current->running - current->fibers.data());
    current->fail(current->barriers.beginBarrier(barrier, arrivals, thread));
  };
  calls.showBarriers = [] {
    unsigned thread = unsigned(current->running - current->fibers.data());
    current->barriers.showBarriers(thread);
  };
  calls.hesitate = [] { current->hesitate(); };
  // Whoever arrives too early, and goes on, is overtaken now and then.
  calls.arrive = [](void *barrier, unsigned bytes) {
    current->fail(current->barriers.arrive(barrier, bytes));
    current->hesitate();
  };
  calls.awaitPhase = [](void *barrier, unsigned parity) {
    current->fail(current->barriers.checkWait(barrier));
    current->running->barrier = barrier;
    current->running->parity = parity;
    if (!current->barriers.hasEnded(barrier, parity))
      current->wait(State::AtPhase);
  };
  calls.meet = [](unsigned barrier, unsigned threads) {
    current->come(barrier, threads, true);
  };
  calls.signal = [](unsigned barrier, unsigned threads) {
    current->come(barrier, threads, false);
    current->hesitate();
  };
  calls.copyBox = [](void *to, const void *map, const int *at, int rank,
                     void *barrier) {
    current->fail(current->barriers.copyBox(to, map, at, rank, barrier));
    if (current->launch.seed % 3 == 0)
      current->land(current->barriers.copies() - 1);
  };
  calls.setRegisters = [](unsigned count, bool raises) {
    unsigned thread = unsigned(current->running - current->fibers.data());
    current->fail(current->barriers.setRegisters(thread, count, raises));
  };
  // Of other threads' writes, too, so that only their own fence is missed.
  calls.showToProducts = [] {
    std::ranges::copy(current->dynamic, current->seen.begin());
  };
}

void BlockRunner::come(unsigned barrier, unsigned threads, bool waits) {
  fail(barriers.come(barrier, threads));
  bool isFull = barriers.isFull(barrier);
  if (isFull)
    for (size_t i = 0; i < fibers.size(); ++i)
      if (states[i] == State::InMeeting && fibers[i].meeting == barrier)
        states[i] = State::Ready;
  running->meeting = barrier;
  if (waits && !isFull)
    wait(State::InMeeting);
}

void BlockRunner::land(size_t copy) {
  if (std::string error = barriers.land(copy, calls.access); !error.empty())
    failure = "the copy engine " + error;
}

/// Copies end as soon as they begin, now and then, or, with every third seed,
/// only when nobody can go on without.
void BlockRunner::landSome() {
  if (launch.seed % 3 != 2)
    return;
  for (size_t copy = barriers.copies(); copy-- > 0;)
    if (random() % 4 == 0)
      land(copy);
}

/// Lets fibers go on whose time has come; false: there are none.
bool BlockRunner::goOn() {
  bool any = false;
  auto mayGoOn = [&](size_t i) {
    return states[i] == State::Ready || states[i] == State::Later ||
           (states[i] == State::AtPhase &&
            barriers.hasEnded(fibers[i].barrier, fibers[i].parity));
  };
  landSome();
  for (size_t i = 0; i < fibers.size(); ++i)
    if (mayGoOn(i)) {
      states[i] = State::Ready;
      any = true;
    }
  if (any || releaseBlock())
    return true;
  auto hasEnded = [](State state) { return state == State::Ended; };
  if (barriers.copies() == 0 || std::ranges::all_of(states, hasEnded))
    return false;
  land(random() % barriers.copies());
  return true;
}

/// What `fiber` waits for; empty: for nothing.
std::string BlockRunner::waitOf(const Fiber &fiber) const {
  switch (states[indexOf(fiber)]) {
  case State::Ended:
    return "";
  case State::AtPhase:
    return "waits at " + barriers.nameOf(fiber.barrier) +
           ", for the end of one that is " + (fiber.parity ? "odd" : "even");
  case State::InMeeting:
    return "waits at barrier " + std::to_string(fiber.meeting) +
           " for threads that do not come";
  default:
    return "waits for threads that wait elsewhere";
  }
}

/// The first thread with each wait; empty: none waits.
std::string BlockRunner::whoWaits() const {
  std::set<std::string> known;
  std::string text;
  for (const Fiber &fiber : fibers) {
    std::string wait = waitOf(fiber);
    if (!wait.empty() && known.insert(wait).second)
      text += (text.empty() ? "thread " : "; thread ") +
              std::to_string(fiber.place.thread.x) + " " + wait;
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Warps and blocks
//===----------------------------------------------------------------------===//

/// Lets the block go on if all its threads that have not ended are in
/// syncBlock.
bool BlockRunner::releaseBlock() {
  bool waiting = false;
  for (State state : states) {
    if (state != State::InBlock && state != State::Ended)
      return false;
    waiting |= state == State::InBlock;
  }
  std::ranges::replace(states, State::InBlock, State::Ready);
  return waiting;
}

/// Lets the lanes `part` of `warp`, which all have come, have what each of them
/// brought.
static void exchange(std::span<Fiber> warp, unsigned part) {
  size_t bytes = warp[std::countr_zero(part)].bytes;
  std::array<std::byte, lanesOfWarp * mostBytesOfLane> brought;
  for (size_t lane = 0; bytes && lane < warp.size(); ++lane)
    if (part >> lane & 1)
      std::memcpy(brought.data() + lane * bytes, warp[lane].mine, bytes);
  auto give = [&](Fiber &fiber, size_t lane, size_t lanes) {
    std::memcpy(static_cast<std::byte *>(fiber.all) + lane * bytes,
                brought.data() + lane * bytes, lanes * bytes);
  };
  bool isWhole = part == ~0U;
  for (size_t to = 0; bytes && to < warp.size(); ++to) {
    if (!(part >> to & 1))
      continue;
    if (isWhole)
      give(warp[to], 0, lanesOfWarp);
    for (size_t lane = 0; !isWhole && lane < warp.size(); ++lane)
      if (part >> lane & 1)
        give(warp[to], lane, 1);
  }
}

/// Lets lanes of a warp go on that exchange with each other.
bool BlockRunner::releaseWarp(unsigned first) {
  std::span<Fiber> warp(fibers.data() + first,
                        std::min<size_t>(lanesOfWarp, fibers.size() - first));
  unsigned running = 0, inWarp = 0;
  for (size_t lane = 0; lane < warp.size(); ++lane) {
    State state = states[first + lane];
    running |= unsigned(state != State::Ended) << lane;
    inWarp |= unsigned(state == State::InWarp) << lane;
  }
  bool released = false;
  while (inWarp) {
    unsigned leader = unsigned(std::countr_zero(inWarp));
    unsigned lanes = warp[leader].lanes, part = lanes & running;
    unsigned asked = 0; // Those that exchange with just these lanes.
    for (size_t lane = leader; lane < warp.size(); ++lane)
      asked |= unsigned((inWarp >> lane & 1) && warp[lane].lanes == lanes)
               << lane;
    inWarp &= ~asked;
    if (part != asked)
      continue;
    exchange(warp, part);
    for (size_t lane = 0; lane < warp.size(); ++lane)
      if (part >> lane & 1)
        states[first + lane] = State::Ready;
    released = true;
  }
  return released;
}

/// Runs a warp as far as it comes without the rest of its block, its lanes each
/// time in another of the orders that step by an odd number.
void BlockRunner::runWarp(unsigned first) {
  size_t lanes = std::min<size_t>(lanesOfWarp, fibers.size() - first);
  do {
    uint64_t drawn = random();
    size_t begin = drawn / lanesOfWarp, step = drawn % lanesOfWarp | 1;
    for (size_t turn = 0; turn < lanesOfWarp; ++turn) {
      size_t lane = (begin + turn * step) % lanesOfWarp;
      if (lane < lanes && failure.empty() &&
          states[first + lane] == State::Ready)
        resume(fibers[first + lane]);
    }
  } while (failure.empty() && releaseWarp(first));
}

/// Where warps wait for each other one after another runs, in an order
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
  } while (failure.empty() && goOn());
  if (failure.empty())
    failure = whoWaits();
  if (failure.empty())
    if (std::string error = barriers.end(); !error.empty())
      failure = "a block " + error;
  if (failure.empty())
    return "";
  return failure + ", in block (" + std::to_string(block.x) + ", " +
         std::to_string(block.y) + ", " + std::to_string(block.z) + ")";
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
