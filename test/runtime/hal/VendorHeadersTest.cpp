//===- VendorHeadersTest.cpp - Our declarations against NVIDIA's ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiled where the headers of CUDA are: every number that we declare is
/// theirs, and every function has their symbol and as many parameters, of the
/// same sizes.
///
//===----------------------------------------------------------------------===//

// Ours first, so that their macros do not rename what is declared here.
#include "runtime/hal/drivers/cuda/CublasLtApi.h"

#include <cublasLt.h>
#include <cuda.h>

#include <gtest/gtest.h>

#include <vector>

// Since 13.0 headers only declare a third form, which older drivers lack.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" CUresult CUDAAPI cuStreamGetCaptureInfo_v2(CUstream,
                                                      CUstreamCaptureStatus *,
                                                      cuuint64_t *, CUgraph *,
                                                      const CUgraphNode **,
                                                      size_t *);

namespace {

/// Bytes of the result and of each parameter, pointers marked.
template <typename Result, typename... Parameters>
std::vector<size_t> shapeOf(Result (*)(Parameters...)) {
  // NOLINTBEGIN(bugprone-sizeof-expression): of pointers, where they are.
  return {sizeof(Result),
          (sizeof(Parameters) + 100 * std::is_pointer_v<Parameters>)...};
  // NOLINTEND(bugprone-sizeof-expression)
}

#define HOCKET_TEXT(name) #name
#define HOCKET_TEXT_OF(name) HOCKET_TEXT(name)
#define HOCKET_SAME(name)                                                      \
  static_assert(static_cast<long long>(hocket::hal::cuda::name) ==             \
                static_cast<long long>(::name));

HOCKET_SAME(CUDA_SUCCESS)
HOCKET_SAME(CUDA_ERROR_INVALID_VALUE)
HOCKET_SAME(CUDA_ERROR_OUT_OF_MEMORY)
HOCKET_SAME(CUDA_ERROR_NO_DEVICE)
HOCKET_SAME(CUDA_ERROR_INVALID_IMAGE)
HOCKET_SAME(CUDA_ERROR_NO_BINARY_FOR_GPU)
HOCKET_SAME(CUDA_ERROR_NOT_FOUND)
HOCKET_SAME(CUDA_ERROR_NOT_READY)
HOCKET_SAME(CUDA_ERROR_ILLEGAL_ADDRESS)
HOCKET_SAME(CUDA_ERROR_LAUNCH_FAILED)
HOCKET_SAME(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
HOCKET_SAME(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
HOCKET_SAME(CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
HOCKET_SAME(CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
HOCKET_SAME(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
HOCKET_SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
HOCKET_SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
HOCKET_SAME(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
HOCKET_SAME(CU_TENSOR_MAP_DATA_TYPE_FLOAT16)
HOCKET_SAME(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16)
HOCKET_SAME(CU_TENSOR_MAP_INTERLEAVE_NONE)
HOCKET_SAME(CU_TENSOR_MAP_SWIZZLE_128B)
HOCKET_SAME(CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
HOCKET_SAME(CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
static_assert(sizeof(hocket::hal::cuda::CUtensorMap) == sizeof(::CUtensorMap) &&
              alignof(hocket::hal::cuda::CUtensorMap) ==
                  alignof(::CUtensorMap));
HOCKET_SAME(CU_STREAM_NON_BLOCKING)
HOCKET_SAME(CU_EVENT_DISABLE_TIMING)
HOCKET_SAME(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
HOCKET_SAME(CU_STREAM_CAPTURE_STATUS_ACTIVE)
HOCKET_SAME(CUBLAS_STATUS_SUCCESS)
HOCKET_SAME(CUBLAS_STATUS_ARCH_MISMATCH)
HOCKET_SAME(CUBLAS_STATUS_NOT_SUPPORTED)
HOCKET_SAME(CUDA_R_32F)
HOCKET_SAME(CUDA_R_16F)
HOCKET_SAME(CUDA_R_16BF)
HOCKET_SAME(CUDA_R_8F_E4M3)
HOCKET_SAME(CUDA_R_8F_E5M2)
HOCKET_SAME(CUBLAS_COMPUTE_32F)
HOCKET_SAME(CUBLAS_OP_N)
HOCKET_SAME(CUBLAS_OP_T)
HOCKET_SAME(CUBLASLT_MATMUL_DESC_TRANSA)
HOCKET_SAME(CUBLASLT_MATMUL_DESC_TRANSB)
HOCKET_SAME(CUBLASLT_MATMUL_DESC_EPILOGUE)
HOCKET_SAME(CUBLASLT_MATMUL_DESC_BIAS_POINTER)
HOCKET_SAME(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER)
HOCKET_SAME(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD)
HOCKET_SAME(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER)
HOCKET_SAME(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER)
HOCKET_SAME(CUBLASLT_EPILOGUE_DEFAULT)
HOCKET_SAME(CUBLASLT_EPILOGUE_BIAS)
HOCKET_SAME(CUBLASLT_EPILOGUE_GELU)
HOCKET_SAME(CUBLASLT_EPILOGUE_GELU_AUX)
HOCKET_SAME(CUBLASLT_EPILOGUE_DGELU)
HOCKET_SAME(CUBLASLT_EPILOGUE_BGRADB)
HOCKET_SAME(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
HOCKET_SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES)
// What is added to or counted from the rows above.
static_assert(CUBLASLT_EPILOGUE_GELU_BIAS ==
              (CUBLASLT_EPILOGUE_GELU | CUBLASLT_EPILOGUE_BIAS));
static_assert(CUBLASLT_EPILOGUE_GELU_AUX_BIAS ==
              (CUBLASLT_EPILOGUE_GELU_AUX | CUBLASLT_EPILOGUE_BIAS));
static_assert(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES ==
              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + 3);

using OurKernel = hocket::hal::cuda::CUDA_KERNEL_NODE_PARAMS;
using TheirKernel = ::CUDA_KERNEL_NODE_PARAMS;
static_assert(sizeof(OurKernel) == sizeof(TheirKernel));
static_assert(offsetof(OurKernel, gridDimZ) == offsetof(TheirKernel, gridDimZ));
static_assert(offsetof(OurKernel, sharedMemBytes) ==
              offsetof(TheirKernel, sharedMemBytes));
static_assert(offsetof(OurKernel, kernelParams) ==
              offsetof(TheirKernel, kernelParams));
static_assert(offsetof(OurKernel, ctx) == offsetof(TheirKernel, ctx));

using Ours = hocket::hal::cuda::cublasLtMatmulHeuristicResult_t;
using Theirs = ::cublasLtMatmulHeuristicResult_t;
static_assert(sizeof(Ours) == sizeof(Theirs));
static_assert(offsetof(Ours, workspaceSize) == offsetof(Theirs, workspaceSize));
static_assert(offsetof(Ours, state) == offsetof(Theirs, state));

} // namespace

namespace hocket::hal::cuda {
namespace {

/// Headers since 12.8 mean a second form of this one, which older drivers lack;
/// newer drivers have both.
std::string inEveryDriver(const std::string &name) {
  return name == "cuEventElapsedTime_v2" ? "cuEventElapsedTime" : name;
}

TEST(VendorHeaders, TheDriversFunctionsAreTheirs){
#define HOCKET_COMPARE(name, symbol, parameters)                               \
  EXPECT_EQ(inEveryDriver(HOCKET_TEXT_OF(name)), symbol);                      \
  EXPECT_EQ(shapeOf(static_cast<CUresult(*) parameters>(nullptr)),             \
            shapeOf(static_cast<decltype(&::name)>(nullptr)))                  \
      << symbol;
    HOCKET_CUDA_DRIVER_FUNCTIONS(HOCKET_COMPARE)}

TEST(VendorHeaders, TheFunctionsOfCublasLtAreTheirs) {
#define HOCKET_COMPARE_LT(name, parameters)                                    \
  EXPECT_EQ(shapeOf(static_cast<cublasStatus_t(*) parameters>(nullptr)),       \
            shapeOf(static_cast<decltype(&::name)>(nullptr)))                  \
      << HOCKET_TEXT_OF(name);
  HOCKET_CUBLASLT_FUNCTIONS(HOCKET_COMPARE_LT)
}

} // namespace
} // namespace hocket::hal::cuda
