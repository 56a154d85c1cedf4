//===- HostChannel.h - Data in, numbers out ---------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_EXECUTOR_HOSTCHANNEL_H
#define HOCKET_RUNTIME_EXECUTOR_HOSTCHANNEL_H

#include "base/Status.h"
#include "runtime/program/program.pb.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hocket {

/// A box of the global microbatch [sequences, positions].
struct HostShard {
  std::vector<int64_t> start; ///< One a dim.
  std::vector<uint64_t> size;
};

/// What a program asks for.
struct HostInput {
  const std::string &name;
  uint32_t microbatch = 0;
  /// The parts of the global input that this rank holds, one behind the other
  /// along the last dim; empty: all of it.
  std::span<const HostShard> shards;
};

/// What a program tells.
struct HostOutput {
  const std::string &name;
  uint32_t microbatch = 0;
  program::DType type = program::DTYPE_UNSPECIFIED; ///< Of its elements.
  uint64_t bytes = 0;
  /// Which parts of the global output these are, as of an input.
  std::span<const HostShard> shards;
};

struct ByteRange {
  uint64_t offset = 0, bytes = 0;
};

/// The other end of a program's host instructions, called by the thread that
/// runs the entry, in program order (what is of experts by the thread of its
/// stream). program.proto lists the names.
class HostChannel {
public:
  virtual ~HostChannel() = default;

  /// Fills all of `data` with the input.
  virtual Status provide(const HostInput &input, std::span<std::byte> data) = 0;

  /// Which bytes of an output receive() is to be given, inside of it: all of
  /// them, if nobody says otherwise; none: it is not called.
  virtual std::vector<ByteRange> wanted(const HostOutput &output) {
    return {{0, output.bytes}};
  }

  /// Takes what was wanted of the output `name` of `microbatch`, one range
  /// behind the other; `data` is valid for the call.
  virtual Status receive(const std::string &name, uint32_t microbatch,
                         std::span<const std::byte> data) = 0;

  /// Where ranks exchange the rows of experts: for how many times the even
  /// share of rows this rank's experts have been chosen.
  virtual void noteExpertLoad(double) {}

  /// Where this rank's experts have been chosen for more rows than there is
  /// room for, which `why` says: an error ends the entry. Ok goes on without
  /// these rows: what the experts are given is NaN, and so is what becomes of
  /// it, so that the step's update is none.
  virtual Status beyondBound(const Status &why) { return why; }
};

/// Where nobody is to be asked: an Internal error if somebody is.
class NoHost : public HostChannel {
public:
  Status provide(const HostInput &input, std::span<std::byte>) override {
    return internalError("asked for '" + input.name +
                         "', but there is no host");
  }
  Status receive(const std::string &name, uint32_t,
                 std::span<const std::byte>) override {
    return internalError("given '" + name + "', but there is no host");
  }
};

} // namespace hocket

#endif // HOCKET_RUNTIME_EXECUTOR_HOSTCHANNEL_H
