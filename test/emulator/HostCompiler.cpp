//===- HostCompiler.cpp - CUDA C++ for the emulator -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/HostCompiler.h"

#include "kernels/cuda/Sources.h"
#include "test/emulator/libraries/LinkerLibrary.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <vector>

using namespace hocket;
namespace fs = std::filesystem;

namespace {

/// A folder that goes with its contents.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = fs::temp_directory_path() / "emulator-XXXXXX";
    path = mkdtemp(pattern.data()) ? pattern : std::string();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string path;
};

/// The names of the `extern "C" __global__` functions of `source`.
std::vector<std::string> kernelsOf(const std::string &source) {
  static const std::regex head(
      R"re(extern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?([\w$]+)\s*\()re");
  std::vector<std::string> names;
  for (std::sregex_iterator it(source.begin(), source.end(), head), end;
       it != end; ++it)
    names.push_back((*it)[1]);
  return names;
}

/// The source with its headers inside, and no loop that has to be unrolled:
/// that is half of what a host compiler does with it, and of no use to fibers.
std::string withLoops(const std::string &source) {
  constexpr std::string_view unroll = "#pragma unroll";
  std::string text = kernels::standaloneSource(source, "kernels.cu");
  for (size_t at = 0; (at = text.find(unroll, at)) != text.npos;)
    text.replace(at, 2, "//");
  return text;
}

/// The source, and for each kernel a function that takes its arguments as
/// cuLaunchKernel does, and the sizes of these.
std::string withEntries(const std::string &source) {
  std::string text =
      "#include \"test/emulator/Prelude.h\"\n" + withLoops(source);
  for (const std::string &name : kernelsOf(source))
    text += "extern \"C\" void " + name +
            "_emulated(void **arguments) {\n"
            "  hocket::cuda::emulator::call(&" +
            name +
            ", arguments);\n}\n"
            "extern \"C\" const unsigned *" +
            name +
            "_sizes() {\n"
            "  return hocket::cuda::emulator::sizesOf(&" +
            name + ");\n}\n";
  // The bounds of the static shared memory exist only if there is some.
  return text + "__shared__ char hocket_shared_anchor[16] "
                "__attribute__((used));\n"
                "extern \"C\" char __start_hocket_shared[];\n"
                "extern \"C\" char __stop_hocket_shared[];\n"
                "extern \"C\" {\n"
                "char *hocket_shared_begin = __start_hocket_shared;\n"
                "char *hocket_shared_end = __stop_hocket_shared;\n"
                "}\n";
}

std::string readFile(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::optional<std::string> link(const std::string &object, std::string &error) {
  static auto *linked = [] {
    void *library = ::dlopen(HOCKET_EMULATED_LINKER, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? ::dlsym(library, "hocketLinkEmulated") : nullptr;
    return reinterpret_cast<decltype(&hocketLinkEmulated)>(symbol);
  }();
  std::string result;
  if (linked && linked(object, result))
    return result;
  error = linked ? result : "cannot load " HOCKET_EMULATED_LINKER;
  return std::nullopt;
}

} // namespace

std::optional<std::string> emulator::compileForHost(const std::string &source,
                                                    Watch watch,
                                                    std::string &error) {
  TemporaryFolder folder;
  std::string text = folder.path + "/kernels.cpp",
              object = folder.path + "/kernels.o",
              log = folder.path + "/log.txt";
  std::ofstream(text) << withEntries(source);
  // The instrumentation of kernels of operating systems calls functions before
  // each access and wants no library; Prelude.h has the functions.
  std::string watching =
      watch == Watch::Nothing
          ? ""
          : "-DHOCKET_EMULATOR_WATCHES -fsanitize=kernel-address "
#ifdef __clang__
            "-mllvm -asan-instrumentation-with-call-threshold=0 "
            "-mllvm -asan-stack=0 -mllvm -asan-globals=0 ";
#else
            "--param asan-instrumentation-with-call-threshold=0 "
            "--param asan-stack=0 --param asan-globals=0 ";
#endif
  std::string command =
      HOCKET_CXX " -x c++ -std=c++20 -O1 -fPIC -c -fno-exceptions "
                 "-fno-strict-aliasing -ffp-contract=fast -march=x86-64-v3 -w "
                 "-nostdinc++ " +
      watching + "-I" HOCKET_SOURCE_DIR " -o " + object + " " + text + " > " +
      log + " 2>&1";
  if (std::system(command.c_str()) != 0) {
    error = readFile(log);
    return std::nullopt;
  }
  return link(readFile(object), error);
}
