//===- CublasLtLibrary.cpp - The emulated libcublasLt ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// D = epilogue(alpha op(A) op(B) + beta C + bias), all matrices by columns, as
/// the documentation of cuBLASLt has it, or the epilogue's derivative at the
/// auxiliary matrix, or the sums of B over the inner dimension into the bias,
/// computed in double precision when the stream comes to it. What the real
/// library refuses is refused: types that it does not combine, rows of
/// auxiliary matrices that are no multiple of 8, operands that are less aligned
/// than the algorithm was chosen for (of a bias and a kept input: in another
/// way), an algorithm that was chosen for another GEMM. It proposes a few
/// algorithms, whose results are the same and whose times are not. The first
/// use of one loads its code, which waits until the GPU does nothing.
///
/// Of 8-bit types it is as strict as the documentation ("To use FP8 kernels"):
/// from compute capability 8.9 on; at least one factor e4m3; every size a
/// multiple of 16 and every matrix at one of 16 bytes; A transposed and B not,
/// but for GPUs of capability 10; D and C of bf16, f16 or f32 alike; a bias of
/// D's type, which is bf16 where D is f32. GELU is refused, though the real one
/// has it for some types: nothing says for which. Scales are for these types.
///
//===----------------------------------------------------------------------===//

#include "kernels/reference/Element.h"
#include "runtime/hal/drivers/cuda/CublasLtApi.h"
#include "test/emulator/libraries/CudaLibrary.h"

#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string_view>

using namespace hocket;
using namespace hocket::emulator;
using namespace hocket::hal::cuda;

/// Of the emulated libcuda.
extern "C" CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice);
extern "C" CUresult cuCtxSynchronize();

namespace {

constexpr cublasStatus_t CUBLAS_STATUS_INVALID_VALUE = 7;
constexpr cublasStatus_t CUBLAS_STATUS_EXECUTION_FAILED = 13;
/// Scratch memory of every algorithm, and what it leaves there.
constexpr size_t scratchBytes = 512;
constexpr unsigned char scratchByte = 0xcd;
/// Of each algorithm, in the order in which they are proposed.
constexpr double algorithmMicros[] = {30, 40, 10, 20};
std::atomic<uint64_t> gemmsBy[std::size(algorithmMicros)];
std::atomic<unsigned> failing; ///< Algorithms that do not run, a bit each.

struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t ld;

  size_t elements() const { return size_t(ld) * columns; }
};

struct Description {
  int32_t transposeA = CUBLAS_OP_N, transposeB = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  CUdeviceptr bias = 0, auxiliary = 0, scaleA = 0, scaleB = 0;
  int64_t auxiliaryLd = 0;
};

struct Preference {
  uint64_t workspaceBytes = 0;
  uint32_t alignments[4] = {256, 256, 256, 256};
};

/// What cublasLtCreate() makes.
struct Handle {
  std::set<std::array<uint64_t, 8>> loaded; ///< Algorithms.
};

Layout *of(cublasLtMatrixLayout_t handle) {
  return reinterpret_cast<Layout *>(handle);
}
Description *of(cublasLtMatmulDesc_t handle) {
  return reinterpret_cast<Description *>(handle);
}
Preference *of(cublasLtMatmulPreference_t handle) {
  return reinterpret_cast<Preference *>(handle);
}
Handle *of(cublasLtHandle_t handle) {
  return reinterpret_cast<Handle *>(handle);
}

kernels::DType dtypeOf(int type) {
  switch (type) {
  case CUDA_R_32F:
    return kernels::DType::F32;
  case CUDA_R_16BF:
    return kernels::DType::BF16;
  case CUDA_R_8F_E4M3:
    return kernels::DType::F8E4M3;
  case CUDA_R_8F_E5M2:
    return kernels::DType::F8E5M2;
  default:
    return kernels::DType::F16;
  }
}

bool isF8(int type) { return kernels::isF8(dtypeOf(type)); }
size_t typeBytes(int type) { return size_t(kernels::bytesOf(dtypeOf(type))); }

/// 90: compute capability 9.0.
int architecture() {
  int major = 0, minor = 0;
  cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
  cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
  return 10 * major + minor;
}

