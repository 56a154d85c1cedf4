//===- Device.h - What a driver offers to the executor ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A Device is one arena of memory and a few streams that work on it.
///
/// **Memory.** allocateArena() is called once. All operands are byte ranges of
/// the arena, so a range means the same on every device.
///
/// **Order.** Operations issued to one stream happen in the order of issue.
/// Two streams are ordered only by events: what follows `wait(s, e)` on s comes
/// after what preceded the last `record(t, e)` on t. Waiting for an event that
/// was never recorded does not wait.
///
/// **Time.** An operation may still run when its call returns. Its errors may
/// appear at any later call, at the latest in synchronize(). Host memory given
/// to copyFromHost() is free again on return; that of copyToHost() holds the
/// data after synchronize() of the stream.
///
/// **CUDA graphs.** Where canCapture(), what is issued between beginCapture()
/// and endCapture() is kept and not done; no stream waits for events from
/// before. replay() does it as one operation of stream 0. Meanwhile nothing is
/// synchronised, and host memory that is copied comes from
/// allocateHostMemory(), called before: every replay reads or writes it anew.
/// Launches and library ops whose scalars vary say so: between beginUpdate()
/// and replay() they are called again, in the same order and with nothing else
/// changed, which gives those captured their new scalars and issues nothing.
///
/// **Played time.** A device that computes nothing may play that things take
/// time. Then every stream has a clock, which stands until an operation of the
/// stream moves it on, and nobody sleeps: whoever brings streams or ranks
/// together also brings their clocks together, with reachTime(). What is played
/// depends on the program alone.
///
/// **Errors.** Every call checks its arguments before the driver sees them: a
/// stream, event, module or kernel that does not exist, or a range outside the
/// arena, is InvalidArgument and nothing happens. A Device never aborts.
///
/// **Threads.** One thread at a time sets a Device up, and uses a stream of it;
/// streams may have a thread each. Launches, GEMMs and library ops of all
/// streams are one thread's.
///
/// A driver implements the `do...` functions and joins test/runtime/hal by one
/// line; the null driver is the one to copy.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_HAL_INTERFACES_DEVICE_H
#define HOCKET_RUNTIME_HAL_INTERFACES_DEVICE_H

#include "base/Status.h"
#include "kernels/cuda/F8Gemms.h"
#include "kernels/library/Library.h"
#include "kernels/reference/Gemm.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::hal {

using kernels::DType;

/// Indices that a Device has given out.
using StreamId = uint32_t;
using EventId = uint32_t;
using ModuleId = uint32_t;
using KernelId = uint32_t;
using GraphId = uint32_t;

/// What a device is, for people and for choosing code.
struct DeviceProperties {
  std::string driver;       ///< "cpu"
  std::string name;         ///< "Intel(R) Xeon(R) Processor"
  std::string isa;          ///< "amx"; empty where it means nothing
  unsigned workers = 1;     ///< threads, or multiprocessors
  uint64_t memoryBytes = 0; ///< of the whole device; 0 if not known
  bool computes = true;     ///< false: operations leave memory as it is
  /// Which operands of 8 bits gemm() takes; of a GPU, with sizes of multiples
  /// of 16 and bf16, f16 or f32 behind it.
  kernels::F8Layouts f8Layouts = kernels::F8Layouts::Any;
  /// Whether the host reads and writes the arena as its own memory.
  bool hostMemory = true;
  std::vector<std::string> moduleFormats; ///< that loadModule() takes
};

