//===- DriverApi.h - What is used of NVIDIA's driver ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions of libcuda that Hocket calls, in one table, with the names
/// and numbers that cuda.h gives them; no header of CUDA is needed to build.
/// Where there is a cuda.h, a test compares both.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CUDA_DRIVERAPI_H
#define HOCKET_RUNTIME_CUDA_DRIVERAPI_H

#include "base/Status.h"
#include "base/VendorLibrary.h"

#include <cstddef>

namespace hocket::hal::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's.
using CUcontext = struct CUctx_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphExec = struct CUgraphExec_st *;
using CUgraphNode = struct CUgraphNode_st *;
// NOLINTEND(readability-identifier-naming)

inline constexpr CUresult CUDA_SUCCESS = 0;
inline constexpr CUresult CUDA_ERROR_INVALID_VALUE = 1;
inline constexpr CUresult CUDA_ERROR_OUT_OF_MEMORY = 2;
inline constexpr CUresult CUDA_ERROR_NO_DEVICE = 100;
inline constexpr CUresult CUDA_ERROR_INVALID_IMAGE = 200;
inline constexpr CUresult CUDA_ERROR_NO_BINARY_FOR_GPU = 209;
inline constexpr CUresult CUDA_ERROR_NOT_FOUND = 500;
inline constexpr CUresult CUDA_ERROR_NOT_READY = 600;
inline constexpr CUresult CUDA_ERROR_ILLEGAL_ADDRESS = 700;
inline constexpr CUresult CUDA_ERROR_LAUNCH_FAILED = 719;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905;

inline constexpr int CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16;
inline constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75;
inline constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76;
inline constexpr int CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;
inline constexpr unsigned CU_STREAM_NON_BLOCKING = 1;
inline constexpr unsigned CU_EVENT_DISABLE_TIMING = 2;
inline constexpr int CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1;
inline constexpr int CU_STREAM_CAPTURE_STATUS_ACTIVE = 1;

inline constexpr int CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6;
inline constexpr int CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9;
inline constexpr int CU_TENSOR_MAP_INTERLEAVE_NONE = 0;
inline constexpr int CU_TENSOR_MAP_SWIZZLE_128B = 3;
inline constexpr int CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3;
inline constexpr int CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0;

// NOLINTBEGIN(readability-identifier-naming)
/// A tensor for the TMA unit of a GPU, as an argument of a kernel.
struct alignas(128) CUtensorMap {
  unsigned long long opaque[16] = {};
};

/// A launch, as node of a graph.
struct CUDA_KERNEL_NODE_PARAMS {
  CUfunction func = nullptr;
  unsigned gridDimX = 1, gridDimY = 1, gridDimZ = 1;
  unsigned blockDimX = 1, blockDimY = 1, blockDimZ = 1;
  unsigned sharedMemBytes = 0;
  void **kernelParams = nullptr; ///< Pointers to the arguments.
  void **extra = nullptr;
  void *kern = nullptr; ///< Only without `func`, as is `ctx`.
  CUcontext ctx = nullptr;
};
// NOLINTEND(readability-identifier-naming)

