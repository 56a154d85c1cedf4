//===- Module.cpp - Kernels compiled for the emulator ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/Module.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

using namespace hocket::emulator;
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

/// The source, and for each kernel a function that takes its arguments as
/// cuLaunchKernel does.
std::string withEntries(const std::string &source) {
  std::string text = "#include \"test/emulator/Prelude.h\"\n" + source;
  for (const std::string &name : kernelsOf(source))
    text += "extern \"C\" void " + name +
            "_emulated(void **arguments) {\n"
            "  hocket::cuda::emulator::call(&" +
            name + ", arguments);\n}\n";
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
  text << std::ifstream(path).rdbuf();
  return text.str();
}

template <typename T> T *find(void *library, const std::string &name) {
  return reinterpret_cast<T *>(dlsym(library, name.c_str()));
}

} // namespace

std::unique_ptr<Module> Module::compile(const std::string &source,
                                        std::string &error) {
  TemporaryFolder folder;
  std::string text = folder.path + "/kernels.cpp",
              image = folder.path + "/kernels.so",
              log = folder.path + "/log.txt";
  std::ofstream(text) << withEntries(source);
  std::string command =
      HOCKET_CXX " -x c++ -std=c++20 -O1 -fPIC -shared -fno-exceptions "
                 "-fno-strict-aliasing -ffp-contract=fast -march=x86-64-v3 -w "
                 "-nostdinc++ -I" HOCKET_SOURCE_DIR " -o " +
      image + " " + text + " > " + log + " 2>&1";
  if (std::system(command.c_str()) != 0) {
    error = readFile(log);
    return nullptr;
  }
  void *library = dlopen(image.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    error = dlerror();
    return nullptr;
  }
  return std::unique_ptr<Module>(new Module(library));
}

Module::~Module() { dlclose(library); }

std::string Module::run(const std::string &symbol, const Launch &launch,
                        std::vector<void *> arguments) {
  auto *kernel = find<void(void **)>(library, symbol + "_emulated");
  if (!kernel)
    return "there is no kernel " + symbol;
  auto &calls = *find<Calls>(library, "hocket_emulator");
  auto *begin = *find<std::byte *>(library, "hocket_shared_begin");
  auto *end = *find<std::byte *>(library, "hocket_shared_end");
  return runBlocks(launch, calls, {begin, end},
                   [&] { kernel(arguments.data()); });
}
