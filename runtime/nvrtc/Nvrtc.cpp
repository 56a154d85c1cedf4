//===- Nvrtc.cpp - NVIDIA's compiler as a library -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/nvrtc/Nvrtc.h"

#include "base/VendorLibrary.h"
#include "runtime/cuda/ToolkitLibraries.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

using namespace hocket;
using namespace hocket::nvrtc;

/// The first with MMAs of bf16 and asynchronous copies (Ampere).
static constexpr int oldestArchitecture = 80;

namespace {

/// The functions of nvrtc.h that are used, with their types there. A result
/// other than 0 is an error.
struct Functions {
  using Program = struct _nvrtcProgram *;
  int (*nvrtcVersion)(int *major, int *minor);
  int (*nvrtcGetNumSupportedArchs)(int *count);
  int (*nvrtcGetSupportedArchs)(int *archs);
  const char *(*nvrtcGetErrorString)(int result);
  int (*nvrtcCreateProgram)(Program *program, const char *text,
                            const char *name, int headers,
                            const char *const *headerTexts,
                            const char *const *headerNames);
  int (*nvrtcDestroyProgram)(Program *program);
  int (*nvrtcCompileProgram)(Program program, int options,
                             const char *const *optionTexts);
  int (*nvrtcGetProgramLogSize)(Program program, size_t *bytes);
  int (*nvrtcGetProgramLog)(Program program, char *log);
  int (*nvrtcGetCUBINSize)(Program program, size_t *bytes);
  int (*nvrtcGetCUBIN)(Program program, char *cubin);
  // Null where the library has none: only ptx() needs them.
  int (*nvrtcGetPTXSize)(Program program, size_t *bytes) = nullptr;
  int (*nvrtcGetPTX)(Program program, char *ptx) = nullptr;
};

struct Library {
  std::string path;
  Functions functions;
};

StatusOr<Library> load() {
  HOCKET_ASSIGN_OR_RETURN(
      VendorLibrary vendor,
      VendorLibrary::load({"NVRTC", "HOCKET_NVRTC",
                           hal::cuda::toolkitLibraries("libnvrtc"),
                           "install the CUDA toolkit"}));
  Library library{vendor.path(), {}};
  Functions &f = library.functions;
#define HOCKET_RESOLVE(name)                                                   \
  HOCKET_RETURN_IF_ERROR(vendor.resolve(#name, f.name))
  HOCKET_RESOLVE(nvrtcVersion);
  HOCKET_RESOLVE(nvrtcGetNumSupportedArchs);
  HOCKET_RESOLVE(nvrtcGetSupportedArchs);
  HOCKET_RESOLVE(nvrtcGetErrorString);
  HOCKET_RESOLVE(nvrtcCreateProgram);
  HOCKET_RESOLVE(nvrtcDestroyProgram);
  HOCKET_RESOLVE(nvrtcCompileProgram);
  HOCKET_RESOLVE(nvrtcGetProgramLogSize);
  HOCKET_RESOLVE(nvrtcGetProgramLog);
  HOCKET_RESOLVE(nvrtcGetCUBINSize);
  HOCKET_RESOLVE(nvrtcGetCUBIN);
#undef HOCKET_RESOLVE
  (void)vendor.resolve("nvrtcGetPTXSize", f.nvrtcGetPTXSize);
  (void)vendor.resolve("nvrtcGetPTX", f.nvrtcGetPTX);
  // It loads the other half of itself by name alone, at the first compilation.
  int major = 0, minor = 0;
  if (f.nvrtcVersion(&major, &minor) == 0)
    vendor.loadBeside("libnvrtc-builtins.so." + std::to_string(major) + "." +
                      std::to_string(minor));
  return library;
}

const StatusOr<Library> &library() {
  static const StatusOr<Library> loaded = load();
  return loaded;
}

/// One program of NVRTC.
class Compilation {
public:
  explicit Compilation(const Functions &functions) : functions(functions) {}
  ~Compilation() {
    if (program)
      functions.nvrtcDestroyProgram(&program);
  }
  Compilation(const Compilation &) = delete;
  Compilation &operator=(const Compilation &) = delete;

  Status compile(const Source &source, const std::string &arch,
                 const char *more = nullptr) {
    HOCKET_RETURN_IF_ERROR(create(source));
    std::string target = "--gpu-architecture=" + arch;
    const char *options[] = {target.c_str(), "--std=c++17", more};
    int result = functions.nvrtcCompileProgram(program, more ? 3 : 2, options);
    if (result != 0)
      return invalidArgument(source.name + " does not compile for " + arch +
                             ": " + functions.nvrtcGetErrorString(result) +
                             "\n" + log());
    return okStatus();
  }

  StatusOr<std::string> cubin() const {
    size_t bytes = 0;
    HOCKET_RETURN_IF_ERROR(
        check(functions.nvrtcGetCUBINSize(program, &bytes), "nvrtcGetCUBIN"));
    std::string image(bytes, '\0');
    HOCKET_RETURN_IF_ERROR(
        check(functions.nvrtcGetCUBIN(program, image.data()), "nvrtcGetCUBIN"));
    if (image.empty())
      return internalError("NVRTC gave no machine code");
    return image;
  }

  StatusOr<std::string> ptx() const {
    if (!functions.nvrtcGetPTXSize || !functions.nvrtcGetPTX)
      return failedPrecondition("this NVRTC gives no PTX");
    size_t bytes = 0;
    HOCKET_RETURN_IF_ERROR(
        check(functions.nvrtcGetPTXSize(program, &bytes), "nvrtcGetPTX"));
    std::string text(bytes, '\0');
    HOCKET_RETURN_IF_ERROR(
        check(functions.nvrtcGetPTX(program, text.data()), "nvrtcGetPTX"));
    return std::string(text.c_str()); // Without the terminator.
  }

  std::string log() const {
    size_t bytes = 0;
    if (functions.nvrtcGetProgramLogSize(program, &bytes) != 0 || bytes == 0)
      return "";
    std::string text(bytes, '\0');
    if (functions.nvrtcGetProgramLog(program, text.data()) != 0)
      return "";
    text = text.c_str(); // Without the terminator that `bytes` counts.
    text.erase(text.find_last_not_of('\n') + 1);
    return text;
  }

private:
  Status check(int result, const char *what) const {
    return result == 0 ? okStatus()
                       : internalError(std::string("NVRTC: ") + what + ": " +
                                       functions.nvrtcGetErrorString(result));
  }

  Status create(const Source &source) {
    std::vector<const char *> names, texts;
    for (const Header &header : source.headers) {
      names.push_back(header.name.c_str());
      texts.push_back(header.text.c_str());
    }
    return check(functions.nvrtcCreateProgram(&program, source.text.c_str(),
                                              source.name.c_str(),
                                              static_cast<int>(names.size()),
                                              texts.data(), names.data()),
                 "nvrtcCreateProgram");
  }

  const Functions &functions;
  Functions::Program program = nullptr;
};

} // namespace

StatusOr<std::string> nvrtc::findLibrary() {
  if (!library().ok())
    return library().status();
  return library()->path;
}

StatusOr<std::string> nvrtc::version() {
  if (!library().ok())
    return library().status();
  int major = 0, minor = 0;
  if (library()->functions.nvrtcVersion(&major, &minor) != 0)
    return internalError("NVRTC does not say its version");
  return std::to_string(major) + "." + std::to_string(minor);
}

/// 90 of "sm_90a"; nothing where it is not written so.
static std::optional<int> numberOf(std::string_view arch) {
  if (!arch.starts_with("sm_"))
    return std::nullopt;
  arch.remove_prefix(3);
  int number = 0;
  const char *begin = arch.data(), *end = begin + arch.size();
  auto [rest, error] = std::from_chars(begin, end, number);
  bool ends =
      rest == end || (rest + 1 == end && (*rest == 'a' || *rest == 'f'));
  return error == std::errc() && ends ? std::optional(number) : std::nullopt;
}

Status nvrtc::checkArchitecture(const std::string &arch) {
  HOCKET_ASSIGN_OR_RETURN(std::string which, version());
  const Functions &functions = library()->functions;
  int count = 0;
  std::vector<int> known;
  if (functions.nvrtcGetNumSupportedArchs(&count) == 0)
    known.resize(count);
  if (known.empty() || functions.nvrtcGetSupportedArchs(known.data()) != 0)
    return internalError("NVRTC does not say which architectures it knows");
  std::erase_if(known, [](int one) { return one < oldestArchitecture; });

  std::optional<int> number = numberOf(arch);
  if (number && std::find(known.begin(), known.end(), *number) != known.end())
    return okStatus();
  std::string message = "NVRTC " + which + " compiles no kernels for " + arch;
  if (number && *number < oldestArchitecture)
    message = "kernels need sm_" + std::to_string(oldestArchitecture) +
              " (A100) at least, " + arch + " is older";
  message += "; choose of";
  for (int one : known)
    message += " sm_" + std::to_string(one) + (one == 90 ? "a" : "");
  return invalidArgument(message);
}

StatusOr<std::string> nvrtc::compile(const Source &source,
                                     const std::string &arch) {
  if (!library().ok())
    return library().status();
  Compilation compilation(library()->functions);
  HOCKET_RETURN_IF_ERROR(compilation.compile(source, arch));
  return compilation.cubin();
}

Status nvrtc::tryCompiling() {
  Source line{
      "line.cu", "extern \"C\" __global__ void line(int *x) { *x = 1; }\n", {}};
  return compile(line, "sm_" + std::to_string(oldestArchitecture)).status();
}

StatusOr<std::string> nvrtc::ptx(const Source &source,
                                 const std::string &arch) {
  if (!library().ok())
    return library().status();
  Compilation compilation(library()->functions);
  HOCKET_RETURN_IF_ERROR(compilation.compile(source, arch));
  return compilation.ptx();
}

StatusOr<std::string> nvrtc::assemblerNotes(const Source &source,
                                            const std::string &arch) {
  if (!library().ok())
    return library().status();
  Compilation compilation(library()->functions);
  HOCKET_RETURN_IF_ERROR(
      compilation.compile(source, arch, "--ptxas-options=-v"));
  return compilation.log();
}
