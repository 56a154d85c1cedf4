//===- TensorMaps.cpp - Tensor maps for TMA -------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/hal/drivers/cuda/TensorMaps.h"

#include "base/Format.h"

using namespace hocket;
using namespace hocket::hal::cuda;
using kernels::CudaTensor;

static bool isSame(const CudaTensor &a, const CudaTensor &b) {
  return a.dtype == b.dtype && a.rank == b.rank && a.sizes == b.sizes &&
         a.strides == b.strides && a.box == b.box;
}

static std::string textOf(const CudaTensor &tensor, CUdeviceptr address) {
  std::string text =
      formatText("a tensor at 0x%llx of", (unsigned long long)address);
  for (uint32_t i = 0; i < tensor.rank; ++i)
    text += formatText("%s %lld (every %lld, box %lld)", i == 0 ? "" : " x",
                       (long long)tensor.sizes[i], (long long)tensor.strides[i],
                       (long long)tensor.box[i]);
  return text;
}

static CUresult encode(const DriverApi &api, const CudaTensor &tensor,
                       CUdeviceptr address, CUtensorMap &map) {
  constexpr size_t most = CudaTensor::mostDimensions;
  auto elementBytes = uint64_t(kernels::bytesOf(tensor.dtype));
  unsigned long long sizes[most] = {}, strides[most] = {};
  unsigned box[most] = {}, ones[most] = {};
  for (size_t i = 0; i < tensor.rank; ++i) {
    sizes[i] = uint64_t(tensor.sizes[i]);
    box[i] = unsigned(tensor.box[i]), ones[i] = 1;
    if (i > 0) // Elements of rows lie beside each other.
      strides[i - 1] = uint64_t(tensor.strides[i]) * elementBytes;
  }
  int dataType = tensor.dtype == kernels::DType::F16
                     ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                     : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  return api.cuTensorMapEncodeTiled(
      &map, dataType, tensor.rank, reinterpret_cast<void *>(address), sizes,
      strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

StatusOr<const CUtensorMap *> TensorMaps::find(const CudaTensor &tensor,
                                               CUdeviceptr address) {
  auto [first, last] = known.equal_range(address);
  for (auto entry = first; entry != last; ++entry)
    if (isSame(entry->second->tensor, tensor))
      return &entry->second->map;
  auto made = std::make_unique<Known>();
  made->tensor = tensor;
  CUresult result = encode(api, tensor, address, made->map);
  if (result == CUDA_ERROR_INVALID_VALUE)
    return invalidArgument("the driver makes no tensor map of " +
                           textOf(tensor, address));
  HOCKET_RETURN_IF_ERROR(statusOf(api, result, "cuTensorMapEncodeTiled"));
  return &known.emplace(address, std::move(made))->second->map;
}
