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

/// NVIDIA's structure as of version 2.18. It says how much of it there is, and
/// of which version, so that an older or a newer library takes what it knows.
struct ncclConfig_t {
  static constexpr int undefined = INT32_MIN;
  size_t size = 0;
  unsigned magic = 0xcafebeef;
  unsigned version = 0;
  int blocking = 0;
  // From version 2.17 on.
  int cgaClusterSize = undefined;
  int minCTAs = undefined;
  int maxCTAs = undefined;
  const char *netName = nullptr;
  // From version 2.18 on.
  int splitShare = undefined;
  int trafficClass = undefined; ///< In the place of padding.
};
// NOLINTEND(readability-identifier-naming)

inline constexpr int ncclSplitNoColor = -1;

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

/// NCCL's blocks of threads, of which one takes a multiprocessor: so many at
/// most do an operation, unless it is told otherwise.
inline constexpr unsigned defaultBlocks = 32;

struct NcclApi {
#define HOCKET_NCCL_ROW(name, parameters) ncclResult_t(*name) parameters;
  HOCKET_NCCL_FUNCTIONS(HOCKET_NCCL_ROW)
#undef HOCKET_NCCL_ROW
  const char *(*ncclGetErrorString)(ncclResult_t result);
  const char *(*ncclGetLastError)(ncclComm_t comm);
  /// Null before version 2.18.
  ncclResult_t (*ncclCommSplit)(ncclComm_t comm, int color, int key,
                                ncclComm_t *part,
                                ncclConfig_t *config) = nullptr;

  std::string path;    ///< Of the library.
  std::string version; ///< "2.27.7"
  int number = 0;      ///< 22707

  /// For a communicator that does not block, as this library takes it.
  ncclConfig_t config() const;
  /// Whether the blocks of an operation can be limited (from version 2.17 on).
  bool canLimitBlocks() const { return number >= 21700; }
  /// Whether communicators can share what they have of the device's memory.
  bool canShare() const { return ncclCommSplit != nullptr; }
  /// Whether the operations of a device can be held to the order in which they
  /// are issued, whatever their communicators (from version 2.26 on).
  bool canHoldToIssueOrder() const { return number >= 22600; }
};

/// The library of this machine. HOCKET_NCCL may name it. FailedPrecondition if
/// there is none, or it is older than 2.14 or lacks a function.
StatusOr<const NcclApi *> ncclApi();

/// Has NCCL hold a device's operations to the order in which they are issued,
/// if it can: its documentation ("Using multiple NCCL communicators
/// concurrently") warns that they may wait for each other for ever otherwise.
/// Sets NCCL_LAUNCH_ORDER_IMPLICIT unless the user has, so before there are
/// threads and communicators. Unless it `ends` so, takes that back where an
/// earlier call has set it.
void holdToIssueOrder(bool ends);
/// Whether it is asked to, by that or by the user.
bool asksForIssueOrder();
/// Whether this NCCL does, in this process.
bool isHeldToIssueOrder(const NcclApi &api);

/// Gives each stream of a GPU a queue of its own, so that one that waits holds
/// up no other. Sets CUDA_DEVICE_MAX_CONNECTIONS, which is 8 otherwise, unless
/// the user has, so before the driver is used.
void separateStreams();

/// Operations of NCCL on a GPU.
struct NcclRoom {
  unsigned multiprocessors = 0; ///< The GPU's.
  unsigned atOnce = 1;          ///< Operations that may be under way at once.

  static StatusOr<NcclRoom> of(unsigned gpu, unsigned atOnce);

  /// To how many blocks each must be limited for all to have room: a power of
  /// two, as NCCL rounds up to one. 0: to none, there is room.
  unsigned blockLimit() const;
  /// To how many they are, by what this NCCL can and is asked to do.
  unsigned blockLimitWith(const NcclApi &api) const;
};

/// "held to the order of issue", of operations of this machine's NCCL in this
/// process, or what keeps them from waiting for each other, or what to do.
std::string issueOrderText(const NcclApi &api, const NcclRoom &room);

/// What `result` of the library's function `call` means.
Status statusOf(const NcclApi &api, ncclResult_t result, const char *call);

} // namespace hocket::comm::nccl

#endif // HOCKET_RUNTIME_COMM_NCCL_NCCLAPI_H
