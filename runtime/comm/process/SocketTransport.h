//===- SocketTransport.h - Messages through TCP -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For launchers that name a master and nothing else, as torchrun does; needs
/// nothing installed. Every process listens; rank 0 listens at the master's
/// port, collects where the others listen and tells all; then each pair makes
/// one connection, the higher rank to the lower.
///
/// A message is a header (channel, tag, bytes) and its bytes. One thread of the
/// process reads all connections; what nobody has asked for yet is kept. There
/// is no authentication: use it in networks that you trust, as you would MPI.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_PROCESS_SOCKETTRANSPORT_H
#define HOCKET_RUNTIME_COMM_PROCESS_SOCKETTRANSPORT_H

#include "runtime/comm/process/Launch.h"
#include "runtime/comm/process/Transport.h"

namespace hocket::comm {

/// Connects the processes of `launch`, which has an address and a port. Waits
/// up to `seconds` for all of them; Unavailable names what did not come.
StatusOr<std::unique_ptr<Transport>> createSocketTransport(const Launch &launch,
                                                           double seconds = 60);

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_PROCESS_SOCKETTRANSPORT_H
