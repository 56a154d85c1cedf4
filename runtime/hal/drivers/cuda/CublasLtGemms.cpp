//===- CublasLtGemms.cpp - GEMMs on a GPU, by cuBLASLt --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/hal/drivers/cuda/CublasLtGemms.h"

#include "base/Format.h"

#include <algorithm>
#include <random>

using namespace hocket;
using namespace hocket::hal;
using namespace hocket::hal::cuda;
using kernels::Epilogue;
using kernels::F8Layouts;

#define HOCKET_LT_CALL(function, ...)                                          \
  HOCKET_RETURN_IF_ERROR(statusOf(*api, api->function(__VA_ARGS__), #function))

static int dataTypeOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return CUDA_R_32F;
  case DType::BF16:
    return CUDA_R_16BF;
  case DType::F8E4M3:
    return CUDA_R_8F_E4M3;
  case DType::F8E5M2:
    return CUDA_R_8F_E5M2;
  default:
    return CUDA_R_16F;
  }
}

static bool has(const Operand &operand) { return operand.range.bytes > 0; }

/// The same of operands of 8 bits.
static const char *objectionToF8(const GemmCall &call, F8Layouts layouts) {
  if (layouts == F8Layouts::None)
    return "8-bit operands on this GPU; compile the program for it (--arch)";
  if (layouts == F8Layouts::InnerFastest &&
      (call.transposeA || !call.transposeB))
    return "8-bit operands on this GPU whose inner dimension does not run "
           "fastest; compile the program for it (--arch)";
  for (uint64_t size : {call.m, call.n, call.k})
    if (size % kernels::kF8Multiple != 0)
      return "8-bit operands with a size of no multiple of 16";
  if (call.epilogue != Epilogue::None)
    return "a nonlinearity behind 8-bit operands";
  if (has(call.biasGradient))
    return "a bias gradient of 8-bit operands";
  // It has a bias of bf16 there.
  if (has(call.bias) && call.d.dtype == DType::F32)
    return "a bias beside 8-bit operands and a result of f32";
  return nullptr;
}

/// What cuBLASLt does not do with one call, or null.
static const char *objectionTo(const GemmCall &call, F8Layouts layouts) {
  bool f8 = kernels::isF8(call.a.dtype);
  if (call.packedB)
    return "a packed matrix";
  if (const char *objection = f8 ? objectionToF8(call, layouts) : nullptr)
    return objection;
  if (!f8 && call.a.dtype != call.b.dtype)
    return "factors of two element types";
  if (!f8 && call.d.dtype != call.a.dtype && call.d.dtype != DType::F32)
    return "a result narrower than its factors";
  for (const Operand *other : {&call.bias, &call.residual, &call.auxiliary,
                               &call.preactivation, &call.biasGradient})
    if (has(*other) && other->dtype != call.d.dtype)
      return "operands of other element types than the result";
  bool activates = call.epilogue != Epilogue::None;
  if (activates && call.epilogue != Epilogue::GeluTanh)
    return "a nonlinearity other than gelu_tanh";
  if (has(call.residual) && (activates || call.accumulate))
    return "a residual beside a nonlinearity or a sum";
  for (const Operand *input : {&call.auxiliary, &call.preactivation})
    if (has(*input) && (!activates || call.n % 8 != 0))
      return "a kept input without gelu_tanh or with rows of no multiple of 8";
  if (has(call.preactivation) &&
      (has(call.bias) || has(call.auxiliary) || call.accumulate))
    return "a derivative beside a bias, a kept input or a sum";
  if (has(call.biasGradient) && (activates || has(call.bias)))
    return "a bias gradient beside a nonlinearity or a bias";
  return nullptr;
}

/// What cuBLASLt calls the auxiliary matrix, and the bias.
static const Operand &auxiliaryOf(const GemmCall &call) {
  return has(call.preactivation) ? call.preactivation : call.auxiliary;
}
static const Operand &biasOf(const GemmCall &call) {
  return has(call.biasGradient) ? call.biasGradient : call.bias;
}

