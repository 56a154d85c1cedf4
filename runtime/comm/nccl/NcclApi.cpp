//===- NcclApi.cpp - What is used of NCCL ---------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclApi.h"

#include "runtime/base/VendorLibrary.h"

#include <cstdlib>

using namespace hocket;
using namespace hocket::comm::nccl;

static constexpr const char *orderVariable = "NCCL_LAUNCH_ORDER_IMPLICIT";

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
  api.canHoldToIssueOrder = number >= 22600;
  if (number < 21400)
    return failedPrecondition(api.path + " is NCCL " + api.version +
                              "; Hocket wants 2.14 or later");
  return api;
}

StatusOr<const NcclApi *> comm::nccl::ncclApi() {
  static const StatusOr<NcclApi> loaded = load();
  return borrow(loaded);
}

void comm::nccl::holdToIssueOrder() { ::setenv(orderVariable, "1", 0); }

std::string comm::nccl::issueOrderText(const NcclApi &api) {
  if (!api.canHoldToIssueOrder)
    return "not ordered between communicators, for which NCCL 2.26 or later is "
           "needed";
  const char *value = ::getenv(orderVariable);
  if (!value || std::string(value) == "0")
    return std::string("not ordered between communicators (") + orderVariable +
           (value ? "=0)" : " is not set)");
  return "held to the order of issue";
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
