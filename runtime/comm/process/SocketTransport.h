//===- SocketTransport.h - Messages through TCP -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For launchers that name a master and nothing else, as torchrun does; needs
/// nothing installed. Every process listens; rank 0 listens at the master's
/// port, or, where torchrun's store has that, where the store says; it collects
/// where the others listen and tells all; then each pair makes one connection,
/// the higher rank to the lower.
///
/// A message is a header (channel, tag, bytes) and its bytes. A thread for each
/// connection reads it; what nobody has asked for yet is kept, in memory that
/// grows as it comes, whatever the header says. There is no authentication: use
/// it in networks that you trust, as you would MPI.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_PROCESS_SOCKETTRANSPORT_H
#define HOCKET_RUNTIME_COMM_PROCESS_SOCKETTRANSPORT_H

#include "runtime/comm/process/SocketConnections.h"
#include "runtime/comm/process/Transport.h"

namespace hocket::comm {

/// Connects the processes of `launch`, which has an address and a port
/// (connectAll()).
StatusOr<std::unique_ptr<Transport>>
createSocketTransport(const Launch &launch, const ConnectOptions &options = {});

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_PROCESS_SOCKETTRANSPORT_H
