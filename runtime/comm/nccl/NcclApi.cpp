//===- NcclApi.cpp - What is used of NCCL ---------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclApi.h"

#include "base/Format.h"
#include "base/VendorLibrary.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdlib>

using namespace hocket;
using namespace hocket::comm::nccl;

static constexpr const char *orderVariable = "NCCL_LAUNCH_ORDER_IMPLICIT";
/// What the user wants of blocks, which wins over what a communicator is made
/// with.
static constexpr const char *blocksVariable = "NCCL_MAX_CTAS";

static StatusOr<NcclApi> load() {
  HOCKET_ASSIGN_OR_RETURN(
      VendorLibrary library,
      VendorLibrary::load(
          {"NCCL", "HOCKET_NCCL", {"libnccl.so.2"}, "install NVIDIA's NCCL"}));
  NcclApi api;
  api.path = library.path();
#define HOCKET_NCCL_ROW(name, parameters)                                      \
  HOCKET_RETURN_IF_ERROR(library.resolve(#name, api.name));
  HOCKET_NCCL_FUNCTIONS(HOCKET_NCCL_ROW)
#undef HOCKET_NCCL_ROW
  HOCKET_RETURN_IF_ERROR(
      library.resolve("ncclGetErrorString", api.ncclGetErrorString));
  HOCKET_RETURN_IF_ERROR(
      library.resolve("ncclGetLastError", api.ncclGetLastError));
  int number = 0;
  HOCKET_RETURN_IF_ERROR(
      statusOf(api, api.ncclGetVersion(&number), "ncclGetVersion"));
  api.version = releaseText(size_t(number));
  api.number = number;
  if (number < 21400)
    return failedPrecondition(api.path + " is NCCL " + api.version +
                              "; Hocket wants 2.14 or later");
  if (number >= 21800)
    HOCKET_RETURN_IF_ERROR(library.resolve("ncclCommSplit", api.ncclCommSplit));
  return api;
}

StatusOr<const NcclApi *> comm::nccl::ncclApi() {
  static const StatusOr<NcclApi> loaded = load();
  return borrow(loaded);
}

ncclConfig_t NcclApi::config() const {
  ncclConfig_t config;
  if (number >= 21800)
    config.size = sizeof(ncclConfig_t), config.version = 21800;
  else if (number >= 21700)
    config.size = offsetof(ncclConfig_t, splitShare), config.version = 21700;
  else // What follows was padding.
    config.size = offsetof(ncclConfig_t, minCTAs), config.version = 21400;
  return config;
}

//===----------------------------------------------------------------------===//
// The order of operations
//===----------------------------------------------------------------------===//

void comm::nccl::holdToIssueOrder(bool ends) {
  static bool isOurs = false;
  if (ends && !::getenv(orderVariable)) {
    ::setenv(orderVariable, "1", 1);
    isOurs = true;
  } else if (!ends && isOurs) {
    ::unsetenv(orderVariable);
    isOurs = false;
  }
}

bool comm::nccl::asksForIssueOrder() {
  const char *value = ::getenv(orderVariable);
  return value && std::string(value) != "0";
}

bool comm::nccl::isHeldToIssueOrder(const NcclApi &api) {
  return api.canHoldToIssueOrder() && asksForIssueOrder();
}

void comm::nccl::separateStreams() {
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
}

StatusOr<NcclRoom> NcclRoom::of(unsigned gpu, unsigned atOnce) {
  HOCKET_ASSIGN_OR_RETURN(const hal::cuda::DriverApi *driver,
                          hal::cuda::driverApi());
  hal::cuda::CUdevice device = 0;
  int multiprocessors = 0;
  HOCKET_CUDA_CALL(*driver, cuDeviceGet, &device, int(gpu));
  HOCKET_CUDA_CALL(*driver, cuDeviceGetAttribute, &multiprocessors,
                   hal::cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  return NcclRoom{unsigned(multiprocessors), atOnce};
}

unsigned NcclRoom::blockLimit() const {
  unsigned each = multiprocessors / std::max(atOnce, 1U);
  return each >= defaultBlocks ? 0 : std::max(std::bit_floor(each), 1U);
}

unsigned NcclRoom::blockLimitWith(const NcclApi &api) const {
  return api.canLimitBlocks() && !isHeldToIssueOrder(api) ? blockLimit() : 0;
}

std::string comm::nccl::issueOrderText(const NcclApi &api,
                                       const NcclRoom &room) {
  if (isHeldToIssueOrder(api))
    return "held to the order of issue";
  if (room.atOnce <= 1)
    return "one at a time";
  unsigned limit = room.blockLimit();
  std::string text = formatText("up to %u at once on a GPU", room.atOnce);
  const char *own = ::getenv(blocksVariable);
  std::string danger = ", which may wait for each other for ever: ";
  if (room.multiprocessors < room.atOnce)
    return text + formatText(", whose %u multiprocessors have no room for them",
                             room.multiprocessors);
  if (own && limit > 0 && unsigned(std::atoi(own)) > limit)
    return text + danger +
           formatText("%s=%s leaves no room, at most %u would", blocksVariable,
                      own, limit);
  if (limit > 0 && !api.canLimitBlocks())
    return text + danger + "install NCCL 2.17 or later";
  unsigned blocks = limit > 0 ? limit : defaultBlocks;
  return text + formatText(", which has room for %u block%s of each", blocks,
                           blocks == 1 ? "" : "s");
}

Status comm::nccl::statusOf(const NcclApi &api, ncclResult_t result,
                            const char *call) {
  if (result == ncclSuccess || result == ncclInProgress)
    return okStatus();
  const char *text = api.ncclGetErrorString(result);
  std::string error =
      std::string(call) + ": " + (text ? text : std::to_string(result).c_str());
  // More than the number says; it is about the last error of any communicator.
  if (const char *more = api.ncclGetLastError(nullptr); more && *more)
    error += std::string(" (") + more + ")";
  return internalError(error);
}