static uint32_t epilogueOf(const GemmCall &call) {
  if (has(call.preactivation))
    return CUBLASLT_EPILOGUE_DGELU;
  if (has(call.biasGradient))
    return CUBLASLT_EPILOGUE_BGRADB;
  uint32_t activation = call.epilogue == Epilogue::None ? 0
                        : has(call.auxiliary) ? CUBLASLT_EPILOGUE_GELU_AUX
                                              : CUBLASLT_EPILOGUE_GELU;
  uint32_t bias = has(call.bias) ? CUBLASLT_EPILOGUE_BIAS : 0;
  return activation | bias ? activation | bias : CUBLASLT_EPILOGUE_DEFAULT;
}

/// The largest power of two up to 256 that `address` is a multiple of.
static uint32_t alignmentOf(CUdeviceptr address) {
  return uint32_t(std::min<CUdeviceptr>(address & (~address + 1), 256));
}

//===----------------------------------------------------------------------===//
// One shape
//===----------------------------------------------------------------------===//

/// What cuBLASLt knows of the GEMMs of one shape.
class CublasLtGemms::Gemm {
public:
  explicit Gemm(const CublasLtApi *api) : api(api) {}
  ~Gemm() {
    if (desc)
      api->cublasLtMatmulDescDestroy(desc);
    for (cublasLtMatrixLayout_t layout : {a, b, d})
      if (layout)
        api->cublasLtMatrixLayoutDestroy(layout);
  }
  Gemm(const Gemm &) = delete;

  /// Describes the GEMM; A' is `call`'s B and B' its A.
  Status describe(const GemmCall &call) {
    HOCKET_LT_CALL(cublasLtMatmulDescCreate, &desc, CUBLAS_COMPUTE_32F,
                   CUDA_R_32F);
    int32_t transposeA = call.transposeB ? CUBLAS_OP_T : CUBLAS_OP_N;
    int32_t transposeB = call.transposeA ? CUBLAS_OP_T : CUBLAS_OP_N;
    HOCKET_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSA, transposeA));
    HOCKET_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSB, transposeB));
    HOCKET_RETURN_IF_ERROR(
        set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogueOf(call)));
    if (has(auxiliaryOf(call)))
      HOCKET_RETURN_IF_ERROR(
          set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t(call.n)));
    HOCKET_RETURN_IF_ERROR(
        layOut(a, call.b.dtype, call.transposeB, call.n, call.k));
    HOCKET_RETURN_IF_ERROR(
        layOut(b, call.a.dtype, call.transposeA, call.k, call.m));
    return layOut(d, call.d.dtype, false, call.n, call.m);
  }

  /// Scales, bias and auxiliary matrix, which the choice may look at.
  Status setPointers(const GemmCall &call, CUdeviceptr arena) {
    if (has(call.scaleB))
      HOCKET_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                                 arena + call.scaleB.range.offset));
    if (has(call.scaleA))
      HOCKET_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                                 arena + call.scaleA.range.offset));
    if (has(biasOf(call)))
      HOCKET_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                 arena + biasOf(call).range.offset));
    if (has(auxiliaryOf(call)))
      HOCKET_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
                                 arena + auxiliaryOf(call).range.offset));
    return okStatus();
  }

  /// Finds candidates, at least one; `alignments` of A', B', C' and D'.
  Status propose(cublasLtHandle_t handle, uint64_t workspaceBytes,
                 std::span<const uint32_t, 4> alignments) {
    cublasLtMatmulPreference_t preference = nullptr;
    HOCKET_LT_CALL(cublasLtMatmulPreferenceCreate, &preference);
    Status status = search(handle, preference, workspaceBytes, alignments);
    api->cublasLtMatmulPreferenceDestroy(preference);
    return status;
  }

  std::span<const cublasLtMatmulHeuristicResult_t> proposals() const {
    return candidates;
  }
  /// From now on runs this candidate.
  void take(size_t candidate) { taken = candidates[candidate]; }

  /// Runs what was taken, or, where the library refuses that, the first of its
  /// other proposals that runs, and takes that from now on.
  Status run(cublasLtHandle_t handle, const GemmCall &call,
             const GemmMemory &memory, CUstream stream) {
    const cublasLtMatmulHeuristicResult_t before = taken;
    const cublasStatus_t first = issue(handle, call, memory, stream);
    cublasStatus_t status = first;
    for (size_t i = 0; isRefusal(status) && i < candidates.size(); ++i) {
      take(i);
      status = issue(handle, call, memory, stream);
    }
    if (!isRefusal(status))
      return statusOf(*api, status, "cublasLtMatmul");
    taken = before;
    return statusOf(*api, first, "cublasLtMatmul");
  }

  /// Runs what was taken, and nothing else.
  Status runTaken(cublasLtHandle_t handle, const GemmCall &call,
                  const GemmMemory &memory, CUstream stream) {
    return statusOf(*api, issue(handle, call, memory, stream),
                    "cublasLtMatmul");
  }

