//===- MpiTransport.h - Messages through MPI --------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_MPI_MPITRANSPORT_H
#define HOCKET_RUNTIME_COMM_MPI_MPITRANSPORT_H

#include "runtime/comm/process/Transport.h"

namespace hocket::comm {

/// Loads the module hocket-comm-mpi.so and starts MPI; once in a process. The
/// module is looked for beside the program, in ../lib and in ../../lib, or
/// where HOCKET_MPI_MODULE says. FailedPrecondition if it is not there, MPI
/// does not start, or not for several threads.
StatusOr<std::unique_ptr<Transport>> createMpiTransport();

/// Where the module is; empty if it is nowhere.
std::string findMpiModule();

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_MPI_MPITRANSPORT_H
