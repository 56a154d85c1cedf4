//===- TorchStore.h - The store of torchrun's agent -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// torchrun's agent keeps a table of keys and values at MASTER_ADDR and
/// MASTER_PORT, by which its workers find each other: c10d's TCPStore. Its
/// protocol, since PyTorch 2.1 and for both of its servers
/// (torch/csrc/distributed/c10d/TCPStoreBackend.cpp and TCPStore.cpp), is, in
/// the machine's byte order:
///
///   query     u8 kind, then its arguments; text is u64 length and bytes
///   VALIDATE  0: u32 0x3C85F7CE; the first of a connection, not answered
///   SET       1: text key, text value; not answered
///   GET       3: text key; answered by a text. Only of a key that is there
///   CHECK     5: u64 count, as many text keys; answered by u8 0 if all are
///             there, 1 if not
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_PROCESS_TORCHSTORE_H
#define HOCKET_RUNTIME_COMM_PROCESS_TORCHSTORE_H

#include "runtime/comm/process/Socket.h"

#include <optional>

namespace hocket::comm {

/// A client of the store. One thread at a time.
class TorchStore {
public:
  /// Tries for `seconds`, as the agent may not listen yet.
  static StatusOr<TorchStore> connect(const std::string &host, uint16_t port,
                                      double seconds);

  /// Comes back when the store has it.
  Status set(const std::string &key, const std::string &value);

  /// Nothing if the key is not there. Unavailable, naming the store, for an
  /// answer that no store gives, or a value of more than 4096 bytes.
  StatusOr<std::optional<std::string>> get(const std::string &key);

  /// This process's end of the connection.
  Endpoint ownEnd() const { return localEnd(socket); }

private:
  TorchStore(Socket socket, std::string name)
      : socket(std::move(socket)), name(std::move(name)) {}

  Status ask(const std::string &query, std::span<char> answer);
  StatusOr<bool> has(const std::string &key);
  Status nonsense(const std::string &what) const;

  Socket socket;
  std::string name; ///< "host:port"
};

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_PROCESS_TORCHSTORE_H