/// Bytes [offset, offset + bytes) of the arena.
struct Range {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// A typed range; bytes == 0 stands for an operand that is absent.
struct Operand {
  Range range;
  DType dtype = DType::F32;
};

/// One version of a module's native code; `image` need not outlive the call.
struct ModuleVariant {
  std::string_view isa;    ///< "x86-64-v3", "x86-64-v4"
  std::string_view format; ///< "elf-so"
  std::string_view image;
};

/// Runs tasks [0, tasks) of a kernel, split into ranges of at least `grain`; on
/// a GPU as many blocks of `threads` threads.
struct LaunchCall {
  KernelId kernel = 0;
  std::span<const Range> buffers;
  std::span<const int64_t> scalars;
  int64_t tasks = 0;
  int64_t grain = 1;
  uint32_t threads = 0;     ///< of a block; 0 on a processor
  uint32_t sharedBytes = 0; ///< dynamic shared memory of a block
  bool varies = false;      ///< scalars differ between replays
};

/// kernels/reference/Gemm.h with operands in the arena. Sizes in elements,
/// each from 1 to 2^31 - 1; ranges hold at least what they need.
struct GemmCall {
  uint64_t m = 0, n = 0, k = 0;
  bool transposeA = false, transposeB = false;
  bool packedB = false; ///< b holds the packed form; b.dtype is B's before it
  bool accumulate = false;
  float alpha = 1;
  kernels::Epilogue epilogue = kernels::Epilogue::None;
  Operand a, b, d;
  Operand bias, auxiliary, residual;   ///< bytes == 0: absent
  Operand preactivation, biasGradient; ///< bytes == 0: absent; GPUs only
  /// Of operands with 8-bit elements, an f32 each; bytes == 0: absent.
  Operand scaleA, scaleB;
};

/// An op of kernels/library/Library.h, whatever device implements it.
struct LibraryCall {
  const kernels::LibraryOp *op = nullptr;
  std::span<const Range> buffers;
  std::span<const int64_t> integers;
  std::span<const double> floats;
  std::span<const int64_t> scalars;
  bool accumulate = false;
  bool varies = false; ///< scalars differ between replays
};

class Device {
public:
  virtual ~Device() = default;

  virtual const DeviceProperties &properties() const = 0;

  /// Allocates the arena, zeroed, aligned to 4096. Once. ResourceExhausted if
  /// the device has not that much.
  Status allocateArena(uint64_t bytes);
  uint64_t arenaBytes() const { return arenaSize; }

  /// What has been allocated of the device's memory for the program.
  virtual uint64_t allocatedBytes() const { return arenaSize; }

  /// The end of the last byte of the arena that any call has named, or
  /// noteUse() for a communicator: what of it was needed so far.
  uint64_t touchedBytes() const { return touched; }
  void noteUse(Range range) const;

  /// Where the arena starts, in the device's address space, for communicators
  /// that work on the device's memory themselves. Null if there is no memory.
  virtual void *arenaAddress() const = 0;
  /// What the driver's library calls the stream, for those communicators. Null
  /// if there is nothing of the kind.
  virtual void *nativeStream(StreamId) const { return nullptr; }

  /// Makes streams 0 .. streams-1 and events 0 .. events-1. Once.
  Status createQueues(uint32_t streams, uint32_t events);

  uint32_t streams() const { return streamCount; }

  /// Ensures scratch memory of `bytes` for each worker; on a GPU, which works
  /// on one operation with scratch memory at a time, once.
  Status reserveScratch(uint64_t bytes);

  /// Loads the first variant that this device can run (they are listed best
  /// first); lives as long as the device. FailedPrecondition names what is
  /// offered and what the device takes if there is none.
  StatusOr<ModuleId> loadModule(const std::string &name,
                                std::span<const ModuleVariant> variants);

  /// NotFound if the module has no such symbol.
  StatusOr<KernelId> findKernel(ModuleId module, const std::string &symbol);

  /// Lets the device try how to compute GEMMs that gemm() will be asked for,
  /// all of which it would take. Before there is anything in the arena, which
  /// is written, and zeros again on return; after createQueues() and
  /// reserveScratch().
  Status prepareGemms(std::span<const GemmCall> calls);

  /// Lets the device look up what library() will be asked for, so that code is
  /// loaded while nothing runs: loading may wait for all that does. What
  /// library() would refuse is left to it.
  Status prepareLibrary(std::span<const LibraryCall> calls);

  Status launch(StreamId stream, const LaunchCall &call);
  Status gemm(StreamId stream, const GemmCall &call);
  Status library(StreamId stream, const LibraryCall &call);

  /// Ranges of equal size that do not overlap.
  Status copy(StreamId stream, Range from, Range to);
  Status fill(StreamId stream, Range range, uint8_t value);
  Status copyFromHost(StreamId stream, const void *from, Range to);
  Status copyToHost(StreamId stream, Range from, void *to);

  /// `bytes` have just travelled between this rank and others on behalf of
  /// `stream`: a device that plays time takes as long as that would have.
  Status travelled(StreamId stream, uint64_t bytes);

