//===- CublasLtApi.h - What is used of cuBLASLt -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions of libcublasLt that Hocket calls, in one table, with the names
/// and numbers of cublasLt.h; no header of CUDA is needed to build. Where there
/// is one, a test compares both.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_HAL_DRIVERS_CUDA_CUBLASLTAPI_H
#define HOCKET_RUNTIME_HAL_DRIVERS_CUDA_CUBLASLTAPI_H

#include "runtime/cuda/DriverApi.h"

#include <cstdint>

namespace hocket::hal::cuda {

using cublasStatus_t = int;
using cublasLtHandle_t = struct cublasLtContext *;
using cublasLtMatmulDesc_t = struct cublasLtMatmulDescOpaque_t *;
using cublasLtMatrixLayout_t = struct cublasLtMatrixLayoutOpaque_t *;
using cublasLtMatmulPreference_t = struct cublasLtMatmulPreferenceOpaque_t *;

inline constexpr cublasStatus_t CUBLAS_STATUS_SUCCESS = 0;
inline constexpr cublasStatus_t CUBLAS_STATUS_ARCH_MISMATCH = 8;
inline constexpr cublasStatus_t CUBLAS_STATUS_NOT_SUPPORTED = 15;

/// cudaDataType_t.
inline constexpr int CUDA_R_32F = 0;
inline constexpr int CUDA_R_16F = 2;
inline constexpr int CUDA_R_16BF = 14;
inline constexpr int CUDA_R_8F_E4M3 = 28;
inline constexpr int CUDA_R_8F_E5M2 = 29;

/// cublasComputeType_t: products and sums in f32, no narrower.
inline constexpr int CUBLAS_COMPUTE_32F = 68;

/// cublasOperation_t.
inline constexpr int32_t CUBLAS_OP_N = 0;
inline constexpr int32_t CUBLAS_OP_T = 1;

/// cublasLtMatmulDescAttributes_t.
inline constexpr int CUBLASLT_MATMUL_DESC_TRANSA = 3;
inline constexpr int CUBLASLT_MATMUL_DESC_TRANSB = 4;
inline constexpr int CUBLASLT_MATMUL_DESC_EPILOGUE = 7;
inline constexpr int CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8;
inline constexpr int CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER = 11;
inline constexpr int CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD = 12;
/// Where a number on the GPU is that A, or B, is times; of 8-bit types only.
inline constexpr int CUBLASLT_MATMUL_DESC_A_SCALE_POINTER = 17;
inline constexpr int CUBLASLT_MATMUL_DESC_B_SCALE_POINTER = 18;

/// cublasLtEpilogue_t, whose values are added: aux goes with GELU alone.
inline constexpr uint32_t CUBLASLT_EPILOGUE_DEFAULT = 1;
inline constexpr uint32_t CUBLASLT_EPILOGUE_BIAS = 4;
inline constexpr uint32_t CUBLASLT_EPILOGUE_GELU = 32;
inline constexpr uint32_t CUBLASLT_EPILOGUE_GELU_AUX = 32 | 128;
/// Times GELU's derivative at the auxiliary matrix, which is read.
inline constexpr uint32_t CUBLASLT_EPILOGUE_DGELU = 64 | 128;
/// B summed over the inner dimension into the bias.
inline constexpr uint32_t CUBLASLT_EPILOGUE_BGRADB = 512;

/// cublasLtMatmulPreferenceAttributes_t.
inline constexpr int CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1;
/// Of A; those of B, C and D follow.
inline constexpr int CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5;

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's.
struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};

struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};
// NOLINTEND(readability-identifier-naming)

#define HOCKET_CUBLASLT_FUNCTIONS(ROW)                                         \
  ROW(cublasLtCreate, (cublasLtHandle_t * handle))                             \
  ROW(cublasLtDestroy, (cublasLtHandle_t handle))                              \
  ROW(cublasLtMatmulDescCreate,                                                \
      (cublasLtMatmulDesc_t * desc, int computeType, int scaleType))           \
  ROW(cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t desc))                  \
  ROW(cublasLtMatmulDescSetAttribute,                                          \
      (cublasLtMatmulDesc_t desc, int attribute, const void *value,            \
       size_t bytes))                                                          \
  ROW(cublasLtMatrixLayoutCreate,                                              \
      (cublasLtMatrixLayout_t * layout, int type, uint64_t rows,               \
       uint64_t columns, int64_t ld))                                          \
  ROW(cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t layout))            \
  ROW(cublasLtMatmulPreferenceCreate,                                          \
      (cublasLtMatmulPreference_t * preference))                               \
  ROW(cublasLtMatmulPreferenceDestroy,                                         \
      (cublasLtMatmulPreference_t preference))                                 \
  ROW(cublasLtMatmulPreferenceSetAttribute,                                    \
      (cublasLtMatmulPreference_t preference, int attribute,                   \
       const void *value, size_t bytes))                                       \
  ROW(cublasLtMatmulAlgoGetHeuristic,                                          \
      (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,                     \
       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,                     \
       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,                     \
       cublasLtMatmulPreference_t preference, int wanted,                      \
       cublasLtMatmulHeuristicResult_t *results, int *found))                  \
  ROW(cublasLtMatmul,                                                          \
      (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,  \
       const void *a, cublasLtMatrixLayout_t aLayout, const void *b,           \
       cublasLtMatrixLayout_t bLayout, const void *beta, const void *c,        \
       cublasLtMatrixLayout_t cLayout, void *d,                                \
       cublasLtMatrixLayout_t dLayout, const cublasLtMatmulAlgo_t *algorithm,  \
       void *workspace, size_t workspaceBytes, CUstream stream))

struct CublasLtApi {
#define HOCKET_CUBLASLT_ROW(name, parameters) cublasStatus_t(*name) parameters;
  HOCKET_CUBLASLT_FUNCTIONS(HOCKET_CUBLASLT_ROW)
#undef HOCKET_CUBLASLT_ROW
  size_t (*cublasLtGetVersion)();
  const char *(*cublasLtGetStatusString)(cublasStatus_t status);

  std::string path;    ///< Of the library.
  std::string version; ///< "13.0.2"
};

/// The library of this machine. HOCKET_CUBLASLT may name it.
/// FailedPrecondition if there is none or it lacks a function.
StatusOr<const CublasLtApi *> cublasLtApi();

/// What `status` of the library's function `call` means.
Status statusOf(const CublasLtApi &api, cublasStatus_t status,
                const char *call);

} // namespace hocket::hal::cuda

#endif // HOCKET_RUNTIME_HAL_DRIVERS_CUDA_CUBLASLTAPI_H