/// One row a function: its name in code, its symbol, its parameters. A symbol
/// with _v2 is what cuda.h calls by the plain name.
#define HOCKET_CUDA_DRIVER_FUNCTIONS(ROW)                                      \
  ROW(cuInit, "cuInit", (unsigned flags))                                      \
  ROW(cuDriverGetVersion, "cuDriverGetVersion", (int *version))                \
  ROW(cuGetErrorName, "cuGetErrorName", (CUresult result, const char **name))  \
  ROW(cuGetErrorString, "cuGetErrorString",                                    \
      (CUresult result, const char **text))                                    \
  ROW(cuDeviceGetCount, "cuDeviceGetCount", (int *count))                      \
  ROW(cuDeviceGet, "cuDeviceGet", (CUdevice * device, int ordinal))            \
  ROW(cuDeviceGetName, "cuDeviceGetName",                                      \
      (char *name, int length, CUdevice device))                               \
  ROW(cuDeviceGetAttribute, "cuDeviceGetAttribute",                            \
      (int *value, int attribute, CUdevice device))                            \
  ROW(cuDeviceTotalMem, "cuDeviceTotalMem_v2",                                 \
      (size_t *bytes, CUdevice device))                                        \
  ROW(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain",                    \
      (CUcontext * context, CUdevice device))                                  \
  ROW(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2",               \
      (CUdevice device))                                                       \
  ROW(cuCtxSetCurrent, "cuCtxSetCurrent", (CUcontext context))                 \
  ROW(cuCtxSynchronize, "cuCtxSynchronize", ())                                \
  ROW(cuMemGetInfo, "cuMemGetInfo_v2", (size_t *free, size_t *total))          \
  ROW(cuMemAlloc, "cuMemAlloc_v2", (CUdeviceptr * address, size_t bytes))      \
  ROW(cuMemFree, "cuMemFree_v2", (CUdeviceptr address))                        \
  ROW(cuMemAllocHost, "cuMemAllocHost_v2", (void **address, size_t bytes))     \
  ROW(cuMemFreeHost, "cuMemFreeHost", (void *address))                         \
  ROW(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                               \
      (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))       \
  ROW(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                               \
      (void *to, CUdeviceptr from, size_t bytes, CUstream stream))             \
  ROW(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                               \
      (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))       \
  ROW(cuMemsetD8Async, "cuMemsetD8Async",                                      \
      (CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream))    \
  ROW(cuStreamCreate, "cuStreamCreate", (CUstream * stream, unsigned flags))   \
  ROW(cuStreamDestroy, "cuStreamDestroy_v2", (CUstream stream))                \
  ROW(cuStreamSynchronize, "cuStreamSynchronize", (CUstream stream))           \
  ROW(cuStreamWaitEvent, "cuStreamWaitEvent",                                  \
      (CUstream stream, CUevent event, unsigned flags))                        \
  ROW(cuStreamBeginCapture, "cuStreamBeginCapture_v2",                         \
      (CUstream stream, int mode))                                             \
  ROW(cuStreamEndCapture, "cuStreamEndCapture",                                \
      (CUstream stream, CUgraph * graph))                                      \
  ROW(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags",              \
      (CUgraphExec * executable, CUgraph graph, unsigned long long flags))     \
  ROW(cuGraphDestroy, "cuGraphDestroy", (CUgraph graph))                       \
  ROW(cuGraphExecDestroy, "cuGraphExecDestroy", (CUgraphExec executable))      \
  ROW(cuStreamGetCaptureInfo_v2, "cuStreamGetCaptureInfo_v2",                  \
      (CUstream stream, int *status, unsigned long long *id, CUgraph *graph,   \
       const CUgraphNode **dependencies, size_t *dependencyCount))             \
  ROW(cuGraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams_v2",     \
      (CUgraphExec executable, CUgraphNode node,                               \
       const CUDA_KERNEL_NODE_PARAMS *kernel))                                 \
  ROW(cuGraphLaunch, "cuGraphLaunch",                                          \
      (CUgraphExec executable, CUstream stream))                               \
  ROW(cuEventCreate, "cuEventCreate", (CUevent * event, unsigned flags))       \
  ROW(cuEventDestroy, "cuEventDestroy_v2", (CUevent event))                    \
  ROW(cuEventRecord, "cuEventRecord", (CUevent event, CUstream stream))        \
  ROW(cuEventSynchronize, "cuEventSynchronize", (CUevent event))               \
  ROW(cuEventQuery, "cuEventQuery", (CUevent event))                           \
  ROW(cuEventElapsedTime, "cuEventElapsedTime",                                \
      (float *milliseconds, CUevent begin, CUevent end))                       \
  ROW(cuModuleLoadData, "cuModuleLoadData",                                    \
      (CUmodule * module, const void *image))                                  \
  ROW(cuModuleUnload, "cuModuleUnload", (CUmodule module))                     \
  ROW(cuModuleGetFunction, "cuModuleGetFunction",                              \
      (CUfunction * function, CUmodule module, const char *name))              \
  ROW(cuFuncSetAttribute, "cuFuncSetAttribute",                                \
      (CUfunction function, int attribute, int value))                         \
  ROW(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled",                        \
      (CUtensorMap * map, int dataType, unsigned rank, void *address,          \
       const unsigned long long *sizes, const unsigned long long *strides,     \
       const unsigned *box, const unsigned *elementStrides, int interleave,    \
       int swizzle, int l2Promotion, int fill))                                \
  ROW(cuLaunchKernel, "cuLaunchKernel",                                        \
      (CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ,    \
       unsigned blockX, unsigned blockY, unsigned blockZ,                      \
       unsigned sharedBytes, CUstream stream, void **arguments, void **extra))

struct DriverApi {
#define HOCKET_CUDA_ROW(name, symbol, parameters) CUresult(*name) parameters;
  HOCKET_CUDA_DRIVER_FUNCTIONS(HOCKET_CUDA_ROW)
#undef HOCKET_CUDA_ROW

  std::string path; ///< Of the library.
};

/// The driver's library, as it is: it may find no GPU.
StatusOr<VendorLibrary> loadDriver();

/// The driver of this machine, initialised. HOCKET_LIBCUDA may name it.
/// FailedPrecondition if there is none, it is too old, or it finds no GPU.
StatusOr<const DriverApi *> driverApi();

/// What `result` of the driver's function `call` means: Ok, ResourceExhausted
/// (memory), Internal. A kernel that faulted is told as such.
Status statusOf(const DriverApi &api, CUresult result, const char *call);

/// Calls a function of `api` and returns its error from the enclosing function.
#define HOCKET_CUDA_CALL(api, function, ...)                                   \
  HOCKET_RETURN_IF_ERROR(::hocket::hal::cuda::statusOf(                        \
      api, (api).function(__VA_ARGS__), #function))

} // namespace hocket::hal::cuda

#endif // HOCKET_RUNTIME_CUDA_DRIVERAPI_H
