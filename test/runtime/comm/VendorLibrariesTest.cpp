//===- VendorLibrariesTest.cpp - Our tables against NVIDIA's libraries ----===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where NVIDIA's libraries are, which takes no GPU: they have every function
/// of the tables under the name in its row, and descriptions of GEMMs take
/// what the emulated library takes, attribute by attribute. The toolkit brings
/// the driver's names as a library without functions (stubs/libcuda.so).
///
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclApi.h"
#include "runtime/hal/drivers/cuda/CublasLtApi.h"
#include "test/emulator/EmulatedGpus.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <set>
#include <tuple>

using namespace hocket;
using namespace hocket::hal::cuda;

namespace {

/// The first of `names` that the loader finds, or null. Kept: libraries of
/// NVIDIA's do not like to go.
void *open(std::initializer_list<const char *> names) {
  for (const char *name : names)
    if (void *library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL))
      return library;
  return nullptr;
}

void expectSymbols(void *library, std::initializer_list<const char *> symbols) {
  for (const char *symbol : symbols)
    EXPECT_NE(::dlsym(library, symbol), nullptr) << symbol;
}

TEST(VendorLibraries, TheDriverHasTheFunctions) {
#ifndef HOCKET_CUDA_STUB
  GTEST_SKIP() << "there is no CUDA toolkit with a stub of libcuda";
#else
  void *library = open({HOCKET_CUDA_STUB});
  ASSERT_NE(library, nullptr) << ::dlerror();
#define HOCKET_SYMBOL(name, symbol, parameters) symbol,
  expectSymbols(library, {HOCKET_CUDA_DRIVER_FUNCTIONS(HOCKET_SYMBOL)});
#undef HOCKET_SYMBOL
#endif
}

TEST(VendorLibraries, NcclHasTheFunctions) {
  void *library = open({"libnccl.so.2"});
  if (!library)
    GTEST_SKIP() << ::dlerror();
#define HOCKET_SYMBOL(name, parameters) #name,
  expectSymbols(library, {HOCKET_NCCL_FUNCTIONS(HOCKET_SYMBOL)});
#undef HOCKET_SYMBOL
  expectSymbols(library, {"ncclGetErrorString", "ncclGetLastError"});
}

/// The functions of a cuBLASLt; those that it lacks are null, and told.
CublasLtApi tableOf(void *library) {
  CublasLtApi api = {};
  auto resolve = [&]<typename F>(const char *symbol, F *&function) {
    function = reinterpret_cast<F *>(::dlsym(library, symbol));
    EXPECT_NE(function, nullptr) << symbol;
  };
#define HOCKET_RESOLVE(name, parameters) resolve(#name, api.name);
  HOCKET_CUBLASLT_FUNCTIONS(HOCKET_RESOLVE)
#undef HOCKET_RESOLVE
  resolve("cublasLtGetVersion", api.cublasLtGetVersion);
  resolve("cublasLtGetStatusString", api.cublasLtGetStatusString);
  return api;
}

using Sizes = std::set<std::pair<int, size_t>>;

/// Which attributes, of those that are set, `set` takes with which sizes.
template <typename Set>
Sizes accepted(std::initializer_list<int> attributes, const Set &set) {
  alignas(16) static constexpr unsigned char zeros[16] = {};
  Sizes sizes;
  for (int attribute : attributes)
    for (size_t bytes : {1, 2, 4, 8, 16})
      if (set(attribute, zeros, bytes) == CUBLAS_STATUS_SUCCESS)
        sizes.emplace(attribute, bytes);
  return sizes;
}

Sizes acceptedByDescriptions(const CublasLtApi &api) {
  cublasLtMatmulDesc_t desc = nullptr;
  EXPECT_EQ(api.cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F),
            CUBLAS_STATUS_SUCCESS);
  Sizes sizes = accepted(
      {CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB,
       CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
       CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
       CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD,
       CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
       CUBLASLT_MATMUL_DESC_B_SCALE_POINTER},
      [&](int attribute, const void *value, size_t bytes) {
        return api.cublasLtMatmulDescSetAttribute(desc, attribute, value,
                                                  bytes);
      });
  EXPECT_EQ(api.cublasLtMatmulDescDestroy(desc), CUBLAS_STATUS_SUCCESS);
  return sizes;
}

Sizes acceptedByPreferences(const CublasLtApi &api) {
  cublasLtMatmulPreference_t preference = nullptr;
  EXPECT_EQ(api.cublasLtMatmulPreferenceCreate(&preference),
            CUBLAS_STATUS_SUCCESS);
  constexpr int first = CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  Sizes sizes = accepted({CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, first,
                          first + 1, first + 2, first + 3},
                         [&](int attribute, const void *value, size_t bytes) {
                           return api.cublasLtMatmulPreferenceSetAttribute(
                               preference, attribute, value, bytes);
                         });
  EXPECT_EQ(api.cublasLtMatmulPreferenceDestroy(preference),
            CUBLAS_STATUS_SUCCESS);
  return sizes;
}

TEST(VendorLibraries, CublasLtTakesWhatTheEmulatedOneTakes) {
  void *library = open({"libcublasLt.so.13", "libcublasLt.so.12"});
  if (!library)
    GTEST_SKIP() << ::dlerror();
  test::useEmulatedGpus();
  auto emulated = cublasLtApi();
  ASSERT_TRUE(emulated.ok()) << emulated.status().message();
  CublasLtApi real = tableOf(library);
  ASSERT_FALSE(testing::Test::HasFailure());
  ASSERT_NE(real.cublasLtGetVersion, (*emulated)->cublasLtGetVersion);
  EXPECT_GE(real.cublasLtGetVersion(), 120000u);

  Sizes expected = acceptedByDescriptions(real);
  EXPECT_EQ(acceptedByDescriptions(**emulated), expected);
  EXPECT_EQ(expected.size(), 8u) << "each attribute has one size";
  expected = acceptedByPreferences(real);
  EXPECT_EQ(acceptedByPreferences(**emulated), expected);
  EXPECT_EQ(expected.size(), 5u);

  for (int type :
       {CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF, CUDA_R_8F_E4M3, CUDA_R_8F_E5M2}) {
    cublasLtMatrixLayout_t layout = nullptr;
    EXPECT_EQ(real.cublasLtMatrixLayoutCreate(&layout, type, 64, 32, 64),
              CUBLAS_STATUS_SUCCESS)
        << type;
    EXPECT_EQ(real.cublasLtMatrixLayoutDestroy(layout), CUBLAS_STATUS_SUCCESS);
  }
}

} // namespace