private:
  /// With the pointers of `call` set.
  cublasStatus_t issue(cublasLtHandle_t handle, const GemmCall &call,
                       const GemmMemory &memory, CUstream stream) const {
    auto at = [&](const Operand &operand) {
      return reinterpret_cast<void *>(memory.arena + operand.range.offset);
    };
    const Operand &added = has(call.residual) ? call.residual : call.d;
    float beta = call.accumulate || has(call.residual) ? 1 : 0;
    return api->cublasLtMatmul(handle, desc, &call.alpha, at(call.b), a,
                               at(call.a), b, &beta, at(added), d, at(call.d),
                               d, &taken.algo,
                               reinterpret_cast<void *>(memory.workspace),
                               taken.workspaceSize, stream);
  }

  /// Whether the library does not have what it has proposed. It has done
  /// nothing then.
  static bool isRefusal(cublasStatus_t status) {
    return status == CUBLAS_STATUS_NOT_SUPPORTED ||
           status == CUBLAS_STATUS_ARCH_MISMATCH;
  }

  template <typename T> Status set(int attribute, T value) {
    HOCKET_LT_CALL(cublasLtMatmulDescSetAttribute, desc, attribute, &value,
                   sizeof(value));
    return okStatus();
  }

  /// A matrix by columns that is [rows, columns] once it has been transposed
  /// where it is to be.
  Status layOut(cublasLtMatrixLayout_t &layout, DType dtype, bool transposed,
                uint64_t rows, uint64_t columns) {
    if (transposed)
      std::swap(rows, columns);
    HOCKET_LT_CALL(cublasLtMatrixLayoutCreate, &layout, dataTypeOf(dtype), rows,
                   columns, int64_t(rows));
    return okStatus();
  }

  Status search(cublasLtHandle_t handle, cublasLtMatmulPreference_t preference,
                uint64_t workspaceBytes,
                std::span<const uint32_t, 4> alignments) {
    HOCKET_LT_CALL(cublasLtMatmulPreferenceSetAttribute, preference,
                   CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspaceBytes,
                   sizeof(workspaceBytes));
    for (int i = 0; i < 4; ++i)
      HOCKET_LT_CALL(cublasLtMatmulPreferenceSetAttribute, preference,
                     CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + i,
                     &alignments[i], sizeof(alignments[i]));
    candidates.resize(AlgorithmChoice::mostCandidates);
    int found = 0;
    cublasStatus_t status = api->cublasLtMatmulAlgoGetHeuristic(
        handle, desc, a, b, d, d, preference, int(candidates.size()),
        candidates.data(), &found);
    candidates.resize(size_t(std::clamp(found, 0, int(candidates.size()))));
    if (status == CUBLAS_STATUS_SUCCESS)
      std::erase_if(candidates, [&](const auto &result) {
        return result.state != CUBLAS_STATUS_SUCCESS ||
               result.workspaceSize > workspaceBytes;
      });
    if (status == CUBLAS_STATUS_NOT_SUPPORTED ||
        (status == CUBLAS_STATUS_SUCCESS && candidates.empty()))
      return failedPrecondition("cuBLASLt " + api->version +
                                " has no algorithm for it");
    return statusOf(*api, status, "cublasLtMatmulAlgoGetHeuristic");
  }

  const CublasLtApi *api;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr; ///< C is as D.
  std::vector<cublasLtMatmulHeuristicResult_t> candidates;
  cublasLtMatmulHeuristicResult_t taken = {};
};