  /// Whether time is played; if not, the clocks stand at 0 for ever.
  virtual bool playsTime() const { return false; }
  /// What the clock of an existing stream shows, in seconds since
  /// createQueues().
  double time(StreamId stream) const { return clocks[stream]; }
  /// Moves the clock of an existing stream to `seconds`, unless it is there or
  /// further. Each clock is its stream's thread's.
  void reachTime(StreamId stream, double seconds) {
    clocks[stream] = std::max(clocks[stream], seconds);
  }
  /// Moves all clocks to that of the last; when nothing runs.
  void joinTimes();

  Status record(StreamId stream, EventId event);
  Status wait(StreamId stream, EventId event);

  virtual bool canCapture() const { return false; }
  /// FailedPrecondition unless canCapture(), and while something is captured.
  /// Everything that is to be captured has run before.
  Status beginCapture();
  /// Ends it, whatever came of it; an error if it cannot be replayed.
  StatusOr<GraphId> endCapture();
  /// The next replay is to be of this graph.
  Status beginUpdate(GraphId graph);
  /// An error if an update is not complete.
  Status replay(GraphId graph);
  /// Host memory for copies that are captured; lives as long as the device.
  /// FailedPrecondition while something is captured.
  StatusOr<void *> allocateHostMemory(uint64_t bytes);

  /// Waits for everything issued to the stream, or to all streams.
  Status synchronize(StreamId stream);
  Status synchronize();

protected:
  // The driver's part. Arguments are checked.
  virtual Status doAllocateArena(uint64_t bytes) = 0;
  virtual Status doCreateQueues(uint32_t streams, uint32_t events) = 0;
  virtual Status doReserveScratch(uint64_t bytes) = 0;
  virtual Status doLoadModule(const std::string &name,
                              std::span<const ModuleVariant> variants) = 0;
  virtual Status doFindKernel(ModuleId module, const std::string &symbol) = 0;
  virtual Status doPrepareGemms(std::span<const GemmCall>) {
    return okStatus();
  }
  virtual Status doPrepareLibrary(std::span<const LibraryCall>) {
    return okStatus();
  }
  virtual Status doLaunch(StreamId stream, const LaunchCall &call) = 0;
  virtual Status doGemm(StreamId stream, const GemmCall &call) = 0;
  virtual Status doLibrary(StreamId stream, const LibraryCall &call) = 0;
  virtual Status doCopy(StreamId stream, Range from, Range to) = 0;
  virtual Status doFill(StreamId stream, Range range, uint8_t value) = 0;
  virtual Status doCopyFromHost(StreamId stream, const void *from,
                                Range to) = 0;
  virtual Status doCopyToHost(StreamId stream, Range from, void *to) = 0;
  virtual Status doTravelled(StreamId, uint64_t) { return okStatus(); }
  virtual Status doRecord(StreamId stream, EventId event) = 0;
  virtual Status doWait(StreamId stream, EventId event) = 0;
  virtual Status doSynchronize(StreamId stream) = 0;
  virtual Status doBeginCapture() { return cannotCapture(); }
  virtual Status doEndCapture() { return cannotCapture(); }
  virtual Status doBeginUpdate(GraphId) { return cannotCapture(); }
  virtual Status doReplay(GraphId) { return cannotCapture(); }
  virtual StatusOr<void *> doAllocateHostMemory(uint64_t) {
    return cannotCapture();
  }

  bool isCapturing() const { return capturing; }
  Status cannotCapture() const;

  /// Moves a stream's clock on.
  void takeTime(StreamId stream, double seconds) { clocks[stream] += seconds; }

private:
  Status checkStream(StreamId stream) const;
  Status checkEvent(EventId event) const;
  Status checkRange(const char *what, Range range) const;
  Status checkOperand(const char *what, const Operand &operand,
                      uint64_t elements, bool factor = false) const;
  Status checkOperandTypes(const GemmCall &call) const;
  Status checkGemm(const GemmCall &call) const;
  Status checkGraph(GraphId graph) const;

  bool hasArena = false, hasQueues = false;
  uint64_t arenaSize = 0;
  mutable std::atomic<uint64_t> touched = 0;
  uint32_t streamCount = 0, eventCount = 0;
  std::vector<double> clocks; ///< Seconds by stream.
  uint32_t moduleCount = 0, kernelCount = 0, graphCount = 0;
  bool capturing = false;
};

} // namespace hocket::hal

#endif // HOCKET_RUNTIME_HAL_INTERFACES_DEVICE_H
