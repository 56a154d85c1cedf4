//===- Gpu.h - An emulated GPU ----------------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Streams keep what they are given and do none of it until somebody waits for
/// them. Then they advance in an order drawn from a seed, which changes between
/// four ways of being unkind:
///
///   any     one of those that can go on, at random
///   late    only what is waited for and what that waits for: what another
///           stream should have done before, without an event, is missing
///   early   the others first, as far as events let them: what another stream
///           should do only later has happened already
///   amid    as early, but in the midst of what several GPUs do together
///
/// What streams of several GPUs do together happens when the last of them has
/// come to it. Late and early hold everything else back until then, as long as
/// other GPUs do something. A GPU that waits for others which do nothing lets
/// them advance, though nobody waits for those.
///
/// Each of these may take some of the GPU's multiprocessors, as the blocks of
/// its kernel would. When there are too few left, those that streams come to
/// next wait until one is over, also if that waits for a GPU of which it is the
/// other way round.
///
/// An error of a kernel stays, as on a GPU: every later call fails.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_EMULATOR_LIBRARIES_GPU_H
#define HOCKET_TEST_EMULATOR_LIBRARIES_GPU_H

#include "test/emulator/libraries/GpuMemory.h"
#include "test/emulator/libraries/Graph.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <utility>

namespace hocket::emulator {

struct Event {
  uint64_t recorded = 0; ///< How often a stream was told to record it.
  uint64_t reached = 0;  ///< The last of these that a stream has come to.
  uint64_t capture = 0;  ///< In which it was recorded last; 0: in none.
  size_t node = 0;       ///< Of that graph.
  double micros = 0;     ///< When it came to that, by the GPU's clock.
};

/// What streams of several GPUs do together, as one of them sees it. Has its
/// own lock.
class Meeting {
public:
  virtual ~Meeting() = default;
  /// Multiprocessors that it takes until it is over.
  virtual unsigned blocks() const = 0;
  /// A stream has been given it.
  virtual void issue() = 0;
  /// Whether all that must be over before it is.
  virtual bool mayBegin() = 0;
  /// The stream has come to it, and it may begin.
  virtual std::string arrive() = 0;
  virtual bool isOver() const = 0;
  /// It is a graph's from now on, and does not happen itself.
  virtual void capture() = 0;
  /// What happens at one launch of that.
  virtual std::shared_ptr<Meeting> again(uint64_t launch) = 0;
};

struct Stream {
  struct Entry {
    Work work; ///< Null: an event or a meeting.
    std::shared_ptr<Event> event;
    bool records = false;
    uint64_t ticket = 0;
    std::shared_ptr<Meeting> meeting = nullptr;
    bool arrived = false;
  };
  std::deque<Entry> entries;
  Graph *capture = nullptr; ///< That it adds to; null: it keeps nothing.
  size_t branch = 0;        ///< Of that graph.
};

class Gpu {
public:
  Gpu(size_t memoryBytes, uint64_t seed, unsigned multiprocessors);
  ~Gpu();

  /// Held by whoever calls any of what follows.
  std::mutex mutex;

  GpuMemory memory;

  /// A clock that work with a time of its own moves on.
  double micros = 0;

  void enqueue(Stream &stream, Work work);
  void record(Stream &stream, std::shared_ptr<Event> event);
  /// False: a captured stream cannot wait for what is not captured, and no
  /// other for what was.
  bool wait(Stream &stream, std::shared_ptr<Event> event);
  void meet(Stream &stream, std::shared_ptr<Meeting> meeting);

  /// Until the end of a capture, its streams keep what they are given.
  void beginCapture(Stream &stream, Graph &graph);
  void endCapture(Graph &graph);
  /// The capture, which goes on, in which the event was recorded last; or null.
  Graph *captureOf(const Event &event) const;
  /// Has `stream` do what was kept, all branches of it as one thing.
  void launch(Graph &graph, Stream &stream);

  /// Lets streams advance until `stream` is empty, `event` has been reached as
  /// often as it was recorded, or everything is done.
  void finish(Stream &stream);
  void finish(const Event &event);
  void finish();
  /// Lets a stream advance, if one can, while the host waits for others.
  void goOn();

  /// Streams that take part; the first is the one without a name.
  std::vector<std::unique_ptr<Stream>> streams;

  /// A number for the order of threads in the next kernel.
  uint64_t draw() { return random(); }

  /// What a kernel did wrong first, or empty.
  const std::string &error() const { return failure; }
  void fail(const std::string &what) {
    if (failure.empty())
      failure = what;
  }

private:
  using Done = std::function<bool()>;
  void advanceUntil(const Done &done, const Stream *target);
  bool holdsBack(const Stream *target);
  bool canAdvance(const Stream &stream) const;
  bool canBegin(Meeting &meeting) const;
  bool isInMeeting(const Stream &stream) const;
  std::pair<uint64_t, bool> lookAtOthers() const;
  bool othersGoOn();
  void letOthersAdvance();
  void advance(Stream &stream);
  Stream *choose(const Stream *target);
  Stream *wanted(const Stream *target);
  Stream *neededBy(const Stream &target, size_t depth);

  enum class Order { Any, Late, Early, Amid } order = Order::Any;
  /// That nothing is held back for any more.
  std::shared_ptr<Meeting> givenUp;
  uint64_t deedsOfOthers = 0;     ///< After which they did nothing for a while.
  std::atomic<uint64_t> deeds{0}; ///< What this GPU was told or did so far.
  std::atomic<bool> waits{false}; ///< Until others do something.
  std::mt19937_64 random;
  const unsigned multiprocessors;
  std::string failure;
};

} // namespace hocket::emulator

#endif // HOCKET_TEST_EMULATOR_LIBRARIES_GPU_H