//===----------------------------------------------------------------------===//
// All shapes
//===----------------------------------------------------------------------===//

CublasLtGemms::CublasLtGemms(const DriverApi &driver) : driver(driver) {}

CublasLtGemms::~CublasLtGemms() = default;

void CublasLtGemms::close() {
  gemms.clear();
  if (handle)
    api->cublasLtDestroy(handle);
  handle = nullptr;
}

Status CublasLtGemms::start() {
  if (handle)
    return okStatus();
  HOCKET_ASSIGN_OR_RETURN(api, cublasLtApi());
  HOCKET_LT_CALL(cublasLtCreate, &handle);
  choice.emplace(driver);
  return okStatus();
}

static std::string nameOf(const GemmCall &call) {
  return formatText("gemm %llu x %llu x %llu", (unsigned long long)call.m,
                    (unsigned long long)call.n, (unsigned long long)call.k);
}

/// Of A', B', C' and D'.
static std::array<uint32_t, 4> alignmentsOf(const GemmCall &call,
                                            CUdeviceptr arena) {
  const Operand &added = has(call.residual) ? call.residual : call.d;
  return {alignmentOf(arena + call.b.range.offset),
          alignmentOf(arena + call.a.range.offset),
          alignmentOf(arena + added.range.offset),
          alignmentOf(arena + call.d.range.offset)};
}

StatusOr<CublasLtGemms::Gemm *> CublasLtGemms::find(const GemmCall &call,
                                                    const Place &place) {
  if (const char *objection = objectionTo(call, layouts))
    return invalidArgument(nameOf(call) + ": cuBLASLt does not take " +
                           objection);
  HOCKET_RETURN_IF_ERROR(start());
  Key key = {call.m, call.n, call.k};
  for (uint64_t field :
       {uint64_t(call.transposeA), uint64_t(call.transposeB),
        uint64_t(call.a.dtype) << 4 | uint64_t(call.b.dtype),
        uint64_t(call.d.dtype), uint64_t(call.epilogue),
        uint64_t(has(call.bias)) | uint64_t(has(call.scaleA)) << 1 |
            uint64_t(has(call.scaleB)) << 2 |
            uint64_t(has(call.preactivation)) << 3 |
            uint64_t(has(call.biasGradient)) << 4,
        uint64_t(has(call.auxiliary)), uint64_t(has(call.residual))})
    key[3] = key[3] << 8 | field;
  for (uint32_t alignment : alignmentsOf(call, place.memory.arena))
    key[4] = key[4] << 16 | alignment;
  // What the library looks at the pointers for.
  for (const Operand *beside : {&biasOf(call), &auxiliaryOf(call)})
    key[5] =
        key[5] << 16 |
        (has(*beside) ? alignmentOf(place.memory.arena + beside->range.offset)
                      : 0);
  std::unique_ptr<Gemm> &known = gemms[key];
  if (!known) {
    auto made = make(call, key, place);
    if (!made.ok())
      return made.status().withContext(nameOf(call));
    known = *std::move(made);
  }
  return known.get();
}

