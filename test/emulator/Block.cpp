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
#include <mutex>
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

/// Of a fiber. Kept apart from the rest of it, as those of a whole block are
/// looked at again and again.
enum class State : uint8_t {
  Ready,
  Later,   ///< lets others go first
  InBlock, ///< waits for the block
  InWarp,
  AtPhase,   ///< waits for the end of a barrier's phase
  InMeeting, ///< waits for some warps
  Ended,
};

/// Of a fiber that is InWarp: with whom it exchanges what. Kept apart, too.
struct Offer {
  unsigned lanes = 0, bytes = 0;
  const void *mine = nullptr;
};

/// A thread of the block.
struct Fiber {
  Index thread;
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

/// What a launch needs of memory. Used again by the next one of any thread of
/// the process, so that it is in a cache.
struct LaunchMemory {
  std::vector<Fiber> fibers;
  std::vector<State> states; ///< Of each fiber.
  std::vector<Offer> offers; ///< Of each fiber.
  /// Where each fiber stopped, on a stack that it has from its first
  /// instruction to its last; null: it has none yet.
  std::vector<void *> places;
  std::vector<std::unique_ptr<FiberStack>> stacks;
  std::vector<void *> spare; ///< Places of stacks that no fiber has.
  std::vector<std::byte> dynamic;
  std::vector<std::byte> seen; ///< What MMAs see of it.
  /// What the lanes of a warp exchanged last. They have read it when they do so
  /// again, and no other warp runs before they have.
  std::array<std::byte, lanesOfWarp * mostBytesOfLane> brought;

  static std::unique_ptr<LaunchMemory> take();
  static void consumerRelease(std::unique_ptr<LaunchMemory> memory);

private:
  /// Threads of emulated GPUs may run as long as the process.
  struct Spare {
    std::mutex mutex;
    std::vector<std::unique_ptr<LaunchMemory>> memories;
  };
  static Spare &all() {
    static Spare &spare = *new Spare;
    return spare;
  }
};

std::unique_ptr<LaunchMemory> LaunchMemory::take() {
  std::lock_guard lock(all().mutex);
  auto &memories = all().memories;
  if (memories.empty())
    return std::make_unique<LaunchMemory>();
  auto memory = std::move(memories.back());
  memories.pop_back();
  return memory;
}

void LaunchMemory::consumerRelease(std::unique_ptr<LaunchMemory> memory) {
  std::lock_guard lock(all().mutex);
  all().memories.push_back(std::move(memory));
}

class BlockRunner {
public:
  BlockRunner(const Launch &launch, Calls &calls, std::span<std::byte> shared,
              const std::function<void()> &thread)
      : launch(launch), calls(calls), shared(shared), thread(thread),
        memory(LaunchMemory::take()), random(launch.seed) {
    setSizes();
    calls.syncBlock = [] { current->wait(State::InBlock); };
    calls.gather = [](unsigned lanes, const void *mine, unsigned bytes) {
      return current->gather(lanes, mine, bytes);
    };
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
    calls.thread = &place;
    current = this;
  }
  /// Where threads have not come to their end, their stacks are of no use.
  ~BlockRunner() {
    if (failure.empty())
      LaunchMemory::consumerRelease(std::move(memory));
  }
  BlockRunner(const BlockRunner &) = delete;

  std::string runBlock(Index block);

private:
  /// What is done on a stack: one thread after the other, as long as it is not
  /// taken by one that waits.
  static void start() {
    for (;;)
      runThread();
  }
  /// Not a part of the loop: the next may be of a launch of another thread of
  /// the process, which has a `current` of its own.
  [[gnu::noinline]] static void runThread() {
    current->thread();
    current->end();
  }
  size_t indexOf(const Fiber &fiber) const { return &fiber - fibers.data(); }
  void setSizes();
  void setBarrierCalls();
  void prepare(Index block);
  void beginTurns();
  size_t laneAt(size_t turn) const {
    return (begin + turn * step) % lanesOfWarp;
  }
  Fiber *nextLane();
  void changeTo(Fiber &fiber, void *&from);
  void setRunning(Fiber &fiber);
  void wait(State state);
  void end();
  const void *gather(unsigned lanes, const void *mine, unsigned bytes);
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
  bool releaseWarp();
  void exchange(unsigned part);
  void runWarp(unsigned first);
  std::string waitOf(const Fiber &fiber) const;
  std::string whoWaits() const;

