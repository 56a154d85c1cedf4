//===- Library.h - Library ops as launches of CUDA kernels ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a call of a library op is on a GPU: a few launches, one after another
/// on one stream, each of an `extern "C"` kernel whose text is given here. No
/// header of CUDA is needed: whoever compiles and launches is elsewhere.
///
/// The text of a kernel depends on the op, its types and what is worth being
/// known when it is compiled; the same call gives the same text, and a symbol
/// stands for one text everywhere. So kernels of many calls make one source
/// (cudaSource), in which each appears once.
///
/// **Order.** The launches of a call follow each other. Nothing depends on how
/// blocks are scheduled: two runs give the same bits.
///
/// **Errors of the data** (a token id outside the vocabulary) are found on the
/// GPU, where nobody can return them: a kernel raises the fault word, a u32 in
/// device memory that whoever launches sets to 0 before the first call and
/// reads when it synchronises. Results are then unspecified, but nothing was
/// read or written out of bounds. faultText() says what a word means.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_LAUNCHES_LIBRARY_H
#define HOCKET_KERNELS_CUDA_LAUNCHES_LIBRARY_H

#include "kernels/library/Library.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::kernels {

/// What one parameter of a kernel gets.
struct CudaArgument {
  enum class Kind {
    Buffer,     ///< pointer: buffer `index` of the call
    Scalar,     ///< i64: scalar `index` of the call
    Accumulate, ///< i32: 1 where the call adds to its result, else 0
    Workspace,  ///< pointer: `integer` bytes into the call's workspace
    Fault,      ///< pointer: to the fault word
    I32,        ///< i32: `integer`
    I64,        ///< i64: `integer`
    F32,        ///< f32: `real`
    F64,        ///< f64: `real`
    Tensor,     ///< 128 bytes: what the driver makes of tensor `index`
  };
  Kind kind = Kind::I64;
  uint32_t index = 0;
  int64_t integer = 0;
  double real = 0;
};

/// A tensor in a buffer, and the boxes of it that a kernel copies (a "tensor
/// map"), by dimensions, the innermost first; see cuTensorMapEncodeTiled().
/// Boxes have rows of 128 bytes, in shared memory with the 128-byte swizzle;
/// what is outside of the tensor is 0 there.
struct CudaTensor {
  static constexpr size_t mostDimensions = 4;

  uint32_t buffer = 0; ///< of the call: where the first element is
  DType dtype = DType::BF16;
  uint32_t rank = 0;
  std::array<int64_t, mostDimensions> sizes = {};   ///< elements
  std::array<int64_t, mostDimensions> strides = {}; ///< elements
  std::array<int64_t, mostDimensions> box = {};     ///< elements
};

struct CudaLaunch {
  std::string symbol; ///< of its kernel
  std::string header; ///< that the text includes: "kernels/cuda/Rope.cuh"
  std::string text;   ///< of the kernel, and of what is its own
  std::array<uint32_t, 3> grid = {1, 1, 1}; ///< blocks, none of them 0
  /// Persistent: a block along x also does the work of those that are not
  /// there. At most one a multiprocessor is launched.
  bool isPersistent = false;
  uint32_t threads = 1;     ///< of a block, along x
  uint32_t sharedBytes = 0; ///< dynamic; more than 48 KiB must be asked for
  std::vector<CudaArgument> arguments;
  std::vector<CudaTensor> tensors; ///< of arguments
};

/// One call of a library op; no launches where there is nothing to do.
struct CudaCall {
  /// On any GPU from sm_80 on, and instead of them with compute capability 9.0,
  /// from code for sm_90a; if there are none of these, the same. Kernels are in
  /// code for GPUs that launch them, and in no other.
  std::vector<CudaLaunch> launches, hopper;
  /// Device memory, aligned to 256 bytes, that is this call's alone from its
  /// first launch to the end of its last. What lies there before is unread.
  int64_t workspaceBytes = 0;

  const std::vector<CudaLaunch> &launchesOn(int major, int minor) const {
    return major == 9 && minor == 0 && !hopper.empty() ? hopper : launches;
  }
};

/// What a call is about before its buffers and scalars are known; they number
/// `buffers` and `scalars`.
struct CudaRequest {
  std::span<const int64_t> integers;
  std::span<const double> floats;
  size_t buffers = 0, scalars = 0;
};

/// Fills `call`. An error is one of requiredBytes(), that the op does not run
/// on GPUs (gemm_pack), or that a launch would have too many blocks.
[[nodiscard]] KernelError
makeCudaCall(const LibraryOp &op, const CudaRequest &request, CudaCall &call);

/// One source with the kernels of all `launches`, for compilers that are given
/// cudaHeaders() (Sources.h).
std::string cudaSource(std::span<const CudaLaunch> launches);

/// What the fault word says is wrong; null for 0, and a general text for a
/// word that no kernel writes.
KernelError faultText(uint32_t word);

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CUDA_LAUNCHES_LIBRARY_H