StatusOr<std::unique_ptr<CublasLtGemms::Gemm>>
CublasLtGemms::make(const GemmCall &call, const Key &key, const Place &place) {
  auto gemm = std::make_unique<Gemm>(api);
  HOCKET_RETURN_IF_ERROR(gemm->describe(call));
  HOCKET_RETURN_IF_ERROR(gemm->setPointers(call, place.memory.arena));
  Status proposed = gemm->propose(handle, place.memory.workspaceBytes,
                                  alignmentsOf(call, place.memory.arena));
  if (proposed.code() == StatusCode::FailedPrecondition &&
      epilogueOf(call) != CUBLASLT_EPILOGUE_DEFAULT)
    return failedPrecondition(proposed.message() +
                              " and what is fused with it; compile the program "
                              "with --no-fusion");
  HOCKET_RETURN_IF_ERROR(proposed);
  bool isLoaded = false;
  AlgorithmChoice::Run run = [&](size_t candidate) -> Status {
    HOCKET_RETURN_IF_ERROR(fill(place));
    gemm->take(candidate);
    isLoaded = true;
    return gemm->runTaken(handle, call, place.memory, place.stream);
  };
  std::vector<std::string> parts = {"cuBLASLt algorithm", api->version, gpu};
  for (uint64_t number : key)
    parts.push_back(std::to_string(number));
  parts.push_back(std::to_string(place.memory.workspaceBytes));
  HOCKET_ASSIGN_OR_RETURN(size_t best,
                          choice->choose(parts, gemm->proposals(), place.stream,
                                         place.isEmpty ? run : nullptr));
  gemm->take(best);
  if (!place.isEmpty || isLoaded)
    return gemm;
  // The library loads code at the first call, which may wait for all that runs.
  hasWritten = true;
  HOCKET_RETURN_IF_ERROR(gemm->run(handle, call, place.memory, place.stream));
  return gemm;
}

/// Every 16 bits are a number of either sign from 2^-7 to 2 in bf16, from 1 to
/// 2 in f16, the upper half of one in f32, and two of at most 2 in 8 bits:
/// multiplying zeros is faster.
Status CublasLtGemms::fill(const Place &place) {
  if (isFilled)
    return okStatus();
  std::vector<uint16_t> words(1 << 19);
  std::mt19937 random(1);
  for (uint16_t &word : words)
    word = uint16_t((random() & 0x83bf) | 0x3c00);
  const GemmMemory &memory = place.memory;
  uint64_t done = std::min<uint64_t>(words.size() * 2, memory.arenaBytes);
  HOCKET_CUDA_CALL(driver, cuMemcpyHtoDAsync, memory.arena, words.data(), done,
                   place.stream);
  for (; done < memory.arenaBytes; done *= 2)
    HOCKET_CUDA_CALL(driver, cuMemcpyDtoDAsync, memory.arena + done,
                     memory.arena, std::min(done, memory.arenaBytes - done),
                     place.stream);
  HOCKET_CUDA_CALL(driver, cuStreamSynchronize, place.stream);
  isFilled = hasWritten = true;
  return okStatus();
}

StatusOr<bool> CublasLtGemms::prepare(std::span<const GemmCall> calls,
                                      const GemmMemory &memory,
                                      CUstream stream) {
  isFilled = hasWritten = false;
  for (const GemmCall &call : calls) {
    auto found = find(call, {memory, stream, true});
    if (!found.ok() && found.status().code() == StatusCode::Internal)
      return found.status();
  }
  return hasWritten;
}

Status CublasLtGemms::multiply(const GemmCall &call, const GemmMemory &memory,
                               CUstream stream) {
  HOCKET_ASSIGN_OR_RETURN(Gemm * gemm, find(call, {memory, stream, false}));
  HOCKET_RETURN_IF_ERROR(gemm->setPointers(call, memory.arena));
  return gemm->run(handle, call, memory, stream);
}
