//===- NcclMeeting.h - What ranks of a communicator do together -*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A collective has a side for each rank, a message two. It happens at once
/// when the last side's stream has come to it; from the moment at which the
/// first has, until then, there is garbage where results are to be.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_EMULATOR_LIBRARIES_NCCLMEETING_H
#define HOCKET_TEST_EMULATOR_LIBRARIES_NCCLMEETING_H

#include "runtime/comm/interfaces/CollectiveCall.h"
#include "test/emulator/libraries/Gpu.h"

#include <atomic>
#include <deque>
#include <map>
#include <optional>

namespace hocket::emulator {

/// Whether a rank's communicator has been aborted. What others do together with
/// it then never happens, as its memory may be gone.
using AbortFlag = std::shared_ptr<std::atomic<bool>>;

/// Sets it, once nothing that the rank has a part in is happening.
void abortMember(const AbortFlag &flag);

/// One collective or message of a communicator. Its sides are, of a collective,
/// all ranks by their numbers; of a message the sender and the receiver. Any
/// thread.
class JointWork {
public:
  virtual ~JointWork() = default;
  /// A side's stream has come. Empty, or what does not fit the others.
  virtual std::string arrive(unsigned side, const comm::CollectiveCall &call,
                             const AbortFlag &aborted) = 0;
  virtual bool isOver() = 0;
  /// The work of one launch of the graphs that this was captured by, which each
  /// side takes once.
  virtual std::shared_ptr<JointWork> again(uint64_t launch) = 0;
};

/// Work that happens in this process.
class SharedWork : public JointWork {
public:
  SharedWork(bool isMessage, unsigned sides)
      : isMessage(isMessage), calls(sides), ends(sides) {}

  std::string arrive(unsigned side, const comm::CollectiveCall &call,
                     const AbortFlag &aborted) override;
  bool isOver() override { return over.load(); }
  std::shared_ptr<JointWork> again(uint64_t launch) override;

private:
  struct Launched {
    std::shared_ptr<SharedWork> work;
    size_t taken = 0;
  };
  std::string mismatch() const;
  void perform();

  const bool isMessage;
  std::mutex mutex;
  unsigned arrived = 0;
  std::vector<std::optional<comm::CollectiveCall>> calls;
  std::vector<AbortFlag> ends; ///< Of each side; null: it cannot be aborted.
  std::atomic<bool> over{false};
  std::map<uint64_t, Launched> launched; ///< By launch.
};

class NcclMeeting;

/// What several communicators of a GPU are told, or one by several streams, of
/// which one operation begins when the one issued before it is over. NCCL does
/// so with all that is issued to one communicator, or to several that share
/// resources. Any thread.
class LaunchOrder {
public:
  void add(std::shared_ptr<NcclMeeting> meeting);
  bool isNext(const NcclMeeting &meeting);

private:
  std::mutex mutex;
  std::deque<std::shared_ptr<NcclMeeting>> meetings;
};

/// What a rank has issued as one: it is over when all of it is, or when its
/// communicator has been aborted.
class NcclMeeting : public Meeting,
                    public std::enable_shared_from_this<NcclMeeting> {
public:
  struct Part {
    std::shared_ptr<JointWork> work;
    unsigned side = 0;
    comm::CollectiveCall call;
    AbortFlag aborted;
    /// The communicator's, held by whatever graph has this.
    std::weak_ptr<void> captures = {};
    std::shared_ptr<LaunchOrder> order = nullptr; ///< The communicator's.
    unsigned blocks = 0;                          ///< Of its kernel.
  };
  explicit NcclMeeting(std::vector<Part> parts) : parts(std::move(parts)) {}
  unsigned blocks() const override;
  void issue() override;
  bool mayBegin() override;
  std::string arrive() override;
  bool isOver() const override;
  void capture() override;
  std::shared_ptr<Meeting> again(uint64_t launch) override;

private:
  std::vector<Part> parts;
  std::vector<std::shared_ptr<void>> held;
};

/// Bytes that a side reads and writes.
uint64_t bytesFrom(const comm::CollectiveCall &call, unsigned ranks);
uint64_t bytesTo(const comm::CollectiveCall &call, unsigned ranks);

/// Puts garbage where a side's result is to be, unless it works in place.
void spoilResult(const comm::CollectiveCall &call, unsigned ranks);

} // namespace hocket::emulator

#endif // HOCKET_TEST_EMULATOR_LIBRARIES_NCCLMEETING_H
