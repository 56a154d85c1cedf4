//===- NcclApi.h - What is used of NCCL -------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions of libnccl that Hocket calls, in one table, with the names and
/// numbers of nccl.h; no header of NCCL is needed to build. Where there is one,
/// a test compares both.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_NCCL_NCCLAPI_H
#define HOCKET_RUNTIME_COMM_NCCL_NCCLAPI_H

#include "runtime/cuda/DriverApi.h"

#include <cstdint>

namespace hocket::comm::nccl {

using hal::cuda::CUstream;

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's.
using ncclResult_t = int;
using ncclComm_t = struct ncclComm *;
using ncclDataType_t = int;
using ncclRedOp_t = int;

inline constexpr ncclResult_t ncclSuccess = 0;
inline constexpr ncclResult_t ncclInvalidArgument = 4;
inline constexpr ncclResult_t ncclInvalidUsage = 5;
inline constexpr ncclResult_t ncclInProgress = 7;

inline constexpr ncclDataType_t ncclUint8 = 1;
inline constexpr ncclDataType_t ncclInt32 = 2;
inline constexpr ncclDataType_t ncclFloat16 = 6;
inline constexpr ncclDataType_t ncclFloat32 = 7;
inline constexpr ncclDataType_t ncclBfloat16 = 9;

inline constexpr ncclRedOp_t ncclSum = 0;
inline constexpr ncclRedOp_t ncclMax = 2;

struct ncclUniqueId {
  char internal[128];
};

/// The beginning of NVIDIA's structure; it says how much of it there is, and
/// that `blocking` was its only choice then (version 2.14).
struct ncclConfig_t {
  size_t size = sizeof(ncclConfig_t);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;
  int cgaClusterSize = INT32_MIN; ///< In the place of padding: undefined.
};
// NOLINTEND(readability-identifier-naming)

#define HOCKET_NCCL_FUNCTIONS(ROW)                                             \
  ROW(ncclGetVersion, (int *version))                                          \
  ROW(ncclGetUniqueId, (ncclUniqueId * id))                                    \
  ROW(ncclCommInitRankConfig, (ncclComm_t * comm, int ranks, ncclUniqueId id,  \
                               int rank, ncclConfig_t *config))                \
  ROW(ncclCommFinalize, (ncclComm_t comm))                                     \
  ROW(ncclCommDestroy, (ncclComm_t comm))                                      \
  ROW(ncclCommAbort, (ncclComm_t comm))                                        \
  ROW(ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t * error))          \
  ROW(ncclGroupStart, ())                                                      \
  ROW(ncclGroupEnd, ())                                                        \
  ROW(ncclAllReduce,                                                           \
      (const void *from, void *to, size_t count, ncclDataType_t type,          \
       ncclRedOp_t op, ncclComm_t comm, CUstream stream))                      \
  ROW(ncclReduceScatter,                                                       \
      (const void *from, void *to, size_t count, ncclDataType_t type,          \
       ncclRedOp_t op, ncclComm_t comm, CUstream stream))                      \
  ROW(ncclAllGather, (const void *from, void *to, size_t count,                \
                      ncclDataType_t type, ncclComm_t comm, CUstream stream))  \
  ROW(ncclBroadcast,                                                           \
      (const void *from, void *to, size_t count, ncclDataType_t type,          \
       int root, ncclComm_t comm, CUstream stream))                            \
  ROW(ncclSend, (const void *from, size_t count, ncclDataType_t type,          \
                 int peer, ncclComm_t comm, CUstream stream))                  \
  ROW(ncclRecv, (void *to, size_t count, ncclDataType_t type, int peer,        \
                 ncclComm_t comm, CUstream stream))

struct NcclApi {
#define HOCKET_NCCL_ROW(name, parameters) ncclResult_t(*name) parameters;
  HOCKET_NCCL_FUNCTIONS(HOCKET_NCCL_ROW)
#undef HOCKET_NCCL_ROW
  const char *(*ncclGetErrorString)(ncclResult_t result);
  const char *(*ncclGetLastError)(ncclComm_t comm);

  std::string path;    ///< Of the library.
  std::string version; ///< "2.27.7"
  /// Whether NCCL can hold the operations of a device to the order in which
  /// they are issued, whatever their communicators (from version 2.26 on).
  bool canHoldToIssueOrder = false;
};

/// The library of this machine. HOCKET_NCCL may name it. FailedPrecondition if
/// there is none, or it is older than 2.14 or lacks a function.
StatusOr<const NcclApi *> ncclApi();

/// Has NCCL hold a device's operations to the order in which they are issued,
/// if it can: its documentation ("Using multiple NCCL communicators
/// concurrently") warns that they may wait for each other for ever otherwise.
/// Sets NCCL_LAUNCH_ORDER_IMPLICIT unless the user has, so before there are
/// threads and communicators.
void holdToIssueOrder();

/// "held to the order of issue", of operations of this machine's NCCL in this
/// process, or why they are not.
std::string issueOrderText(const NcclApi &api);

/// What `result` of the library's function `call` means.
Status statusOf(const NcclApi &api, ncclResult_t result, const char *call);

} // namespace hocket::comm::nccl

#endif // HOCKET_RUNTIME_COMM_NCCL_NCCLAPI_H
