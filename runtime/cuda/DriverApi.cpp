//===- DriverApi.cpp - What is used of NVIDIA's driver --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/DriverApi.h"

using namespace hocket;
using namespace hocket::hal::cuda;

StatusOr<VendorLibrary> hal::cuda::loadDriver() {
  return VendorLibrary::load(
      {"CUDA driver",
       "HOCKET_LIBCUDA",
       {"libcuda.so.1"},
       "install NVIDIA's driver for this machine's GPU"});
}

static StatusOr<DriverApi> load() {
  HOCKET_ASSIGN_OR_RETURN(VendorLibrary library, loadDriver());
  DriverApi api;
  api.path = library.path();
#define HOCKET_CUDA_ROW(name, symbol, parameters)                              \
  HOCKET_RETURN_IF_ERROR(library.resolve(symbol, api.name));
  HOCKET_CUDA_DRIVER_FUNCTIONS(HOCKET_CUDA_ROW)
#undef HOCKET_CUDA_ROW
  CUresult result = api.cuInit(0);
  if (result == CUDA_ERROR_NO_DEVICE)
    return failedPrecondition("the CUDA driver (" + api.path +
                              ") finds no GPU on this machine; "
                              "CUDA_VISIBLE_DEVICES may hide it");
  HOCKET_RETURN_IF_ERROR(statusOf(api, result, "cuInit"));
  return api;
}

StatusOr<const DriverApi *> hal::cuda::driverApi() {
  static const StatusOr<DriverApi> loaded = load();
  return borrow(loaded);
}

/// Whether the GPU stopped working in the middle of a kernel: an address,
/// an instruction, a time limit. All later calls fail the same way.
static bool isFault(CUresult result) {
  return result == CUDA_ERROR_ILLEGAL_ADDRESS || result == 702 ||
         (result >= 710 && result <= CUDA_ERROR_LAUNCH_FAILED);
}

Status hal::cuda::statusOf(const DriverApi &api, CUresult result,
                           const char *call) {
  if (result == CUDA_SUCCESS)
    return okStatus();
  const char *name = nullptr, *text = nullptr;
  api.cuGetErrorName(result, &name);
  api.cuGetErrorString(result, &text);
  std::string error = name ? name : "error " + std::to_string(result);
  if (text)
    error += std::string(" (") + text + ")";
  if (isFault(result))
    return internalError(
        "a kernel failed on the GPU: " + error + ", found by " + call +
        "; it may be an earlier one: HOCKET_CUDA_BLOCKING=1 waits for each");
  error = std::string(call) + ": " + error;
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return resourceExhausted(error);
  return internalError(error);
}
