//===- CapturedEntry.h - An entry that the device has captured --*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A captured entry is one operation of the device (hal/interfaces/Device.h).
/// What the host gives it is put into memory that the device reads before it
/// begins; what it gives the host is there when it is over. Calls that are told
/// the number of the step are run again before, to update what was captured.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_EXECUTOR_CAPTUREDENTRY_H
#define HOCKET_RUNTIME_EXECUTOR_CAPTUREDENTRY_H

#include "runtime/executor/HostChannel.h"
#include "runtime/hal/interfaces/Device.h"
#include "runtime/program/program.pb.h"

#include <set>
#include <vector>

namespace hocket {

class PreparedCall;
struct RunContext;

class CapturedEntry {
public:
  /// With room for the inputs and outputs of a run of the entry, before the
  /// device captures.
  static StatusOr<CapturedEntry> create(hal::Device &device,
                                        const program::Role &role,
                                        const program::Entry &entry);

  /// While the device captures: notes an input or an output; the memory that
  /// a copy is to use. `name` and `shards` outlive this.
  StatusOr<void *> add(bool isInput, const HostOutput &what);

  /// The same: notes a call that is told the step.
  void addVarying(PreparedCall &call, const RunContext &context);

  /// The same: whether a stream waits for the last record of an event, which
  /// has been captured, too; what was before is over when this is replayed.
  void noteRecord(uint32_t event) { events.insert(event); }
  bool waitsFor(uint32_t event) const { return events.contains(event); }

  /// The device has captured everything, as `graph`, and communicators
  /// have under `messages`.
  void close(hal::GraphId graph, unsigned messages) {
    id = graph, communication = messages;
  }
  unsigned messages() const { return communication; }

  /// Does what was captured, from its inputs to its outputs, as the step and
  /// the seed of `first` want it.
  Status replay(const RunContext &first);

private:
  explicit CapturedEntry(hal::Device &device) : device(&device) {}

  struct Copy {
    HostOutput what;
    std::span<std::byte> memory;
  };
  /// All of an output is on the host: gives the host what it wants of it.
  static Status tell(HostChannel &host, const Copy &output);

  hal::Device *device;
  std::span<std::byte> room; ///< Not given to copies yet.
  hal::GraphId id = 0;
  unsigned communication = 0;
  std::set<uint32_t> events;
  std::vector<Copy> inputs, outputs; ///< In program order.
  struct Varying {
    PreparedCall *call;
    uint32_t microbatch, slot;
    bool isFirstRun;
  };
  std::vector<Varying> varying; ///< In program order.
};

/// Collectives and exchanges of a run of the entry.
size_t countMessages(const program::Role &role, const program::Entry &entry);

/// Why a run of the entry is not work that the device can do alone, where
/// communicators are not the device's; empty if it is.
std::string obstacleToCapture(const program::Role &role,
                              const program::Entry &entry);

/// The same where they are: the first instruction before which the host must
/// read how much is sent.
std::string obstacleOfCounts(const program::Role &role,
                             const program::Entry &entry);

} // namespace hocket

#endif // HOCKET_RUNTIME_EXECUTOR_CAPTUREDENTRY_H