  const Launch &launch;
  Calls &calls;
  std::span<std::byte> shared;
  const std::function<void()> &thread;
  std::unique_ptr<LaunchMemory> memory;
  std::vector<Fiber> &fibers = memory->fibers;
  std::vector<State> &states = memory->states;
  std::vector<Offer> &offers = memory->offers;
  std::vector<void *> &places = memory->places;
  std::vector<std::byte> &dynamic = memory->dynamic, &seen = memory->seen;
  std::mt19937_64 random;
  BlockBarriers barriers;
  ThreadPlace place; ///< Of the running thread.
  Fiber *running = nullptr;
  // The warp that runs: its first fiber, its lanes, and the order of these, of
  // which `turn` have had theirs.
  size_t first = 0, lanes = 0, begin = 0, step = 1, turn = 0;
  std::string failure; ///< Of a thread: the launch ends.
  void *scheduler = nullptr;

  // Asked for at every call of a kernel: no function has to find it.
  [[gnu::tls_model("initial-exec")]] static thread_local BlockRunner *current;
};

thread_local BlockRunner *BlockRunner::current = nullptr;

void BlockRunner::setSizes() {
  Index size = launch.blockSize;
  size_t threads = size_t(size.x) * size.y * size.z;
  fibers.resize(threads), states.resize(threads), offers.resize(threads);
  places.resize(threads);
  for (unsigned i = 0; i < threads; ++i)
    fibers[i].thread = {i % size.x, i / size.x % size.y, i / size.x / size.y};
  dynamic.resize(launch.sharedBytes), seen.resize(launch.sharedBytes);
  place.blockSize = size, place.gridSize = launch.gridSize;
}

void BlockRunner::prepare(Index block) {
  std::ranges::fill(shared, unwritten);
  std::ranges::fill(dynamic, unwritten);
  std::ranges::fill(seen, unwritten);
  barriers.begin(shared, {dynamic, seen}, static_cast<unsigned>(fibers.size()));
  std::ranges::fill(states, State::Ready);
  place.block = block;
}

void BlockRunner::setRunning(Fiber &fiber) {
  running = &fiber;
  place.thread = fiber.thread;
}

/// `from` is where who runs now goes on later.
void BlockRunner::changeTo(Fiber &fiber, void *&from) {
  void *place = places[indexOf(fiber)];
  if (!place) {
    if (memory->spare.empty()) {
      memory->stacks.push_back(std::make_unique<FiberStack>());
      memory->spare.push_back(memory->stacks.back()->begin(&start));
    }
    place = memory->spare.back();
    memory->spare.pop_back();
  }
  // Of the one after it.
  __builtin_prefetch(places[first + laneAt(turn) % lanes]);
  setRunning(fiber);
  FiberStack::change(from, place);
}

/// Of a fiber: stops until it may go on. The next lane goes on from here,
/// without the scheduler, which is there for what a warp cannot do alone.
void BlockRunner::wait(State state) {
  Fiber &self = *running;
  size_t index = indexOf(self);
  states[index] = state;
  Fiber *next = nextLane();
  if (!next)
    FiberStack::change(places[index], scheduler);
  else if (next != &self)
    changeTo(*next, places[index]);
}

/// Of a fiber: its thread is done. Another that has not begun is next on its
/// stack, at once if that is the next lane: threads that never wait need no
/// stacks of their own.
void BlockRunner::end() {
  size_t index = indexOf(*running);
  states[index] = State::Ended;
  running->copies.clear(), running->groups.clear();
  places[index] = nullptr;
  Fiber *next = nextLane();
  if (next && !places[indexOf(*next)])
    return setRunning(*next);
  void *&place = memory->spare.emplace_back();
  if (next)
    changeTo(*next, place);
  else
    FiberStack::change(place, scheduler);
}

const void *BlockRunner::gather(unsigned lanes, const void *mine,
                                unsigned bytes) {
  if (bytes > mostBytesOfLane)
    fail("gives its warp " + std::to_string(bytes) + " bytes at once");
  offers[indexOf(*running)] = {lanes, bytes, mine};
  wait(State::InWarp);
  return memory->brought.data();
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
  failure = "thread " + std::to_string(running->thread.x) + " " + error;
  wait(State::Ended);
}

void BlockRunner::setBarrierCalls() {
  calls.beginBarrier = [](void *barrier, unsigned arrivals) {
    unsigned thread = unsigned(current->running - current->fibers.data());
    current->fail(current->barriers.beginBarrier(barrier, arrivals, thread));
  };
  calls.fenceBarrierInit = [] {
    unsigned thread = unsigned(current->running - current->fibers.data());
    current->barriers.fenceBarrierInit(thread);
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
  calls.namedBarrierSync = [](unsigned barrier, unsigned threads) {
    current->come(barrier, threads, true);
  };
  calls.namedBarrierArrive = [](unsigned barrier, unsigned threads) {
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
  calls.fenceProxyAsync = [] {
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
    failure = "TMA " + error;
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
              std::to_string(fiber.thread.x) + " " + wait;
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

/// Lets the lanes `part`, which all have come, have what each of them brought.
/// Those that have ended brought zeros.
void BlockRunner::exchange(unsigned part) {
  const Offer *offer = &offers[first];
  size_t bytes = offer[std::countr_zero(part)].bytes;
  std::byte *to = memory->brought.data();
  if (part != ~0U)
    std::memset(to, 0, lanesOfWarp * bytes);
  for (size_t lane = 0; lane < lanes; ++lane)
    if (part >> lane & 1) {
      if (bytes == sizeof(float)) // Nearly always; no call then.
        std::memcpy(to + lane * sizeof(float), offer[lane].mine, sizeof(float));
      else if (bytes > 0)
        std::memcpy(to + lane * bytes, offer[lane].mine, bytes);
      states[first + lane] = State::Ready;
    }
}

/// Lets the first lanes of the warp that exchange with each other go on.
bool BlockRunner::releaseWarp() {
  unsigned running = 0, inWarp = 0;
  for (size_t lane = 0; lane < lanes; ++lane) {
    State state = states[first + lane];
    running |= unsigned(state != State::Ended) << lane;
    inWarp |= unsigned(state == State::InWarp) << lane;
  }
  while (inWarp) {
    unsigned asks = offers[first + std::countr_zero(inWarp)].lanes;
    unsigned asked = 0; // Those that exchange with just these lanes.
    for (size_t lane = 0; lane < lanes; ++lane)
      asked |=
          unsigned((inWarp >> lane & 1) && offers[first + lane].lanes == asks)
          << lane;
    if ((asks & running) == asked) {
      exchange(asked);
      return true;
    }
    inWarp &= ~asked;
  }
  return false;
}

/// The lanes take turns in one of the orders that step by an odd number.
void BlockRunner::beginTurns() {
  uint64_t drawn = random();
  begin = drawn / lanesOfWarp;
  step = drawn % lanesOfWarp | 1;
  turn = 0;
}

/// The lane of the warp that runs next; null: it waits for the block.
Fiber *BlockRunner::nextLane() {
  while (failure.empty()) {
    while (turn < lanesOfWarp) {
      size_t lane = laneAt(turn++);
      if (lane < lanes && states[first + lane] == State::Ready)
        return &fibers[first + lane];
    }
    if (!releaseWarp())
      break;
    beginTurns();
  }
  return nullptr;
}

/// Runs a warp as far as it comes without the rest of its block.
void BlockRunner::runWarp(unsigned firstOfWarp) {
  first = firstOfWarp;
  lanes = std::min<size_t>(lanesOfWarp, fibers.size() - first);
  beginTurns();
  if (Fiber *next = nextLane())
    changeTo(*next, scheduler);
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
