//===- MpiTable.h - What is used of MPI -------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The only thing that goes between Hocket and the module that is linked with
/// MPI, which is found and loaded when a launcher has started the process. So
/// one binary runs where there is no MPI.
///
/// Every function returns 0 or an MPI error code.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_MPI_MPITABLE_H
#define HOCKET_RUNTIME_COMM_MPI_MPITABLE_H

#include <cstddef>

extern "C" {

struct HocketMpiTable {
  int version; ///< hocketMpiTableVersion

  /// MPI_Init_thread; `*threads` becomes 0 if several may not call at once.
  int (*start)(int *threads);
  int (*rank)(int *rank);
  int (*size)(int *size);

  /// A communicator of all ranks that give the same `color`, ordered by
  /// `place`; a negative color is in none, and `*channel` becomes -1.
  int (*split)(int color, int place, int *channel);

  /// Starts a message of at most 2^31 - 1 bytes.
  int (*send)(int channel, int peer, const void *data, int bytes, int tag,
              void **request);
  int (*receive)(int channel, int peer, void *data, int bytes, int tag,
                 void **request);
  /// Whether it is over; then `request` is freed, and `*bytes` is what came.
  int (*test)(void *request, int *over, int *bytes);

  /// The largest tag.
  int (*tagLimit)(int *limit);
  int (*finish)();
  /// Text of an error code.
  void (*describe)(int code, char *text, size_t capacity);
};

/// The module's one symbol: "hocketMpiTable".
typedef const HocketMpiTable *(*HocketMpiTableFunction)();
}

inline constexpr int hocketMpiTableVersion = 1;

#endif // HOCKET_RUNTIME_COMM_MPI_MPITABLE_H
