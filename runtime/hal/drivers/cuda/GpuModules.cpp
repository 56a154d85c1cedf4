//===- GpuModules.cpp - Code on a GPU -------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/hal/drivers/cuda/GpuModules.h"

#include "base/CheckedMath.h"
#include "base/Format.h"
#include "runtime/nvrtc/CompileOnce.h"
#include "runtime/nvrtc/Nvrtc.h"

#include <charconv>
#include <cstring>

using namespace hocket;
using namespace hocket::hal;
using namespace hocket::hal::cuda;

//===----------------------------------------------------------------------===//
// Architectures
//===----------------------------------------------------------------------===//

std::string Architecture::name() const {
  // From Hopper on the instructions worth having are those of one architecture.
  return formatText("sm_%d%d%s", major, minor, major >= 9 ? "a" : "");
}

bool Architecture::runs(std::string_view isa) const {
  if (!isa.starts_with("sm_"))
    return false;
  isa.remove_prefix(3);
  int number = 0;
  auto [end, error] =
      std::from_chars(isa.data(), isa.data() + isa.size(), number);
  if (error != std::errc() || number < 10)
    return false;
  std::string_view suffix = isa.substr(size_t(end - isa.data()));
  if (suffix == "a")
    return number == major * 10 + minor;
  return (suffix.empty() || suffix == "f") && number / 10 == major &&
         number % 10 <= minor;
}

//===----------------------------------------------------------------------===//
// Choosing and compiling
//===----------------------------------------------------------------------===//

/// The cubin of the nearest architecture that runs here, or null.
static const ModuleVariant *bestCubin(const Architecture &architecture,
                                      std::span<const ModuleVariant> variants) {
  const ModuleVariant *best = nullptr;
  for (const ModuleVariant &variant : variants) {
    if (variant.format != "cubin" || !architecture.runs(variant.isa))
      continue;
    // Names of one length: 90 before 89, 90a before 90.
    if (!best || variant.isa > best->isa)
      best = &variant;
  }
  return best;
}

static const ModuleVariant *
findSource(std::span<const ModuleVariant> variants) {
  for (const ModuleVariant &variant : variants)
    if (variant.format == "cuda-c++")
      return &variant;
  return nullptr;
}

static std::string offerOf(std::span<const ModuleVariant> variants) {
  std::string text;
  for (const ModuleVariant &variant : variants)
    text += (text.empty() ? "" : ", ") + std::string(variant.isa) + " (" +
            std::string(variant.format) + ")";
  return text;
}

StatusOr<std::string> GpuModules::compile(const std::string &name,
                                          const ModuleVariant &source) const {
  nvrtc::Source text{name + ".cu", std::string(source.image), {}};
  StatusOr<std::string> code = nvrtc::compileOnce(text, architecture.name());
  if (code.ok())
    return code;
  return code.status().withContext(
      "module '" + name + "' has no machine code for " + architecture.name());
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

void GpuModules::close() {
  for (const Module &module : modules)
    api.cuModuleUnload(module.handle);
  modules.clear();
}

template <typename T> static T fieldOf(const std::string &code, size_t at) {
  T value;
  std::memcpy(&value, code.data() + at, sizeof(value));
  return value;
}

/// Whether the headers of a 64-bit ELF file lie inside of it. The driver is
/// given an address without a length.
static bool isWholeElf(const std::string &code) {
  constexpr size_t headerBytes = 64;
  if (code.size() < headerBytes || !code.starts_with("\x7f"
                                                     "ELF"))
    return false;
  // e_phoff, e_phentsize, e_phnum; e_shoff, e_shentsize, e_shnum.
  auto inside = [&](size_t offsetAt, size_t sizeAt) {
    return rangeInside(fieldOf<uint64_t>(code, offsetAt),
                       uint64_t(fieldOf<uint16_t>(code, sizeAt)) *
                           fieldOf<uint16_t>(code, sizeAt + 2),
                       code.size());
  };
  return inside(0x20, 0x36) && inside(0x28, 0x3a);
}

/// What there is to know where the driver refuses machine code.
static std::string driverText(const DriverApi &api) {
  int version = 0;
  if (api.cuDriverGetVersion(&version) != CUDA_SUCCESS)
    return "";
  return formatText("; the driver is of CUDA %d.%d, and code that a newer "
                    "toolkit made takes a newer driver",
                    version / 1000, version % 1000 / 10);
}

Status GpuModules::loadCode(const std::string &name, const std::string &code,
                            bool &isRefused) {
  if (!isWholeElf(code))
    return dataLoss("module '" + name +
                    "' cannot be loaded: its machine code is cut off");
  CUmodule handle = nullptr;
  CUresult result = api.cuModuleLoadData(&handle, code.c_str());
  isRefused = result == CUDA_ERROR_INVALID_IMAGE ||
              result == CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (isRefused)
    return dataLoss("module '" + name + "' cannot be loaded: " +
                    statusOf(api, result, "cuModuleLoadData").message() +
                    driverText(api));
  HOCKET_RETURN_IF_ERROR(statusOf(api, result, "cuModuleLoadData"));
  modules.push_back({name, handle});
  return okStatus();
}

Status GpuModules::load(const std::string &name,
                        std::span<const ModuleVariant> variants) {
  const ModuleVariant *cubin = bestCubin(architecture, variants);
  const ModuleVariant *source = findSource(variants);
  bool isRefused = false;
  Status status = okStatus();
  if (cubin) {
    status = loadCode(name, std::string(cubin->image), isRefused);
    if (!isRefused || !source)
      return status;
  }
  if (!source)
    return failedPrecondition("module '" + name + "' has code for " +
                              offerOf(variants) + "; this GPU runs " +
                              architecture.name() +
                              ": compile the program with --target cuda, "
                              "--arch " +
                              architecture.name());
  // What an NVRTC of this machine makes, its driver may well load.
  StatusOr<std::string> code = compile(name, *source);
  if (!code.ok() && cubin)
    return failedPrecondition(status.message() + "; and from its source, " +
                              code.status().message());
  HOCKET_RETURN_IF_ERROR(code.status());
  return loadCode(name, *code, isRefused);
}

StatusOr<GpuFunction> GpuModules::find(size_t module,
                                       const std::string &symbol) const {
  GpuFunction function;
  CUresult result = api.cuModuleGetFunction(
      &function.handle, modules[module].handle, symbol.c_str());
  if (result == CUDA_ERROR_NOT_FOUND)
    return notFound("module '" + modules[module].name + "' has no function '" +
                    symbol + "'");
  HOCKET_RETURN_IF_ERROR(statusOf(api, result, "cuModuleGetFunction"));
  return function;
}

StatusOr<GpuFunction> GpuModules::find(const std::string &symbol) const {
  for (size_t i = 0; i < modules.size(); ++i) {
    StatusOr<GpuFunction> function = find(i, symbol);
    if (function.ok() || function.status().code() != StatusCode::NotFound)
      return function;
  }
  return notFound("no module of the program has the function '" + symbol + "'");
}

Status GpuModules::allowShared(GpuFunction &function, uint32_t bytes) const {
  if (bytes <= function.sharedBytes)
    return okStatus();
  HOCKET_CUDA_CALL(api, cuFuncSetAttribute, function.handle,
                   CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, int(bytes));
  function.sharedBytes = bytes;
  return okStatus();
}