bool hasBias(const Description &desc) {
  return desc.epilogue != CUBLASLT_EPILOGUE_DEFAULT &&
         (desc.epilogue & CUBLASLT_EPILOGUE_BIAS);
}
bool sumsB(const Description &desc) {
  return desc.epilogue == CUBLASLT_EPILOGUE_BGRADB;
}
bool hasGeluDerivative(const Description &desc) {
  return desc.epilogue == CUBLASLT_EPILOGUE_DGELU;
}
bool hasGelu(const Description &desc) {
  return desc.epilogue != CUBLASLT_EPILOGUE_DEFAULT &&
         (desc.epilogue & CUBLASLT_EPILOGUE_GELU);
}
/// Written or, for a derivative, read.
bool hasAuxiliary(const Description &desc) {
  return hasGeluDerivative(desc) ||
         (hasGelu(desc) && (desc.epilogue & CUBLASLT_EPILOGUE_GELU_AUX) ==
                               CUBLASLT_EPILOGUE_GELU_AUX);
}

/// A GEMM of matrices by columns.
struct Gemm {
  Description desc;
  Layout a, b, c, d;
  float alpha = 1, beta = 0;
  CUdeviceptr at[4] = {}; ///< A, B, C, D.
  CUdeviceptr workspace = 0;

  uint64_t inner() const {
    return desc.transposeA == CUBLAS_OP_N ? a.columns : a.rows;
  }

  bool hasF8() const { return isF8(a.type) || isF8(b.type); }
  int biasType() const {
    return hasF8() && d.type == CUDA_R_32F ? CUDA_R_16BF : d.type;
  }

  /// Where some factor has 8 bits.
  bool isSupportedF8() const {
    int gpu = architecture();
    bool anyLayout = gpu / 10 == 10;
    bool fits = true;
    for (const Layout &layout : {a, b, c, d})
      fits &= layout.rows % 16 == 0 && layout.columns % 16 == 0;
    return gpu >= 89 && isF8(a.type) && isF8(b.type) &&
           (a.type == CUDA_R_8F_E4M3 || b.type == CUDA_R_8F_E4M3) &&
           !isF8(d.type) && c.type == d.type && fits && !hasGelu(desc) &&
           !hasGeluDerivative(desc) && !sumsB(desc) &&
           (anyLayout ||
            (desc.transposeA == CUBLAS_OP_T && desc.transposeB == CUBLAS_OP_N));
  }

  bool isSupported(const uint32_t (&alignments)[4]) const {
    auto rows = [](const Layout &layout, int32_t op) {
      return op == CUBLAS_OP_N ? layout.rows : layout.columns;
    };
    auto columns = [](const Layout &layout, int32_t op) {
      return op == CUBLAS_OP_N ? layout.columns : layout.rows;
    };
    bool shapes = rows(a, desc.transposeA) == d.rows &&
                  columns(b, desc.transposeB) == d.columns &&
                  columns(a, desc.transposeA) == rows(b, desc.transposeB) &&
                  c.rows == d.rows && c.columns == d.columns;
    bool types = hasF8() ? isSupportedF8()
                         : a.type == b.type && c.type == d.type &&
                               (d.type == a.type || d.type == CUDA_R_32F);
    for (uint32_t alignment : alignments)
      types &= !hasF8() || alignment % 16 == 0;
    bool auxiliary =
        !hasAuxiliary(desc) ||
        (desc.auxiliaryLd % 8 == 0 && uint64_t(desc.auxiliaryLd) >= d.rows);
    return shapes && types && auxiliary;
  }

  std::vector<MemoryUse> uses() const {
    const Layout *layouts[4] = {&a, &b, &c, &d};
    std::vector<MemoryUse> list;
    for (int i = 0; i < 4; ++i)
      if (i != 2 || beta != 0)
        list.push_back({at[i],
                        layouts[i]->elements() * typeBytes(layouts[i]->type),
                        i == 3});
    if (hasBias(desc))
      list.push_back({desc.bias, d.rows * typeBytes(biasType()), false});
    if (sumsB(desc))
      list.push_back({desc.bias, d.columns * typeBytes(d.type), true});
    for (CUdeviceptr scale : {desc.scaleA, desc.scaleB})
      if (scale)
        list.push_back({scale, sizeof(float), false});
    if (hasAuxiliary(desc))
      list.push_back({desc.auxiliary,
                      size_t(desc.auxiliaryLd) * d.columns * typeBytes(d.type),
                      !hasGeluDerivative(desc)});
    list.push_back({workspace, scratchBytes, true});
    return list;
  }

