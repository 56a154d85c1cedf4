//===- CublasLtGemms.h - GEMMs on a GPU, by cuBLASLt ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The GEMM of kernels/reference/Gemm.h as one call of cuBLASLt, which
/// stores matrices by columns: a row-major D[m, n] is its D'[n, m], and
/// D' = op(B)' op(A)'. Products and sums are kept in f32.
///
/// The library does with one call: a bias, adding to D or to a residual of D's
/// type, the tanh form of GELU, whose input may be kept, or its derivative at
/// such an input, and a bias gradient. Element types: A and B alike; D and what
/// is beside it alike, of A's type or f32.
///
/// Operands of 8 bits are multiplied as kernels/cuda/F8Gemms.h says, each
/// times a scale in GPU memory; D has bf16, f16 or f32, there is no GELU, and
/// no bias beside a D of f32. Sums go to f32 registers every few MMAs
/// (CUBLASLT_MATMUL_DESC_FAST_ACCUM stays 0), as tensor cores alone keep fewer
/// bits.
///
/// The algorithm for a shape is chosen once (AlgorithmChoice.h): of GEMMs
/// that are prepared the fastest, of others one that was measured before, or
/// else the library's own first guess. The same machine gives the same bits.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_HAL_DRIVERS_CUDA_CUBLASLTGEMMS_H
#define HOCKET_RUNTIME_HAL_DRIVERS_CUDA_CUBLASLTGEMMS_H

#include "kernels/cuda/F8Gemms.h"
#include "runtime/hal/drivers/cuda/AlgorithmChoice.h"
#include "runtime/hal/interfaces/Device.h"

#include <array>
#include <map>
#include <memory>

namespace hocket::hal::cuda {

/// Where the bytes of a GEMM's operands are.
struct GemmMemory {
  CUdeviceptr arena = 0; ///< What ranges count from.
  uint64_t arenaBytes = 0;
  CUdeviceptr workspace = 0; ///< Aligned to 256 bytes.
  uint64_t workspaceBytes = 0;
};

/// The GEMMs of one GPU, used by one thread at a time with its context
/// current.
class CublasLtGemms {
public:
  explicit CublasLtGemms(const DriverApi &driver);
  ~CublasLtGemms();
  CublasLtGemms(const CublasLtGemms &) = delete;

  /// The GPU's name, which choices are kept under, and which 8-bit operands it
  /// takes.
  void setGpu(std::string name, kernels::F8Layouts f8Layouts) {
    gpu = std::move(name);
    layouts = f8Layouts;
  }

  /// Chooses algorithms for `calls`, which Device has checked, by trying them
  /// on numbers in the arena, and has the library load their code; whether it
  /// has written there. What multiply() would refuse is left to it.
  StatusOr<bool> prepare(std::span<const GemmCall> calls,
                         const GemmMemory &memory, CUstream stream);

  /// Issues `call`, which Device has checked. FailedPrecondition without
  /// cuBLASLt; InvalidArgument for what the library does not compute.
  Status multiply(const GemmCall &call, const GemmMemory &memory,
                  CUstream stream);

  /// Gives the library back; the context must be current.
  void close();

private:
  class Gemm;
  /// Everything that the choice of an algorithm depends on, in numbers.
  using Key = std::array<uint64_t, 6>;
  /// What is done once for a shape.
  struct Place {
    const GemmMemory &memory;
    CUstream stream;
    bool isEmpty; ///< The arena: GEMMs may be tried.
  };
  Status start();
  StatusOr<Gemm *> find(const GemmCall &call, const Place &place);
  StatusOr<std::unique_ptr<Gemm>> make(const GemmCall &call, const Key &key,
                                       const Place &place);
  Status fill(const Place &place);

  const DriverApi &driver;
  std::string gpu;
  kernels::F8Layouts layouts = kernels::F8Layouts::None;
  std::optional<AlgorithmChoice> choice; ///< From start() on.
  bool isFilled = false;                 ///< The arena, with numbers.
  bool hasWritten = false;               ///< To the arena, by trying.
  const CublasLtApi *api = nullptr;
  cublasLtHandle_t handle = nullptr;
  std::map<Key, std::unique_ptr<Gemm>> gemms;
};

} // namespace hocket::hal::cuda

#endif // HOCKET_RUNTIME_HAL_DRIVERS_CUDA_CUBLASLTGEMMS_H
