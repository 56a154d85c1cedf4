//===- PreparedCall.h - Instructions, resolved ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_EXECUTOR_PREPAREDCALL_H
#define HOCKET_RUNTIME_EXECUTOR_PREPAREDCALL_H

#include "runtime/comm/interfaces/Communicator.h"
#include "runtime/executor/HostChannel.h"
#include "runtime/hal/interfaces/Device.h"
#include "runtime/program/program.pb.h"

#include <memory>
#include <vector>

namespace hocket {

/// What differs between two runs of one instruction.
struct RunContext {
  hal::Device &device;
  comm::Communicator &communicator;
  HostChannel &host;
  uint32_t microbatch = 0;
  uint32_t slot = 0;
  uint64_t step = 0; ///< Steps done before this one.
  uint64_t seed = 0;
};

/// An instruction whose names, types and offsets have been looked up.
class PreparedCall {
public:
  virtual ~PreparedCall() = default;
  virtual Status run(const RunContext &context) = 0;
};

/// What instructions are resolved against; outlives no prepareCall().
struct PreparationScope {
  const program::Program &program;
  const program::Role &role;
  /// The device's id of every kernel of the program.
  const std::vector<hal::KernelId> &kernels;
};

/// Resolves one instruction of a checked program (checkProgram()).
std::unique_ptr<PreparedCall>
prepareCall(const program::Instruction &instruction,
            const PreparationScope &scope);

} // namespace hocket

#endif // HOCKET_RUNTIME_EXECUTOR_PREPAREDCALL_H