  void compute() const;
};

double gelu(double x) {
  double root = std::sqrt(2 / M_PI);
  return 0.5 * x * (1 + std::tanh(root * (x + 0.044715 * x * x * x)));
}

double geluDerivative(double x) {
  double root = std::sqrt(2 / M_PI);
  double t = std::tanh(root * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) +
         0.5 * x * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x);
}

/// op(matrix) by rows, in double precision.
std::vector<double> rowsOf(const Layout &layout, CUdeviceptr address,
                           bool transposed) {
  kernels::ConstView view{reinterpret_cast<const void *>(address),
                          dtypeOf(layout.type)};
  uint64_t rows = transposed ? layout.columns : layout.rows;
  uint64_t columns = transposed ? layout.rows : layout.columns;
  std::vector<double> values(rows * columns);
  for (uint64_t i = 0; i < rows; ++i)
    for (uint64_t j = 0; j < columns; ++j) {
      uint64_t row = transposed ? j : i, column = transposed ? i : j;
      values[i * columns + j] =
          kernels::load(view, int64_t(column * uint64_t(layout.ld) + row));
    }
  return values;
}

/// The number on the GPU, 1 where there is none.
double scaleAt(CUdeviceptr address) {
  return address ? *reinterpret_cast<const float *>(address) : 1;
}

/// Whether sums are in f32, in an order that depends on the number of rows (of
/// columns here), as a library may choose.
bool sumsByRows() {
  const char *value = std::getenv("HOCKET_EMULATED_GEMMS_BY_ROWS");
  return value && std::string_view(value) == "1";
}

void Gemm::compute() const {
  uint64_t m = d.rows, n = d.columns, k = inner();
  bool byRows = sumsByRows();
  std::vector<double> left = rowsOf(a, at[0], desc.transposeA == CUBLAS_OP_T);
  std::vector<double> right = rowsOf(b, at[1], desc.transposeB == CUBLAS_OP_T);
  std::vector<double> sums(m * n);
  for (uint64_t i = 0; i < m; ++i)
    for (uint64_t p = 0; p < k; ++p)
      for (uint64_t j = 0; j < n; ++j) {
        uint64_t at = byRows ? (p + n) % k : p;
        double &sum = sums[i * n + j];
        sum += left[i * k + at] * right[at * n + j];
        sum = byRows ? double(float(sum)) : sum;
      }
  auto view = [&](CUdeviceptr address) {
    return kernels::View{reinterpret_cast<void *>(address), dtypeOf(d.type)};
  };
  kernels::ConstView biases{reinterpret_cast<const void *>(desc.bias),
                            dtypeOf(biasType())};
  double factor = double(alpha) * scaleAt(desc.scaleA) * scaleAt(desc.scaleB);
  for (uint64_t j = 0; j < n; ++j)
    for (uint64_t i = 0; i < m; ++i) {
      double value = factor * sums[i * n + j];
      if (beta != 0)
        value += double(beta) *
                 kernels::load(view(at[2]), int64_t(j * uint64_t(c.ld) + i));
      if (hasBias(desc))
        value += kernels::load(biases, int64_t(i));
      int64_t beside = int64_t(j * uint64_t(desc.auxiliaryLd) + i);
      if (hasGeluDerivative(desc))
        value *= geluDerivative(kernels::load(view(desc.auxiliary), beside));
      else if (hasAuxiliary(desc))
        kernels::store(view(desc.auxiliary), beside, value);
      if (hasGelu(desc))
        value = gelu(value);
      kernels::store(view(at[3]), int64_t(j * uint64_t(d.ld) + i), value);
    }
  for (uint64_t j = 0; sumsB(desc) && j < n; ++j) {
    double sum = 0;
    for (uint64_t p = 0; p < k; ++p)
      sum += right[p * n + j];
    kernels::store(view(desc.bias), int64_t(j), sum);
  }
  std::memset(reinterpret_cast<void *>(workspace), scratchByte, scratchBytes);
}

Gemm gemmOf(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
            cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
            cublasLtMatrixLayout_t d) {
  return {*of(desc), *of(a), *of(b), *of(c), *of(d)};
}

