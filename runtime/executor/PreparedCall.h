//===- PreparedCall.h - Instructions, resolved ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_EXECUTOR_PREPAREDCALL_H
#define HOCKET_RUNTIME_EXECUTOR_PREPAREDCALL_H

#include "runtime/comm/interfaces/CommunicatorSet.h"
#include "runtime/executor/CapturedEntry.h"
#include "runtime/hal/interfaces/Device.h"
#include "runtime/program/program.pb.h"

#include <memory>
#include <vector>

namespace hocket {

/// What differs between two runs of one instruction.
struct RunContext {
  hal::Device &device;
  HostChannel &host;
  uint32_t microbatch = 0;
  uint32_t slot = 0;
  uint64_t step = 0; ///< Steps done before this one.
  uint64_t seed = 0;
  /// While the device captures: takes note of the host's part. Else null.
  CapturedEntry *capture = nullptr;
  /// Of its sequence in the entry: sums over runs are set, not added to.
  bool isFirstRun = true;
};

/// An instruction whose names, types and offsets have been looked up.
class PreparedCall {
public:
  virtual ~PreparedCall() = default;
  virtual Status run(const RunContext &context) = 0;
  /// The GEMM that a run would ask the device for, if it is one.
  virtual const hal::GemmCall *gemm(const RunContext &) { return nullptr; }
  /// The library op that it would ask for, if it is one.
  virtual const hal::LibraryCall *library(const RunContext &) {
    return nullptr;
  }
};

/// What instructions are resolved against; outlives no prepareCall().
struct PreparationScope {
  const program::Program &program;
  const program::Role &role;
  /// The device's id of every kernel of the program.
  const std::vector<hal::KernelId> &kernels;
  unsigned rank = 0;
  comm::CommunicatorSet &communicators;
};

/// A buffer's place in the arena, for any run.
struct BufferPlace {
  hal::Range first;
  uint64_t stride = 0; ///< 0: one copy.
  uint32_t copies = 0; ///< 0: a run's slot says which.
  hal::DType dtype = hal::DType::F32;
  uint64_t elements = 0; ///< Of its shape; bytes may be more.

  static BufferPlace of(const PreparationScope &scope, uint32_t buffer);

  hal::Range at(const RunContext &context) const {
    uint32_t copy = copies ? context.microbatch % copies : context.slot;
    return {first.offset + copy * stride, first.bytes};
  }
  hal::Operand operand(const RunContext &context) const {
    return {at(context), dtype};
  }
};

/// Resolves one instruction of a checked program (checkProgram()). Null for
/// events, which StreamQueues knows. Fails if the rank has no communicator
/// that the instruction needs.
StatusOr<std::unique_ptr<PreparedCall>>
prepareCall(const program::Instruction &instruction,
            const PreparationScope &scope);

/// The part of prepareCall() for collectives and transfers.
StatusOr<std::unique_ptr<PreparedCall>>
prepareCommunication(const program::Instruction &instruction,
                     const PreparationScope &scope);

} // namespace hocket

#endif // HOCKET_RUNTIME_EXECUTOR_PREPAREDCALL_H
