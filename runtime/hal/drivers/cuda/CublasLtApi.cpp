//===- CublasLtApi.cpp - What is used of cuBLASLt -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/hal/drivers/cuda/CublasLtApi.h"

#include "base/VendorLibrary.h"
#include "runtime/cuda/ToolkitLibraries.h"

using namespace hocket;
using namespace hocket::hal::cuda;

static StatusOr<CublasLtApi> load() {
  HOCKET_ASSIGN_OR_RETURN(VendorLibrary library,
                          VendorLibrary::load({"cuBLASLt", "HOCKET_CUBLASLT",
                                               toolkitLibraries("libcublasLt"),
                                               "install the CUDA toolkit"}));
  CublasLtApi api;
  api.path = library.path();
#define HOCKET_CUBLASLT_ROW(name, parameters)                                  \
  HOCKET_RETURN_IF_ERROR(library.resolve(#name, api.name));
  HOCKET_CUBLASLT_FUNCTIONS(HOCKET_CUBLASLT_ROW)
#undef HOCKET_CUBLASLT_ROW
  HOCKET_RETURN_IF_ERROR(
      library.resolve("cublasLtGetVersion", api.cublasLtGetVersion));
  HOCKET_RETURN_IF_ERROR(
      library.resolve("cublasLtGetStatusString", api.cublasLtGetStatusString));
  api.version = releaseText(api.cublasLtGetVersion());
  return api;
}

StatusOr<const CublasLtApi *> hal::cuda::cublasLtApi() {
  static const StatusOr<CublasLtApi> loaded = load();
  return borrow(loaded);
}

Status hal::cuda::statusOf(const CublasLtApi &api, cublasStatus_t status,
                           const char *call) {
  if (status == CUBLAS_STATUS_SUCCESS)
    return okStatus();
  const char *text = api.cublasLtGetStatusString(status);
  return internalError(std::string(call) + ": " +
                       (text ? text : std::to_string(status).c_str()));
}