/// The greatest power of two up to 256 that bias and kept input lie at.
uint64_t alignmentsBeside(const Description &desc) {
  uint64_t alignments = 0;
  for (CUdeviceptr address : {hasBias(desc) || sumsB(desc) ? desc.bias : 0,
                              hasAuxiliary(desc) ? desc.auxiliary : 0})
    alignments =
        alignments << 16 | std::min<CUdeviceptr>(address & (~address + 1), 256);
  return alignments;
}

/// What an algorithm is good for: shapes, types and alignments.
cublasLtMatmulAlgo_t algorithmFor(const Gemm &gemm,
                                  const uint32_t (&alignments)[4]) {
  cublasLtMatmulAlgo_t algorithm = {};
  algorithm.data[0] = gemm.d.rows << 32 | gemm.d.columns;
  algorithm.data[1] = gemm.inner();
  algorithm.data[2] = uint64_t(gemm.a.type) << 32 |
                      uint64_t(gemm.b.type) << 16 | uint64_t(gemm.d.type);
  algorithm.data[3] =
      uint64_t(gemm.desc.transposeA) << 32 | uint64_t(gemm.desc.transposeB);
  algorithm.data[4] = gemm.desc.epilogue;
  for (int i = 0; i < 4; ++i)
    algorithm.data[5] |= uint64_t(alignments[i]) << 16 * i;
  algorithm.data[7] = alignmentsBeside(gemm.desc);
  return algorithm;
}

} // namespace

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

#define HOCKET_EXPORT extern "C" __attribute__((visibility("default")))

HOCKET_EXPORT size_t cublasLtGetVersion() { return 1; }

/// For tests: how many GEMMs an algorithm has been asked for.
HOCKET_EXPORT uint64_t emulatedGemmsBy(size_t algorithm) {
  return gemmsBy[algorithm];
}

/// For tests: algorithms that are proposed and do not run, a bit each.
HOCKET_EXPORT void emulatedFailingGemms(unsigned algorithms) {
  failing = algorithms;
}

HOCKET_EXPORT const char *cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED   ? "CUBLAS_STATUS_NOT_SUPPORTED"
         : status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
                                                 : "emulated cuBLASLt status";
}

HOCKET_EXPORT cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new Handle());
  return CUBLAS_STATUS_SUCCESS;
}

HOCKET_EXPORT cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete of(handle);
  return CUBLAS_STATUS_SUCCESS;
}

HOCKET_EXPORT cublasStatus_t cublasLtMatmulDescCreate(
    cublasLtMatmulDesc_t *desc, int computeType, int scaleType) {
  if (computeType != CUBLAS_COMPUTE_32F || scaleType != CUDA_R_32F)
    return CUBLAS_STATUS_INVALID_VALUE;
  *desc = reinterpret_cast<cublasLtMatmulDesc_t>(new Description());
  return CUBLAS_STATUS_SUCCESS;
}

HOCKET_EXPORT cublasStatus_t
cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete of(desc);
  return CUBLAS_STATUS_SUCCESS;
}

namespace {
/// One row an attribute: where it is kept, and its size.
struct Attribute {
  int number;
  void *place;
  size_t bytes;
};

cublasStatus_t setOneOf(std::initializer_list<Attribute> attributes, int number,
                        const void *value, size_t bytes) {
  for (const Attribute &attribute : attributes)
    if (attribute.number == number && attribute.bytes == bytes) {
      std::memcpy(attribute.place, value, bytes);
      return CUBLAS_STATUS_SUCCESS;
    }
  return CUBLAS_STATUS_INVALID_VALUE;
}
} // namespace

HOCKET_EXPORT cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle, int attribute,
                               const void *value, size_t bytes) {
  Description &desc = *of(handle);
  return setOneOf(
      {{CUBLASLT_MATMUL_DESC_TRANSA, &desc.transposeA, 4},
       {CUBLASLT_MATMUL_DESC_TRANSB, &desc.transposeB, 4},
       {CUBLASLT_MATMUL_DESC_EPILOGUE, &desc.epilogue, 4},
       {CUBLASLT_MATMUL_DESC_BIAS_POINTER, &desc.bias, 8},
       {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &desc.auxiliary, 8},
       {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &desc.auxiliaryLd, 8},
       {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &desc.scaleA, 8},
       {CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &desc.scaleB, 8}},
      attribute, value, bytes);
}

