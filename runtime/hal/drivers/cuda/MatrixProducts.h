//===- MatrixProducts.h - Products on a GPU, by cuBLASLt --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The product of kernels/reference/Gemm.h as one call of cuBLASLt, which
/// stores matrices by columns: a row-major D[m, n] is its D'[n, m], and
/// D' = op(B)' op(A)'. Products and sums are kept in f32.
///
/// The library does with one call: a bias, adding to D or to a residual of D's
/// type, and the tanh form of GELU, whose input may be kept. Element types: A
/// and B alike; D, bias, residual and auxiliary alike, of A's type or f32.
///
/// The algorithm for a shape is the library's own first choice, asked for once;
/// the same machine gives the same bits.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_HAL_DRIVERS_CUDA_MATRIXPRODUCTS_H
#define HOCKET_RUNTIME_HAL_DRIVERS_CUDA_MATRIXPRODUCTS_H

#include "runtime/hal/drivers/cuda/CublasLtApi.h"
#include "runtime/hal/interfaces/Device.h"

#include <array>
#include <map>
#include <memory>

namespace hocket::hal::cuda {

/// Where the bytes of a product's operands are.
struct ProductMemory {
  CUdeviceptr arena = 0;     ///< What ranges count from.
  CUdeviceptr workspace = 0; ///< Aligned to 256 bytes.
  uint64_t workspaceBytes = 0;
};

/// The products of one GPU, used by one thread at a time with its context
/// current.
class MatrixProducts {
public:
  MatrixProducts();
  ~MatrixProducts();
  MatrixProducts(const MatrixProducts &) = delete;

  /// Issues `call`, which Device has checked. FailedPrecondition without
  /// cuBLASLt; InvalidArgument for what the library does not compute.
  Status multiply(const GemmCall &call, const ProductMemory &memory,
                  CUstream stream);

  /// Gives the library back; the context must be current.
  void close();

private:
  class Product;
  /// Everything that the choice of an algorithm depends on, in numbers.
  using Key = std::array<uint64_t, 5>;
  Status start();

  const CublasLtApi *api = nullptr;
  cublasLtHandle_t handle = nullptr;
  std::map<Key, std::unique_ptr<Product>> products;
};

} // namespace hocket::hal::cuda

#endif // HOCKET_RUNTIME_HAL_DRIVERS_CUDA_MATRIXPRODUCTS_H