HOCKET_EXPORT cublasStatus_t
cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, int type,
                           uint64_t rows, uint64_t columns, int64_t ld) {
  if (ld < 0 || uint64_t(ld) < rows)
    return CUBLAS_STATUS_INVALID_VALUE;
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{type, rows, columns, ld});
  return CUBLAS_STATUS_SUCCESS;
}

HOCKET_EXPORT cublasStatus_t
cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete of(layout);
  return CUBLAS_STATUS_SUCCESS;
}

HOCKET_EXPORT cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference());
  return CUBLAS_STATUS_SUCCESS;
}

HOCKET_EXPORT cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete of(preference);
  return CUBLAS_STATUS_SUCCESS;
}

HOCKET_EXPORT cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t handle, int attribute, const void *value,
    size_t bytes) {
  Preference &preference = *of(handle);
  constexpr int first = CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  return setOneOf({{CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                    &preference.workspaceBytes, 8},
                   {first, &preference.alignments[0], 4},
                   {first + 1, &preference.alignments[1], 4},
                   {first + 2, &preference.alignments[2], 4},
                   {first + 3, &preference.alignments[3], 4}},
                  attribute, value, bytes);
}

HOCKET_EXPORT cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int wanted,
    cublasLtMatmulHeuristicResult_t *results, int *found) {
  Gemm gemm = gemmOf(desc, a, b, c, d);
  *found = 0;
  if (wanted < 1)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!gemm.isSupported(of(preference)->alignments) ||
      of(preference)->workspaceBytes < scratchBytes)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  *found = std::min(wanted, int(std::size(algorithmMicros)));
  for (int i = 0; i < *found; ++i) {
    results[i] = {algorithmFor(gemm, of(preference)->alignments),
                  scratchBytes,
                  CUBLAS_STATUS_SUCCESS,
                  1,
                  {}};
    results[i].algo.data[6] = uint64_t(i);
  }
  return CUBLAS_STATUS_SUCCESS;
}

HOCKET_EXPORT cublasStatus_t cublasLtMatmul(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
    const void *a, cublasLtMatrixLayout_t aLayout, const void *b,
    cublasLtMatrixLayout_t bLayout, const void *beta, const void *c,
    cublasLtMatrixLayout_t cLayout, void *d, cublasLtMatrixLayout_t dLayout,
    const cublasLtMatmulAlgo_t *algorithm, void *workspace,
    size_t workspaceBytes, CUstream stream) {
  Gemm gemm = gemmOf(desc, aLayout, bLayout, cLayout, dLayout);
  if (!gemm.hasF8() && (gemm.desc.scaleA || gemm.desc.scaleB))
    return CUBLAS_STATUS_INVALID_VALUE;
  const void *operands[4] = {a, b, c, d};
  uint32_t alignments[4];
  for (int i = 0; i < 4; ++i) {
    gemm.at[i] = reinterpret_cast<CUdeviceptr>(operands[i]);
    alignments[i] = uint16_t(algorithm->data[5] >> 16 * i);
    if (alignments[i] == 0 || gemm.at[i] % alignments[i] != 0)
      return CUBLAS_STATUS_INVALID_VALUE;
  }
  gemm.alpha = *static_cast<const float *>(alpha);
  gemm.beta = *static_cast<const float *>(beta);
  gemm.workspace = reinterpret_cast<CUdeviceptr>(workspace);
  cublasLtMatmulAlgo_t expected = algorithmFor(gemm, alignments);
  expected.data[6] = algorithm->data[6];
  if (expected.data[6] >= std::size(algorithmMicros))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (std::memcmp(algorithm, &expected, sizeof(expected)) != 0 ||
      workspaceBytes < scratchBytes || gemm.workspace % 256 != 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (failing >> expected.data[6] & 1)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (of(handle)->loaded.insert(std::to_array(algorithm->data)).second &&
      cuCtxSynchronize() != CUDA_SUCCESS)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  CUresult result = enqueueOn(
      stream, gemm.uses(), [gemm] { gemm.compute(); },
      algorithmMicros[expected.data[6]]);
  ++gemmsBy[expected.data[6]];
  return result == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS
                                : CUBLAS_STATUS_EXECUTION_FAILED;
}
